"""``python -m tests.paper.fetch FOLDER`` (``make data``): fetches the paper's released data and checks every file.

The files are those of the authors' repository at one commit. Our figures were computed from files with these hashes,
so a file that differs is refused. The sample of F1000RD and the paper's printed figures are not in the repository and
therefore not fetched.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import httpx

REPOSITORY = "https://github.com/UKPLab/arxiv2025-abcd-link"
ADDRESS = (
    "https://raw.githubusercontent.com/UKPLab/arxiv2025-abcd-link/6ce6a89c017d9dcd5d6e75a9d8355e07081a5b68/datasets"
)
HASHES = {
    "news_ecb/docs.json": "800139c92ec25faa000129a3353f0680ccac98b94e7ee4cc56fd284a8467c9a0",
    "news_ecb/news_ecb_links.json": "dd264cb0fd2b32820854cc9208e3f3836b4b7e344976c762ace563dc6d939454",
    "reviews_he/annotations.csv": "024eb7220d907e5012629d083a776ff8d9bd5a8d596490844af1277e7001c1c6",
    "reviews_he/docs.json": "5ebad42d6c77c66155426c7646b9a8007d39f58d80a082f812134e52066efd0f",
    "reviews_he/predictions_reviews.json": "4888eca77db8432d1876f6bde5d1e50bc6d819198e6c9a7197241de33a6d844f",
    "reviews_he/reviews_gold_labels.csv": "2b03ebe639f8f9ded8c11642d7795028d4e559ff0b07eccdfdf7bc5b02c7fdbe",
}
"""SHA-256 by path."""
SECONDS = 60


def is_right(name: str, content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == HASHES[name]


def fetch(folder: Path, address: str = ADDRESS) -> list[str]:
    """Fetch missing and differing files, each completely or not at all; returns one line per file that failed."""
    failed = []
    for name in HASHES:
        path = folder / name
        if path.is_file() and is_right(name, path.read_bytes()):
            continue
        try:
            reply = httpx.get(f"{address}/{name}", timeout=SECONDS, follow_redirects=True).raise_for_status()
        except httpx.HTTPError as error:
            failed.append(f"{name}: {address} did not send it ({error})")
            continue
        if not is_right(name, reply.content):
            failed.append(f"{name}: what {address} sent is not the file that the figures were computed from")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(reply.content)
        unfinished.replace(path)
    return failed


def main() -> int:
    """Fetch into the folder given on the command line."""
    folder = Path(sys.argv[1])
    failed = fetch(folder)
    for line in failed:
        sys.stderr.write(f"{line}\n")
    if failed:
        sys.stderr.write(f"{len(failed)} of {len(HASHES)} files are missing; the data are at {REPOSITORY}\n")
        return 1
    sys.stdout.write(f"{len(HASHES)} files in {folder}, all with the right hash\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

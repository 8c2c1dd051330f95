"""Memory and speed of the import of a JSON Lines file that is larger than memory should have to be.

The file has 200 MB; ``ABCDLINK_BENCH_MEGABYTES=2000`` makes it 2 GB, whose import is to stay below 500 MB too.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

from benchmarks.claims import Claim
from benchmarks.memory import peak

LIMIT = 0.5
MEGABYTE = 1_000_000
LETTERS = "abcdefghijklmnoprstuvw"


def claims(data: Path) -> Iterator[Claim]:  # noqa: ARG001 - the file is made here
    """Import whole pairs of invented sentences."""
    size = int(os.environ.get("ABCDLINK_BENCH_MEGABYTES", "200"))
    home = Path(os.environ["ABCDLINK_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    file, corpus = home / "pairs.jsonl", home / "large"
    pairs = _write(file, size * MEGABYTE)
    memory, seconds = peak(["import", "jsonl", str(file), "--out", str(corpus), "--language", "en"])
    yield Claim(
        what=f"import of {size} MB of JSON Lines, peak memory",
        ours=f"{memory:.2f} GB, {seconds:.0f} s CPU, {size / seconds:.1f} MB/s",
        baseline="",
        value=memory,
        unit="GB",
        most=LIMIT,
        note=f"{pairs} pairs with their sentences; preview included",
    )


def _write(path: Path, size: int) -> int:
    """Write pairs until the file has this size; returns how many."""
    dice = random.Random(1)
    words = ["".join(dice.choices(LETTERS, k=dice.randint(2, 10))) for _ in range(20_000)]
    pool = [f"{' '.join(dice.choices(words, k=dice.randint(8, 24))).capitalize()}." for _ in range(50_000)]
    written = pairs = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            sides = {
                side: {"id": f"{side}-{pairs}", "sentences": dice.choices(pool, k=dice.randint(*lengths))}
                for side, lengths in (("source", (8, 20)), ("target", (20, 60)))
            }
            written += file.write(json.dumps({"pair": f"pair-{pairs}", **sides}) + "\n")
            pairs += 1
    return pairs

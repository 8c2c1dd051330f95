"""Peak memory of the NEWS-ECB+ benchmark with empty caches, and of importing a large JSON Lines file.

The file has 200 MB; ``ABCDLINK_BENCH_MEGABYTES=2000`` makes it 2 GB, which should also stay below 500 MB.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import NEWS, Claim, real_folder, require_minilm

RETRIEVERS = "bm25,all-minilm-l6-v2,hybrid"
CUTOFFS = "1,3,5,7,10,20"
LIMIT = 2.0
COMMAND = "from abcdlink.cli.app import main; main()"


def memory(data: Path) -> Iterator[Claim]:
    """Run the command and ask the system for the peak memory of its process.

    A child's peak starts at the memory of its parent at the fork, so nothing big is loaded here.
    """
    require_minilm()
    news = real_folder(data, NEWS)
    home = Path(os.environ["ABCDLINK_HOME"])
    shutil.rmtree(home, ignore_errors=True)
    corpus = home / "corpus"
    peak(["import", "abcd-link", str(news), "--out", str(corpus)])
    size, seconds = peak(["benchmark", str(corpus), "--retrievers", RETRIEVERS, "--cutoffs", CUTOFFS, "--json"])
    yield Claim(
        what=f"NEWS-ECB+ benchmark ({RETRIEVERS}), peak memory",
        ours=f"{size:.2f} GB, {seconds:.0f} s CPU",
        baseline="",
        value=size,
        unit="GB",
        most=LIMIT,
        note=f"cutoffs {CUTOFFS}; every sentence is embedded in this run",
    )


def peak(arguments: Sequence[str]) -> tuple[float, float]:
    """Run a command of abcdlink; return the peak of its resident memory in GB and its CPU time in seconds."""
    with tempfile.TemporaryFile() as said:
        command = [sys.executable, "-c", COMMAND, *arguments]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            msg = f"abcdlink {' '.join(arguments)} exited with {process.returncode}: {said.read().decode()}"
            raise AssertionError(msg)
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_maxrss * unit / 1e9, usage.ru_utime + usage.ru_stime


IMPORT_LIMIT = 0.5
MEGABYTE = 1_000_000
LETTERS = "abcdefghijklmnoprstuvw"


def large_import(data: Path) -> Iterator[Claim]:  # noqa: ARG001 - the file is made here
    """Import whole pairs of invented sentences."""
    size = int(os.environ.get("ABCDLINK_BENCH_MEGABYTES", "200"))
    home = Path(os.environ["ABCDLINK_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    file, corpus = home / "pairs.jsonl", home / "large"
    pairs = _write(file, size * MEGABYTE)
    used, seconds = peak(["import", "jsonl", str(file), "--out", str(corpus), "--language", "en"])
    yield Claim(
        what=f"import of {size} MB of JSON Lines, peak memory",
        ours=f"{used:.2f} GB, {seconds:.0f} s CPU, {size / seconds:.1f} MB/s",
        baseline="",
        value=used,
        unit="GB",
        most=IMPORT_LIMIT,
        note=f"{pairs} pairs with their sentences; preview included",
    )


def _write(path: Path, size: int) -> int:
    """Write pairs until the file has this size; returns their number."""
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

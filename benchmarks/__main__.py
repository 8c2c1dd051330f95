"""Runs the benchmarks one after another, each in a separate process, and prints one table.

``python -m benchmarks ../shared/data`` runs all, ``--only bm25`` one. The figures also go to
``build/bench.json``. The exit code is 1 when a claim is missed or a benchmark fails; a benchmark that cannot run
here is skipped with its reason.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from abcdlink.corpus.records import Record
from benchmarks import Claim, SkippedError

BENCHMARKS = {
    "bm25": "ranking:bm25",
    "encodes": "ranking:encodes",
    "resampling": "scoring:resampling",
    "memory": "memory:memory",
    "large-import": "memory:large_import",
    "growth": "scoring:growth",
    "label-studio": "label_studio:claims",
    "prefix": "prefix:claims",
    "yield": "yields:claims",
}
"""Name -> module and function."""
BUILD = Path("build")
BENCH = "ABCDLINK_BENCH_"
"""Prefix of the benchmarks' own settings; no other setting of this shell reaches them."""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "ABCDLINK_THREADS")
"""Variables from which computing libraries read their number of threads."""


class Outcome(Record):
    """The result of one benchmark: its claims, or why there are none."""

    benchmark: str
    claims: tuple[Claim, ...] = ()
    skipped: str = ""
    failed: str = ""


def main() -> int:
    """Run the requested benchmarks; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the real data")
    parser.add_argument("--only", choices=BENCHMARKS, help="one benchmark")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        sys.stdout.write(_here(given.only, given.data).model_dump_json())
        return 0
    console = Console()
    outcomes = []
    for name in [given.only] if given.only else BENCHMARKS:
        with console.status(f"{name} ..."):
            outcomes.append(_apart(name, given.data))
        _say(console, outcomes[-1])
    _show(console, outcomes)
    _keep(outcomes)
    missed = [claim for outcome in outcomes for claim in outcome.claims if claim.reached is False]
    return 1 if missed or any(outcome.failed for outcome in outcomes) else 0


def benchmark_of(name: str) -> Callable[[Path], Iterable[Claim]]:
    """Return the function of a benchmark: folder of the real data -> claims."""
    module, _, function = BENCHMARKS[name].partition(":")
    found: Callable[[Path], Iterable[Claim]] = getattr(import_module(f"benchmarks.{module}"), function)
    return found


def _here(name: str, data: Path) -> Outcome:
    """Run one benchmark in this process."""
    try:
        return Outcome(benchmark=name, claims=tuple(benchmark_of(name)(data)))
    except SkippedError as reason:
        return Outcome(benchmark=name, skipped=str(reason))


def _apart(name: str, data: Path) -> Outcome:
    """Run one benchmark in a separate process, with one thread and an empty home."""
    home = BUILD.resolve() / "bench"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    settings = {
        key: value for key, value in os.environ.items() if key.startswith(BENCH) or not key.startswith("ABCDLINK_")
    }
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", str(data), "--only", name, "--here"],
        env=settings | dict.fromkeys(THREADS, "1") | {"ABCDLINK_HOME": str(home), "TOKENIZERS_PARALLELISM": "false"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    shutil.rmtree(home)
    if done.returncode:
        return Outcome(benchmark=name, failed=f"exited with {done.returncode}; its output is above")
    return Outcome.model_validate_json(done.stdout)


def _say(console: Console, outcome: Outcome) -> None:
    """Report the result of a benchmark as soon as it ends."""
    end = outcome.failed or outcome.skipped or f"{len(outcome.claims)} claims"
    mark = "failed: " * bool(outcome.failed) + "skipped: " * bool(outcome.skipped)
    console.print(escape(f"{outcome.benchmark}: {mark}{end}"), soft_wrap=True)


def _show(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Print the table with its notes below."""
    table = Table(title=f"{_machine()}; one thread", title_justify="left")
    for column in ("what", "ours", "baseline", "value", "required", "reached"):
        table.add_column(column, justify="right" if column == "value" else "left")
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    for claim in claims:
        reached = {True: "yes", False: "NO", None: ""}[claim.reached]
        value = f"{claim.value:.3g} {claim.unit}".strip()
        cells = (claim.what, claim.ours, claim.baseline, value, claim.wanted, reached)
        table.add_row(*map(escape, cells), end_section=True)
    console.print(table)
    for note, what in {claim.note: claim.what for claim in reversed(claims) if claim.note}.items():
        console.print(escape(f"{what}: {note}."), soft_wrap=True)
    judged = [claim.reached for claim in claims if claim.reached is not None]
    console.print(f"{sum(judged)} of {len(judged)} required values reached.")


def _machine() -> str:
    day, python = datetime.now(UTC).date(), platform.python_version()
    return f"{day}, {os.cpu_count()} cores, {platform.machine()}, Python {python}"


def _keep(outcomes: Sequence[Outcome]) -> None:
    """Write all figures to ``build/bench.json``."""
    figures = [
        outcome.model_dump(exclude={"claims"})
        | {"claims": [claim.model_dump() | {"reached": claim.reached} for claim in outcome.claims]}
        for outcome in outcomes
    ]
    BUILD.mkdir(exist_ok=True)
    text = json.dumps({"machine": _machine(), "threads": 1, "benchmarks": figures}, indent=2)
    (BUILD / "bench.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

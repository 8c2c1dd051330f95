"""The runner of the benchmarks: a missed claim exits with 1, a benchmark that cannot run is skipped with a reason."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import benchmarks.__main__ as runner
from benchmarks import Claim, SkippedError, cpu, ratio


def claim(value: float, least: float | None = None, most: float | None = None) -> Claim:
    return Claim(what="w", ours="1 s", baseline="2 s", value=value, least=least, most=most)


@pytest.mark.parametrize(
    ("least", "most", "reached", "wanted"),
    [
        (None, None, None, ""),
        (2, None, True, ">= 2 x"),
        (2.5, None, False, ">= 2.5 x"),
        (None, 2, True, "<= 2 x"),
        (None, 1, False, "<= 1 x"),
    ],
)
def test_a_claim_is_checked_against_its_bounds(least, most, reached, wanted):
    judged = claim(2, least, most)
    assert (judged.reached, judged.wanted) == (reached, wanted)


def test_the_median_of_the_runs_and_the_last_result_are_returned(monkeypatch):
    clock = iter([0, 3, 3, 4, 4, 9])
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    results = iter("abc")
    assert cpu(lambda: next(results), 3) == (3, "c")
    assert ratio(10, 4) == 2.5


@pytest.mark.parametrize("name", sorted({*runner.BENCHMARKS} - {"large-import"}))  # it needs nothing
def test_every_benchmark_says_what_it_lacks(name, monkeypatch, tmp_path):
    """Most lack the real data here; the others their model or their server."""
    benchmark = runner.benchmark_of(name)
    module = sys.modules[benchmark.__module__]
    if name == "prefix":
        monkeypatch.setattr(module, "find_spec", lambda _name: None)
    if name == "label-studio":
        monkeypatch.setattr(module, "PROGRAM", tmp_path / "label-studio")
    with pytest.raises(SkippedError, match=r"not available"):
        list(benchmark(tmp_path))


@pytest.mark.parametrize(
    ("outcome", "code", "shown"),
    [
        (runner.Outcome(benchmark="bm25", claims=(claim(2, 1), claim(0.1))), 0, "1 of 1 required values reached"),
        (runner.Outcome(benchmark="bm25", claims=(claim(2, 3),)), 1, "0 of 1 required values reached"),
        (runner.Outcome(benchmark="bm25", skipped="no data"), 0, "skipped: no data"),
        (runner.Outcome(benchmark="bm25", failed="ended with 1"), 1, "failed: ended with 1"),
    ],
)
def test_the_exit_code_and_the_saved_figures_are_right(outcome, code, shown, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "_apart", lambda _name, _data: outcome)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "data", "--only", "bm25"])
    assert runner.main() == code
    assert shown in " ".join(capsys.readouterr().out.split())
    kept = json.loads(Path("build/bench.json").read_text(encoding="utf-8"))
    assert kept["benchmarks"][0]["skipped"] == outcome.skipped
    assert [c["reached"] for c in kept["benchmarks"][0]["claims"]] == [c.reached for c in outcome.claims]

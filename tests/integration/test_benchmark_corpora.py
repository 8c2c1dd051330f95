"""The flow that benchmarks several corpora, on a real Prefect server."""

from __future__ import annotations

import json
from collections import Counter

from abcdlink.layout import OVERVIEW
from abcdlink.stages.benchmark_corpora import Overview
from tests import ROOT
from tests.helpers.stack import Stack


def test_corpora_are_benchmarked_and_shown_side_by_side(stack: Stack) -> None:
    parameters = {
        "run": "two-corpora",
        "corpora": [str(ROOT / "samples" / name) for name in ("news", "reviews")],
        "domains": ["news", "reviews"],
        "setting": "paper",
        "benchmark": {"retrievers": ["bm25"], "learned": [], "rules": [], "cutoffs": [1, 3], "llm": {"sources": 6}},
    }
    before = len(stack.llm.questions)
    for _ in range(2):
        started = stack.prefect.start("benchmark-corpora/benchmark-corpora", parameters)
        stack.prefect.wait(started, "Completed")
    questions = Counter(json.dumps(request.body, sort_keys=True) for request in stack.llm.questions[before:])
    assert len(questions) == 12
    assert max(questions.values()) == 1
    overview = stack.run("two-corpora").read_record(OVERVIEW, Overview)
    assert overview.domains == {"news": "news@paper", "reviews": "reviews@paper"}
    data = stack.prefect.call("GET", "/artifacts/two-corpora-overview/latest").json()["data"]
    rows = {row["approach"]: row for row in (json.loads(data) if isinstance(data, str) else data)}
    assert set(rows) == {one.name for one in overview.across} == {"bm25@1", "bm25@3", "bm25+llm-listwise-4"}
    shown = stack.prefect.call("GET", "/artifacts/two-corpora-news-benchmark/latest").json()["data"]
    assert "bm25@10+llm-listwise-4" in str(shown)

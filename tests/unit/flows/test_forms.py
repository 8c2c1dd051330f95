"""Forms of the Prefect UI with wrong values: one message that names the field, before anything is done."""

from __future__ import annotations

from typing import Any

import pytest
from prefect import Flow
from prefect.exceptions import ParameterTypeError

from abcdlink.errors import InputError
from flows.annotate import annotate
from flows.bootstrap import bootstrap, start
from flows.corpora import clean, pair
from flows.people import coding, exhaustive, qualify, rate
from flows.stages import benchmark, benchmark_corpora, generate, label

RUN = {"run": "spring"}
ROWS: list[tuple[Flow[..., Any], dict[str, Any], str]] = [
    *((bootstrap, {"run": name}, "run") for name in ("", "a/b", "..", "x" * 81, "a\0b", "a b", None, 5, ["a"])),
    *((start, {**RUN, "corpus": "c", field: value}, field) for field, value in (("budget", -1), ("annotators", 0))),
    (start, {**RUN, "corpus": "c", "goal": "fun"}, "goal"),
    (start, {**RUN, "corpus": None}, "corpus"),
    *((bootstrap, {**RUN, "pairs": value}, "pairs") for value in (0, -1, "all", 1.5)),
    (bootstrap, {**RUN, "setting": "papers"}, "setting"),
    (bootstrap, {**RUN, "domain": 5}, "domain"),
    (bootstrap, {**RUN, "generation": {"strategy": "magic"}}, "generation.strategy"),
    (bootstrap, {**RUN, "generation": {"documents": 0}}, "generation.documents"),
    (bootstrap, {**RUN, "generation": {"seed": -1}}, "generation.seed"),
    (bootstrap, {**RUN, "targets": {"size": 0}}, "targets.size"),
    (bootstrap, {**RUN, "targets": {"only": "x"}}, "targets.only"),
    (bootstrap, {**RUN, "shortlist": {"best": 1}}, "shortlist.best"),
    (bootstrap, {**RUN, "benchmark": {"retrievers": []}}, "benchmark.retrievers"),
    (bootstrap, {**RUN, "benchmark": {"retrievers": ["a b"]}}, "benchmark.retrievers.0"),
    (benchmark, {**RUN, "benchmark": {"cutoffs": [0]}}, "benchmark.cutoffs.0"),
    (benchmark, {**RUN, "benchmark": {"folds": 1}}, "benchmark.folds"),
    (benchmark, {**RUN, "benchmark": {"llm": {"modes": [9]}}}, "benchmark.llm.modes"),
    (benchmark_corpora, {"run": "spring", "corpora": "a"}, "corpora"),
    *(
        (annotate, {**RUN, "annotation": {field: value}}, f"annotation.{field}")
        for field, value in (
            ("batches", 0),
            ("batches", 21),
            ("batches", "two"),
            ("overlap", 11),
            ("deadline_days", float("inf")),
            ("late_days", 0),
            ("reminder_block", "slack"),
            ("unknown", 1),
        )
    ),
    (bootstrap, {**RUN, "annotation": {"mode": "odd"}}, "annotation.mode"),
    (bootstrap, {**RUN, "annotation": None}, "annotation"),
    (generate, {**RUN, "generation": {"like": 5}}, "generation.like"),
    (label, {**RUN, "corpus": "c", "labels": {"precision": 2}}, "labels.precision"),
    (label, {**RUN, "corpus": "c", "labels": {"floor": 0}}, "labels.floor"),
    (qualify, {**RUN, "qualification": {"applicants": 0}}, "qualification.applicants"),
    (qualify, {**RUN, "qualification": {"threshold": 2}}, "qualification.threshold"),
    (qualify, {**RUN, "qualification": {"eligibility": {"x": 1}}}, "qualification.eligibility.x"),
    (rate, {**RUN, "rating": {"synthetic": 0}}, "rating.synthetic"),
    (exhaustive, {**RUN, "judging": {"share": 0}}, "judging.share"),
    (exhaustive, {**RUN, "judging": {"rule": "adjudicated"}}, "judging.rule"),
    (coding, {**RUN, "coding": {"most": 0}}, "coding.most"),
    (coding, {**RUN, "coding": {"patterns": ["only"]}}, "'only' is the only pattern"),
    (clean, {"corpus": "c", "out": "o", "cleaning": {"ask": "maybe"}}, "cleaning.ask"),
    (pair, {"corpus": "c", "out": "o", "rule": {"floor": 2}}, "rule.floor"),
    (pair, {"corpus": "c", "out": "o", "rule": {"days": 3}}, "a window of days and the field with the date"),
    (pair, {"corpus": "c", "out": "o", "rule": {}}, "nothing says which documents make a pair"),
]


@pytest.mark.parametrize(("flow", "form", "named"), ROWS, ids=lambda value: str(getattr(value, "name", value))[:60])
def test_a_wrong_value_is_named(flow: Flow[..., Any], form: dict[str, Any], named: str) -> None:
    with pytest.raises((ParameterTypeError, InputError)) as refused:
        flow.validate_parameters(form)
    said = str(refused.value)
    assert f"- {named}:" in said or said.startswith(named)
    assert "Value error" not in said

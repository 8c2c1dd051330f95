"""Forms of the Prefect UI: a wrong value is one message that names the field; what the forms offer and start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prefect import Flow
from prefect.exceptions import ParameterTypeError
from prefect.utilities.callables import parameter_schema

from abcdlink.candidates.pools import PoolMode
from abcdlink.errors import InputError
from abcdlink.linking.records import ApproachKind
from abcdlink.pairing import PairingRule
from abcdlink.stages.budget import BudgetPlan
from abcdlink.stages.candidates import PoolPlan
from abcdlink.store import open_run
from flows.annotate import annotate
from flows.bootstrap import bootstrap, job_for, start
from flows.commands.starting import Goal
from flows.corpora import clean, pair
from flows.drops import annotation_of_drops
from flows.parameters import AnnotationParameters
from flows.people import coding, exhaustive, qualify, rate
from flows.stages import benchmark, benchmark_corpora, generate, label
from tests.helpers.homes import configure

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


def test_the_form_pair_offers_and_explains_every_field_of_the_rule() -> None:
    schema = parameter_schema(pair.fn)
    (rule,) = (one for one in schema.definitions.values() if one["title"] == "PairingRule")
    assert set(rule["properties"]) == set(PairingRule.model_fields)
    assert all(one["description"] for one in rule["properties"].values())
    assert schema.required == ["corpus", "rule"]


RETRIEVERS = (ApproachKind.RETRIEVER, ApproachKind.RETRIEVER)


def test_the_embedded_llm_is_not_used_to_find_links(isolated_home: Path) -> None:
    job, annotation = job_for(Goal.FIND, "corpus", 2)
    assert (job.benchmark.llm, job.shortlist.kinds, annotation.mode) == (None, RETRIEVERS, PoolMode.UNION)


def test_a_configured_llm_proposes_links(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, llm_base_url="http://gpu-host:8000/v1")
    job, _ = job_for(Goal.FIND, "corpus", 2)
    assert job.benchmark.llm is not None
    assert job.shortlist.kinds == ()


def test_methods_are_compared_with_the_embedded_llm_too(isolated_home: Path) -> None:
    job, annotation = job_for(Goal.COMPARE, "corpus", 3)
    assert job.benchmark.llm is not None
    assert (annotation.mode, annotation.overlap, annotation.batches) == (PoolMode.COMPARISON, 3, 2)


def test_new_data_is_annotated_as_in_the_run_whose_shortlist_it_takes() -> None:
    base = open_run("spring")
    assert annotation_of_drops(base) == AnnotationParameters(batches=1)
    plan = PoolPlan(batches=3, mode=PoolMode.UNION, distractors=1)
    base.note("inputs", {"candidates": plan.model_dump(mode="json")})
    base.note("annotation", {"overlap": 3})
    assert annotation_of_drops(base) == AnnotationParameters(batches=1, mode=PoolMode.UNION, distractors=1, overlap=3)
    spent = PoolPlan(mode=PoolMode.BUDGET, budget=BudgetPlan(judgments=100))
    base.note("inputs", {"candidates": spent.model_dump(mode="json")})
    assert annotation_of_drops(base).mode is PoolMode.SINGLE

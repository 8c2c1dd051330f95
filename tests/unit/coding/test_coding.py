"""Wrong predictions are found by method, sampled once, coded by people, and counted with the coders' agreement."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.adjudicate import Adjudication
from abcdlink.annotators import forget, people_of
from abcdlink.coding import (
    PATTERNS,
    Code,
    Coding,
    WrongPrediction,
    agreement_in_words,
    clear_links,
    drawn,
    patterns_in,
    summarise,
    wrong_predictions,
)
from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.evaluation.errors import ErrorKind
from abcdlink.exhaustive import EXHAUSTIVE, NO_BATCH
from abcdlink.judgments import BOTH, RANDOM, Annotator, Candidate, Judgment, Pool, by_candidate
from abcdlink.layout import ADJUDICATIONS, CODERS, EXHAUSTIVE_JUDGMENTS, POOLS
from abcdlink.report import write_report
from abcdlink.settings import get_settings
from abcdlink.stages.coding import coding_summary, keep_codes, links_so_far, prepare_coding
from abcdlink.stages.exhaustive import make_sample
from abcdlink.store import Store
from flows.parameters import CodingParameters
from tests.helpers.builders import judgment
from tests.helpers.command_line import call, called
from tests.helpers.disputes import CORPUS, LINK, NO
from tests.helpers.example_run import example_run

FALSE, MISSED = ErrorKind.FALSE_LINK, ErrorKind.MISSED_LINK


def pool(**methods: str) -> Pool:
    candidates = tuple(Candidate(target=target, method=method) for target, method in methods.items())
    return Pool(key="k", batch=1, pair="pair-1", source="sid-1", candidates=candidates)


def at(target: str) -> tuple[str, str, str]:
    return "pair-1", "sid-1", target


METHOD = st.sampled_from(["first", "second", "third", BOTH, RANDOM])


@given(st.dictionaries(st.sampled_from("abcdef"), METHOD), st.dictionaries(st.sampled_from("abcdefgh"), st.booleans()))
def test_a_method_is_wrong_exactly_where_people_disagree_with_its_proposals(
    methods: dict[str, str], links: dict[str, bool]
) -> None:
    own = sorted({*methods.values()} - {BOTH, RANDOM}) or [BOTH]
    pools, judged = [pool(**methods)], {at(target): link for target, link in links.items()}
    found = {one.target: one for one in wrong_predictions(pools, judged, "run")}
    keys = {one.key for one in found.values()}
    assert len(keys) == len(found)
    assert not keys & {one.key for one in wrong_predictions(pools, judged, "other")}
    assert all(one.kind is (MISSED if links[target] else FALSE) for target, one in found.items())
    for target, link in links.items():
        for method in own:
            proposed = methods.get(target) in (method, BOTH)
            assert (proposed != link) == (target in found and method in found[target].methods)


def test_only_unanimous_or_adjudicated_labels_are_clear() -> None:
    groups = {at("a"): [LINK, LINK], at("b"): [LINK, NO], at("c"): [LINK, NO], at("d"): [NO], at("e"): [NO, NO]}
    assert clear_links(groups, {at("c"): LINK, at("e"): LINK}, 2) == {at("a"): True, at("c"): True, at("e"): False}


def errors(count: int, methods: tuple[str, ...] = ("first",)) -> tuple[WrongPrediction, ...]:
    return tuple(
        WrongPrediction(key=f"k{n}", pair="pair-1", source=f"sid-{n % 6}", target="sid-0", kind=FALSE, methods=methods)
        for n in range(count)
    )


def test_the_sample_is_random_repeatable_and_in_document_order() -> None:
    every = errors(6)
    assert drawn(every, 3, CORPUS, 1) == drawn(every, 3, CORPUS, 1)
    assert len({tuple(drawn(every, 3, CORPUS, seed)) for seed in range(20)}) > 5
    assert drawn(random.Random(1).sample(every, 6), 9, CORPUS, 1) == list(every)


def coded(*said: str, coding: Coding, missing: int = 0) -> list[Code]:
    """One string per coder with one letter per error: the first letter of a pattern."""
    names = {one.name[0]: one.name for one in coding.patterns}
    codes = [
        Code(key=error.key, coder=f"coder-{number}", pattern=names[letter])
        for number, letters in enumerate(said, start=1)
        for error, letter in zip(coding.errors, letters, strict=True)
    ]
    return codes[: len(codes) - missing]


@pytest.fixture
def coding() -> Coding:
    return Coding(patterns=patterns_in(["x: one thing", "y", "z"]), found=20, errors=errors(8, ("first", "second")))


def test_shares_and_agreement(coding: Coding) -> None:
    result = summarise(coding, coded("xxxyyyzz", "xxxyyzzx", coding=coding, missing=1), 2)
    assert (result.found, result.coded, result.incomplete, result.coders) == (20, 7, 1, ("coder-1", "coder-2"))
    first, second = result.rows
    assert (first.method, second.method, first.errors) == ("first", "second", 7)
    assert first.shares == {"x": pytest.approx(6 / 14), "y": pytest.approx(5 / 14), "z": pytest.approx(3 / 14)}
    assert first.agreed == {"x": 3, "y": 2, "z": 1}
    # By hand: one of 7 differs; the chance agreement of the two is (9 + 6 + 2) / 49.
    chance = (3 * 3 + 3 * 2 + 1 * 2) / 49
    assert result.kappa == pytest.approx((6 / 7 - chance) / (1 - chance))
    assert result.observed == pytest.approx(6 / 7)
    # alpha = 1 - (n - 1) * observed unlike / (n^2 - sum of squares), with n = 14 codes: 6, 5 and 3 of a pattern.
    assert result.alpha.value == pytest.approx(1 - 13 * 2 / (14**2 - 6**2 - 5**2 - 3**2))
    assert result.alpha.interval is not None
    assert result.by_pattern["x"].value == pytest.approx(1)
    assert result.by_pattern["y"].value == result.by_pattern["y"].value
    assert "kappa 0.78" in agreement_in_words(result)


def test_three_unanimous_coders_agree_fully_and_one_coder_has_no_agreement(coding: Coding) -> None:
    same = summarise(coding, coded("xyzxyzxy", "xyzxyzxy", "xyzxyzxy", coding=coding), 3)
    assert [same.kappa, same.observed, same.alpha.value] == pytest.approx([1, 1, 1])
    alone = summarise(coding, coded("xyzxyzxy", coding=coding), 1)
    assert [alone.kappa, alone.observed, alone.alpha.value] == [None, None, None]
    assert alone.coded == 8
    assert "undefined" in agreement_in_words(alone)
    nobody = summarise(coding, [], 2)
    assert (nobody.coded, nobody.incomplete, nobody.rows) == (0, 8, ())


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["a", "a: again"], "given twice"),
        (["only"], "only pattern"),
        (["a", ": no name"], "has no name"),
        (["a", "b" * 61], "has no name of 1 to 60"),
    ],
)
def test_unusable_patterns_are_refused_in_the_form_too(lines: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        patterns_in(lines)
    with pytest.raises(InputError, match=problem):
        CodingParameters(patterns=tuple(lines))


def test_the_default_patterns_are_usable() -> None:
    assert len(patterns_in([])) == len(PATTERNS)
    assert all(one.meaning for one in patterns_in([]))


@pytest.fixture
def store() -> Store:
    return example_run(get_settings().home / "runs")


def test_a_run_is_coded_once_by_its_clear_labels(store: Store) -> None:
    made = prepare_coding(store, 1000, 2, 13, [])
    links = links_so_far(store)
    groups = by_candidate(store.read_records("judgments.jsonl", Judgment))
    decided = {one.at for one in store.find_records(ADJUDICATIONS, Adjudication)}
    assert made.found == len(made.errors)
    for one in made.errors:
        where = (one.pair, one.source, one.target)
        said = {judgment.label for judgment in groups[where].values()} if where in groups else None
        assert said is None or len(said) == 1 or where in decided
        assert links[where] is (one.kind is MISSED)
    assert {method for one in made.errors for method in one.methods} == {"llm", "retriever"}
    assert prepare_coding(store, 1000, 2, 13, []) == made
    with pytest.raises(InputError, match="most=1000"):
        prepare_coding(store, 10, 2, 13, [])


def test_links_found_only_by_exhaustive_judging_are_missed_by_all_methods(store: Store) -> None:
    shown = {(one.pair, one.source, c.target) for one in store.read_records(POOLS, Pool) for c in one.candidates}
    sample = make_sample(store, find_domain("news"), 2, 13, number=2)
    first = sample.sources[0]
    target = next(str(n) for n in range(8) if (*first.at, str(n)) not in shown)
    judgments = [
        judgment((first.pair, first.source, target), who, link=True, batch=NO_BATCH, method=EXHAUSTIVE)
        for who in (1, 2)
    ]
    store.write_records(EXHAUSTIVE_JUDGMENTS, judgments)
    made = prepare_coding(store, 1000, 2, 13, [])
    (missed,) = (one for one in made.errors if (one.pair, one.source, one.target) == (*first.at, target))
    assert (missed.kind, missed.methods) == (MISSED, ("llm", "retriever"))


def test_a_run_without_judgments_is_refused_before_anything_is_written(store: Store) -> None:
    for name in [name for name in store.folder.names() if name.endswith("judgments.jsonl")]:
        store.folder.remove(name)
    with pytest.raises(InputError, match="no judgments"):
        prepare_coding(store, 10, 2, 13, [])
    assert "coding" not in store.manifest.get("inputs", {})


def test_the_command_and_the_report_show_the_patterns(store: Store) -> None:
    made = prepare_coding(store, 20, 2, 13, ["<b>wrong</b>: x", "other"])
    names = [one.name for one in made.patterns]
    codes = [
        Code(key=one.key, coder=f"coder-{who}", pattern=names[(number * who) % 2])
        for number, one in enumerate(made.errors)
        for who in (1, 2)
    ]
    coder = Annotator(annotator="coder-1", account="ada@example.org", simulated=False)
    keep_codes(store, codes, [coder])
    assert coder in people_of(store)
    summary = coding_summary(store)
    assert called("coding", "show", store.key) == summary.model_dump(mode="json")
    assert "20 of" in " ".join(call("coding", "show", store.key).split())
    write_report(store)
    report = store.read_text("report.html")
    assert "Patterns of wrong predictions" in report
    assert "&lt;b&gt;wrong&lt;/b&gt;" in report
    assert "<b>wrong</b>" not in report
    assert "ada@example.org" not in report
    # The codes of someone who asks to be forgotten stay, under their pseudonym.
    assert forget(store, "ada@example.org") == [CODERS]
    assert coding_summary(store) == summary

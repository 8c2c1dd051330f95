"""LLM scores: votes of several samples, probabilities, and the rankings table that rules cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.evaluation.scores import macro, score_decisions
from abcdlink.linking.cutoffs import cross_fitted
from abcdlink.linking.decisions import VALID, WORST_FIRST, decide_scored, scored_rankings, verdict_of
from abcdlink.linking.records import CutoffRule, Decision, Scoring, Setup
from abcdlink.llm.records import Outcome
from tests.helpers.linking import PAIR, SETUPS, GivenLLM, agreed, approach, asked_keys, numbered_document, said

VOTES = {"scoring": Scoring.VOTES, "samples": 5}
IDS = ("b1", "b2", "b3")
OFFERED = {"a0": IDS}


def votes_for(**counts):
    """Say yes to a target in this many of its first samples."""

    def answer(question, sample):
        keys = asked_keys(question.json_schema)
        target = question.messages[1].content.rpartition("Candidate: [")[2].split("]")[0]
        return said({key: sample < counts.get(target if key == "related" else key, 0) for key in keys})

    return answer


@pytest.mark.parametrize("setup", SETUPS)
def test_the_share_of_votes_is_the_score_and_a_majority_is_a_link(setup):
    llm = GivenLLM(votes_for(b1=3, b3=5, b2=2))
    (decision,) = llm.decide(approach(setup, **VOTES), OFFERED)
    assert decision.scores == pytest.approx({"b1": 0.6, "b2": 0.4, "b3": 1.0})
    assert (decision.targets, decision.unknown, decision.outcome) == (("b1", "b3"), (), Outcome.OK)
    assert {question.stage for question in llm.asked} == {decision.approach}
    assert decision.approach.endswith("-votes5")


def test_half_of_the_votes_is_not_a_link():
    (decision,) = GivenLLM(votes_for(b1=2)).decide(approach(scoring=Scoring.VOTES, samples=4), {"a0": ("b1",)})
    assert (decision.scores, decision.targets) == ({"b1": 0.5}, ())


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("failed", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.FAILED, Outcome.TRUNCATED, Outcome.INVALID])
def test_failed_samples_do_not_vote_and_more_than_half_must_succeed(setup, failed, outcome):
    def answer(question, sample):
        if sample < failed:
            return said(outcome=outcome, detail="why")
        return said(agreed(question.json_schema))

    (decision,) = GivenLLM(answer).decide(approach(setup, **VOTES), OFFERED)
    if failed <= 2:
        assert (decision.outcome, decision.targets, decision.unknown) == (Outcome.OK, IDS, ())
        assert decision.scores == dict.fromkeys(IDS, 1.0)
        assert decision.detail == {0: "", 1: "1 of 5 samples: why", 2: "2 of 5 samples: why"}[failed]
    else:
        assert (decision.outcome, decision.targets, decision.unknown, decision.scores) == (outcome, (), IDS, {})
        assert f"{failed} of 5 samples: why" in decision.detail


def test_ids_missing_from_most_samples_are_retried_and_then_unknown():
    def answer(question, sample):
        asked = question.json_schema["required"]
        missing = {"b2"} if sample < 3 else set()
        known = {key: True for key in asked if key not in missing}
        return said(known, Outcome.MISSING_IDS if missing & set(asked) else Outcome.OK, detail="1 not answered: 'b2'")

    llm = GivenLLM(answer)
    (decision,) = llm.decide(approach(**VOTES), OFFERED)
    assert [question.json_schema["required"] for question in llm.asked] == [["b1", "b2", "b3"], ["b2"]]
    seeds = {(question.seed or llm.settings.llm_seed) + sample for question in llm.asked for sample in range(5)}
    assert len(seeds) == 10
    assert (decision.unknown, decision.outcome) == (("b2",), Outcome.MISSING_IDS)
    assert decision.scores == {"b1": 1.0, "b3": 1.0}


def test_a_repaired_sample_is_reported():
    def answer(question, sample):
        value = agreed(question.json_schema)
        return said(value, Outcome.REPAIRED if sample == 2 else Outcome.OK)

    (decision,) = GivenLLM(answer).decide(approach(**VOTES), OFFERED)
    assert (decision.outcome, decision.unknown) == (Outcome.REPAIRED, ())


@pytest.mark.parametrize("setup", SETUPS)
def test_probabilities_are_the_scores_whatever_the_answer_says(setup):
    told = {"b1": 0.51, "b2": 0.49, "b3": 0.5}

    def answer(question, sample):
        keys = asked_keys(question.json_schema)
        target = question.messages[1].content.rpartition("Candidate: [")[2].split("]")[0]
        assert question.probabilities
        return said(dict.fromkeys(keys, False), probabilities={k: told[target if k == "related" else k] for k in keys})

    (decision,) = GivenLLM(answer).decide(approach(setup, scoring=Scoring.PROBABILITY), OFFERED)
    assert decision.scores == told
    assert (decision.targets, decision.unknown, decision.outcome) == (("b1",), (), Outcome.OK)


@pytest.mark.parametrize("setup", SETUPS)
def test_an_answer_without_its_probability_is_retried_and_then_unknown(setup):
    def answer(question, sample):
        keys = asked_keys(question.json_schema)
        return said(dict.fromkeys(keys, True), probabilities={"b1": 0.9} if "b1" in keys else {})

    llm = GivenLLM(answer)
    (decision,) = llm.decide(approach(setup, scoring=Scoring.PROBABILITY), OFFERED)
    assert decision.outcome is Outcome.MISSING_IDS
    if setup is Setup.PAIRWISE:
        assert (decision.targets, decision.unknown) == ((), IDS)
        assert decision.detail == "3 of 3 questions: no score for 'b1'"
    else:
        assert decision.detail == "no score for 'b2', 'b3'"
        assert (decision.targets, decision.unknown) == (("b1",), ("b2", "b3"))
        assert asked_keys(llm.asked[1].json_schema) == ["b2", "b3"]


def test_plain_answers_are_requested_without_probabilities_and_have_no_scores():
    llm = GivenLLM(votes_for(b1=1))
    (decision,) = llm.decide(approach(), OFFERED)
    assert (decision.targets, decision.scores) == (("b1",), {})
    assert not any(question.probabilities for question in llm.asked)


samples = st.lists(
    st.tuples(st.sampled_from(Outcome), st.dictionaries(st.sampled_from(IDS), st.sampled_from([0.0, 1.0]))),
    min_size=1,
    max_size=5,
)


@given(samples)
def test_an_answered_question_knows_every_id_and_a_minority_decides_none(given_samples):
    # The client's promise: an answered question has all ids, an unanswered one none.
    whole = [
        dict.fromkeys(IDS, 1.0) if outcome.answered else scores if outcome in (*VALID, Outcome.INVALID) else {}
        for outcome, scores in given_samples
    ]
    verdict = verdict_of(IDS, [said(outcome=outcome) for outcome, _ in given_samples], whole)
    for target in IDS:
        votes = [scores[target] for scores in whole if target in scores]
        assert (target in verdict.scores) == (len(votes) > len(given_samples) / 2)
        if target in verdict.scores:
            assert verdict.scores[target] == pytest.approx(np.mean(votes))
    if verdict.outcome.answered:
        assert set(verdict.scores) == set(IDS)


def test_every_outcome_has_a_rank():
    assert sorted(WORST_FIRST) == sorted(Outcome)


def decided(source, scores, unknown=(), outcome=Outcome.OK):
    return Decision(
        approach="x-votes5",
        pair=PAIR.id,
        source=source,
        targets=tuple(t for t, s in scores.items() if s > 0.5),
        offered=(*scores, *unknown),
        unknown=tuple(unknown),
        scores=scores,
        outcome=outcome,
    )


DECISIONS = [
    decided("a1", {"b3": 0.2, "b1": 0.8, "b2": 0.8, "b0": 0.2}),
    decided("a0", {"b5": 0.6}, unknown=("b4",), outcome=Outcome.MISSING_IDS),
    decided("a2", {}, unknown=("b1", "b2"), outcome=Outcome.REFUSED),
    decided("a3", {}),
]


def test_scores_become_a_rankings_table_without_rows_for_unknown_ids():
    table = scored_rankings(DECISIONS)
    assert [tuple(row) for row in table.itertuples(index=False)] == [
        ("p", "a1", "b1", 0.8, 1),
        ("p", "a1", "b2", 0.8, 2),  # ties keep the offered order
        ("p", "a1", "b3", 0.2, 3),
        ("p", "a1", "b0", 0.2, 4),
        ("p", "a0", "b5", 0.6, 1),
    ]
    assert {name: str(kind) for name, kind in table.dtypes.items()} == {
        "pair": "category",
        "source": "category",
        "target": "category",
        "score": "float64",
        "rank": "int32",
    }


def test_rounding_differences_are_ties_as_in_every_ranking():
    table = scored_rankings([decided("a1", {"b2": 0.3, "b1": 0.1 + 0.2})])
    assert table["target"].tolist() == ["b2", "b1"]


def test_no_decisions_give_an_empty_table():
    assert len(scored_rankings([])) == len(scored_rankings(DECISIONS[2:])) == 0


def test_decisions_without_scores_cannot_be_ranked():
    plain = Decision(approach="llm-only-4", pair="p", source="a0", targets=("b1",), offered=("b1", "b2"))
    with pytest.raises(InputError, match="llm-only-4 has no scores for the source 'a0'"):
        scored_rankings([plain])


def test_a_rule_changes_the_links_and_nothing_else():
    rule = approach(rule=CutoffRule.THRESHOLD, **VOTES)
    table = scored_rankings(DECISIONS)
    again = decide_scored(rule, DECISIONS, table, (table["rank"] != 2).to_numpy())
    assert [d.targets for d in again] == [("b1", "b3", "b0"), ("b5",), (), ()]
    same = {"approach": rule.name, "targets": ()}
    assert [d.model_copy(update=same) for d in again] == [d.model_copy(update=same) for d in DECISIONS]
    assert {d.approach for d in again} == {"bm25@3+llm-listwise-4-votes5@threshold"}


def test_a_rule_can_be_fitted_on_scores_even_with_unknown_sources():
    size = range(8)
    documents = {f"{end}{i}": numbered_document(f"{end}{i}-", 3) for end in "ab" for i in size}
    documents = {name: one.model_copy(update={"id": name}) for name, one in documents.items()}
    pairs = [Pair(id=f"p{i}", source=f"a{i}", target=f"b{i}", links={f"a{i}-0": (f"b{i}-1",)}) for i in size]
    corpus = Corpus(name="c", documents=documents, pairs=pairs)
    failed = {(i, 2) for i in size} | {(7, 0)}  # the last one is a source with links
    # The LLM is too cautious: links score 0.4 and all else 0.2, so that a threshold of one half finds nothing.
    decisions = [
        Decision(
            approach="bm25@3+llm-listwise-4-votes5",
            pair=f"p{i}",
            source=f"a{i}-{source}",
            targets=(),
            offered=(f"b{i}-0", f"b{i}-1"),
            unknown=(f"b{i}-0", f"b{i}-1") if (i, source) in failed else (),
            scores={} if (i, source) in failed else {f"b{i}-0": 0.2, f"b{i}-1": 0.4 if source == 0 else 0.2},
            outcome=Outcome.FAILED if (i, source) in failed else Outcome.OK,
        )
        for i in size
        for source in range(3)
    ]
    rule = approach(rule=CutoffRule.THRESHOLD, **VOTES)
    table = scored_rankings(decisions)
    folds = {f"p{i}": i % 2 for i in size}
    again = decide_scored(rule, decisions, table, cross_fitted(CutoffRule.THRESHOLD, table, corpus, folds).chosen)
    scores = macro(score_decisions(corpus, again))
    assert (scores.f1, scores.answered) == (1.0, 7)
    assert macro(score_decisions(corpus, decisions)).f1 == 0
    assert not any(d.targets for d in again if not d.source.endswith("-0"))
    assert all(
        d.unknown and d.outcome is Outcome.FAILED for d in again if (d.source.endswith("-2") or d.source == "a7-0")
    )

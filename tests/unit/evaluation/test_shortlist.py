"""The shortlist: the best of each of two kinds unless a cheaper one is as good, with reasons in numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.evaluation.results import ApproachResult
from abcdlink.evaluation.shortlist import (
    Lengths,
    Shortlist,
    ShortlistRule,
    choose_cutoff,
    mean_target_sentences,
    shortlist,
)
from abcdlink.linking.records import Approach, ApproachKind, Decision
from tests.helpers.scripted import scripted_document

SOURCES = 100
NOISE = np.random.default_rng(8).normal(0, 0.05, SOURCES)
ALL_SOURCES = {"precision": 0.5, "recall": 0.5, "f1": 0.5, "false_link_rate": 0.5, "sources": 300, "answered": 300}
SAME = Lengths(benchmark=20, annotated=20)


def result(kind, cutoff, f1, retriever="bm25", answered=SOURCES, cost=1.0, recall=0.5, **more):
    approach = Approach(kind=kind, retriever=retriever, cutoff=cutoff, prompt_mode=4 if kind == "llm" else None)
    scores = {"precision": f1, "recall": recall, "f1": f1, "sources": SOURCES, "answered": answered}
    # 50 pairs: the seconds per 1,000 pairs are the given cost.
    return ApproachResult(approach=approach, **scores, all_sources=ALL_SOURCES, seconds=cost / 20, pairs=50, **more)


def table(results):
    """Return per-source scores with the means of the results; every other approach is noisy."""
    frames = []
    for place, r in enumerate(results):
        answered = np.arange(SOURCES) < r.answered
        noise = NOISE * (place % 2)
        f1 = np.full(SOURCES, r.f1) + noise - noise.mean()
        frame = {"approach": r.approach.name, "pair": [f"p{n // 4}" for n in range(SOURCES)], "f1": f1}
        frames.append(pd.DataFrame({**frame, "source": [str(n) for n in range(SOURCES)], "answered": answered}))
    return pd.concat(frames, ignore_index=True)


def nothing(approach):
    """Nobody decides anything, so that no two approaches decide the same."""
    return ()


def choose(*results, rule=None, lengths=SAME, decided=nothing):
    return shortlist(results, table(results), rule or ShortlistRule(), lengths, decided)


LLM = result("llm", 7, 0.8, cost=9000)


def test_the_best_of_each_kind_is_taken_even_if_one_kind_is_always_better():
    chosen = choose(LLM, result("llm", 5, 0.7), result("retriever", 1, 0.4), result("retriever", 3, 0.5))
    assert (chosen.first.name, chosen.second.name) == ("bm25@3", "bm25@7+llm-listwise-4")
    text = " ".join(chosen.reasons)
    assert "bm25@3 has the highest mean F1 of 2 retriever approaches: 50.0%" in text
    assert "clearly better than the others" in text
    assert "bm25@1, 10.0 points lower (" in text
    assert Shortlist.model_validate_json(chosen.model_dump_json()) == chosen


def test_a_cheaper_approach_not_significantly_worse_is_taken():
    best, cheap = result("retriever", 3, 0.5, "hybrid", cost=120), result("retriever", 3, 0.495, cost=2)
    chosen = choose(best, cheap, LLM)
    assert chosen.first.name == "bm25@3"
    text = " ".join(chosen.reasons)
    assert "Not clearly worse than hybrid@3 (95 % interval of the difference in F1, resampled by source)" in text
    assert "bm25@3, 0.5 points lower (-0." in text
    assert "bm25@3 was chosen instead, because it costs less: 2 seconds per 1,000 pairs, hybrid@3 120 seconds" in text


def test_cost_does_not_matter_on_few_sources():
    few = [
        result("retriever", 3, f1, name, cost=cost).model_copy(update={"sources": 49, "answered": 49})
        for f1, name, cost in ((0.5, "hybrid", 120), (0.495, "bm25", 2))
    ]
    chosen = choose(*few, LLM)
    assert chosen.first.name == "hybrid@3"
    assert any("bm25@3 costs less, but 49 source sentences are too few" in reason for reason in chosen.reasons)


def test_at_costs_within_a_tenth_the_better_approach_is_taken():
    best, other = result("retriever", 3, 0.5, "hybrid", cost=105), result("retriever", 3, 0.495, cost=100)
    chosen = choose(best, other, LLM)
    assert chosen.first.name == "hybrid@3"
    assert any("None of these costs clearly less than hybrid@3: 105 seconds" in reason for reason in chosen.reasons)
    cheap = result("retriever", 3, 0.495, "jaccard", cost=90)
    assert choose(best, cheap, LLM).first.name == "jaccard@3"


def test_the_bootstrap_uses_the_unit_of_the_rule():
    """Sources of one pair are correlated: the difference is significant by source but not by pair."""
    best, cheap = result("retriever", 3, 0.5, "hybrid", cost=120), result("retriever", 3, 0.47, cost=2)
    scores = table([best, cheap, LLM])
    swing = np.repeat(np.where(np.arange(SOURCES // 4) % 2, 0.1, -0.1), 4)
    scores.loc[scores["approach"] == "bm25@3", "f1"] = 0.47 + swing + 0.1 / 25
    rules = [ShortlistRule(by=by) for by in ("source", "pair")]
    names = {rule.by: shortlist([best, cheap, LLM], scores, rule, SAME, nothing).first.name for rule in rules}
    assert names == {"source": "hybrid@3", "pair": "bm25@3"}


def test_an_approach_does_not_win_by_answering_only_the_easy_sources():
    chosen = choose(result("retriever", 3, 0.5), result("llm", 7, 0.9, answered=10), result("llm", 5, 0.6))
    assert chosen.second.cutoff == 5


def test_unanswered_sources_are_reported():
    chosen = choose(result("retriever", 3, 0.5), result("llm", 7, 0.9, answered=98))
    assert any("did not answer 2 source(s)" in reason for reason in chosen.reasons)


def test_ties_go_to_the_smaller_cutoff_then_the_first_name():
    equals = [result("retriever", 5, 0.5), result("retriever", 3, 0.5, "hybrid"), result("retriever", 3, 0.5)]
    for results in (equals, equals[::-1]):
        assert choose(*results, LLM).first.name == "bm25@3"


def test_the_rule_names_the_kinds_and_their_order():
    results = [LLM, result("retriever", 3, 0.5), result("learned", 3, 0.6, "learned-logistic", fitted="fitted on x")]
    rule = ShortlistRule(kinds=(ApproachKind.LLM, ApproachKind.LEARNED))
    chosen = choose(*results, rule=rule)
    assert (chosen.first.kind, chosen.second.name, chosen.rule) == ("llm", "learned-logistic@3", rule)
    assert "learned-logistic@3 was fitted on x." in chosen.reasons
    assert chosen.labels == {"llm": chosen.first, "learned": chosen.second}


RETRIEVERS = [
    result("retriever", 3, 0.5),
    result("retriever", 5, 0.49),
    result("retriever", 3, 0.4, "hybrid"),
    result("retriever", 5, 0.45, "hybrid"),
]
TWO_RETRIEVERS = ShortlistRule(kinds=(ApproachKind.RETRIEVER, ApproachKind.RETRIEVER))


def test_the_second_retriever_is_not_another_cutoff_of_the_first():
    chosen = choose(*RETRIEVERS, LLM, rule=TWO_RETRIEVERS)
    assert [a.name for a in chosen.approaches] == ["bm25@3", "hybrid@5"]
    assert list(chosen.labels) == ["bm25@3", "hybrid@5"]
    text = " ".join(chosen.reasons)
    assert "hybrid@5 has the highest mean F1 of 2 retriever approaches" in text
    assert "Left out: 2 that only cut the ranking or answers of bm25@3 elsewhere." in text
    assert Shortlist.model_validate_json(chosen.model_dump_json()) == chosen


def decides(**targets):
    """Return what approaches decide: the targets of their retriever, cut at their cutoff."""

    def decided(approach):
        found = targets[approach.retriever][: approach.k]
        return [Decision(approach=approach.name, pair="p", source=source, targets=tuple(found)) for source in "st"]

    return decided


MANY = [*RETRIEVERS, result("retriever", 3, 0.3, "minilm"), result("retriever", 1, 0.2, "minilm")]


def test_the_second_retriever_does_not_propose_nearly_what_the_first_does():
    near = decides(bm25="abcdefg", hybrid="abchgfe", minilm="axyzuvw")
    chosen = choose(*MANY, LLM, rule=TWO_RETRIEVERS, decided=near)
    assert [a.name for a in chosen.approaches] == ["bm25@3", "minilm@3"]
    assert (
        "Left out: 2 that decide nearly the same as bm25@3 (over two thirds of the links of either are of both): "
        "hybrid@3 100%." in chosen.reasons
    )
    two_of_four = decides(bm25="abcdefg", hybrid="abxyzuv", minilm="axyzuvw")
    assert choose(*MANY, LLM, rule=TWO_RETRIEVERS, decided=two_of_four).second.name == "hybrid@5"
    named = ShortlistRule(approaches=("bm25@3", "hybrid@5"))
    assert choose(*MANY, LLM, rule=named, decided=near).second.name == "hybrid@5"


def test_where_all_retrievers_propose_nearly_the_same_the_best_is_taken_with_a_warning():
    same = decides(bm25="abcdefg", hybrid="abcdefg", minilm="abcdefg")
    chosen = choose(*MANY, LLM, rule=TWO_RETRIEVERS, decided=same)
    assert [a.name for a in chosen.approaches] == ["bm25@3", "hybrid@5"]
    said = "All others decide nearly the same as bm25@3 (over two thirds of the links of either are of both): "
    assert f"{said}hybrid@3 100%, minilm@3 100%. So most judgments will not tell the two apart." in chosen.reasons


def test_a_retriever_and_an_llm_go_together_whatever_they_decide():
    same = decides(bm25="abc", hybrid="abc")
    assert choose(*RETRIEVERS, LLM, decided=same) == choose(*RETRIEVERS, LLM)


def test_a_recall_target_keeps_the_two_distinct():
    lengths = Lengths(benchmark=20, annotated=40)
    rule = TWO_RETRIEVERS.model_copy(update={"recall_target": 0.4})
    chosen = choose(*RETRIEVERS, rule=rule, lengths=lengths)
    assert [a.name for a in chosen.approaches] == ["bm25@6", "hybrid@6"]


def test_two_set_ups_of_an_llm_and_two_learned_linkers_can_be_compared():
    votes = result("llm", 7, 0.6)
    votes = votes.model_copy(update={"approach": votes.approach.model_copy(update={"prompt_mode": 1})})
    deeper = result("llm", 9, 0.79, cost=9000)
    chosen = choose(LLM, deeper, votes, rule=ShortlistRule(kinds=(ApproachKind.LLM, ApproachKind.LLM)))
    assert list(chosen.labels) == ["bm25@7+llm-listwise-4", "bm25@7+llm-listwise-1"]
    learned = [result("learned", 3, f1, name) for name, f1 in (("learned-logistic", 0.6), ("learned-boosting", 0.5))]
    chosen = choose(*learned, rule=ShortlistRule(kinds=(ApproachKind.LEARNED, ApproachKind.LEARNED)))
    assert list(chosen.labels) == ["learned-logistic@3", "learned-boosting@3"]


def test_one_retriever_at_several_cutoffs_does_not_make_two():
    with pytest.raises(InputError, match="no second retriever approach beside bm25@3"):
        choose(*RETRIEVERS[:2], LLM, rule=TWO_RETRIEVERS)


def test_one_kind_makes_a_shortlist_of_one():
    chosen = choose(*RETRIEVERS, LLM, rule=ShortlistRule(kinds=(ApproachKind.LLM,)))
    assert (chosen.approaches, chosen.second) == ((LLM.approach,), None)
    assert chosen.labels == {"llm": LLM.approach}


def test_named_approaches_are_taken_unchanged_and_in_order():
    fitted = result("learned", "expected-f1", 0.6, "learned-logistic", fitted="fitted on the other folds")
    rule = ShortlistRule(approaches=("learned-logistic@expected-f1", "hybrid@3"))
    chosen = choose(*RETRIEVERS, LLM, fitted, rule=rule, lengths=Lengths(benchmark=20, annotated=400))
    assert tuple(a.name for a in chosen.approaches) == rule.approaches
    assert list(chosen.labels) == ["learned", "retriever"]
    assert "hybrid@3 was named. Its mean F1 is 40.0% (" in " ".join(chosen.reasons)
    assert "learned-logistic@expected-f1 was fitted on the other folds." in chosen.reasons


def test_an_unknown_name_is_an_error_with_suggestions():
    with pytest.raises(InputError, match="the benchmark has no approach 'hybrid@4'") as refused:
        choose(*RETRIEVERS, LLM, rule=ShortlistRule(approaches=("bm25@3", "hybrid@4")))
    assert "hybrid@3" in refused.value.hint


def test_two_names_for_one_ranking_are_refused():
    with pytest.raises(InputError, match="bm25@3 and bm25@5 cut the same ranking"):
        choose(*RETRIEVERS, rule=ShortlistRule(approaches=("bm25@3", "bm25@5")))
    deeper = result("llm", 9, 0.79)
    chosen = choose(LLM, deeper, rule=ShortlistRule(approaches=(LLM.approach.name, deeper.approach.name)))
    assert len(chosen.labels) == 2  # an LLM offered more candidates decides again


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"approaches": ("bm25@3", "bm25@3")}, "names bm25@3 twice"),
        ({"approaches": ("a", "b", "c")}, "3 approaches are named"),
        ({"kinds": (ApproachKind.LLM,) * 3}, "3 kinds are named"),
        ({"approaches": ("bm25@3",), "kinds": (ApproachKind.LLM,)}, "kinds or a recall target as well"),
        ({"approaches": ("bm25@3",), "recall_target": 0.9}, "kinds or a recall target as well"),
    ],
)
def test_contradictory_rules_are_refused(fields, problem):
    with pytest.raises(InputError, match=problem):
        ShortlistRule(**fields)


def test_a_rule_stored_with_nulls_can_be_read():
    assert ShortlistRule.model_validate({"approaches": None, "kinds": None}) == ShortlistRule()


@pytest.mark.parametrize("kind", ["retriever", "llm"])
def test_one_kind_alone_is_an_error(kind):
    with pytest.raises(InputError, match="has no"):
        choose(result(kind, 3, 0.5))


def test_fitted_cutoffs_are_taken_only_where_the_rule_allows_it():
    fixed, fitted = result("retriever", 3, 0.5), result("retriever", "expected-f1", 0.6)
    chosen = choose(fixed, fitted, LLM)
    assert chosen.first.name == "bm25@3"
    assert any("Left out: 1 with a fitted cutoff" in reason for reason in chosen.reasons)
    allowed = ShortlistRule(fitted_cutoffs=True, recall_target=0.9)
    assert choose(fixed, fitted, LLM, rule=allowed).first.name == "bm25@expected-f1"
    with pytest.raises(InputError, match="every retriever approach of the benchmark has a fitted cutoff"):
        choose(fitted, LLM)


RECALLS = [result("retriever", k, 0.5, recall=recall) for k, recall in ((1, 0.3), (3, 0.62), (5, 0.81), (7, 0.93))]
BM25 = RECALLS[1].approach


def cutoff(target, annotated=20, approach=BM25):
    found, reasons = choose_cutoff(approach, RECALLS, target, Lengths(benchmark=20, annotated=annotated))
    return found.cutoff, " ".join(reasons)


@pytest.mark.parametrize(("target", "expected"), [(0, 3), (0.25, 1), (0.62, 3), (0.63, 5), (0.9, 7), (0.95, 7)])
def test_the_cutoff_is_the_smallest_that_reaches_the_recall_target(target, expected):
    assert cutoff(target)[0] == expected


@pytest.mark.parametrize(("annotated", "expected"), [(10, 5), (20, 5), (21, 6), (30, 8), (40, 10), (400, 10)])
def test_longer_documents_at_most_double_the_cutoff(annotated, expected):
    assert cutoff(0.8, annotated)[0] == expected


def test_without_a_recall_target_longer_documents_change_nothing():
    assert cutoff(0, annotated=400)[0] == 3


def test_the_cutoff_is_explained():
    _, said = cutoff(0.8, annotated=30)
    for words in ("recall target of 80.0%", "bm25 at 5 is 81.0%", "30.0 target sentences", "20.0", "becomes 8"):
        assert words in said
    assert "none reaches the recall target of 95.0%: recall of bm25 at 7 is 93.0%" in cutoff(0.95)[1]


def test_an_llm_gets_enough_candidates_for_its_retrievers_recall_target():
    assert cutoff(0.8, approach=LLM.approach)[0] == 5
    other = Approach(kind="llm", retriever="hybrid", cutoff=7, prompt_mode=4)
    found, said = cutoff(0.8, approach=other)
    assert found == 7
    assert "the recall of hybrid was not benchmarked" in said
    alone = Approach(kind="llm", prompt_mode=4, setup="llm-only")
    assert cutoff(0.8, approach=alone) == (
        None,
        "llm-only-4 has no fixed cutoff, so a recall target does not apply.",
    )


def test_document_length_is_measured_on_the_targets_of_pairs():
    documents = {
        "a": scripted_document("a", "x" * 9),
        "b": scripted_document("b", "x" * 4),
        "c": scripted_document("c", "x" * 2),
    }
    pairs = [Pair(id=str(n), source="a", target=target) for n, target in enumerate("bbc")]
    corpus = Corpus(name="c", documents=documents, pairs=pairs)
    assert mean_target_sentences(corpus) == pytest.approx(10 / 3)
    with pytest.raises(InputError, match="has no pairs"):
        mean_target_sentences(corpus.first_pairs(0))

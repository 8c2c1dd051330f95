"""Scores against plain loops on random corpora, and their corner cases."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import PROPERTY, Scripted, document, scripted_corpora

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.evaluation import all_sources, macro, macro_by_cutoff, score_decisions, score_ranking
from abcdlink.linking.records import Approach, ApproachKind, Decision
from abcdlink.linking.top_k import decide_top_k
from abcdlink.llm.records import Outcome
from abcdlink.retrieval import rank_corpus

CUTOFFS = (1, 2, 3, 20)
MEASURES = ["precision", "recall", "f1"]


def measures(hits, shown, gold):
    precision, recall = (hits / shown if shown else 0.0), hits / gold
    return precision, recall, (2 * precision * recall / (precision + recall) if hits else 0.0)


def by_hand(corpus, scores, definition):
    for k in CUTOFFS:
        for pair in corpus.pairs:
            for source, gold in pair.sources_with_links.items():
                row = scores[pair.source, pair.target][int(source[1:])]
                top = [f"s{j}" for j in sorted(range(len(row)), key=lambda j: -round(row[j], 6))][:k]
                shown = len(top) if definition == "paper" else k
                yield (pair.id, source, k, *measures(len(set(top) & set(gold)), shown, len(gold)))


@PROPERTY
@given(scripted_corpora(), st.sampled_from(["paper", "common"]))
def test_ranking_scores_equal_plain_loops(example, definition):
    corpus, scores = example
    table = score_ranking(corpus, rank_corpus(corpus, Scripted(scores)), CUTOFFS, definition)
    expected = pd.DataFrame(by_hand(corpus, scores, definition), columns=["pair", "source", "cutoff", *MEASURES])
    pd.testing.assert_frame_equal(table, expected.astype(table.dtypes.to_dict()))


@PROPERTY
@given(scripted_corpora(), st.randoms(use_true_random=False))
def test_the_order_of_pairs_and_of_rows_does_not_change_scores(example, random):
    corpus, scores = example
    before = macro_by_cutoff(score_ranking(corpus, rank_corpus(corpus, Scripted(scores)), CUTOFFS))
    shuffled = corpus.model_copy(update={"pairs": random.sample(corpus.pairs, len(corpus.pairs))})
    rows = rank_corpus(shuffled, Scripted(scores)).sample(frac=1, random_state=random.randrange(99))
    after = macro_by_cutoff(score_ranking(shuffled, rows, CUTOFFS))
    for k in before:
        assert after[k].model_dump() == pytest.approx(before[k].model_dump())


@PROPERTY
@given(scripted_corpora(), st.sampled_from(CUTOFFS))
def test_top_k_decisions_score_as_their_ranking(example, k):
    corpus, scores = example
    rankings = rank_corpus(corpus, Scripted(scores))
    approach = Approach(kind=ApproachKind.RETRIEVER, retriever="scripted", cutoff=k)
    decided = score_decisions(corpus, decide_top_k(approach, rankings))
    pd.testing.assert_frame_equal(decided[MEASURES], score_ranking(corpus, rankings, [k])[MEASURES])
    assert decided["answered"].all()


@PROPERTY
@given(scripted_corpora(), st.data())
def test_all_sources_equals_a_plain_count_of_links(example, data):
    corpus, _ = example
    gold, decided, decisions = set(), set(), []
    for pair in corpus.pairs:
        ids = [s.id for s in corpus.target_of(pair).sentences]
        for sentence in corpus.source_of(pair).sentences:
            targets = data.draw(st.sets(st.sampled_from(ids)))
            gold |= {(pair.id, sentence.id, t) for t in pair.links.get(sentence.id, ())}
            decided |= {(pair.id, sentence.id, t) for t in targets}
            decisions.append(Decision(approach="a", pair=pair.id, source=sentence.id, targets=tuple(targets)))
    scores = all_sources(corpus, decisions)
    hits = len(gold & decided)
    precision, recall = hits / max(1, len(decided)), hits / max(1, len(gold))
    assert (scores.precision, scores.recall) == (precision, recall)
    assert scores.f1 == pytest.approx(2 * precision * recall / (precision + recall) if hits else 0)
    with_links = {(pair, source) for pair, source, _ in gold}
    without = {(d.pair, d.source) for d in decisions} - with_links
    expected = len({(p, s) for p, s, _ in decided} & without) / len(without) if without else None
    assert scores.false_link_rate == expected
    assert scores.sources == scores.answered == len(decisions)


@pytest.fixture
def corpus():
    documents = {"a": document("a", ["1", "2", "3"]), "b": document("b", ["1", "2"])}
    pair = Pair(id="p", source="a", target="b", links={"s0": ("s0",), "s1": ("s0", "s1"), "s2": ()})
    return Corpus(name="c", documents=documents, pairs=[pair])


def decide(source, targets, outcome=Outcome.OK, pair="p"):
    return Decision(approach="x", pair=pair, source=source, targets=targets, outcome=outcome)


def test_nothing_decided_counts_as_zero(corpus):
    scores = macro(score_decisions(corpus, [decide("s0", ("s0",)), decide("s1", ())]))
    assert (scores.f1, scores.sources, scores.answered) == (0.5, 2, 2)


@pytest.mark.parametrize("rest", [[], [decide("s1", (), Outcome.FAILED)], [decide("s1", ("s0",), Outcome.MISSING_IDS)]])
def test_a_source_that_was_not_answered_is_counted_apart(corpus, rest):
    scores = macro(score_decisions(corpus, [decide("s0", ("s0",)), *rest]))
    assert (scores.f1, scores.sources, scores.answered) == (1.0, 2, 1)


def test_nothing_answered_is_zero_and_said(corpus):
    scores = macro(score_decisions(corpus, []))
    assert (scores.f1, scores.sources, scores.answered) == (0.0, 2, 0)


def test_false_links_on_sources_without_links_cost(corpus):
    right = [decide("s0", ("s0",)), decide("s1", ("s0", "s1"))]
    clean, false = (all_sources(corpus, [*right, decide("s2", targets)]) for targets in ((), ("s1",)))
    assert (clean.precision, clean.false_link_rate) == (1.0, 0.0)
    assert (false.precision, false.recall, false.false_link_rate) == (0.75, 1.0, 1.0)


def test_pairs_that_nobody_annotated_are_not_scored(corpus):
    unknown = Pair(id="q", source="b", target="a")
    more = corpus.model_copy(update={"pairs": [*corpus.pairs, unknown]})
    decisions = [decide("s0", ("s0",)), decide("s1", ("s1",), pair="q")]
    assert len(score_decisions(more, decisions)) == 2
    assert all_sources(more, decisions).sources == 3


def test_a_source_with_links_that_was_not_ranked_is_an_error(corpus):
    rankings = rank_corpus(corpus, Scripted({("a", "b"): [[1, 2]] * 3}))
    with pytest.raises(InputError, match=r"lack the source 's1' of the pair 'p'"):
        score_ranking(corpus, rankings[rankings["source"] != "s1"], [1])


@pytest.mark.parametrize("cutoffs", [(), (0, 1)])
def test_cutoffs_begin_at_one(corpus, cutoffs):
    with pytest.raises(InputError, match="cutoffs"):
        score_ranking(corpus, pd.DataFrame(), cutoffs)


def test_decisions_of_two_approaches_or_of_another_corpus_are_an_error(corpus):
    with pytest.raises(InputError, match="two decisions"):
        score_decisions(corpus, [decide("s0", ("s0",)), decide("s0", ())])
    with pytest.raises(InputError, match="'q', which is not in the corpus"):
        all_sources(corpus, [decide("s0", (), pair="q")])


def test_the_mean_over_several_cutoffs_is_refused(corpus):
    table = score_ranking(corpus, rank_corpus(corpus, Scripted({("a", "b"): [[1, 2]] * 3})), [1, 2])
    with pytest.raises(InputError, match="several cutoffs"):
        macro(table)
    assert macro_by_cutoff(table)[2].recall == 1.0

"""Scores against plain loops on random corpora, and corner cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.evaluation.results import ApproachResult, count_outcomes
from abcdlink.evaluation.scores import (
    AllSources,
    all_sources,
    all_sources_by_cutoff,
    all_sources_chosen,
    macro,
    macro_by_cutoff,
    score_chosen,
    score_decisions,
    score_ranking,
)
from abcdlink.linking.decisions import decide_chosen
from abcdlink.linking.records import Approach, ApproachKind, Decision
from abcdlink.llm.records import Outcome
from abcdlink.retrieval import rank_corpus
from tests.helpers.scripted import Scripted, scripted_corpora, scripted_document

CUTOFFS = (1, 2, 3, 20)
MEASURES = ["precision", "recall", "f1"]


def measures(hits, shown, gold):
    precision, recall = (hits / shown if shown else 0.0), hits / gold
    return precision, recall, (2 * precision * recall / (precision + recall) if hits else 0.0)


def sources_with_links(corpus):
    """Yield (pair, source id, its gold targets) in document order."""
    for pair in corpus.pairs:
        for sentence in corpus.source_of(pair).sentences:
            if pair.links.get(sentence.id):
                yield pair, sentence.id, set(pair.links[sentence.id])


def by_hand(corpus, scores, definition):
    for k in CUTOFFS:
        for pair, source, gold in sources_with_links(corpus):
            row = scores[pair.source, pair.target][int(source[1:])]
            top = [f"s{j}" for j in sorted(range(len(row)), key=lambda j: -round(row[j], 6))][:k]
            shown = len(top) if definition == "paper" else k
            yield (pair.id, source, k, *measures(len(set(top) & gold), shown, len(gold)))


@given(scripted_corpora(), st.sampled_from(["paper", "common"]))
def test_ranking_scores_equal_plain_loops(example, definition):
    corpus, scores = example
    table = score_ranking(corpus, rank_corpus(corpus, Scripted(scores)), CUTOFFS, definition)
    expected = pd.DataFrame(by_hand(corpus, scores, definition), columns=["pair", "source", "cutoff", *MEASURES])
    pd.testing.assert_frame_equal(table, expected.astype(table.dtypes.to_dict()))


@st.composite
def masked(draw):
    """Draw a corpus, its rankings in any row order, and which rows are decided links."""
    corpus, scores = draw(scripted_corpora())
    rankings = rank_corpus(corpus, Scripted(scores))
    chosen = np.array(draw(st.lists(st.booleans(), min_size=len(rankings), max_size=len(rankings))), bool)
    order = np.array(draw(st.permutations(range(len(rankings)))), int)
    return corpus, rankings.iloc[order], chosen[order]


def triples(rows):
    return set(rows[["pair", "source", "target"]].astype(str).itertuples(index=False, name=None))


@given(masked())
def test_scores_of_a_mask_equal_plain_loops_over_sets(example):
    corpus, rankings, chosen = example
    decided = triples(rankings[chosen])
    expected = []
    for pair, source, gold in sources_with_links(corpus):
        own = {target for p, s, target in decided if (p, s) == (pair.id, source)}
        expected.append((pair.id, source, *measures(len(own & gold), len(own), len(gold))))
    table = score_chosen(corpus, rankings, chosen)
    expected = pd.DataFrame(expected, columns=["pair", "source", *MEASURES]).astype(table.dtypes.to_dict())
    pd.testing.assert_frame_equal(table, expected)


@given(masked())
def test_all_sources_scores_of_a_mask_equal_those_of_its_decisions(example):
    corpus, rankings, chosen = example
    decided = triples(rankings[chosen])
    decisions = [
        Decision(approach="a", pair=p, source=s, targets=tuple(t for q, r, t in decided if (q, r) == (p, s)))
        for p, s in dict.fromkeys(zip(rankings["pair"], rankings["source"], strict=True))
    ]
    assert all_sources_chosen(corpus, rankings, chosen) == all_sources(corpus, decisions)


@given(scripted_corpora())
def test_all_sources_by_cutoff_take_the_top_ranked_rows(example):
    corpus, scores = example
    rankings = rank_corpus(corpus, Scripted(scores))
    for k, found in all_sources_by_cutoff(corpus, rankings, CUTOFFS).items():
        assert found == all_sources_chosen(corpus, rankings, (rankings["rank"] <= k).to_numpy())


@given(scripted_corpora(), st.randoms(use_true_random=False))
def test_the_order_of_documents_pairs_and_rows_does_not_change_scores(example, random):
    corpus, scores = example
    before = macro_by_cutoff(score_ranking(corpus, rank_corpus(corpus, Scripted(scores)), CUTOFFS))
    documents = dict(random.sample(list(corpus.documents.items()), len(corpus.documents)))
    pairs = random.sample(corpus.pairs, len(corpus.pairs))
    shuffled = corpus.model_copy(update={"pairs": pairs, "documents": documents})
    rows = rank_corpus(shuffled, Scripted(scores)).sample(frac=1, random_state=random.randrange(99))
    after = macro_by_cutoff(score_ranking(shuffled, rows, CUTOFFS))
    for k in before:
        assert after[k].model_dump() == pytest.approx(before[k].model_dump())


@given(scripted_corpora(), st.sampled_from(CUTOFFS))
def test_top_k_decisions_score_like_their_ranking(example, k):
    corpus, scores = example
    rankings = rank_corpus(corpus, Scripted(scores))
    decided = score_decisions(corpus, decide_chosen("scripted@k", rankings, (rankings["rank"] <= k).to_numpy()))
    pd.testing.assert_frame_equal(decided[MEASURES], score_ranking(corpus, rankings, [k])[MEASURES])
    assert decided["answered"].all()


@given(scripted_corpora(), st.data())
def test_all_sources_scores_equal_a_plain_count_of_links(example, data):
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
    documents = {"a": scripted_document("a", ["1", "2", "3"]), "b": scripted_document("b", ["1", "2"])}
    pair = Pair(id="p", source="a", target="b", links={"s0": ("s0",), "s1": ("s0", "s1"), "s2": ()})
    return Corpus(name="c", documents=documents, pairs=[pair])


def decide(source, targets, outcome=Outcome.OK, pair="p"):
    return Decision(approach="x", pair=pair, source=source, targets=targets, outcome=outcome)


def test_a_source_without_decided_links_scores_zero(corpus):
    scores = macro(score_decisions(corpus, [decide("s0", ("s0",)), decide("s1", ())]))
    assert (scores.f1, scores.sources, scores.answered) == (0.5, 2, 2)


@pytest.mark.parametrize("rest", [[], [decide("s1", (), Outcome.FAILED)], [decide("s1", ("s0",), Outcome.MISSING_IDS)]])
def test_an_unanswered_source_is_counted_separately(corpus, rest):
    scores = macro(score_decisions(corpus, [decide("s0", ("s0",)), *rest]))
    assert (scores.f1, scores.sources, scores.answered) == (1.0, 2, 1)


def test_no_answers_at_all_score_zero_and_are_reported(corpus):
    scores = macro(score_decisions(corpus, []))
    assert (scores.f1, scores.sources, scores.answered) == (0.0, 2, 0)


def test_pairs_with_unknown_links_are_not_scored(corpus):
    unknown = Pair(id="q", source="b", target="a")
    more = corpus.model_copy(update={"pairs": [*corpus.pairs, unknown]})
    decisions = [decide("s0", ("s0",)), decide("s1", ("s1",), pair="q")]
    assert len(score_decisions(more, decisions)) == 2
    assert all_sources(more, decisions).sources == 3


def test_an_unranked_source_with_links_is_an_error(corpus):
    rankings = rank_corpus(corpus, Scripted({("a", "b"): [[1, 2]] * 3}))
    with pytest.raises(InputError, match=r"do not contain the source 's1' of the pair 'p'"):
        score_ranking(corpus, rankings[rankings["source"] != "s1"], [1])


def test_all_sources_scores_need_every_source_in_the_rankings(corpus):
    rankings = rank_corpus(corpus, Scripted({("a", "b"): [[1, 2]] * 3}))
    part = rankings[rankings["source"] != "s2"]
    assert len(score_chosen(corpus, part, np.ones(len(part), bool))) == 2
    with pytest.raises(InputError, match=r"do not contain the source 's2' of the pair 'p'"):
        all_sources_chosen(corpus, part, np.ones(len(part), bool))


def test_outcomes_are_counted_by_source_sentence():
    decisions = [decide("s0", ()), decide("s1", (), Outcome.FAILED), decide("s2", ())]
    assert count_outcomes(decisions) == {Outcome.OK: 2, Outcome.FAILED: 1}
    assert count_outcomes([]) == {}


@pytest.mark.parametrize("cutoffs", [(), (0, 1)])
def test_cutoffs_start_at_one(corpus, cutoffs):
    with pytest.raises(InputError, match="cutoffs"):
        score_ranking(corpus, pd.DataFrame(), cutoffs)


def test_decisions_of_two_approaches_or_another_corpus_are_an_error(corpus):
    with pytest.raises(InputError, match="two decisions"):
        score_decisions(corpus, [decide("s0", ("s0",)), decide("s0", ())])
    with pytest.raises(InputError, match="'q', which is not in the corpus"):
        all_sources(corpus, [decide("s0", (), pair="q")])


def test_the_mean_over_several_cutoffs_is_refused(corpus):
    table = score_ranking(corpus, rank_corpus(corpus, Scripted({("a", "b"): [[1, 2]] * 3})), [1, 2])
    with pytest.raises(InputError, match="several cutoffs"):
        macro(table)
    assert macro_by_cutoff(table)[2].recall == 1.0


def test_a_result_of_an_earlier_version_is_read():
    """Its sentences that were truncated are called ``cut``."""
    approach = Approach(kind=ApproachKind.RETRIEVER, retriever="bm25", cutoff=1)
    over_all = AllSources(precision=0, recall=0, f1=0, false_link_rate=None, sources=1, answered=1)
    scores = {"precision": 0, "recall": 0, "f1": 0, "sources": 1, "answered": 1, "seconds": 1, "pairs": 1}
    now = ApproachResult(approach=approach, all_sources=over_all, truncated=3, **scores)
    assert ApproachResult.model_validate_json(now.model_dump_json().replace("truncated", "cut")) == now

"""Target sentences that a run leaves out: never candidates, links to them are misses, and the run keeps its filter."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.candidates.pools import PoolMode
from abcdlink.corpus.io import write_corpus_to
from abcdlink.corpus.records import Corpus, Document, Pair
from abcdlink.domain import Domain, SentenceFilter, domain_of, targets_of
from abcdlink.evaluation.scores import score_ranking
from abcdlink.generation.shape import usable
from abcdlink.judgments import Pool
from abcdlink.layout import NATURAL, POOLS
from abcdlink.linking.decisions import over_kept_targets
from abcdlink.linking.records import Setup
from abcdlink.retrieval import get_retriever, rank_corpus
from abcdlink.stages.batch_preview import preview_batch
from abcdlink.stages.budget import BudgetPlan
from abcdlink.stages.candidates import PoolPlan, run_candidates
from abcdlink.stages.decide import questions_left
from abcdlink.stages.intake import describe_run
from abcdlink.stages.learn import learn_linker
from abcdlink.stages.rank import rank, read_rankings
from abcdlink.stages.shortlist import quick_shortlist
from abcdlink.store import MANIFEST, Store, open_run
from tests.helpers.builders import corpus, document
from tests.helpers.example_run import proposed_run
from tests.helpers.labels import LINKER, fill_for_budget, made, strict
from tests.helpers.linking import approach, asked_keys

HEADINGS = SentenceFilter(exclude=("(?#heading)^Heading",))
TARGET = document("b", ["Heading of the storm", "The storm broke the pier.", "Heading", "Nobody saw it come."])
SOURCE = document("a", ["The storm broke the old pier.", "Nobody in the town saw it come at all."])
PAIR = Pair(id="p", source="a", target="b", links={"0": ("0", "1")})
ONE = corpus([PAIR], SOURCE, TARGET)


@pytest.fixture
def domain(news: Domain) -> Domain:
    """The domain news, leaving headings out."""
    return news.with_settings(targets=HEADINGS)


@pytest.fixture
def store(domain: Domain) -> Store:
    """A run begun with this domain, with one pair."""
    return begun("r", domain, ONE)


def begun(key: str, domain: Domain, taken: Corpus) -> Store:
    store = open_run(key)
    describe_run(store, domain)
    write_corpus_to(store, NATURAL, taken)
    return store


@given(st.lists(st.sampled_from(["Heading", "red fox", "blue fox", "red hen", "hen"]), min_size=1, max_size=8))
def test_kept_targets_are_ranked_as_if_the_others_did_not_exist(texts: list[str]) -> None:
    whole = corpus([PAIR], SOURCE, document("b", texts))
    sentences = whole.documents["b"].sentences
    kept = tuple(one for one in sentences if one.text != "Heading") or sentences
    alone = corpus([PAIR], SOURCE, Document(id="b", sentences=kept))
    found, wanted = (rank_corpus(one, get_retriever("jaccard")) for one in (whole, alone))
    found = over_kept_targets(found, whole, HEADINGS)
    ids = dict.fromkeys(("pair", "source", "target"), str)
    pd.testing.assert_frame_equal(found.astype(ids), wanted.astype(ids))


def test_omitted_targets_are_counted_and_never_candidates(domain: Domain, store: Store) -> None:
    quick_shortlist(store, domain)
    counts = run_candidates(store, domain, PoolPlan(batches=1, mode=PoolMode.SINGLE, distractors=9))
    assert [[one.target for one in pool.candidates] for pool in store.read_records(POOLS, Pool)] == [["1", "3"]] * 2
    assert counts.targets_left_out == preview_batch(store, domain, 1, 2).targets_left_out == {"heading": 2}


def test_a_budget_buys_no_omitted_target(news: Domain) -> None:
    store, natural = open_run("budget"), strict(gold=False)
    natural = natural.model_copy(update={"pairs": natural.pairs[:20]})
    targets = {pair.target for pair in natural.pairs[::2]}
    texts = {name: natural.documents[name].texts for name in targets}
    headed = {name: document(name, [f"Heading {first}", *rest], "t{n}") for name, (first, *rest) in texts.items()}
    documents = {**natural.documents, **headed}
    fill_for_budget(store, news.with_settings(targets=HEADINGS), natural.model_copy(update={"documents": documents}))
    plan = PoolPlan(mode=PoolMode.BUDGET, batches=1, budget=BudgetPlan(judgments=230, audit=0.5))
    counts = run_candidates(store, domain_of(store), plan)
    shown = [(pool.pair, one.target) for pool in store.read_records(POOLS, Pool) for one in pool.candidates]
    assert counts.targets_left_out == {"heading": 10}
    assert len(shown) > 150
    with_heading = {pair.id for pair in natural.pairs if pair.target in targets}
    assert not any(pair in with_heading and target == "t0" for pair, target in shown)


def test_an_llm_is_asked_only_about_kept_targets(domain: Domain, store: Store) -> None:
    rank(store, NATURAL, "bm25")
    for setup in (Setup.LLM_ONLY, Setup.LISTWISE):
        asked = questions_left(store, NATURAL, domain, approach(setup))
        assert [len(asked_keys(question.json_schema)) for question in asked] == [2, 2]


def test_a_gold_link_to_an_omitted_target_is_a_miss(store: Store) -> None:
    rank(store, NATURAL, "bm25")
    rankings = read_rankings(store, NATURAL, "bm25").table
    assert set(rankings["target"]) == {"1", "3"}
    assert sorted(rankings["rank"]) == [1, 1, 2, 2]
    assert score_ranking(ONE, rankings, [2])["recall"].tolist() == [0.5]


def test_a_learned_linker_sees_whole_documents_but_ranks_only_kept_targets(news: Domain) -> None:
    store = begun("learned", news.with_settings(targets=SentenceFilter(exclude=("^A .* in fitted",))), ONE)
    fitted = made("fitted", 12, seed=1)
    first = fitted.pairs[0].target
    documents = {
        **fitted.documents,
        first: document(first, ["Kept words.", *fitted.documents[first].texts[1:]], "t{n}"),
    }
    write_corpus_to(store, "synthetic", fitted.model_copy(update={"documents": documents}))
    rank(store, "synthetic", "jaccard")
    learn_linker(store, LINKER, 3)
    table = read_rankings(store, "synthetic", LINKER).table
    of_first = table[table["pair"] == fitted.pairs[0].id]
    assert set(of_first["target"]) == {"t0"}
    # A document that would lose all its sentences keeps them.
    assert len(table) == 4 + 11 * 4 * 5


def test_a_run_keeps_the_filter_it_began_with(news: Domain, domain: Domain, store: Store) -> None:
    describe_run(store, news)
    assert targets_of(store) == domain_of(store).settings.targets == HEADINGS


def test_a_run_of_an_earlier_version_omits_nothing(news: Domain) -> None:
    store = proposed_run("earlier")
    about = store.manifest
    del about["domain"]["targets"]
    store.write_json(MANIFEST, about)
    describe_run(store, news)
    assert targets_of(store).keeps_all
    assert domain_of(store).settings.targets.keeps_all


def test_nothing_is_written_about_an_omitted_target(domain: Domain) -> None:
    assert usable(TARGET, domain) == [1, 3]

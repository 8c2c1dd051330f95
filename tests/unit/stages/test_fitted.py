"""What a benchmark fits is scored on other folds, kept for the natural pairs, and never used where it was fitted."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from abcdlink.corpus.io import write_corpus_to
from abcdlink.corpus.records import Corpus, Pair, PairKind
from abcdlink.domain import Domain, find_domain
from abcdlink.drops import DropResult
from abcdlink.errors import InputError
from abcdlink.evaluation.shortlist import ShortlistRule
from abcdlink.layout import NATURAL, SHORTLIST, SYNTHETIC, model_file
from abcdlink.linking.fitted import FittedCutoff
from abcdlink.linking.records import ApproachKind, CutoffRule
from abcdlink.stages.benchmark import read_benchmark, run_benchmark
from abcdlink.stages.candidates import PoolPlan, run_candidates
from abcdlink.stages.intake import describe_run, open_drop
from abcdlink.stages.learn import rank_learned
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.rank import rank, read_rankings
from abcdlink.stages.shortlist import errors_of, run_shortlist
from abcdlink.store import Store, open_run
from tests.helpers.builders import document
from tests.helpers.homes import other_home

LEARNED = "learned-logistic:bm25"
"""With a lexical retriever in place of the dense one, so that no model has to be loaded."""
PLAN = BenchmarkPlan(
    retrievers=("jaccard",), learned=(LEARNED,), cutoffs=(1, 2), rules=(CutoffRule.THRESHOLD,), folds=4, llm=None
)
LEARNED_AND_RETRIEVER = ShortlistRule(kinds=(ApproachKind.RETRIEVER, ApproachKind.LEARNED), fitted_cutoffs=True)
WORDS = ("harbour", "bridge", "council", "ferry", "repair", "winter", "market", "school", "engine", "tower", "river")


def corpus_of_kind(kind: PairKind, count: int, seed: int) -> Corpus:
    """Pairs of six sentences per side; the first three of each source repeat words of a target sentence."""
    chooser = random.Random(seed)
    documents, pairs = {}, []
    for number in range(count):
        targets = [" ".join(chooser.sample(WORDS, 5)) + f" {seed}{number}{place}" for place in range(6)]
        linked = chooser.sample(range(6), 3)
        sources = [" ".join(chooser.sample(targets[at].split()[:5], 4)) + f" told {n}" for n, at in enumerate(linked)]
        sources += [" ".join(chooser.sample(WORDS, 3)) + f" new {place} {seed}{number}" for place in range(3)]
        a, b = document(f"{kind}-a{number}", sources), document(f"{kind}-b{number}", targets)
        documents |= {a.id: a, b.id: b}
        links = {str(n): (str(at),) for n, at in enumerate(linked)} if kind is PairKind.SYNTHETIC else None
        pairs.append(Pair(id=f"{kind}-{number}", source=a.id, target=b.id, kind=kind, links=links))
    return Corpus(name=kind.value, documents=documents, pairs=pairs)


@pytest.fixture(scope="module")
def domain() -> Domain:
    return find_domain("news")


def begin(domain: Domain, synthetic_pairs: int = 12) -> Store:
    store = open_run("r")
    describe_run(store, domain)
    write_corpus_to(store, NATURAL, corpus_of_kind(PairKind.NATURAL, 4, 2))
    write_corpus_to(store, SYNTHETIC, corpus_of_kind(PairKind.SYNTHETIC, synthetic_pairs, 1))
    return store


@pytest.fixture(scope="module")
def benchmarked(domain: Domain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a benchmarked run."""
    with other_home(tmp_path_factory.mktemp("benchmarked")) as home:
        run_benchmark(begin(domain), domain, PLAN)
    return home


@pytest.fixture
def store(benchmarked: Path, isolated_home: Path) -> Store:
    """The benchmarked run."""
    shutil.copytree(benchmarked, isolated_home)
    return open_run("r")


def test_fitted_approaches_are_scored_and_say_where_they_were_fitted(store: Store) -> None:
    result = read_benchmark(store)
    by_name = {one.approach.name: one for one in result.approaches}
    assert set(by_name) == {f"{name}@{cutoff}" for name in ("jaccard", LEARNED) for cutoff in ("1", "2", "threshold")}
    fitted = {name for name, one in by_name.items() if "other 3" in one.fitted}
    assert fitted == set(by_name) - {"jaccard@1", "jaccard@2"}
    assert by_name[f"{LEARNED}@1"].f1 > 0.8
    assert result.left_out == ()
    assert {one.b for one in result.against_best} == set(by_name) - {result.against_best[0].a}
    assert set(store.read_table("scores.parquet")["approach"]) == set(by_name)
    cutoffs = {name: FittedCutoff.model_validate(one) for name, one in store.read_json("cutoffs.json").items()}
    assert set(cutoffs) == {"jaccard@threshold", f"{LEARNED}@threshold"}
    assert all(cutoff.fitted_on.corpus == "synthetic" for cutoff in cutoffs.values())


def test_nothing_is_fitted_a_second_time(store: Store, domain: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_benchmark(store)
    store.folder.remove("benchmark.json")
    for name in ("learn", "out_of_fold"):
        monkeypatch.delattr(f"abcdlink.stages.learn.{name}")
    assert run_benchmark(store, domain, PLAN) == first


def test_with_too_few_pairs_fitted_approaches_are_left_out_with_a_note(domain: Domain) -> None:
    store = begin(domain, synthetic_pairs=2)
    result = run_benchmark(store, domain, PLAN)
    assert {one.approach.name for one in result.approaches} == {"jaccard@1", "jaccard@2"}
    assert {refusal.where for refusal in result.left_out} == {LEARNED, "jaccard@threshold"}
    assert all("too few for 3 folds" in refusal.reason for refusal in result.left_out)


def test_a_learned_linker_and_a_fitted_cutoff_propose_candidates(store: Store, domain: Domain) -> None:
    choice = run_shortlist(store, LEARNED_AND_RETRIEVER)
    assert [approach.kind for approach in choice.approaches] == ["retriever", "learned"]
    assert set(choice.fitted) == {a.name for a in choice.approaches if isinstance(a.cutoff, CutoffRule)}
    counts = run_candidates(store, domain, PoolPlan())
    assert counts.methods["both"] + counts.methods.get("learned", 0) + counts.methods.get("retriever", 0) >= 8
    assert set(counts.methods) <= {"retriever", "learned", "both", "random"}
    natural = read_rankings(store, NATURAL, LEARNED).table
    assert natural["score"].between(0, 1).all()


def test_without_an_llm_the_second_approach_is_a_learned_linker(store: Store) -> None:
    choice = run_shortlist(store, ShortlistRule())
    assert (choice.first.kind, choice.second.kind) == ("retriever", "learned")
    assert choice.fitted == {}
    with pytest.raises(InputError, match="with other settings"):
        run_shortlist(store, LEARNED_AND_RETRIEVER)


def test_a_linker_never_ranks_the_pairs_it_was_fitted_on(store: Store) -> None:
    synthetic = corpus_of_kind(PairKind.SYNTHETIC, 12, 1)
    renamed = [
        pair.model_copy(update={"id": f"new-{n}", "kind": PairKind.NATURAL, "links": None})
        for n, pair in enumerate(synthetic.pairs[:3])
    ]
    for name in store.folder.names(f"{NATURAL}/"):
        store.folder.remove(name)
    write_corpus_to(store, NATURAL, synthetic.model_copy(update={"name": "natural", "pairs": renamed}))
    for retriever in ("jaccard", "bm25-stemmed", "bm25"):
        rank(store, NATURAL, retriever)
    with pytest.raises(InputError, match="new-0"):
        rank_learned(store, NATURAL, LEARNED)


def test_a_drop_uses_the_learned_linker(store: Store, domain: Domain) -> None:
    run_shortlist(store, ShortlistRule())
    drop = open_drop(store, DropResult(corpus=corpus_of_kind(PairKind.NATURAL, 2, 5)), domain)
    assert drop.folder.read(model_file(LEARNED)) == store.folder.read(model_file(LEARNED))
    assert run_candidates(drop, domain, PoolPlan(batches=1)).pools > 0
    assert drop.exists(SHORTLIST)


def test_errors_of_a_fitted_approach_match_its_scores(store: Store) -> None:
    result = next(r for r in read_benchmark(store).approaches if r.approach.name == "jaccard@threshold")
    found = errors_of(store, "jaccard@threshold")
    missed = sum(error.kind == "missed link" for error in found.errors)
    links = sum(
        len(targets) for pair in corpus_of_kind(PairKind.SYNTHETIC, 12, 1).pairs for targets in pair.links.values()
    )
    assert result.all_sources.recall == pytest.approx(1 - missed / links)
    with pytest.raises(InputError, match="did not score 'bm25@3'"):
        errors_of(store, "bm25@3")

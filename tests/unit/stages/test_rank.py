"""Ranking a run's corpus in parts: the same table, nothing done twice, costs counted once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from abcdlink import retrieval
from abcdlink.corpus.io import read_corpus_from, write_corpus_to
from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.errors import InputError
from abcdlink.progress import silent
from abcdlink.retrieval import Effort, Retriever, get_retriever, rank_corpus
from abcdlink.stages.rank import PartEffort, Ranker, RankingEffort, RankPlan, rank, read_rankings
from abcdlink.store import Store, open_run
from tests.helpers.example_run import write_synthetic


class Counting(Retriever):
    """Scores by length; records what it was asked to do, and finds what it was warmed with on disk."""

    name = "counting"
    sentences_per_part = 7
    cells_per_part = 130

    def __init__(self, log: list[object], breaks_at: int | None = None) -> None:
        self.log, self.breaks_at, self.truncated_pairs = log, breaks_at, 0

    @property
    def effort(self) -> Effort:
        return Effort(
            truncated=3 + self.truncated_pairs, truncated_pairs=self.truncated_pairs, max_length=64, kept_seconds=2.5
        )

    def warm(self, texts, progress=silent):
        self.log.append(("warm", tuple(progress(texts, "warm"))))

    def prepare(self, documents, progress=silent):
        self.prepared = {document.id: len(documents) for document in progress(documents, "prepare")}
        self.log.append(("prepare", len(documents)))

    def score(self, source, target):
        scored = sum(kind == "score" for kind, _ in self.log)
        if scored == self.breaks_at:
            msg = "the power is gone"
            raise RuntimeError(msg)
        self.log.append(("score", source.id))
        self.truncated_pairs += 2
        lengths = np.array([len(text) for text in target.texts], float)
        return np.tile(lengths, (len(source.sentences), 1)) * self.prepared[source.id]


@pytest.fixture
def store() -> Store:
    """A run with a synthetic corpus of 6 pairs of 8 x 8 sentences."""
    store = open_run("r")
    write_synthetic(store)
    return store


def use(monkeypatch: pytest.MonkeyPatch, **options: int) -> list[tuple[str, object]]:
    log: list[object] = []
    monkeypatch.setattr(retrieval, "get_retriever", lambda _name, _language: Counting(log, **options))
    return log


def follow(store: Store, retriever: str, pairs_per_part: int, sentences_per_part: int | None = None) -> RankPlan:
    """Store a plan with small parts in the run, as if it had begun with other sizes."""
    corpus = read_corpus_from(store, "synthetic")
    ids = [pair.id for pair in corpus.pairs]
    parts = tuple(tuple(ids[start : start + pairs_per_part]) for start in range(0, len(ids), pairs_per_part))
    sentences = len({text for document in corpus.used_documents() for text in document.texts})
    plan = RankPlan(sentences_per_part=sentences_per_part, sentences=sentences, parts=parts)
    store.write_text(f"rankings/synthetic/{retriever}/plan.json", plan.model_dump_json())
    return plan


@pytest.mark.parametrize("retriever", ["bm25", "jaccard"])
@pytest.mark.parametrize("pairs_per_part", [1, 4, 6])
def test_parts_give_the_table_of_the_whole(store: Store, retriever: str, pairs_per_part: int) -> None:
    follow(store, retriever, pairs_per_part)
    rank(store, "synthetic", retriever)
    whole = rank_corpus(read_corpus_from(store, "synthetic"), get_retriever(retriever))
    pd.testing.assert_frame_equal(read_rankings(store, "synthetic", retriever).table, whole)


def test_ids_of_different_pairs_are_categories_in_overall_order() -> None:
    def document_with(name: str, *ids: str) -> Document:
        return Document(id=name, sentences=tuple(Sentence(id=i, text=f"word{i} other") for i in ids))

    documents = [
        document_with("a", "9", "x"),
        document_with("b", "2", "9"),
        document_with("c", "x", "1"),
        document_with("d", "0", "2"),
    ]
    pairs = [Pair(id="p2", source="a", target="b"), Pair(id="p1", source="c", target="d")]
    corpus = Corpus(name="synthetic", documents={d.id: d for d in documents}, pairs=pairs)
    store = open_run("ids")
    write_corpus_to(store, "synthetic", corpus)
    follow(store, "bm25", 1)
    rank(store, "synthetic", "bm25")
    table = read_rankings(store, "synthetic", "bm25").table
    assert list(table["pair"].cat.categories) == ["p2", "p1"]
    pd.testing.assert_frame_equal(table, rank_corpus(corpus, get_retriever("bm25")))


def test_collection_statistics_make_a_part_rank_like_the_whole(store: Store) -> None:
    follow(store, "bm25-stemmed", 1)
    # Another process ranked only the last part.
    Ranker(store, "synthetic", "bm25-stemmed").rank(5)
    rank(store, "synthetic", "bm25-stemmed")
    whole = rank_corpus(read_corpus_from(store, "synthetic"), get_retriever("bm25-stemmed"))
    pd.testing.assert_frame_equal(read_rankings(store, "synthetic", "bm25-stemmed").table, whole)


def test_pairs_are_divided_by_cells_and_every_sentence_is_warmed_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = use(monkeypatch)
    rank(store, "synthetic", "counting")
    plan = RankPlan.model_validate_json(store.read_text("rankings/synthetic/counting/plan.json"))
    assert [len(part) for part in plan.parts] == [2, 2, 2]  # 64 cells a pair, 130 a part
    corpus = read_corpus_from(store, "synthetic")
    assert [pair for part in plan.parts for pair in part] == [pair.id for pair in corpus.pairs]
    warmed = [texts for kind, texts in log if kind == "warm"]
    distinct = {text for document in corpus.documents.values() for text in document.texts}
    assert Counter(text for texts in warmed for text in texts) == Counter(distinct)
    assert [len(texts) for texts in warmed[:-1]] == [7] * (len(warmed) - 1)
    assert [work for work in log if work[0] == "prepare"] == [("prepare", 12)]


def test_a_pair_too_big_for_a_part_is_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    monkeypatch.setattr(Counting, "cells_per_part", 10)
    assert [len(part) for part in Ranker(store, "synthetic", "counting").plan.parts] == [1] * 6


def test_after_an_interruption_only_missing_parts_are_done(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    log = use(monkeypatch, breaks_at=3)
    with pytest.raises(RuntimeError, match="power"):
        rank(store, "synthetic", "counting")
    held = [name for name in store.folder.names("rankings/") if name.endswith(".parquet")]
    assert held == ["rankings/synthetic/counting/part-00000.parquet"]
    with pytest.raises(InputError, match="part-00001") as missing:
        read_rankings(store, "synthetic", "counting")
    assert "'rank'" in missing.value.hint
    log = use(monkeypatch)
    rank(store, "synthetic", "counting")
    assert [source for kind, source in log if kind == "score"] == [f"synthetic-{n}-a" for n in (2, 3, 4, 5)]
    log = use(monkeypatch)
    rank(store, "synthetic", "counting")
    assert log == []


def test_started_parts_keep_their_sizes_in_a_later_version(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    Ranker(store, "synthetic", "counting").rank(0)
    monkeypatch.setattr(Counting, "cells_per_part", 64)
    rank(store, "synthetic", "counting")
    assert len(read_rankings(store, "synthetic", "counting").table) == 6 * 64


def test_only_the_parts_of_the_wanted_pairs_are_read(store: Store) -> None:
    follow(store, "bm25", 2)
    rank(store, "synthetic", "bm25")
    whole = read_rankings(store, "synthetic", "bm25").table
    (Path(store.where()) / "rankings/synthetic/bm25/part-00000.parquet").unlink()
    wanted = ["synthetic-3", "synthetic-4"]
    some = read_rankings(store, "synthetic", "bm25", wanted).table
    expected = whole[whole["pair"].isin(wanted)].astype({"pair": str, "source": str, "target": str})
    actual = some.astype({"pair": str, "source": str, "target": str})
    pd.testing.assert_frame_equal(actual.reset_index(drop=True), expected.reset_index(drop=True))


def test_cut_sentences_count_once_and_cut_pairs_of_sentences_add_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch)
    rank(store, "synthetic", "counting")  # one process: the retriever goes on counting
    effort = read_rankings(store, "synthetic", "counting").effort
    assert (effort.truncated, effort.max_length, effort.kept_seconds) == (3 + 6 * 2, 64, 2.5)


def test_preparation_counts_once_and_cached_parts_at_their_original_cost() -> None:
    def part(prepare: float, score: float, kept: float) -> PartEffort:
        return PartEffort(prepare_seconds=prepare, score_seconds=score, effort=Effort(kept_seconds=kept))

    # The first part embedded everything itself (20 s); the second, in another process, found it on disk.
    effort = RankingEffort.of_parts([part(20.0, 1.0, 0.0), part(0.5, 2.0, 19.0)])
    assert effort.cost == pytest.approx(0.5 + 19.0 + 1.0 + 2.0)
    assert effort.seconds == pytest.approx(0.5 + 1.0 + 2.0)
    # Nothing was on disk.
    assert RankingEffort.of_parts([part(20.0, 1.0, 0.0)]).cost == pytest.approx(21.0)


def test_a_corpus_without_pairs_has_an_empty_table() -> None:
    store = open_run("none")
    write_corpus_to(store, "synthetic", Corpus(name="synthetic", documents={}, pairs=[]))
    rank(store, "synthetic", "bm25")
    assert read_rankings(store, "synthetic", "bm25").table.empty

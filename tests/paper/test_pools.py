"""The pools that people judged in the paper, rebuilt from the released predictions and distractors."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from abcdlink.candidates.pools import PoolResult, PoolRules, Proposals, build_pools, given
from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.records import Corpus
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.domain import SourceFilter, find_domain
from abcdlink.judgment_file import read_judgment_file
from abcdlink.linking.records import Decision
from tests.conftest import SharedData

NEVER_ANNOTATED = "dd0a83852cb35c8d"
"""Prefix of the id of the one pair of documents that has predictions but was not annotated."""

Candidates = set[tuple[str, str, str, str]]
"""Pair, source, target, method."""


@pytest.fixture(scope="module")
def folder(shared_data: SharedData) -> Path:
    return shared_data / "reviews_he"


@pytest.fixture(scope="module")
def corpus(folder: Path) -> Corpus:
    """The documents of the annotated pairs."""
    everything = import_corpus("abcd-link", folder, get_segmenter())
    pairs = [pair for pair in everything.pairs if not pair.id.startswith(NEVER_ANNOTATED)]
    assert len(pairs) == len(everything.pairs) - 1 == 20
    return everything.model_copy(update={"pairs": pairs})


@pytest.fixture(scope="module")
def built(folder: Path, corpus: Corpus) -> PoolResult:
    """Pools of the domain's sizes, even if neither approach proposes anything: people then judged only distractors.

    The released predictions cover the source sentences that passed the filter, so none is filtered here.
    """
    predictions = json.loads((folder / "predictions_reviews.json").read_text(encoding="utf-8"))
    lists = {(pair.id, source): by for pair in corpus.pairs for source, by in predictions[pair.id].items()}

    def decisions(name: str) -> list[Decision]:
        return [
            Decision(approach=name, pair=pair, source=source, targets=tuple(by[name]))
            for (pair, source), by in lists.items()
        ]

    return build_pools(
        corpus,
        [Proposals("llm", decisions("R+LLM")), Proposals("retriever", decisions("Retriever"))],
        PoolRules(sizes=find_domain("reviews").settings.pool, sources=SourceFilter(min_words=1, unproposed=True)),
        given({at: by["Random"] for at, by in lists.items()}),
        "replay",
        {pair.id: 1 for pair in corpus.pairs},
    )


def test_all_judged_candidates_but_one_are_rebuilt_with_their_methods(folder: Path, built: PoolResult) -> None:
    """1022 of the 1023 candidates are rebuilt as they were judged, and no judged candidate is missing.

    The 1023rd is target sentence 83 for source sentence 2 of the first pair: second in the retriever's list,
    so it belongs in the pool, but the released judgments have no row for it.
    """
    with (folder / "annotations.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    judged: Candidates = {
        (row["document_id"], row["source_id"], row["target_id"], {"mutual": "both"}.get(row["method"], row["method"]))
        for row in rows
    }
    candidates: Candidates = {(p.pair, p.source, c.target, c.method) for p in built.pools for c in p.candidates}
    assert (len(rows), len(judged), len(candidates), len(candidates & judged)) == (1022, 1022, 1023, 1022)
    assert candidates - judged == {(rows[0]["document_id"], "2", "83", "retriever")}
    assert Counter(method for *_, method in candidates) == {"llm": 179, "retriever": 179, "both": 175, "random": 490}
    assert built.refused == ()


def test_every_judged_source_has_a_pool_in_document_order(folder: Path, corpus: Corpus, built: PoolResult) -> None:
    judgments = read_judgment_file(folder / "annotations.csv").judgments
    assert {(pool.pair, pool.source) for pool in built.pools} == {(j.pair, j.source) for j in judgments}
    assert len(built.pools) == 245
    pairs = {pair.id: pair for pair in corpus.pairs}
    for pool in built.pools:
        positions = [corpus.target_of(pairs[pool.pair]).position[c.target] for c in pool.candidates]
        assert positions == sorted(positions)

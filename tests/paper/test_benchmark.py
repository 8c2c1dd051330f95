"""The paper's figures on NEWS-ECB+, from the released data to the last printed digit."""

from __future__ import annotations

import json

import pytest

from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.evaluation.scores import macro_by_cutoff, score_ranking
from abcdlink.retrieval import get_retriever, rank_corpus


def cells(corpus, retriever, cutoffs):
    """Return cutoff -> [P, R, F1] in percent with two decimals, as printed."""
    means = macro_by_cutoff(score_ranking(corpus, rank_corpus(corpus, get_retriever(retriever)), cutoffs))
    return {k: [round(100 * x, 2) for x in (s.precision, s.recall, s.f1)] for k, s in means.items()}


def test_all_18_bm25_cells_match_the_paper(news, shared_data):
    tables = json.loads((shared_data / "paper_tables.json").read_text(encoding="utf-8"))
    printed = {int(k): row for k, row in tables["retrieval"]["NEWS-ECB+"]["bm25"].items()}
    assert len(printed) == 6
    assert cells(news, "bm25", sorted(printed)) == printed


def test_the_f1000rd_sample_has_its_bm25_row(shared_data):
    sample = import_corpus("f1000rd", shared_data / "f1000rd_sample", get_segmenter())
    row = [cell[2] for cell in cells(sample, "bm25", (1, 3, 5, 7, 10, 20)).values()]
    assert row == [62.12, 52.42, 36.15, 27.63, 20.43, 12.60]


@pytest.mark.timeout(900)  # 8351 distinct sentences: about 90 s of one core
@pytest.mark.usefixtures("minilm")
def test_minilm_and_the_hybrid_have_their_measured_f1(news):
    minilm = cells(news, "all-minilm-l6-v2", (1, 2, 3))
    assert [minilm[k][2] for k in (1, 2, 3)] == pytest.approx([45.92, 55.25, 52.93], abs=0.011)
    # The second retriever finds every sentence in the store. Its figures move in the second decimal
    # with the set of sentences used for the idf (here those of the 495 documents in pairs).
    hybrid = cells(news, "hybrid", (1, 2, 3))
    assert [hybrid[k][2] for k in (1, 2, 3)] == pytest.approx([47.98, 57.68, 55.24], abs=0.045)

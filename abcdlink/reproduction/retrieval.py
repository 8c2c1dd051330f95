"""The paper's benchmark: retrievers on the data sets with gold links, and the counts of these."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from abcdlink.corpus.counts import count
from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.records import Corpus
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.errors import InputError
from abcdlink.evaluation.scores import macro_by_cutoff, score_ranking
from abcdlink.progress import Progress
from abcdlink.reproduction.records import PaperTable, Triple
from abcdlink.retrieval import RETRIEVERS, Retriever, get_retriever, rank_corpus

FIRST_PAIRS = 60
"""The paper's tables on synthetic pairs used only this many, in file order."""

PAPER_NAMES = {
    "bm25": "bm25",
    "splade": "splade-v3-released",
    "bgem3-sparse": "bge-m3-sparse",
    "sfr": "sfr-mistral-released",
    "all-mpnet": "all-mpnet-base-v2",
    "bgem3-dense": "bge-m3",
    "contriever": "contriever-released",
    "dragon_plus": "dragon-plus-released",
    "bge-reranker": "bge-reranker-v2-m3",
    "ms_marco_minilm": "ms-marco-minilm-l6-v2",
}
"""The paper's name of a retriever -> ours, as the released scripts use it."""


class BenchmarkSet(NamedTuple):
    """A data set: its folders (the first that is there is used) with their formats, and the pairs used.

    ``first_pairs`` is of the first folder, the whole data set; of a part of it all pairs are used.
    """

    folders: Mapping[str, str]
    first_pairs: int | None = None


BENCHMARK_SETS = {
    "NEWS-ECB+": BenchmarkSet({"news_ecb": "abcd-link"}),
    "NEWS-SYNTH": BenchmarkSet({"news_synth": "abcd-link", "news_synth_rest": "abcd-link"}, FIRST_PAIRS),
    "REVIEWS-SYNTH": BenchmarkSet({"reviews_synth": "abcd-link"}, FIRST_PAIRS),
    "REVIEWS-F1000": BenchmarkSet({"f1000rd": "f1000rd", "f1000rd_sample": "f1000rd"}),
}


COUNTED = {
    "links of a linked source": ("links_per_linked_source", 2),
    "links of a linked target": ("links_per_linked_target", 2),
    "share of linked sources": ("linked_source_share", 3),
    "share of linked targets": ("linked_target_share", 3),
}
"""What the paper's Table 1 counts beyond the figures at hand -> our count of it, and decimals."""
PRINTED = {
    "pairs": ("pairs", 0),
    "links": ("links", 0),
    "avg_sents_src": ("source_sentences", 1),
    "avg_sents_tgt": ("target_sentences", 1),
    "avg_links_src": ("linked_sources_per_pair", 2),
    "avg_links_tgt": ("links_per_pair", 2),
}
"""Column of the paper's Table 1 -> our count of it, and the decimals that the paper prints."""


def pairs_used(data: Path, dataset: str, corpus: Corpus) -> Corpus:
    """Return a data set, cut to the pairs of the paper's tables where it is whole."""
    of_set = BENCHMARK_SETS[dataset]
    return corpus.first_pairs(of_set.first_pairs) if (data / next(iter(of_set.folders))).is_dir() else corpus


def load(data: Path, dataset: str) -> Corpus:
    """Read a data set whole; ``InputError`` when none of its folders is there."""
    folders = BENCHMARK_SETS[dataset].folders if dataset in BENCHMARK_SETS else {}
    folder = next((name for name in folders if (data / name).is_dir()), None)
    if folder is None:
        msg = f"no such data: no folder {' or '.join(folders) or 'is known for it'}"
        raise InputError(msg, "get the data from the source that the paper names")
    return import_corpus(folders[folder], data / folder, get_segmenter())


def other_data(corpus: Corpus, counts: Mapping[str, float]) -> str:
    """Say that a corpus has other pairs than the paper's; empty when there are as many."""
    pairs = counts.get("pairs", len(corpus.pairs))
    return "" if pairs == len(corpus.pairs) else f"{len(corpus.pairs)} of {pairs:.0f} pairs"


def compare_counts(place: PaperTable, corpus: Corpus, printed: Mapping[str, float]) -> None:
    """Count what the paper counts."""
    ours = count(corpus)
    for name, paper in printed.items():
        if name in PRINTED:
            field, decimals = PRINTED[name]
            place.compare("", name, getattr(ours, field) or 0, paper, decimals)
        else:
            place.miss(name, "abcdlink does not count it")
    for name, (field, decimals) in {**PRINTED, **COUNTED}.items():
        value = getattr(ours, field)
        if name not in printed and value is not None:
            place.compare("", name, value, None, decimals)


def compare_retriever(
    place: PaperTable, corpus: Corpus, retriever: Retriever, printed: Mapping[int, Triple], progress: Progress
) -> None:
    """Score a retriever at the paper's cutoffs; ``corpus`` is cut to the pairs that the paper used."""
    means = macro_by_cutoff(score_ranking(corpus, rank_corpus(corpus, retriever, progress), list(printed)))
    for cutoff, paper in printed.items():
        scores = means[cutoff]
        for name, ours, theirs in zip("PRF", (scores.precision, scores.recall, scores.f1), paper, strict=True):
            place.compare(retriever.name, f"{'F1' if name == 'F' else name}@{cutoff}", 100 * ours, theirs, 2)


def available(name: str) -> Retriever | str:
    """Return the retriever, or why it is not available.

    ``name``: the paper's or ours.
    """
    ours = PAPER_NAMES.get(name, name)
    if ours not in RETRIEVERS:
        return f"abcdlink has no retriever {ours!r}"
    try:
        return get_retriever(ours)
    except InputError as error:
        return f"{error.problem}: {error.hint}"

"""Goes through the paper's tables: computes what it can, says of the rest why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.records import Corpus
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.errors import InputError
from abcdlink.interannotator import agreement, read_judgment_file
from abcdlink.progress import Progress, silent
from abcdlink.reproduction import clusters, human, retrieval
from abcdlink.reproduction.paper import PaperTables, read_paper_tables
from abcdlink.reproduction.records import Figure, Missing, Place, Reproduction

ANY = "all"
NO_LLM = "the decisions of the paper's LLM on these data sets are not at hand"
NOT_COMPUTED = {"retriever_llm": NO_LLM, "significance": NO_LLM}
HUMAN_SETS = {"REVIEWS-HE": "reviews_he", "NEWS-HE": "news_he"}
GOLD_SETS = {"REVIEWS": "reviews_he", "NEWS": "news_he"}


def reproduce(data: Path, retrievers: Sequence[str] | None = None, progress: Progress = silent) -> Reproduction:
    """Compute the paper's figures from a folder of data sets, beside which they are printed.

    Args:
        data: folder with ``paper_tables.json`` and any of ``news_ecb``, ``news_synth``, ``reviews_synth``,
            ``f1000rd`` (or ``f1000rd_sample``), ``reviews_he`` and ``news_he``.
        retrievers: our names of those to run; all of the paper's by default.
        progress: shows how far it is.

    Raises:
        InputError: when the paper's figures are not there or cannot be read, or a retriever is not
            in the paper. A data set that cannot be read is in ``missing``.
    """
    unknown = set(retrievers or ()) - set(retrieval.PAPER_NAMES.values())
    if unknown:
        msg = f"the paper has no retriever {min(unknown)!r}"
        raise InputError(msg, f"choose among {', '.join(retrieval.PAPER_NAMES.values())}")
    run = _Run(data, read_paper_tables(data))
    run.benchmark(retrievers, progress)
    run.judgments()
    run.true_recall()
    run.link_clusters()
    for table in run.paper.other:
        run.at(table, ANY).miss(ANY, NOT_COMPUTED.get(table, "abcdlink does not compute it"))
    sets = ", ".join(name for name, chosen in retrieval.BENCHMARK_SETS.items() if chosen.first_pairs)
    note = (
        f"The paper's synthetic tables ({sets}) used only the first {retrieval.FIRST_PAIRS} pairs in file order; "
        "ours do too, where these data are at hand."
    )
    return Reproduction(figures=tuple(run.figures), missing=tuple(run.missing), notes=(note,))


class _Run:
    """The figures so far."""

    def __init__(self, data: Path, paper: PaperTables) -> None:
        self.data, self.paper = data, paper
        self.figures: list[Figure] = []
        self.missing: list[Missing] = []

    def at(self, table: str, dataset: str, remark: str = "") -> Place:
        return Place(self.figures, self.missing, table, dataset, remark)

    def benchmark(self, retrievers: Sequence[str] | None, progress: Progress) -> None:
        """Run the retrievers that can be had on the data sets that are there."""
        loaded = list(self._data_sets())
        for name in dict.fromkeys(name for rows in self.paper.retrieval.values() for name in rows):
            if retrievers is not None and retrieval.PAPER_NAMES.get(name) not in retrievers:
                continue
            # One at a time: some of the models fill a memory of their own.
            retriever = retrieval.available(name)
            if isinstance(retriever, str):
                self.at("retrieval", ANY).miss(name, retriever)
                continue
            for dataset, corpus, remark in loaded:
                if printed := self.paper.retrieval.get(dataset, {}).get(name):
                    place = self.at("retrieval", dataset, remark)
                    with _missing_if_unusable(place, name):
                        retrieval.compare_retriever(place, corpus, retriever, printed, progress)

    def _data_sets(self) -> Iterator[tuple[str, Corpus, str]]:
        """Compare the counts of each data set; yield its name, the pairs the paper used, and the remark."""
        for dataset in dict.fromkeys([*self.paper.dataset_stats, *self.paper.retrieval]):
            with _missing_if_unusable(self.at("retrieval", dataset)):
                corpus = retrieval.load(self.data, dataset)
                counts = self.paper.dataset_stats.get(dataset, {})
                remark = retrieval.other_data(corpus, counts)
                retrieval.compare_counts(self.at("dataset_stats", dataset, remark), corpus, counts)
                yield dataset, corpus.first_pairs(retrieval.BENCHMARK_SETS[dataset].first_pairs), remark

    def judgments(self) -> None:
        """Compare acceptance and kappa."""
        compared = {
            "acceptance": (self.paper.acceptance, human.compare_acceptance),
            "kappa": (self.paper.kappa, human.compare_kappa),
        }
        for table, (printed, compare) in compared.items():
            for dataset, rows in printed.items():
                place, folder = self.at(table, dataset), HUMAN_SETS.get(dataset, dataset)
                with _missing_if_unusable(place):
                    compare(place, agreement(read_judgment_file(self.data / folder / human.JUDGMENTS).judgments), rows)

    def true_recall(self) -> None:
        """Compare recall against exhaustive gold labels, of whole lists and of what came into the pools."""
        tables = {
            "true_recall": (self.paper.true_recall, None),
            "true_recall_pool": (self.paper.true_recall_pool, human.POOL),
        }
        for table, (printed, limit) in tables.items():
            for dataset, rows in printed.items():
                place, folder = self.at(table, dataset), GOLD_SETS.get(dataset, dataset)
                with _missing_if_unusable(place):
                    human.TrueRecall(self.data / folder).compare(place, rows, limit)

    def link_clusters(self) -> None:
        """Compare how many links stand together: gold links, or those that all annotators accepted."""
        for dataset, row in self.paper.link_clusters.items():
            with _missing_if_unusable(self.at("link_clusters", dataset)):
                corpus = self._linked(dataset)
                remark = retrieval.other_data(corpus, {"pairs": row[0]})
                clusters.compare_clusters(self.at("link_clusters", dataset, remark), corpus, row)

    def _linked(self, dataset: str) -> Corpus:
        """Return a data set whole with its links; ``InputError`` when it is not there."""
        folder = HUMAN_SETS.get(dataset)
        if folder is None:
            return retrieval.load(self.data, dataset)
        judgments = read_judgment_file(self.data / folder / human.JUDGMENTS).judgments
        return clusters.with_accepted(import_corpus("abcd-link", self.data / folder, get_segmenter()), judgments)


@contextmanager
def _missing_if_unusable(place: Place, what: str = ANY) -> Iterator[None]:
    """Keep what cannot be used as missing, with the reason."""
    try:
        yield
    except InputError as error:
        place.miss(what, error.problem)

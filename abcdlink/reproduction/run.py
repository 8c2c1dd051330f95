"""Goes through the paper's tables: computes what it can, and says why the rest is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.records import Corpus
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.errors import AbcdlinkError, InputError
from abcdlink.interannotator.measures import agreement
from abcdlink.judgment_file import read_judgment_file
from abcdlink.progress import Progress, silent
from abcdlink.reproduction import human, retrieval
from abcdlink.reproduction.llm import DEFAULT_LLMS, NO_ENDPOINT, LLMTables, LLMTablesPlan, chosen_models
from abcdlink.reproduction.records import Figure, Missing, PaperTable, PaperTables, Reproduction, read_paper_tables

ANY = "all"
LLM_TABLES = ("retriever_llm", "significance", "setups_by_mode")
HUMAN_SETS = {"REVIEWS-HE": "reviews_he", "NEWS-HE": "news_he"}
GOLD_SETS = {"REVIEWS": "reviews_he", "NEWS": "news_he"}


def reproduce(
    data: Path,
    retrievers: Sequence[str] | None = None,
    progress: Progress = silent,
    llms: LLMTablesPlan = DEFAULT_LLMS,
) -> Reproduction:
    """Compute the paper's figures from a folder with the data sets and the printed figures.

    Args:
        data: folder with ``paper_tables.json`` and any of ``news_ecb``, ``news_synth``, ``reviews_synth``,
            ``f1000rd`` (or ``f1000rd_sample``), ``reviews_he`` and ``news_he``.
        retrievers: names of those to run; all of the paper's by default.
        progress: shows how far it is.
        llms: which LLMs are asked for the LLM tables; none where no endpoint is set.

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
    run.llm_tables(llms, progress)
    for table in run.paper.other:
        run.at(table, ANY).miss(ANY, "abcdlink does not compute it")
    sets = ", ".join(name for name, chosen in retrieval.BENCHMARK_SETS.items() if chosen.first_pairs)
    note = (
        f"The paper's synthetic tables ({sets}) used only the first {retrieval.FIRST_PAIRS} pairs in file order; "
        "ours do too, where the data are available."
    )
    return Reproduction(figures=tuple(run.figures), missing=tuple(run.missing), notes=(note,))


class _Run:
    """The figures so far."""

    def __init__(self, data: Path, paper: PaperTables) -> None:
        self.data, self.paper = data, paper
        self.used: dict[str, tuple[Corpus, str]] = {}
        self.figures: list[Figure] = []
        self.missing: list[Missing] = []

    def at(self, table: str, dataset: str, remark: str = "") -> PaperTable:
        return PaperTable(self.figures, self.missing, table, dataset, remark)

    def benchmark(self, retrievers: Sequence[str] | None, progress: Progress) -> None:
        """Run the available retrievers on the available data sets."""
        self.used = dict(self._data_sets())
        for name in dict.fromkeys(name for rows in self.paper.retrieval.values() for name in rows):
            if retrievers is not None and retrieval.PAPER_NAMES.get(name) not in retrievers:
                continue
            # One at a time: some of the models fill the memory on their own.
            retriever = retrieval.available(name)
            if isinstance(retriever, str):
                self.at("retrieval", ANY).miss(name, retriever)
                continue
            for dataset, (corpus, remark) in self.used.items():
                if printed := self.paper.retrieval.get(dataset, {}).get(name):
                    place = self.at("retrieval", dataset, remark)
                    with _missing_if_unusable(place, name):
                        retrieval.compare_retriever(place, corpus, retriever, printed, progress)

    def _data_sets(self) -> Iterator[tuple[str, tuple[Corpus, str]]]:
        """Compare the counts of each data set; yield its name, the pairs the paper used, and the remark."""
        for dataset in self._named(self.paper.dataset_stats, self.paper.retrieval):
            with _missing_if_unusable(self.at("retrieval", dataset)):
                corpus = retrieval.load(self.data, dataset)
                counts = self.paper.dataset_stats.get(dataset, {})
                remark = retrieval.other_data(corpus, counts)
                retrieval.compare_counts(self.at("dataset_stats", dataset, remark), corpus, counts)
                yield dataset, (retrieval.pairs_used(self.data, dataset, corpus), remark)

    def _named(self, *printed: Mapping[str, object]) -> list[str]:
        """Return the data sets that the paper's tables name, and the others that are there."""
        there = [
            dataset
            for dataset, of_set in retrieval.BENCHMARK_SETS.items()
            if any((self.data / folder).is_dir() for folder in of_set.folders)
        ]
        return list(dict.fromkeys([*(name for table in printed for name in table), *there]))

    def llm_tables(self, llms: LLMTablesPlan, progress: Progress) -> None:
        """Let LLMs decide, where an endpoint is set and there are data, and compare what they add."""
        printed = [name for name in LLM_TABLES if getattr(self.paper, name)]
        reason = "" if self.used else "there is no data set that an LLM could decide on"
        if not reason and not chosen_models(llms):
            reason = NO_ENDPOINT
        if reason:
            for table in printed:
                self.at(table, ANY).miss(ANY, reason)
            return
        tables = LLMTables(self.used, llms, progress)
        with _missing_if_unusable(self.at("retriever_llm", ANY)):
            tables.compare(self.at, self.paper.retriever_llm, self.paper.significance)
        with _missing_if_unusable(self.at("setups_by_mode", ANY)):
            tables.compare_modes(self.at, self.paper.setups_by_mode)

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
        """Compare the clusters of links: gold links, or those that all annotators accepted."""
        for dataset in self._named(self.paper.link_clusters):
            row = self.paper.link_clusters.get(dataset)
            if row is None and dataset not in self.used:
                continue  # what is wrong with it has been said already
            with _missing_if_unusable(self.at("link_clusters", dataset)):
                corpus = self._linked(dataset)
                remark = retrieval.other_data(corpus, {"pairs": row[0]} if row else {})
                human.compare_clusters(self.at("link_clusters", dataset, remark), corpus, row)

    def _linked(self, dataset: str) -> Corpus:
        """Return a data set whole with its links; ``InputError`` when it is not there."""
        folder = HUMAN_SETS.get(dataset)
        if folder is None:
            return retrieval.load(self.data, dataset)
        judgments = read_judgment_file(self.data / folder / human.JUDGMENTS).judgments
        return human.with_accepted(import_corpus("abcd-link", self.data / folder, get_segmenter()), judgments)


@contextmanager
def _missing_if_unusable(place: PaperTable, what: str = ANY) -> Iterator[None]:
    """Keep what cannot be used as missing, with the reason."""
    try:
        yield
    except AbcdlinkError as error:
        place.miss(what, error.problem)

"""The paper's human evaluation: acceptance, kappa, recall against exhaustive gold labels, and clusters of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from abcdlink.corpus.counts import link_clusters
from abcdlink.corpus.formats.files import read_json_object, read_table
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError, fault_in
from abcdlink.exhaustive import ExhaustiveGold, Over, View, measure
from abcdlink.interannotator.groups import accepted
from abcdlink.interannotator.measures import Agreement
from abcdlink.judgments import BOTH, RANDOM, Judgment, by_candidate
from abcdlink.reproduction.records import ClusterRow, PaperTable, Triple

JUDGMENTS = "annotations.csv"
METHODS = {"R+LLM only": "llm", "Retriever only": "retriever", "Both": BOTH, "Random": RANDOM}
"""The paper's name of a method -> ours."""

GOLD_COLUMNS = ("og_doc_id", "source_id", "target_id")
SHARED = "Both"
SHARED_BY = ("R+LLM", "Retriever")
"""The paper's row for what two approaches predict in common, and the two."""
POOL = 3
"""Candidates of each approach in a pool."""

Lists = dict[str, list[str]]
"""Approach -> target sentences, best first."""
Source = tuple[str, str]
"""Pair and source sentence."""


def compare_acceptance(place: PaperTable, ours: Agreement, printed: Mapping[str, float]) -> None:
    """Compare the share of each method's candidates that both annotators call a link, in percent."""
    for row, paper in printed.items():
        found = ours.acceptance.get(METHODS.get(row, row))
        if found is None:
            place.miss(row, f"{JUDGMENTS} has no such method")
        else:
            place.compare(row, "accepted %", 100 * found.rate, paper, 1)


def compare_kappa(place: PaperTable, ours: Agreement, printed: Mapping[str, float]) -> None:
    """Compare kappa over all judgments and by batch."""
    measured = {"all": ours, **{f"batch {batch}": part for batch, part in ours.batches.items()}}
    for row, paper in printed.items():
        if row not in measured:
            place.miss(row, f"its judgments are not in {JUDGMENTS}")
        elif (kappa := measured[row].kappa) is None:
            place.miss(row, f"kappa is undefined: {measured[row].note}")
        else:
            place.compare(row, "kappa", kappa, paper, 2)


class TrueRecall:
    """Predictions of both approaches and the exhaustive gold labels of some sources.

    Args:
        folder: holds one ``*_gold_labels.csv`` (og_doc_id, source_id, target_id) and one
            ``predictions_*.json`` (pair -> source -> approach -> targets, best first).

    Raises:
        InputError: when a file is missing or does not fit, or a source with gold has no predictions.
    """

    def __init__(self, folder: Path) -> None:
        self._gold: dict[Source, set[str]] = {}
        for _, cells in read_table(_only(folder, "*_gold_labels.csv"), GOLD_COLUMNS):
            pair, source, target = (cells[column] for column in GOLD_COLUMNS)
            self._gold.setdefault((pair, source), set()).add(target)
        path = _only(folder, "predictions_*.json")
        try:
            predictions = TypeAdapter(dict[str, dict[str, Lists]]).validate_python(read_json_object(path))
        except ValidationError as error:
            msg = f"{path} does not fit: {fault_in(error)}"
            raise InputError(msg, "take the file from the released data") from None
        self._predicted: dict[Source, Lists] = {}
        for pair, source in self._gold:
            if source not in predictions.get(pair, {}):
                msg = f"{path} has no predictions for the source {source!r} of {pair!r}"
                raise InputError(msg, "take both files from the released data")
            self._predicted[pair, source] = predictions[pair][source]

    def compare(self, place: PaperTable, printed: Mapping[str, Triple], limit: int | None) -> None:
        """Compare macro means over the sources with gold labels.

        ``Both`` is what both approaches predict. With ``limit``, lists are cut to that many, and the
        paper's mean for ``Both`` is over the sources for which both approaches share something.
        """
        gold = ExhaustiveGold({source: frozenset(links) for source, links in self._gold.items()})
        names = dict.fromkeys([*SHARED_BY, *(row for row in printed if row != SHARED)])
        lists = {name: {source: by.get(name, [])[:limit] for source, by in self._predicted.items()} for name in names}
        view, over = (View.FULL, Over.GOLD) if limit is None else (View.POOL, Over.SHARED)
        measured = measure(gold, lists, view, SHARED_BY)
        # The rows of single approaches are over all sources with gold in both tables.
        rows = {row.approach: row for row in measured if row.approach != BOTH or row.over is over}
        for row, paper in printed.items():
            triple = rows[BOTH if row == SHARED else row].measures
            for name, ours, theirs in zip(("R", "P", "F1"), triple, paper, strict=True):
                if ours is None:
                    place.miss(row, "no source to take the mean over")
                    break
                place.compare(row, name, ours.mean, theirs, 2)


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        msg = f"{folder} has {len(found)} files {pattern}, not one"
        raise InputError(msg, "take the folder from the released data")
    return found[0]


def with_accepted(corpus: Corpus, judgments: Sequence[Judgment]) -> Corpus:
    """Return the judged pairs of a corpus with the candidates that all annotators call a link as links.

    Raises:
        InputError: when a judged pair or sentence is not in the corpus.
    """
    pairs = {pair.id: pair for pair in corpus.pairs}
    links: dict[str, dict[str, list[str]]] = {}
    for (pair, source, target), group in by_candidate(judgments).items():
        if not _holds(corpus, pairs.get(pair), source, target):
            msg = f"the judged link {source!r} to {target!r} of the pair {pair!r} is not in its documents"
            raise InputError(msg, "take documents and judgments from the same release")
        found = links.setdefault(pair, {}).setdefault(source, [])
        found += [target] * accepted(group)
    judged = [
        pairs[pair].model_copy(update={"links": {source: tuple(targets) for source, targets in by_source.items()}})
        for pair, by_source in links.items()
    ]
    return corpus.model_copy(update={"pairs": judged})


def _holds(corpus: Corpus, pair: Pair | None, source: str, target: str) -> bool:
    return pair is not None and source in corpus.source_of(pair).position and target in corpus.target_of(pair).position


def compare_clusters(place: PaperTable, corpus: Corpus, printed: ClusterRow | None) -> None:
    """Compare the counts of one data set; ``printed``: ``None`` where the paper's are not at hand."""
    ours = link_clusters(corpus)
    measured = (
        ("pairs", ours.pairs, 0),
        ("links", ours.links, 0),
        ("links in clusters %", ours.percent, 0),
        ("mean size", ours.mean, 1),
        ("max size", ours.largest, 0),
    )
    for (name, value, decimals), paper in zip(measured, printed or (None,) * len(measured), strict=True):
        place.compare("", name, value, paper, decimals)

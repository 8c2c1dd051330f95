"""The labelled data set of a run: every judged candidate with all judgments and one label.

The label follows the rule ``both``: a candidate is a link when all who judged it said Link.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from enum import StrEnum

from abcdlink.agreement import required_judgments
from abcdlink.agreement.summary import accepted
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError
from abcdlink.judgments import Judgment, Label, by_candidate
from abcdlink.layout import JUDGMENTS, NATURAL
from abcdlink.store import Store


class ExportFormat(StrEnum):
    """In which layout the data set is written."""

    JSONL = "jsonl"
    """``links.jsonl``: one ``LabelledCandidate`` a line."""
    CSV = "csv"
    """``annotations.csv``: the columns of the released REVIEWS-HE table."""
    ABCD_LINK = "abcd-link"
    """``docs.json`` and ``dataset_links.json``: the layout of the released corpora, links only."""


class LabelledCandidate(Record):
    """One candidate as people judged it.

    ``link``: the label by the rule ``both``; ``None`` where judgments are missing (a skipped task).
    ``judgments``: annotator -> Link or No Link.
    """

    batch: int
    pair: str
    source_document: str
    target_document: str
    source: str
    target: str
    source_text: str
    target_text: str
    method: str
    judgments: dict[str, Label]
    link: bool | None


def export_dataset(store: Store, layout: ExportFormat | str = ExportFormat.JSONL) -> list[str]:
    """Write the run's data set below ``dataset/`` and return the names of the written files.

    Raises:
        InputError: when the layout is unknown, or the run has no judgments yet.
    """
    try:
        write = WRITERS[ExportFormat(layout)]
    except ValueError:
        msg = f"there is no export format {layout!r}"
        raise InputError(msg, f"use one of {', '.join(ExportFormat)}") from None
    store.require(JUDGMENTS, "annotate")
    corpus = read_corpus_from(store, NATURAL)
    files = write(labelled_candidates(store.read_records(JUDGMENTS, Judgment), corpus), corpus)
    for name, text in files.items():
        store.write_text(f"dataset/{name}", text)
    return [f"dataset/{name}" for name in files]


def labelled_candidates(judgments: list[Judgment], corpus: Corpus) -> list[LabelledCandidate]:
    """Put the judgments on each candidate together; ordered by pair, source and target in the corpus."""
    pairs = {pair.id: pair for pair in corpus.pairs}
    needed = required_judgments(judgments)
    candidates = []
    for (pair_id, source, target), group in by_candidate(judgments).items():
        pair, first = pairs[pair_id], next(iter(group.values()))
        candidates.append(
            LabelledCandidate(
                batch=first.batch,
                pair=pair_id,
                source_document=pair.source,
                target_document=pair.target,
                source=source,
                target=target,
                source_text=corpus.source_of(pair).text_of(source),
                target_text=corpus.target_of(pair).text_of(target),
                method=first.method,
                judgments={annotator: group[annotator].label for annotator in sorted(group)},
                link=accepted(group) if len(group) >= needed else None,
            )
        )
    order = {pair_id: index for index, pair_id in enumerate(pairs)}

    def place(candidate: LabelledCandidate) -> tuple[int, int, int]:
        pair = pairs[candidate.pair]
        return (
            order[candidate.pair],
            corpus.source_of(pair).position[candidate.source],
            corpus.target_of(pair).position[candidate.target],
        )

    return sorted(candidates, key=place)


def _as_jsonl(candidates: list[LabelledCandidate], _: Corpus) -> dict[str, str]:
    return {"links.jsonl": "".join(candidate.model_dump_json() + "\n" for candidate in candidates)}


def _as_csv(candidates: list[LabelledCandidate], _: Corpus) -> dict[str, str]:
    annotators = sorted({annotator for candidate in candidates for annotator in candidate.judgments})
    labels = [f"annotator_{number}" for number, _ in enumerate(annotators, start=1)]
    before, after = ["document_id", "source_id", "target_id", "method"], ["source_sentence", "target_sentence"]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*before, *labels, *after, "agreement", "both_link"])
    for c in candidates:
        verdicts = ["", ""] if c.link is None else [len(set(c.judgments.values())) == 1, c.link]
        said = [c.judgments.get(annotator, "") for annotator in annotators]
        writer.writerow([c.pair, c.source, c.target, c.method, *said, c.source_text, c.target_text, *verdicts])
    return {"annotations.csv": buffer.getvalue()}


def _as_abcd_link(candidates: list[LabelledCandidate], corpus: Corpus) -> dict[str, str]:
    links: dict[str, dict[str, list[str]]] = {}
    for candidate in candidates:
        of_pair = links.setdefault(candidate.pair, {})
        if candidate.link:
            of_pair.setdefault(candidate.source, []).append(candidate.target)
    judged = [pair for pair in corpus.pairs if pair.id in links]
    used = dict.fromkeys(document for pair in judged for document in (pair.source, pair.target))
    documents = {name: {s.id: s.text for s in corpus.documents[name].sentences} for name in used}
    pairs = {pair.id: {"doc1": pair.source, "doc2": pair.target, "links": links[pair.id]} for pair in judged}
    return {"docs.json": _json(documents), "dataset_links.json": _json(pairs)}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


WRITERS: dict[ExportFormat, Callable[[list[LabelledCandidate], Corpus], dict[str, str]]] = {
    ExportFormat.JSONL: _as_jsonl,
    ExportFormat.CSV: _as_csv,
    ExportFormat.ABCD_LINK: _as_abcd_link,
}

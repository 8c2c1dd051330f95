"""The labelled data set of a run, written in the layouts that other programs read.

Here: JSON Lines, Parquet, the released CSV and JSON, and a Hugging Face folder; ``standoff.py`` has the others.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from abcdlink.corpus.records import Record
from abcdlink.errors import one_of
from abcdlink.export.card import CONFIGURATIONS, card
from abcdlink.export.dataset import Dataset, Files, LabelledCandidate, gather
from abcdlink.export.standoff import brat_files, uima_files
from abcdlink.judgments import Label, LabelRule
from abcdlink.store import Store

if TYPE_CHECKING:
    import pyarrow as pa


class ExportFormat(StrEnum):
    """A layout of the data set; its files are below ``dataset/`` in the run."""

    JSONL = "jsonl"
    """``links.jsonl``: one ``LabelledCandidate`` a line."""
    PARQUET = "parquet"
    """``links.parquet``: the same as a table."""
    CSV = "csv"
    """``annotations.csv``: the columns of the released REVIEWS-HE table."""
    ABCD_LINK = "abcd-link"
    """``abcd-link/``: ``docs.json`` and ``dataset_links.json`` as in the released corpora, links only."""
    HUGGINGFACE = "huggingface"
    """``huggingface/``: Parquet files and a data card, as ``datasets.load_dataset`` takes them."""
    UIMA = "uima"
    """``uima/``: one UIMA CAS XMI per pair and their type system, which INCEpTION opens."""
    BRAT = "brat"
    """``brat/``: one text with standoff annotations per pair."""


def jsonl_files(dataset: Dataset) -> Files:
    """Return ``links.jsonl``."""
    text = "".join(candidate.model_dump_json() + "\n" for candidate in dataset.candidates)
    return Files({"links.jsonl": text.encode()})


def parquet_files(dataset: Dataset) -> Files:
    """Return ``links.parquet``."""
    return Files({"links.parquet": as_parquet(links_table(dataset.candidates))})


def links_table(candidates: list[LabelledCandidate]) -> pa.Table:
    """Return one row per candidate with the fields of ``LabelledCandidate``.

    ``judgments`` is a list of (annotator, label), since not every reader of Parquet knows maps.
    """
    import pyarrow as pa

    judgment = pa.struct([("annotator", pa.string()), ("label", pa.string())])
    by_rule = {f"link_{rule}": pa.bool_() for rule in LabelRule}
    flags = dict.fromkeys(("link", "consensus", "simulated"), pa.bool_())
    types = {"batch": pa.int32(), "judgments": pa.list_(judgment), **flags, **by_rule}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in LabelledCandidate.model_fields])
    rows = [
        {
            **candidate.model_dump(mode="json"),
            "judgments": [{"annotator": name, "label": label.value} for name, label in candidate.judgments.items()],
        }
        for candidate in candidates
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def sentences_table(dataset: Dataset) -> pa.Table:
    """Return one row per sentence of the judged pairs' documents: document, sentence, position from 0, text."""
    import pyarrow as pa

    schema = pa.schema(
        [("document", pa.string()), ("sentence", pa.string()), ("position", pa.int32()), ("text", pa.string())]
    )
    rows = [
        {"document": document.id, "sentence": sentence.id, "position": position, "text": sentence.text}
        for document in dataset.judged.documents.values()
        for position, sentence in enumerate(document.sentences)
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def as_parquet(table: pa.Table) -> bytes:
    """Return the table as the bytes of a Parquet file."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


IDS = ["document_id", "source_id", "target_id", "method"]
TEXTS = ["source_sentence", "target_sentence", "agreement", "both_link"]
FEWEST_ANNOTATORS = 2
"""The layout has two columns for annotators even where one person judged."""


def csv_files(dataset: Dataset) -> Files:
    """Return ``annotations.csv``: the released columns, more annotators where there are more than two.

    ``agreement`` and ``both_link`` mean what they mean in the released table, whatever the rule; with another
    rule than ``both``, one more column, ``<rule>_link``, has the label. Cells are empty where there is none.
    """
    names = dataset.annotators + [""] * (FEWEST_ANNOTATORS - len(dataset.annotators))
    columns = [f"annotator_{number}" for number, _ in enumerate(names, start=1)]
    by_rule = [] if dataset.rule is LabelRule.BOTH else [f"{dataset.rule}_link"]
    rows: list[list[object]] = [[*IDS, *columns, *TEXTS, *by_rule]]
    for c in dataset.candidates:
        said = set(c.judgments.values())
        complete = len(c.judgments) >= dataset.needed
        rows.append(
            [
                *(c.pair, c.source, c.target, c.method),
                *(c.judgments.get(name, "") for name in names),
                *(c.source_text, c.target_text),
                *((len(said) == 1, said == {Label.LINK}) if complete else ("", "")),
                *("" if c.link is None else c.link for _ in by_rule),
            ]
        )
    # With a byte order mark, by which Excel knows UTF-8.
    return Files({"annotations.csv": _csv(rows).encode("utf-8-sig")})


def _csv(rows: list[list[object]]) -> str:
    r"""Return the rows as the released table has them: commas, ``\n``, quotes where they are needed."""
    buffer = io.StringIO(newline="")
    plain = csv.writer(buffer, lineterminator="\n")
    quoting = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        # Python 3.11 and 3.12 leave a lone carriage return without quotes, and would read it as a new row.
        (quoting if any("\r" in str(cell) for cell in row) else plain).writerow(row)
    return buffer.getvalue()


ABCD_LINK = "abcd-link"


def abcd_link_files(dataset: Dataset) -> Files:
    """Return ``docs.json`` with the documents of judged pairs, and ``dataset_links.json`` with their links."""
    documents = {
        document.id: {sentence.id: sentence.text for sentence in document.sentences}
        for document in dataset.judged.documents.values()
    }
    pairs = {}
    for _, pair, candidates in dataset.by_pair():
        links: dict[str, list[str]] = {}
        for candidate in candidates:
            if candidate.link:
                links.setdefault(candidate.source, []).append(candidate.target)
        pairs[pair.id] = {"doc1": pair.source, "doc2": pair.target, "links": links}
    return Files({f"{ABCD_LINK}/docs.json": _json(documents), f"{ABCD_LINK}/dataset_links.json": _json(pairs)})


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


HUGGINGFACE = "huggingface"


def huggingface_files(dataset: Dataset) -> Files:
    """Return ``README.md``, the judged candidates and the sentences of their documents.

    Raises:
        InputError: when the run's domain, whose guidelines the card shows, is not found.
    """
    tables = {"links": as_parquet(links_table(dataset.candidates)), "sentences": as_parquet(sentences_table(dataset))}
    files = {f"{HUGGINGFACE}/{CONFIGURATIONS[name]}": table for name, table in tables.items()}
    return Files({**files, f"{HUGGINGFACE}/README.md": card(dataset, tables).encode()})


FOLDER = "dataset"
WRITERS: dict[ExportFormat, Callable[[Dataset], Files]] = {
    ExportFormat.JSONL: jsonl_files,
    ExportFormat.PARQUET: parquet_files,
    ExportFormat.CSV: csv_files,
    ExportFormat.ABCD_LINK: abcd_link_files,
    ExportFormat.HUGGINGFACE: huggingface_files,
    ExportFormat.UIMA: uima_files,
    ExportFormat.BRAT: brat_files,
}


class Exported(Record):
    """What was written, as the run's manifest keeps it under ``exports``.

    ``needed``: judgments that a label needs; ``files``: their names in the run; ``unlabelled``: candidates without a
    label; ``changes``: reason -> how many texts had to be changed because the layout cannot hold them as they are.
    """

    layout: ExportFormat
    rule: LabelRule
    needed: int
    files: tuple[str, ...]
    candidates: int
    links: int
    unlabelled: int
    changes: dict[str, int]


def export_dataset(
    store: Store,
    layout: ExportFormat | str = ExportFormat.JSONL,
    rule: LabelRule | str = LabelRule.BOTH,
    licence: str = "",
    needed: int | None = None,
) -> Exported:
    """Write the run's data set below ``dataset/``; obsolete files of an earlier export are removed.

    Every file is made before the first is written, and each is written whole or not at all. ``licence``: for the data
    card: an identifier such as ``cc-by-4.0``, or words. ``needed``: judgments that a candidate needs for a label;
    default: as many as were asked for.

    Raises:
        InputError: when the layout or the rule is unknown, a package for it is missing, or the run has no
            judgments that can be exported.
    """
    kind, by = one_of(ExportFormat, layout, "export format"), one_of(LabelRule, rule, "label rule")
    dataset = gather(store, by, licence, needed)
    made = WRITERS[kind](dataset)
    exported = Exported(
        layout=kind,
        rule=by,
        needed=dataset.needed,
        files=tuple(f"{FOLDER}/{name}" for name in made.contents),
        candidates=len(dataset.candidates),
        links=sum(candidate.link is True for candidate in dataset.candidates),
        unlabelled=sum(candidate.link is None for candidate in dataset.candidates),
        changes=dict(made.changes),
    )
    for name, content in made.contents.items():
        store.folder.write(f"{FOLDER}/{name}", content)
    earlier = store.manifest.get("exports", {})
    for name in set(earlier.get(kind, {}).get("files", ())) - set(exported.files):
        store.folder.remove(name)
    store.note_in("exports", kind.value, exported.model_dump(mode="json"))
    return exported

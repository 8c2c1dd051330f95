"""The labelled data set of a run, written in the layouts that other programs read."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.export.dataset import Dataset, Files, gather
from abcdlink.export.layouts import (
    ExportFormat,
    abcd_link_files,
    csv_files,
    huggingface_files,
    jsonl_files,
    parquet_files,
)
from abcdlink.export.standoff import brat_files, uima_files
from abcdlink.judgments import LabelRule
from abcdlink.store import Store

E = TypeVar("E", bound=StrEnum)

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

    ``files``: their names in the run; ``unlabelled``: candidates without a label; ``changes``: reason ->
    how many texts had to be changed because the layout cannot hold them as they are.
    """

    layout: ExportFormat
    rule: LabelRule
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
) -> Exported:
    """Write the run's data set below ``dataset/``; obsolete files of an earlier export are removed.

    Every file is made before the first is written, and each is written whole or not at all. ``licence``: for the data
    card: an identifier such as ``cc-by-4.0``, or words.

    Raises:
        InputError: when the layout or the rule is unknown, a package for it is missing, or the run has no
            judgments that can be exported.
    """
    kind, by = _one_of(ExportFormat, layout, "export format"), _one_of(LabelRule, rule, "label rule")
    dataset = gather(store, by, licence)
    made = WRITERS[kind](dataset)
    exported = Exported(
        layout=kind,
        rule=by,
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


def _one_of(kind: type[E], value: str, what: str) -> E:
    try:
        return kind(value)
    except ValueError:
        msg = f"there is no {what} {value!r}"
        raise InputError(msg, f"use one of {', '.join(kind)}") from None

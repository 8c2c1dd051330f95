"""Judgments from a file: those of a run, or the table in which the paper released them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path

from abcdlink.corpus.records import Record, Refusal
from abcdlink.errors import SAVE_AS_UTF8, InputError
from abcdlink.judgments import BOTH, Judgment, Label
from abcdlink.utf8_lines import parse_records

METHOD_NAMES = {"mutual": BOTH, "overlap": BOTH, "both": BOTH, "r+llm": "llm"}
"""Names in released files (lower case) for the same method."""

ID_COLUMNS = ("document_id", "source_id", "target_id", "method")
ANNOTATOR_COLUMN = re.compile(r"annotator_(\d+)")
LABELS = tuple(label.value for label in Label)


class JudgmentFile(Record):
    """The judgments of a file, and the rows that were left out with their reasons."""

    judgments: tuple[Judgment, ...]
    refused: tuple[Refusal, ...] = ()


def read_judgment_file(path: str | Path) -> JudgmentFile:
    """Read ``judgments.jsonl`` (any name) or, when the name ends in ``.csv``, a released table.

    A table has the columns ``document_id, source_id, target_id, method, annotator_1, annotator_2`` in
    any order, and may have more annotators and other columns. It does not name batches: the first half
    of its documents, by first appearance, is batch 1, the second half batch 2.

    Raises:
        InputError: when the file is missing, is not UTF-8, lacks a column or has a line that is not a record.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        msg = f"there is no file {path}"
        raise InputError(msg, "give an annotations.csv, or the judgments.jsonl in the folder of a run") from None
    except IsADirectoryError:
        msg = f"{path} is a folder"
        raise InputError(msg, "give the path of the judgments.jsonl or annotations.csv inside it") from None
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 (byte {error.start})"
        raise InputError(msg, SAVE_AS_UTF8) from None
    if path.suffix.lower() == ".csv":
        return _read_table(text, path)
    return JudgmentFile(judgments=tuple(parse_records(data, Judgment, str(path))))


def _read_table(text: str, path: Path) -> JudgmentFile:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    columns = reader.fieldnames or []
    annotators = [column for column in columns if ANNOTATOR_COLUMN.fullmatch(column)]
    missing = [column for column in (*ID_COLUMNS, "annotator_1", "annotator_2") if column not in columns]
    if missing:
        msg = f"{path} has no column {', '.join(missing)}"
        raise InputError(msg, f"add a header with {', '.join(ID_COLUMNS)}, annotator_1 and annotator_2")
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    refused = []
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        at = (row["document_id"], row["source_id"], row["target_id"])
        reason = _reason_to_refuse(row, annotators) or ("the candidate was judged in an earlier row" * (at in rows))
        if reason:
            refused.append(Refusal(where=where, reason=reason, hint="fix or remove the row"))
        else:
            rows[at] = row
    batch_of = _halves(document for document, _, _ in rows)
    judgments = (
        Judgment(
            batch=batch_of[row["document_id"]],
            pair=row["document_id"],
            source=row["source_id"],
            target=row["target_id"],
            method=METHOD_NAMES.get(row["method"].strip().lower(), row["method"].strip()),
            annotator=column.replace("_", "-"),
            label=Label(row[column].strip()),
        )
        for row in rows.values()
        for column in annotators
        if (row[column] or "").strip()
    )
    return JudgmentFile(judgments=tuple(judgments), refused=tuple(refused))


def _reason_to_refuse(row: dict[str, str], annotators: list[str]) -> str:
    """Return why a row does not have two judgments on one candidate; empty when it does.

    Where there are more than two annotators, those who were not asked have an empty cell.
    """
    blank = [column for column in ID_COLUMNS if not (row[column] or "").strip()]
    if blank:
        return f"{', '.join(blank)} is blank"
    labels = [(row[column] or "").strip() for column in annotators]
    foreign = [label for label in labels if label and label not in LABELS]
    if foreign:
        return f"{foreign[0]!r} is not a label ({', '.join(LABELS)})"
    return "fewer than two annotators judged it" if sum(map(bool, labels)) < 2 else ""  # noqa: PLR2004 - two


def _halves(documents: Iterable[str]) -> dict[str, int]:
    """Return document -> 1 for the first half by first appearance, 2 for the second."""
    order = list(dict.fromkeys(documents))
    return {document: 1 + index * 2 // len(order) for index, document in enumerate(order)}

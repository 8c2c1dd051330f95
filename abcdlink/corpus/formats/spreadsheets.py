"""The rows of CSV and Excel files as they are: the names of the columns come first."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import datetime, time
from itertools import chain
from pathlib import Path
from typing import Any

from abcdlink.corpus.formats.files import open_file, read_lines
from abcdlink.errors import InputError, first_line

LONGEST_CELL = 16 << 20
"""Characters of the longest cell of a CSV file that is read."""
HEADING = 100
"""Most lines over which the names of columns in a CSV file may run."""
DECLARED = re.compile(r"sep=(.)\s*")
"""The first line with which Excel says what separates cells."""
QUOTED = re.compile(r'"[^"]*"')


def csv_lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield where each row of a CSV file is, and its cells, which end at commas, semicolons or tabs.

    Raises:
        InputError: when it is not UTF-8, quotation marks are not closed or not doubled.
    """
    csv.field_size_limit(LONGEST_CELL)
    texts = (text + "\n" for _, text in read_lines(path, blank=True))
    header = next((text for text in texts if text.strip()), "")
    if declared := DECLARED.fullmatch(header):
        header = next(texts, "")
    head = [header]
    while sum(line.count('"') for line in head) % 2 and len(head) < HEADING and (line := next(texts, "")):
        head.append(line)
    delimiter = declared[1] if declared else max(",;\t", key=QUOTED.sub("", "".join(head)).count)
    rows = csv.reader(chain(head, texts), delimiter=delimiter, strict=True)
    skipped = bool(declared)
    try:
        for cells in filter(None, rows):
            yield f"{path}, line {rows.line_num + skipped}", cells
    except csv.Error as error:
        msg = f"{path}, line {rows.line_num + skipped}: {error}"
        hint = "save it as CSV from a spreadsheet, which encloses cells in quotation marks and doubles those inside"
        raise InputError(msg, hint) from None


def excel_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield where each row of the first sheet is, and its cells as texts; blank rows are left out.

    Raises:
        InputError: when it is not a file of Excel, or a further sheet has something in it: nobody knows whether
            that belongs to the data.
    """
    import openpyxl  # type: ignore[import-untyped]

    with open_file(path) as file:
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheets = [
                (
                    sheet.title,
                    [(number, row) for number, row in enumerate(sheet.values, start=1) if any(map(_text, row))],
                )
                for sheet in book.worksheets
            ]
        except Exception as error:  # noqa: BLE001 - it raises whatever a damaged archive and XML lead to
            msg = f"{path} cannot be read as an Excel file: {first_line(error)}"
            raise InputError(msg, "open it in Excel and save it as .xlsx, without a password, or as CSV") from None
    filled = [title for title, rows in sheets if rows]
    if len(filled) > 1:
        msg = f"{path} has several sheets with data: {', '.join(filled)}"
        raise InputError(msg, "save the one that is meant as a file of its own")
    for title, rows in sheets:
        for number, row in rows:
            yield f"{path}, sheet {title}, row {number}", [_text(cell) for cell in row]


def _text(cell: Any) -> str:  # noqa: ANN401 - whatever a cell holds
    if cell is None:
        return ""
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    return str(cell).strip()

"""The rows of an Excel file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time
from pathlib import Path
from typing import Any

from abcdlink.corpus.formats.files import open_file
from abcdlink.errors import InputError, first_line


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

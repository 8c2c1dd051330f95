"""Reads files that people give: one clear error for what Python's readers would hide, garble or crash on."""

from __future__ import annotations

import csv
import io
import json
import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

from pydantic import Field

from abcdlink.corpus.plain_text import PlainText
from abcdlink.corpus.records import Record
from abcdlink.errors import SAVE_AS_TEXT, SAVE_AS_UTF8, InputError
from abcdlink.utf8_lines import decode, decoded_lines

LITTER = ("~$", "._")
"""How names begin that Office gives to a file that is open, and macOS to what it knows of a file."""


class ImportChoices(Record):
    """What is wanted of a data set.

    Args:
        as_released: the variant that its authors released, where a format has one.
        targets: only the documents that can be targets, and no pairs.
        columns: role -> column, where columns have other names than their roles.
        only: field of the documents' metadata -> the values that are wanted.
    """

    as_released: bool = False
    targets: bool = False
    columns: dict[str, str] = Field(default_factory=dict)
    only: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class ImportSource:
    """What is imported: a folder or file, how its plain text is read, what is wanted, and which files were read."""

    def __init__(self, path: Path, texts: PlainText, choices: ImportChoices) -> None:
        self.path, self.texts, self.choices = path, texts, choices
        self.unwanted = 0
        """Items that ``only`` leaves out."""
        self._read: set[Path] = set()
        self._all_read = False

    @property
    def name(self) -> str:
        """The name of the corpus: the folder's, or the file's without its ending."""
        resolved = self.path.resolve()
        return resolved.stem if self.path.is_file() else resolved.name

    def file(self, path: Path) -> Path:
        """Note that a file is read, and return its path; the other files are named after the import."""
        self._read.add(path)
        return path

    def all_read(self) -> None:
        """Note that a library has read the folder, and which of its files is its own business."""
        self._all_read = True

    def wants(self, meta: Mapping[str, str]) -> bool:
        """Tell whether an item with such metadata is wanted; if not, it is counted and need not be read any further."""
        wanted = all(meta.get(field) in values for field, values in self.choices.only.items())
        self.unwanted += not wanted
        return wanted

    def not_read(self) -> list[str]:
        """Return the names of the files of a folder that nothing has read, without hidden ones."""
        if self._all_read or not self.path.is_dir():
            return []
        found = []
        for folder, subfolders, files in os.walk(self.path):
            subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
            paths = (Path(folder, name) for name in sorted(files) if not name.startswith("."))
            found += [path.relative_to(self.path).as_posix() for path in paths if path not in self._read]
        return found


def open_file(path: Path) -> IO[bytes]:
    """Open a file; ``InputError`` when it cannot be read."""
    try:
        return path.open("rb")
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror}"
        raise InputError(msg, "check the path and its permissions") from None


def read_bytes(path: Path) -> bytes:
    """Read a file; ``InputError`` when it cannot be read."""
    with open_file(path) as file:
        return file.read()


@contextmanager
def _open_lines(path: Path) -> Iterator[Iterable[bytes]]:
    """Open a text file as lines in UTF-8; one in UTF-16 with a byte order mark is recoded as it is read.

    Raises:
        InputError: when it cannot be read or is not the UTF-16 that its byte order mark says.
    """
    with open_file(path) as file:
        is_utf16 = file.read(2) in {BOM_UTF16_LE, BOM_UTF16_BE}
        file.seek(0)
        yield _recoded(file, path) if is_utf16 else file


def _recoded(file: IO[bytes], path: Path) -> Iterator[bytes]:
    try:
        for line in io.TextIOWrapper(file, "utf-16", newline="\n"):
            yield line.encode()
    except UnicodeDecodeError as error:
        msg = f"{path} begins like UTF-16, but is not: {error.reason}"
        raise InputError(msg, SAVE_AS_UTF8) from None


def _holds_nul(path: Path) -> InputError:
    """Return the error for a file with NUL bytes."""
    msg = f"{path} contains NUL bytes: it is UTF-16 without a byte order mark, or not a text file"
    return InputError(msg, f"{SAVE_AS_TEXT}; convert a text: `iconv -f UTF-16LE -t UTF-8 FILE > NEW`")


def read_text(path: Path) -> str:
    """Read a text file in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        InputError: when it cannot be read, is in another encoding or holds NUL bytes.
    """
    with _open_lines(path) as lines:
        data = b"".join(lines)
    if b"\0" in data:
        raise _holds_nul(path)
    return decode(data, str(path))


def read_lines(path: Path, *, blank: bool = False) -> Iterator[tuple[str, str]]:
    """Yield where each line of a text file is and its text, blank ones if wanted; errors as ``read_text``."""
    with _open_lines(path) as lines:
        for number, line in decoded_lines(lines, str(path), blank=blank):
            if "\0" in line:
                raise _holds_nul(path)
            yield f"{path}, line {number}", line.rstrip("\n")


def read_json_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield where each line of JSON Lines is and its text; of one array, as many programs export it, each entry."""
    lines = read_lines(path)
    first = next(lines, ("", ""))
    entries: Any = None
    if first[1].lstrip("\ufeff").startswith("["):
        with suppress(InputError):
            entries = read_json(path)
    if isinstance(entries, list):
        for number, entry in enumerate(entries, start=1):
            yield f"{path}, entry {number}", json.dumps(entry, ensure_ascii=False)
    else:
        yield from chain([first] if first[0] else [], lines)


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a JSON file whose top level is an object; errors as ``read_json``."""
    value = read_json(path)
    if not isinstance(value, dict):
        msg = f"{path} contains a {type(value).__name__}, not an object"
        raise InputError(msg, "follow the layout of the released data")
    return value


def read_json(path: Path) -> Any:  # noqa: ANN401 - any JSON value
    """Read a JSON file.

    Raises:
        InputError: when the file cannot be read, is not UTF-8 or not JSON, or a key occurs
            twice in one object (Python would keep the last and drop the first silently).
    """

    def unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(items)
        if len(value) < len(items):
            keys = [key for key, _ in items]
            twice = next(key for key in keys if keys.count(key) > 1)
            msg = f"{path}: the id {twice!r} occurs twice in one object"
            raise InputError(msg, "give every document, pair and sentence its own id")
        return value

    try:
        return json.loads(read_text(path), object_pairs_hook=unique)
    except (json.JSONDecodeError, RecursionError) as error:
        msg = f"{path} is not JSON: {error}"
        raise InputError(msg, "fix the file at that position") from None


def read_table(path: Path, required: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield where each row of a table in a text file is, and its cells by column.

    Cells are separated by commas, semicolons or tabs, as spreadsheets write them. Columns may be in any order; names
    are lower-cased, names and cells stripped, and a cell that is not there is empty.

    Raises:
        InputError: when the file cannot be read, is not UTF-8 or not such a table, or lacks a required column.
    """
    text = read_text(path)
    tables = [csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter) for delimiter in ",;\t"]
    rows = tables[0]
    try:
        rows = next((table for table in tables if set(required) <= _columns(table).keys()), rows)
        columns = _columns(rows)
        require_columns(path, columns, required)
        for row in rows:
            yield f"{path}, line {rows.line_num}", {key: (row[name] or "").strip() for key, name in columns.items()}
    except csv.Error as error:
        msg = f"{path}, line {rows.line_num}: {error}"
        raise InputError(msg, "save it as a comma-separated table") from None


def require_columns(path: Path, columns: Collection[str], required: Sequence[str]) -> None:
    """Raise ``InputError`` unless a table has the required columns."""
    if not set(required) <= set(columns):
        msg = f"{path} has the columns {', '.join(columns) or '(none)'}"
        raise InputError(msg, f"name its columns {','.join(required)} in the first line")


def _columns(table: csv.DictReader[str]) -> dict[str, str]:
    """Return column as it is looked up -> column as it is written."""
    return {name.strip().lower(): name for name in table.fieldnames or () if name}

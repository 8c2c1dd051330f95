"""Reads tables with one document or one pair of documents in each row: CSV, Excel, Parquet, Hugging Face, JSON.

Columns are found by their role, which is also their usual name: ``text`` and ``id`` of a document alone; ``source``,
``target``, ``source_id``, ``target_id`` and ``pair`` (or ``id``) of a pair. ``--columns`` says where they have other
names. A text may be a list of sentences where the format has lists. The other columns become metadata of the documents.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import LITTER, ImportSource, read_json_lines
from abcdlink.corpus.formats.spreadsheets import csv_lines, excel_rows
from abcdlink.corpus.records import Corpus, Document, Pair, Sentence, Tally
from abcdlink.errors import InputError
from abcdlink.settings import get_settings

Row = Mapping[str, Any]
Rows = Iterator[tuple[str, str, Row]]
"""Where a row is, the id that it has where no column gives one, and its cells by column."""

ROLES = ("text", "id", "source", "target", "source_id", "target_id", "pair")
LONGEST_META = 200
"""Characters of the longest cell that becomes metadata; longer ones are texts that nobody asked for."""
BATCH = 64
"""Rows of a Parquet file that are read at a time: their texts may be long."""
MOST_TARGETS = 10_000
"""Texts of targets that are remembered, so that tables of any length are read."""
HEAD = 1_000
"""Lines of a JSON file in which a field is looked for: none need have them all."""
JSON_HINT = "write one object a line, or an array of objects"
FAULT = "why the row is refused"
"""Key of the error of a row that is refused for its form."""
SAVED = ("state.json", "dataset_dict.json")
"""Files that tell a data set that was saved by ``save_to_disk``."""


def read_csv(given: ImportSource) -> Corpus:
    """Read a ``.csv`` or ``.xlsx`` file or all of a folder; cells of the former end at commas, semicolons or tabs.

    Raises:
        InputError: when there is no such file, or one is not UTF-8, not a table, or lacks the columns.
    """
    return _read(given, _of_files(given, {".csv": csv_rows, ".xlsx": lambda path: _rows_of(excel_rows(path))}))


def read_parquet(given: ImportSource) -> Corpus:
    """Read a ``.parquet`` file or all of a folder; errors as ``read_csv``."""
    return _read(given, _of_files(given, {".parquet": _parquet_rows}))


def read_hf(given: ImportSource) -> Corpus:
    """Read all splits of a Hugging Face data set: a folder, or a name where downloads are allowed.

    Raises:
        InputError: when it cannot be loaded, or lacks the columns.
    """
    return _read(given, _dataset_rows(given))


def read_json_rows(given: ImportSource) -> Corpus:
    """Read a ``.jsonl`` file or all of a folder, where fields were named as columns; errors as ``read_csv``."""
    return _read(given, _of_files(given, {".jsonl": _json_rows}))


def csv_rows(path: Path) -> Rows:
    """Yield the rows of one CSV file, numbered from 0 as pandas numbers them; cells are strings.

    A row of more cells than columns is yielded with its ``FAULT``; one of blank cells is skipped. Of several columns
    with one name, as issue trackers write them, the second is ``NAME (2)``.

    Raises:
        InputError: when it is not UTF-8, quotation marks are not closed or not doubled.
    """
    return _rows_of(csv_lines(path))


def _rows_of(lines: Iterator[tuple[str, list[str]]]) -> Rows:
    """Yield the rows of a table from its lines, of which the first has the names of the columns."""
    _, names = next(lines, ("", []))
    columns = _each_named(" ".join(name.split()) for name in names)
    for number, (where, cells) in enumerate(lines):
        if any(map(str.strip, cells)):
            beyond = [cell for cell in cells[len(columns) :] if cell.strip()]
            msg = f"there are more cells than columns: {', '.join(map(repr, beyond))}"
            fault = InputError(msg, "enclose cells that contain the separator in quotation marks")
            row = dict(zip(columns, cells, strict=False)) | ({FAULT: fault} if beyond else {})
            yield where, str(number), row


def _json_rows(path: Path) -> Rows:
    """Yield the objects of a JSON Lines file as rows that have all the fields of the first lines.

    What an object within one holds is named ``OUTER.INNER``. Any other line is yielded with its ``FAULT``.
    """
    lines = read_json_lines(path)
    first = [(where, _json_row(line)) for where, line in islice(lines, HEAD)]
    fields = dict.fromkeys(name for _, row in first for name in row if name != FAULT)
    for number, (where, row) in enumerate(chain(first, ((where, _json_row(line)) for where, line in lines))):
        yield where, str(number), row if FAULT in row else fields | row


def _json_row(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {FAULT: InputError(f"it is not JSON: {error}", JSON_HINT)}
    if not isinstance(row, dict):
        return {FAULT: InputError("it is not an object", JSON_HINT)}
    inner = {
        f"{name}.{key}": cell for name, held in row.items() if isinstance(held, dict) for key, cell in held.items()
    }
    return row | inner


def _each_named(names: Iterable[str]) -> list[str]:
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return found


def _of_files(given: ImportSource, readers: Mapping[str, Callable[[Path], Rows]]) -> Rows:
    """Yield the rows of a file or of all in a folder, by the reader for its ending; the first one is for any other."""
    path, endings = given.path, " or ".join(readers)
    there = [path] if path.is_file() else [file for file in sorted(path.glob("*")) if file.suffix.casefold() in readers]
    files = [file for file in there if not file.name.startswith(LITTER)]
    if not files:
        msg = f"{path} contains no {endings} file"
        raise InputError(msg, f"give a {endings} file, or a folder with some")
    for file in files:
        rows_of = readers.get(file.suffix.casefold(), next(iter(readers.values())))
        for where, name, row in rows_of(given.file(file)):
            yield where, name if len(files) == 1 else f"{file.stem}-{name}", row


def _parquet_rows(path: Path) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    yield f"{path}, row {number}", str(number), row
                    number += 1
    except (pa.ArrowException, OSError) as error:
        msg = f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}"
        raise InputError(msg, "rewrite it, for example with pandas") from None


def _dataset_rows(given: ImportSource) -> Rows:
    try:
        import datasets  # type: ignore[import-untyped]
    except ImportError:
        msg = "Hugging Face data sets are read with the package datasets, which is not installed"
        raise InputError(msg, "pip install 'abcdlink[hf]'") from None
    path = given.path
    if not path.exists() and get_settings().hub == "offline":
        msg = f"{path} is not a folder, and downloads are disabled"
        raise InputError(msg, "check the path; with ABCDLINK_HUB=online, names are looked up on the Hugging Face hub")
    try:
        if any((path / name).is_file() for name in SAVED):
            found = datasets.load_from_disk(str(path))
        else:
            found = datasets.load_dataset(str(path), streaming=True)
        splits = found if isinstance(found, dict) else {str(found.split or "all"): found}
        for split, rows in splits.items():
            for number, row in enumerate(rows):
                name = str(number) if len(splits) == 1 else f"{split}-{number}"
                yield f"{path}, split {split}, row {number}", name, {"split": str(split), **row}
    except Exception as error:  # noqa: BLE001 - the library raises whatever its readers and the hub raise
        msg = f"the data set {path} cannot be loaded: {str(error).strip().splitlines()[0] if str(error) else error!r}"
        hint = "check the folder or the name; a name is looked up on the hub, which this machine must reach"
        raise InputError(msg, hint) from None
    if path.is_dir():
        given.all_read()


def _read(given: ImportSource, rows: Rows) -> Corpus:
    builder = CorpusBuilder(given.name)
    columns: Mapping[str, str] | None = None
    targets = _Targets()
    for where, name, row in rows:
        if fault := row.get(FAULT):
            builder.refuse(where, fault.problem, fault.hint)
            continue
        columns = _columns(given, row) if columns is None else columns
        meta = _meta(row, columns)
        if given.wants(meta):
            with builder.refusing(where):
                cells = {role: row.get(column) for role, column in columns.items()}
                _add(builder, given, where, name, cells, meta, targets)
    if targets.shared.count:
        builder.note(targets.shared.note("Targets with the same text as that of a row before, which are one document"))
    return builder.build()


class _Targets:
    """The ids of targets that no column gives: the same text in many rows is one document."""

    def __init__(self) -> None:
        self._ids: dict[bytes, str] = {}
        self.shared = Tally()

    def id_for(self, text: Any, name: str) -> str:  # noqa: ANN401 - any cell
        """Return the id of the document with this text, which is the name given here where it is new."""
        key = hashlib.blake2b(repr(text).encode(errors="surrogatepass"), digest_size=16).digest()
        if key in self._ids:
            self.shared.add(name)
        elif len(self._ids) == MOST_TARGETS:
            del self._ids[next(iter(self._ids))]
        return self._ids.setdefault(key, name)


def _columns(given: ImportSource, row: Row) -> dict[str, str]:
    """Return role -> column, from what was asked for and from columns that have the names of roles."""
    asked = {role: _meant(column, row) for role, column in given.choices.columns.items()}
    by_name = {column.casefold(): column for column in row}
    there = ", ".join(column for column in row if column.strip() and not column.startswith(" "))
    for role, column in asked.items():
        if role not in ROLES:
            msg = f"there is no role {role!r} of a column"
            raise InputError(msg, f"use {', '.join(ROLES)}")
        if column not in row:
            msg = f"{given.path} has no column {column!r}, only {there}"
            raise InputError(msg, "correct --columns; the first line must name the columns")
    found = {role: by_name[role] for role in ROLES if role in by_name} | asked
    twice = next((column for column in found.values() if f"{column} (2)" in row), None)
    if twice:
        msg = f"{given.path} has two columns named {twice!r}"
        raise InputError(msg, "rename one of them")
    if "text" in asked:
        found = {role: column for role, column in found.items() if role in {"text", "id"}}
    elif not {"source", "target"} <= found.keys() and "text" not in found:
        msg = f"{given.path} has the columns {there}, and it is unclear which are texts"
        raise InputError(
            msg, "give --columns text=COLUMN, or --columns source=COLUMN,target=COLUMN; the first line must name them"
        )
    return found


def _meant(column: str, row: Row) -> str:
    """Return the only column whose name begins so; the same name when it is one, or there are none or several."""
    alike = [name for name in row if name.startswith(column)]
    return alike[0] if len(alike) == 1 else column


def _meta(row: Row, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the cells that are not used otherwise, where they are short and single."""
    used = set(columns.values())
    cells = {name: str(cell) for name, cell in row.items() if name not in used and isinstance(cell, str | int | float)}
    return {name: cell for name, cell in cells.items() if cell.strip() and len(cell) <= LONGEST_META}


def _add(
    builder: CorpusBuilder,
    given: ImportSource,
    where: str,
    name: str,
    cells: Mapping[str, Any],
    meta: dict[str, str],
    targets: _Targets,
) -> None:
    if "source" in cells and "target" in cells:
        pair = _name(cells.get("pair")) or _name(cells.get("id")) or name
        ids = [
            _name(cells.get("source_id")) or f"{pair}_source",
            _name(cells.get("target_id")) or targets.id_for(cells["target"], f"{pair}_target"),
        ]
        source, target = (
            _document(given, document, cells[side], side, meta)
            for document, side in zip(ids, ("source", "target"), strict=True)
        )
        builder.add_whole_pair(where, source, target, Pair(id=pair, source=source.id, target=target.id))
    else:
        builder.add_document(where, _document(given, _name(cells.get("id")) or name, cells["text"], "text", meta))


def _name(cell: Any) -> str:  # noqa: ANN401 - any cell
    return "" if cell is None else str(cell).strip()


def _document(given: ImportSource, name: str, cell: Any, role: str, meta: dict[str, str]) -> Document:  # noqa: ANN401
    if isinstance(cell, str):
        return given.texts.document(name, cell, meta=meta)
    if isinstance(cell, Iterable) and (texts := list(cell)) and all(isinstance(text, str) for text in texts):
        sentences = tuple(Sentence(id=str(number), text=text) for number, text in enumerate(texts))
        return Document(id=name, sentences=sentences, meta=meta)
    msg = f"the {role} is {'blank' if cell is None else 'neither a text nor a list of sentences'}"
    raise InputError(msg, "fill it in or remove the row")

"""Reads a folder of files that hold one document each: plain text, HTML, Word, PDF (see ``text_files.py``).

A document is named by its path below the folder without its ending. The pairs come from ``pairs.csv`` or ``pairs.xlsx``
(columns ``source``, ``target`` and, if wanted, ``id``; file names with or without ending) where there is one, else from
files named ``<pair>.source.txt`` and ``<pair>.target.txt``, or ``sources/<pair>.txt`` and ``targets/<pair>.txt``, or
with another ending. Case, and whether an accent is a character of its own, matter only where two names differ in
nothing else. In a folder without other documents, all this goes for ``.md``; beside them, an ``.md`` file tells what
the folder holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from unicodedata import normalize

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import ImportSource, read_table, require_columns
from abcdlink.corpus.formats.spreadsheets import excel_rows
from abcdlink.corpus.formats.text_files import (
    READERS,
    ending,
    pages_without_text,
    read_document,
    text_files,
    without_ending,
)
from abcdlink.corpus.records import Corpus, Note, Pair, pair_name
from abcdlink.errors import InputError

PAIRS_FILES = ("pairs.csv", "pairs.xlsx")
SOURCE, TARGET = "source", "target"


def read_text_folder(given: ImportSource) -> Corpus:
    """Read all documents of a folder and its subfolders; unreadable and empty ones are refused.

    Raises:
        InputError: when the source is not a folder or has no document, or the table of pairs cannot be
            read as a table with the columns ``source`` and ``target``.
    """
    folder = given.path
    documents, copies = text_files(folder)
    if not documents:
        msg = f"{folder} is not a folder with {', '.join(READERS)} files"
        raise InputError(
            msg, "put one such file per document into a folder and give that folder; save others as .docx or .txt"
        )
    builder = CorpusBuilder(given.name)
    _leave_out(builder, given, "the same document is there with another ending", copies)
    if given.choices.targets:
        _leave_out(
            builder, given, "they are sources", [path for name, path in documents.items() if _pair_of(name, SOURCE)]
        )
        documents = {name: path for name, path in documents.items() if not _pair_of(name, SOURCE)}
    textless: list[str] = []
    for name, path in documents.items():
        with builder.refusing(str(path)):
            text = read_document(given.file(path))
            textless += pages_without_text(path, text)
            builder.add_document(str(path), given.texts.document(name, text))
    if textless:
        builder.note(Note.of("Pages without text, which are blank or pictures", textless))
    files = {name: path.relative_to(folder).as_posix() for name, path in documents.items()}
    tables = [path for path in sorted(folder.iterdir()) if path.name.casefold() in PAIRS_FILES]
    if tables:
        _pairs_from_table(builder, given, tables[0], _Names(files))
    elif not given.choices.targets:
        _pairs_from_names(builder, files)
    return builder.build()


def _leave_out(builder: CorpusBuilder, given: ImportSource, why: str, files: Sequence[Path]) -> None:
    if files:
        builder.note(Note.of(f"Files left out, as {why}", [given.file(path).name for path in files]))


class _Names:
    """Finds a name as it is written, else without ending the only one that differs as file systems let names differ."""

    def __init__(self, names: Iterable[str]) -> None:
        self._exact = set(names)
        self._folded = defaultdict(set)
        for name in self._exact:
            self._folded[_folded(name)].add(name)

    def find(self, name: str) -> str:
        """Return the name that is meant; the same one, without ending, when there is none."""
        name = name if name in self._exact else without_ending(name)
        alike = self._folded.get(_folded(name), ())
        return name if name in self._exact or len(alike) != 1 else next(iter(alike))


def _pairs_from_table(builder: CorpusBuilder, given: ImportSource, path: Path, names: _Names) -> None:
    for where, cells in _table(given.file(path)):
        source, target = (names.find(cells[side]) for side in ("source", "target"))
        if not source or not target:
            builder.refuse(where, "the source or the target is blank", "fill it in or remove the row")
        else:
            builder.add_pair(where, Pair(id=cells.get("id") or pair_name(source, target), source=source, target=target))


def _table(path: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    if path.name.casefold() == PAIRS_FILES[0]:
        yield from read_table(path, (SOURCE, TARGET))
        return
    rows = excel_rows(path)
    _, head = next(rows, ("", []))
    columns = [name.casefold() for name in head]
    require_columns(path, columns, (SOURCE, TARGET))
    yield from ((where, dict(zip(columns, cells, strict=True))) for where, cells in rows)


def _pairs_from_names(builder: CorpusBuilder, files: Mapping[str, str]) -> None:
    """Make the pairs of documents whose names say so; ``files``: name of a document -> its file."""
    sources, targets = (_by_pair(builder, files, side) for side in (SOURCE, TARGET))
    # Names that differ in case match only where neither has a counterpart of its own.
    lone_sources, lone_targets = _Names(sources.keys() - targets.keys()), _Names(targets.keys() - sources.keys())
    alone = [(target, SOURCE, pair) for pair, target in targets.items() if lone_sources.find(pair) not in sources]
    for pair, source in sources.items():
        if target := targets.get(pair) or targets.get(lone_targets.find(pair)):
            builder.add_pair(files[source], Pair(id=pair, source=source, target=target))
        else:
            alone.append((source, TARGET, pair))
    for name, side, pair in alone:
        missing = f"{pair}.{side}{ending(files[name])}" if name.startswith(pair) else f"{side}s/{pair}"
        builder.refuse(
            files[name], f"there is no {missing} to pair it with", "add the file, or name the pairs in pairs.csv"
        )
    if not sources and not targets:
        builder.note(
            Note.of("Files that make no pairs, as they are named neither source nor target", list(files.values()))
        )


def _folded(name: str) -> str:
    """Return a name without what differs between systems: case, composed accents, the slash of Windows, ``./``."""
    return normalize("NFC", name).casefold().replace("\\", "/").removeprefix("./")


def _by_pair(builder: CorpusBuilder, files: Mapping[str, str], side: str) -> dict[str, str]:
    """Return pair -> name of its document on one side."""
    found: dict[str, str] = {}
    for name in files:
        pair = _pair_of(name, side)
        if pair and found.setdefault(pair, name) != name:
            reason = f"{files[found[pair]]} is the {side} of that pair already"
            builder.refuse(files[name], reason, "give every file its own name")
    return found


def _pair_of(name: str, side: str) -> str:
    """Return the pair of a document on one side, of ``p1.source`` and ``sources/p1`` this is ``p1``; else ``""``."""
    if name.casefold().endswith(f".{side}"):
        return name[: -len(side) - 1]
    folder, _, rest = name.partition("/")
    return rest if folder.casefold() in {side, f"{side}s"} else ""

"""Reads a folder of plain text files, one document per file.

A document is named by its path below the folder without ``.txt``. The pairs come from ``pairs.csv``
(columns ``source``, ``target`` and, if wanted, ``id``; file names with or without ``.txt``) where there
is one, else from files named ``<pair>.source.txt`` and ``<pair>.target.txt``. Case, and whether an accent is a
character of its own, matter only where two names differ in nothing else. In a folder without ``.txt`` files,
all this goes for ``.md``; beside them, an ``.md`` file tells what the folder holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from unicodedata import normalize

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import ImportSource, read_table, read_text
from abcdlink.corpus.records import Corpus, Note, Pair, pair_name
from abcdlink.errors import SAVE_AS_TEXT, InputError

PAIRS_FILE = "pairs.csv"
SUFFIXES = (".txt", ".md")
SOURCE, TARGET = ".source", ".target"


def read_text_folder(given: ImportSource) -> Corpus:
    """Read all ``.txt`` files of a folder and its subfolders, else all ``.md``; unreadable and empty ones are refused.

    Raises:
        InputError: when the source is not a folder or has no text file, or ``pairs.csv`` cannot be
            read as a table with the columns ``source`` and ``target``.
    """
    folder = given.path
    suffix, paths = text_files(folder)
    if not paths:
        msg = f"{folder} is not a folder with {' or '.join(SUFFIXES)} files"
        raise InputError(
            msg, f"put one {SUFFIXES[0]} file per document into a folder and give that folder; {SAVE_AS_TEXT}"
        )
    builder = CorpusBuilder(given.name)
    if given.choices.targets and (sources := [path for path in paths if _ends_with(path.name, SOURCE + suffix)]):
        left_out = [given.file(path).name for path in sources]
        builder.note(Note.of(f"Files named *{SOURCE}{suffix}, which were left out", left_out))
        paths = [path for path in paths if path not in sources]
    names = [path.relative_to(folder).as_posix()[: -len(suffix)] for path in paths]
    for name, path in zip(names, paths, strict=True):
        with builder.refusing(str(path)):
            builder.add_document(str(path), given.texts.document(name, read_text(given.file(path))))
    tables = [path for path in sorted(folder.iterdir()) if path.name.casefold() == PAIRS_FILE]
    if tables:
        _pairs_from_table(builder, given, tables[0], _Names(names), suffix)
    elif not given.choices.targets:
        _pairs_from_names(builder, names, suffix)
    return builder.build()


def text_files(folder: Path) -> tuple[str, list[Path]]:
    """Return the ending of the text files in a folder and its subfolders, and the files; none: ``("", [])``."""
    there = sorted(folder.rglob("*")) if folder.is_dir() else []
    for suffix in SUFFIXES:
        if found := [path for path in there if _ends_with(path.name, suffix)]:
            return suffix, found
    return "", []


class _Names:
    """Finds a name as it is written, else the only one that differs from it as file systems let names differ."""

    def __init__(self, names: Iterable[str]) -> None:
        self._exact = set(names)
        self._folded = defaultdict(set)
        for name in self._exact:
            self._folded[_folded(name)].add(name)

    def find(self, name: str) -> str:
        """Return the name that is meant; the same one when there is none."""
        alike = self._folded.get(_folded(name), ())
        return name if name in self._exact or len(alike) != 1 else next(iter(alike))


def _pairs_from_table(builder: CorpusBuilder, given: ImportSource, path: Path, names: _Names, suffix: str) -> None:
    for where, cells in read_table(given.file(path), ("source", "target")):
        source, target = (names.find(_without(cells[side], suffix)) for side in ("source", "target"))
        if not source or not target:
            builder.refuse(where, "the source or the target is blank", "fill it in or remove the row")
        else:
            builder.add_pair(where, Pair(id=cells.get("id") or pair_name(source, target), source=source, target=target))


def _pairs_from_names(builder: CorpusBuilder, names: list[str], suffix: str) -> None:
    sources, targets = (_by_pair(builder, names, side, suffix) for side in (SOURCE, TARGET))
    # Names that differ in case match only where neither has a counterpart of its own.
    lone_sources, lone_targets = _Names(sources.keys() - targets.keys()), _Names(targets.keys() - sources.keys())
    alone = [(target, pair + SOURCE) for pair, target in targets.items() if lone_sources.find(pair) not in sources]
    for pair, source in sources.items():
        if target := targets.get(pair) or targets.get(lone_targets.find(pair)):
            builder.add_pair(f"{source}{suffix}", Pair(id=pair, source=source, target=target))
        else:
            alone.append((source, pair + TARGET))
    for name, missing in alone:
        reason = f"there is no {missing}{suffix} to pair it with"
        builder.refuse(f"{name}{suffix}", reason, "add the file, or name the pairs in pairs.csv")


def _folded(name: str) -> str:
    """Return a name without what differs between systems: case, composed accents, the slash of Windows, ``./``."""
    return normalize("NFC", name).casefold().replace("\\", "/").removeprefix("./")


def _by_pair(builder: CorpusBuilder, names: list[str], ending: str, suffix: str) -> dict[str, str]:
    """Return pair -> name of its document on one side."""
    found: dict[str, str] = {}
    for name in names:
        if _ends_with(name, ending) and found.setdefault(_without(name, ending), name) != name:
            reason = f"its name differs from {found[_without(name, ending)]}{suffix} only in case"
            builder.refuse(f"{name}{suffix}", reason, "give every file its own name")
    return found


def _ends_with(name: str, ending: str) -> bool:
    return name.casefold().endswith(ending)


def _without(name: str, ending: str) -> str:
    return name[: -len(ending)] if _ends_with(name, ending) else name

"""Reads a folder of plain text files, one document a file.

A document is named by its path below the folder without ``.txt``. The pairs come from ``pairs.csv``
(columns ``source``, ``target`` and, if wanted, ``id``; file names with or without ``.txt``) where there
is one, else from files named ``<pair>.source.txt`` and ``<pair>.target.txt``.
"""

from __future__ import annotations

from pathlib import Path

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import read_table, read_text
from abcdlink.corpus.lines import pair_name
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.segmentation import Segmenter

PAIRS_FILE = "pairs.csv"
SUFFIX = ".txt"
SOURCE, TARGET = ".source", ".target"


def read_text_folder(source: Path, segmenter: Segmenter) -> Corpus:
    """Read all ``.txt`` files of a folder and its subfolders; unreadable and empty ones are refused.

    Raises:
        InputError: when the source is no folder or has no text file, or ``pairs.csv`` cannot be
            read as a table with the columns ``source`` and ``target``.
    """
    paths = sorted(source.rglob(f"*{SUFFIX}")) if source.is_dir() else []
    if not paths:
        msg = f"{source} is no folder with {SUFFIX} files"
        raise InputError(msg, f"put one {SUFFIX} file per document into a folder and give that folder")
    builder = CorpusBuilder(source.resolve().name)
    names = [path.relative_to(source).as_posix().removesuffix(SUFFIX) for path in paths]
    for name, path in zip(names, paths, strict=True):
        with builder.refusing(str(path)):
            builder.add_document(str(path), segmenter.document(name, read_text(path)))
    if (source / PAIRS_FILE).exists():
        _pairs_from_table(builder, source / PAIRS_FILE)
    else:
        _pairs_from_names(builder, names)
    return builder.build()


def _pairs_from_table(builder: CorpusBuilder, path: Path) -> None:
    for where, cells in read_table(path, ("source", "target")):
        _pair_from_row(builder, where, cells)


def _pair_from_row(builder: CorpusBuilder, where: str, values: dict[str, str]) -> None:
    source, target = (values[side].removesuffix(SUFFIX) for side in ("source", "target"))
    if not source or not target:
        builder.refuse(where, "the source or the target is blank", "fill it in or remove the row")
    else:
        name = values.get("id") or pair_name(source, target)
        builder.add_pair(where, Pair(id=name, source=source, target=target))


def _pairs_from_names(builder: CorpusBuilder, names: list[str]) -> None:
    for name in names:
        if name.endswith(SOURCE):
            pair = name.removesuffix(SOURCE)
            builder.add_pair(f"{name}{SUFFIX}", Pair(id=pair, source=name, target=pair + TARGET))
        elif name.endswith(TARGET) and name.removesuffix(TARGET) + SOURCE not in names:
            reason = f"there is no {name.removesuffix(TARGET)}{SOURCE}{SUFFIX} to pair it with"
            builder.refuse(f"{name}{SUFFIX}", reason, "add the file, or name the pairs in pairs.csv")

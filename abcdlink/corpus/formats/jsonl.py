"""Reads JSON Lines: a folder with ``documents.jsonl`` and ``pairs.jsonl``, or one file of whole pairs.

Documents may be whole texts, which are cut into sentences, or lists of sentences. Our own corpus
layout is a special case of the folder. Lines that do not fit are refused one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import read_text
from abcdlink.corpus.lines import DocumentLine, DropLine, PairLine
from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from abcdlink.segmentation import Segmenter


def read_jsonl(source: Path, segmenter: Segmenter) -> Corpus:
    """Read a folder (``pairs.jsonl`` may be missing) or one ``.jsonl`` file of whole pairs.

    Raises:
        InputError: when the folder has no ``documents.jsonl``, or a file is no UTF-8.
    """
    builder = CorpusBuilder(source.resolve().stem if source.is_file() else source.resolve().name)
    if source.is_file():
        _read_whole_pairs(builder, source, segmenter)
    else:
        _read_folder(builder, source, segmenter)
    return builder.build()


def _read_whole_pairs(builder: CorpusBuilder, path: Path, segmenter: Segmenter) -> None:
    for where, line in _lines(path):
        with builder.refusing(where):
            builder.add_whole_pair(where, *DropLine.model_validate_json(line).records(segmenter))


def _read_folder(builder: CorpusBuilder, folder: Path, segmenter: Segmenter) -> None:
    documents, pairs = folder / "documents.jsonl", folder / "pairs.jsonl"
    if not documents.is_file():
        msg = f"{documents} is not there"
        raise InputError(msg, "give a folder with documents.jsonl and pairs.jsonl, or one .jsonl file of whole pairs")
    for where, line in _lines(documents):
        with builder.refusing(where):
            builder.add_document(where, DocumentLine.model_validate_json(line).document(segmenter))
    if pairs.is_file():
        for where, line in _lines(pairs):
            with builder.refusing(where):
                builder.add_pair(where, PairLine.model_validate_json(line).pair())


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield where a line stands and its content; blank lines are passed over."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield f"{path}, line {number}", line

"""One reader per outside format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from abcdlink.corpus.formats.abcd_link import read_abcd_link
from abcdlink.corpus.formats.ecb_plus import read_ecb_plus
from abcdlink.corpus.formats.f1000rd import read_f1000rd
from abcdlink.corpus.formats.jsonl import read_jsonl
from abcdlink.corpus.formats.text import read_text_folder
from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from abcdlink.segmentation import Segmenter

Reader = Callable[[Path, Segmenter], Corpus]
"""Reads outside data at a path, cutting whole texts with the segmenter."""

FORMATS: dict[str, Reader] = {
    "jsonl": read_jsonl,
    "abcd-link": read_abcd_link,
    "text": read_text_folder,
    "f1000rd": read_f1000rd,
    "ecb-plus": read_ecb_plus,
}
"""Readers by the name that ``abcdlink import`` takes."""


def import_corpus(format_name: str, source: Path, segmenter: Segmenter) -> Corpus:
    """Read outside data; what does not fit is in ``refused`` of the corpus.

    Raises:
        InputError: when the format is unknown, the source cannot be read as a whole, or nothing
            of it could be used.
    """
    if format_name not in FORMATS:
        msg = f"there is no format {format_name!r}"
        raise InputError(msg, f"use one of: {', '.join(FORMATS)}")
    if not source.exists():
        msg = f"{source} is not there"
        raise InputError(msg, "check the path")
    corpus = FORMATS[format_name](source, segmenter)
    if not corpus.documents:
        first = f", the first because {corpus.refused[0].reason}" if corpus.refused else ""
        msg = f"{source} holds no document that can be used ({len(corpus.refused)} items refused{first})"
        raise InputError(msg, "mend the files or choose another format")
    return corpus

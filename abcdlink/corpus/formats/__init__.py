"""One reader per outside format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from abcdlink.corpus.formats.abcd_link import read_abcd_link
from abcdlink.corpus.formats.ecb_plus import read_ecb_plus
from abcdlink.corpus.formats.f1000rd import read_f1000rd
from abcdlink.corpus.formats.files import ImportSource
from abcdlink.corpus.formats.jsonl import read_jsonl
from abcdlink.corpus.formats.text import read_text_folder
from abcdlink.corpus.plain_text import Lines, PlainText
from abcdlink.corpus.records import Corpus, Note
from abcdlink.corpus.segmentation import Segmenter
from abcdlink.errors import InputError

Reader = Callable[[ImportSource], Corpus]

FORMATS: dict[str, Reader] = {
    "jsonl": read_jsonl,
    "abcd-link": read_abcd_link,
    "text": read_text_folder,
    "f1000rd": read_f1000rd,
    "ecb-plus": read_ecb_plus,
}
"""Readers by the name that ``abcdlink import`` takes."""

AS_RELEASED = ("ecb-plus",)
"""Formats whose data set was also released in a variant."""

NOT_READ = "Files that are not part of the format and were not read"


def import_corpus(
    format_name: str,
    source: Path,
    segmenter: Segmenter,
    *,
    lines: Lines = Lines.AUTO,
    entities: bool = True,
    as_released: bool = False,
    targets: bool = False,
) -> Corpus:
    """Read outside data; what does not fit is in ``refused`` of the corpus, what was changed in ``notes``.

    Args:
        format_name: one of ``FORMATS``.
        source: a folder or file.
        segmenter: cuts plain text into sentences.
        lines: what the end of a line in plain text means.
        entities: whether HTML entities in plain text are decoded.
        as_released: make the variant that the authors of a data set released.
        targets: take only the documents that can be targets, and no pairs.

    Raises:
        InputError: when the format is unknown or has no released variant, the source cannot be read as a
            whole, or nothing in it can be used.
    """
    if format_name not in FORMATS:
        msg = f"there is no format {format_name!r}"
        raise InputError(msg, f"use one of: {', '.join(FORMATS)}")
    if as_released and format_name not in AS_RELEASED:
        msg = f"the format {format_name!r} has no released variant"
        raise InputError(msg, f"leave out --as-released; it is for {', '.join(AS_RELEASED)}")
    if not source.exists():
        msg = f"{source} is not there"
        raise InputError(msg, "check the path")
    texts = PlainText(segmenter, lines, entities=entities)
    given = ImportSource(source, texts, as_released=as_released, targets=targets)
    corpus = FORMATS[format_name](given)
    if targets:
        corpus = _targets_of(corpus)
    if not corpus.documents:
        first = f", the first because {corpus.refused[0].reason}" if corpus.refused else ""
        msg = f"{source} holds no document that can be used ({len(corpus.refused)} items refused{first})"
        raise InputError(msg, "correct the files or choose another format")
    corpus.notes.extend(texts.notes())
    if unread := given.not_read():
        corpus.notes.append(Note.of(NOT_READ, unread))
    return corpus


def _targets_of(corpus: Corpus) -> Corpus:
    documents = {name: corpus.documents[name] for name in corpus.target_documents}
    left_out = [name for name in corpus.documents if name not in documents]
    notes = [Note.of("Source documents, which were left out", left_out)] if left_out else []
    return corpus.model_copy(update={"documents": documents, "pairs": [], "notes": [*corpus.notes, *notes]})

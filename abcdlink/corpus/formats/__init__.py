"""One reader per outside format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from abcdlink.corpus.formats.abcd_link import read_abcd_link
from abcdlink.corpus.formats.ecb_plus import read_ecb_plus
from abcdlink.corpus.formats.files import ImportChoices, ImportSource
from abcdlink.corpus.formats.jsonl import read_jsonl
from abcdlink.corpus.formats.news import read_spiced, read_wikinewssum
from abcdlink.corpus.formats.reviews import read_f1000rd, read_nlpeer
from abcdlink.corpus.formats.rows import read_csv, read_hf, read_parquet
from abcdlink.corpus.formats.text import read_text_folder
from abcdlink.corpus.leftovers import LinePattern
from abcdlink.corpus.plain_text import LineEnds, PlainText
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
    "nlpeer": read_nlpeer,
    "wikinewssum": read_wikinewssum,
    "spiced": read_spiced,
    "csv": read_csv,
    "parquet": read_parquet,
    "hf": read_hf,
}
"""Readers by the name that ``abcdlink import`` takes."""

HINT = "correct the files or choose another format"
HINTS = {
    "jsonl": 'write lines of this format: {"id": "a", "text": "...", "meta": {"topic": "..."}}; of pairs {"pair": "p", '
    '"source": {"id": "a", "text": "..."}, "target": {"id": "b", "text": "..."}}; links, where texts are given as '
    '"sentences", as "links": {"0": ["1", "2"]}: targets by source sentence, counted from 0; or name your '
    "fields, e.g. --columns id=number,text=body"
}
"""What to do when nothing in a source fits its format, where there is more to say."""

AS_RELEASED = ("ecb-plus", "spiced")
"""Formats whose data set was also released in a variant."""

WITH_COLUMNS = ("jsonl", "csv", "parquet", "hf")
"""Formats whose columns can be named."""

NAMED = ("hf",)
"""Formats whose source may be a name instead of a folder or file."""

ALONE = "Documents in no pair, which nobody judges"
NOT_READ = "Files that are not part of the format and were not read"


def import_corpus(
    format_name: str,
    source: Path,
    segmenter: Segmenter,
    *,
    lines: LineEnds = LineEnds.AUTO,
    entities: bool = True,
    remove: Sequence[LinePattern] | None = (),
    choices: ImportChoices | None = None,
) -> Corpus:
    """Read outside data; what does not fit is in ``refused`` of the corpus, what was changed in ``notes``.

    Args:
        format_name: one of ``FORMATS``.
        source: a folder or file.
        segmenter: cuts plain text into sentences.
        lines: what the end of a line in plain text means.
        entities: whether HTML entities in plain text are decoded.
        remove: lines of plain text to remove besides page numbers, quoted mail, code ...; ``None``: none at all.
        choices: what of the data is wanted; everything when left out.

    Raises:
        InputError: when the format is unknown or has no such choice, the source cannot be read as a
            whole, or nothing in it can be used.
    """
    if format_name not in FORMATS:
        msg = f"there is no format {format_name!r}"
        raise InputError(msg, f"use one of: {', '.join(FORMATS)}")
    choices = choices or ImportChoices()
    if choices.columns and format_name not in WITH_COLUMNS:
        msg = f"the format {format_name!r} has no columns to name"
        raise InputError(msg, f"leave out --columns; it is for {', '.join(WITH_COLUMNS)}")
    if choices.as_released and format_name not in AS_RELEASED:
        msg = f"the format {format_name!r} has no released variant"
        raise InputError(msg, f"leave out --as-released; it is for {', '.join(AS_RELEASED)}")
    if not source.exists() and format_name not in NAMED:
        msg = f"{source} does not exist"
        raise InputError(msg, "check the path")
    texts = PlainText(segmenter, lines, entities=entities, remove=remove)
    given = ImportSource(source, texts, choices)
    corpus = FORMATS[format_name](given)
    if choices.targets:
        corpus = _targets_of(corpus)
    if choices.only:
        corpus = _with_metadata(corpus, given)
    if not corpus.documents:
        if not corpus.refused:
            wanted = " that --only asks for" if choices.only else ""
            msg = f"{source} contains no document{wanted}"
            raise InputError(msg, f"check that it is not empty, and that its format is {format_name}")
        first = corpus.refused[0]
        msg = f"{source} contains no usable document ({len(corpus.refused)} refused; the first: {first.why})"
        raise InputError(msg, first.hint or HINTS.get(format_name, HINT))
    corpus.notes.extend(texts.notes())
    corpus.removed_lines = texts.removed
    corpus.notes.extend(_left_aside(corpus, given))
    return corpus


def _left_aside(corpus: Corpus, given: ImportSource) -> Iterator[Note]:
    if corpus.pairs and (alone := corpus.unpaired):
        yield Note.of(ALONE, alone)
    if unread := given.not_read():
        yield Note.of(NOT_READ, unread)


def _targets_of(corpus: Corpus) -> Corpus:
    names = corpus.target_documents
    if len(names) == len(corpus.documents):
        return corpus.model_copy(update={"pairs": []})
    kept = set(names)
    note = Note.of("Source documents, which were left out", [name for name in corpus.documents if name not in kept])
    documents = {name: corpus.documents[name] for name in names}
    return corpus.model_copy(update={"documents": documents, "pairs": [], "notes": [*corpus.notes, note]})


def _with_metadata(corpus: Corpus, given: ImportSource) -> Corpus:
    """Return the documents with the metadata asked for, and the pairs of which one document has them."""
    wanted = {name for name, document in corpus.documents.items() if given.wants(document.meta)}
    pairs = [pair for pair in corpus.pairs if {pair.source, pair.target} & wanted]
    wanted |= {name for pair in pairs for name in (pair.source, pair.target)}
    documents = {name: corpus.documents[name] for name in corpus.documents if name in wanted}
    fields = " and ".join(f"{field} {' or '.join(values)}" for field, values in given.choices.only.items())
    note = Note(what=f"Items without {fields}, which were left out", count=given.unwanted, examples=())
    notes = [*corpus.notes, note] if given.unwanted else corpus.notes
    return corpus.model_copy(update={"documents": documents, "pairs": pairs, "notes": notes})

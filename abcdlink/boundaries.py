"""Sentence boundaries that people corrected: sentences joined, split or left out, and applied to a corpus.

What people set is stored as pieces of text that together make up the whole document, however it was cut before.
So it can be applied again after a new import, and text that has changed since is noticed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from abcdlink.corpus.io import read_corpus_from, write_corpus_to
from abcdlink.corpus.records import Corpus, Document, Note, Record, Refusal, Sentence
from abcdlink.errors import InputError
from abcdlink.judgments import opaque_id
from abcdlink.layout import NATURAL
from abcdlink.stages.once import at_once, is_done
from abcdlink.store import Store
from abcdlink.utf8_lines import parse_records

FOLDER = "boundaries"
ASKED = f"{FOLDER}/documents.jsonl"
SEGMENTATION = f"{FOLDER}/segmentation.jsonl"
CORRECTED = f"{FOLDER}/corpus"
"""The corpus with corrected boundaries: a new version, beside the one that was taken into the run."""


class AskedDocument(Record):
    """A document whose boundaries are to be checked; ``key``: opaque and stable name of its Label Studio task."""

    key: str
    document: str


class Segment(Record):
    """A part of a document: a sentence, or text that is left out."""

    text: str
    kept: bool = True


class Segmentation(Record):
    """A document as its pieces, in order."""

    document: str
    pieces: tuple[Segment, ...]


@at_once(FOLDER)
def prepare(store: Store, first_documents: int | None = None) -> list[AskedDocument]:
    """Choose the documents of the run's corpus that people check, in its order; or return those already chosen.

    Raises:
        InputError: when the run has no corpus, or was begun with another number of documents.
    """
    store.require(f"{NATURAL}/pairs.jsonl", "boundaries")
    if not is_done(store, FOLDER, ASKED, {"documents": first_documents}):
        corpus = read_corpus_from(store, NATURAL)
        documents = list(corpus.used_documents()) or list(corpus.documents.values())
        asked = [
            AskedDocument(key=opaque_id(store.key, "boundaries", document.id), document=document.id)
            for document in documents[:first_documents]
        ]
        store.write_records(ASKED, asked)
    return store.read_records(ASKED, AskedDocument)


def segment(
    document: Document, joined: Collection[str], dropped: Collection[str], begins: Iterable[str]
) -> tuple[Segmentation, list[str]]:
    """Return a document cut as somebody asked, and a sentence on each thing that could not be done.

    Args:
        document: as it is cut so far.
        joined: ids of sentences that belong to the one before.
        dropped: ids of sentences that are not part of the text.
        begins: first words of each further sentence, somewhere inside one of these.
    """
    problems: list[str] = []
    texts = {sentence.id: _tidy(sentence.text) for sentence in document.sentences}
    cuts: dict[str, set[int]] = {name: set() for name in texts}
    for words in filter(None, map(_tidy, begins)):
        places = [(name, at) for name, text in texts.items() for at in _inside(words, text)]
        if len(places) != 1:
            found = f"{len(places)} places have" if places else "no sentence has"
            problems.append(f"nothing was cut before {words!r}: {found} these words after the first")
            continue
        cuts[places[0][0]].add(places[0][1])
    pieces: list[Segment] = []
    for number, (name, text) in enumerate(texts.items()):
        edges = [0, *sorted(cuts[name]), len(text)]
        parts = [text[start:end].strip() for start, end in pairwise(edges)]
        kept = name not in dropped
        joins = name in joined and number > 0
        if joins and (not kept or not pieces[-1].kept):
            problems.append(f"sentence {number + 1} is joined with the one before, but one of them is left out")
        elif joins:
            pieces[-1] = Segment(text=f"{pieces[-1].text} {parts[0]}".strip())
            parts = parts[1:]
        pieces += [Segment(text=part, kept=kept) for part in parts]
    return Segmentation(document=document.id, pieces=tuple(pieces)), problems


def _tidy(text: str) -> str:
    return " ".join(text.split())


def _inside(words: str, text: str) -> list[int]:
    """Return where words occur in a text, at the beginning of a word but not of the text."""
    places, at = [], text.find(words, 1)
    while at > 0:
        if not (text[at - 1].isalnum() and text[at].isalnum()) or not text[at].isascii():
            places.append(at)
        at = text.find(words, at + 1)
    return places


def apply_segmentations(corpus: Corpus, segmentations: Sequence[Segmentation]) -> Corpus:
    """Return a corpus with the boundaries that people set.

    A sentence that stays as it was keeps its id; a joined one has the id of its first part, and what is split off gets
    an id of its own. A document is refused, with a reason, and left as it is when its text has changed since, nothing
    of it would be left, or gold links name sentences that would change.

    Raises:
        InputError: when a document has two segmentations, or none of them is of a document of the corpus.
    """
    by_document = {one.document: one for one in segmentations}
    if len(by_document) < len(segmentations):
        msg = "a document has two segmentations"
        raise InputError(msg, "keep one line for each document")
    if segmentations and not by_document.keys() & corpus.documents.keys():
        msg = f"no document of the segmentation is in the corpus (first: {segmentations[0].document!r})"
        raise InputError(msg, "give the file that was made from these documents")
    linked = corpus.linked_sentences
    documents, refused, changed = dict(corpus.documents), [], []
    for name, document in corpus.documents.items():
        if name not in by_document:
            continue
        made, reason = _cut(document, by_document[name], linked.get(name, set()))
        if made is None:
            refused.append(Refusal(where=name, reason=reason, hint="its boundaries are unchanged; check it again"))
        elif made != document:
            documents[name] = made
            changed.append(name)
    notes = [*corpus.notes, *([Note.of("Documents with corrected sentence boundaries", changed)] if changed else [])]
    return corpus.model_copy(update={"documents": documents, "refused": [*corpus.refused, *refused], "notes": notes})


def _letters(texts: Iterable[str]) -> str:
    return "".join("".join(text.split()) for text in texts)


def _cut(document: Document, wanted: Segmentation, linked: Collection[str]) -> tuple[Document | None, str]:
    """Return the document in its pieces, or why not."""
    if _letters(document.texts) != _letters(piece.text for piece in wanted.pieces):
        return None, "its text has changed since its boundaries were set"
    starts: dict[int, Sentence] = {}
    at = 0
    for sentence in document.sentences:
        starts.setdefault(at, sentence)
        at += len(_letters([sentence.text]))
    ends = {*list(starts)[1:], at}
    sentences: list[Sentence] = []
    taken: set[str] = set()
    at = 0
    for piece in wanted.pieces:
        length = len(_letters([piece.text]))
        owner = [sentence for start, sentence in starts.items() if start <= at][-1]
        whole = at in starts and at + length in ends and not any(at < start < at + length for start in starts)
        name = owner.id if owner.id not in taken else _free(owner.id, taken, document)
        if piece.kept and length:
            taken.add(name)
            sentences.append(owner if whole and name == owner.id else Sentence(id=name, text=piece.text))
        if linked and not (whole and piece.kept):
            touched = {one.id for start, one in starts.items() if at <= start < at + length} | {owner.id}
            if touched & set(linked):
                return None, "gold links name sentences that would change"
        at += length
    return (Document(id=document.id, sentences=tuple(sentences)), "") if sentences else (None, "nothing would be left")


def _free(name: str, taken: Collection[str], document: Document) -> str:
    number = 2
    while f"{name}.{number}" in taken or f"{name}.{number}" in document.position:
        number += 1
    return f"{name}.{number}"


def finish(store: Store, segmentations: Sequence[Segmentation]) -> Corpus:
    """Write the corrected corpus, then the segmentations, which mark the work as done."""
    corpus = apply_segmentations(read_corpus_from(store, NATURAL), segmentations)
    write_corpus_to(store, CORRECTED, corpus)
    store.write_records(SEGMENTATION, segmentations)
    return corpus


def read_segmentation_file(path: str) -> list[Segmentation]:
    """Return the segmentations of a file, one JSON object a line.

    Raises:
        InputError: when there is no such file, or a line does not fit; names the file and the line.
    """
    try:
        return parse_records(Path(path).read_bytes(), Segmentation, path)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror})"
        raise InputError(msg, "give the segmentation.jsonl of a run of `abcdlink boundaries`") from None


def changed_documents(store: Store) -> list[str]:
    """Return the documents whose sentences changed in the corrected corpus."""
    before, after = read_corpus_from(store, NATURAL).documents, read_corpus_from(store, CORRECTED).documents
    return [name for name, document in after.items() if document.sentences != before[name].sentences]


def read_segmentations(store: Store) -> list[Segmentation]:
    """Return what people set; ``InputError`` when they are not done."""
    store.require(SEGMENTATION, "boundaries")
    return store.read_records(SEGMENTATION, Segmentation)

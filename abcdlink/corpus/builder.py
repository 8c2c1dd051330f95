"""Puts a corpus together from outside data: what does not fit is left out, kept and counted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from pydantic import ValidationError

from abcdlink.corpus.records import Corpus, Document, Note, Pair, Refusal
from abcdlink.corpus.shelf import MOST_HELD, Shelf
from abcdlink.errors import InputError, fault_in

RENAMED = "Documents renamed because another text has the same id"
OTHER_META = "Documents that came again with other metadata, which was left out"

DIGEST = 16
"""Bytes of the digest of a document's sentences."""

NUL_SHARE = 0.1
"""Share of NUL characters above which a text must be in another encoding."""


class _Added(NamedTuple):
    """A pair as it was added; ``whole``: whether it brought its documents."""

    where: str
    pair: Pair
    whole: bool


class CorpusBuilder:
    """Collects documents, pairs and refusals.

    The invariant: every pair in the corpus has the two documents that came with it.

    - A pair that brings its documents (``add_whole_pair``) gets these. Where another text has the id of one
      already, the document gets an id of its own, ``<id>@2``.
    - A pair that names documents added by themselves (``add_pair``) is refused when an id that it names is
      missing or refers to two different texts.

    What comes twice with the same sentences is kept once, with the metadata that came first. A second pair with
    the id of another one is refused. So is a single link to a sentence that is missing; the other links of the pair
    stay. Documents that do not fit into memory go to a temporary file.
    """

    def __init__(self, name: str, most_held: int = MOST_HELD) -> None:
        self.name = name
        self._documents = Shelf(most_held)
        self._pairs: dict[str, _Added] = {}
        self._refused: list[Refusal] = []
        self._notes: list[Note] = []
        self._renamed: dict[tuple[str, bytes], str] = {}
        """Id and content of a document as it came -> the id of its own that it got."""
        self._copies: dict[str, int] = {}
        """Id -> how many texts came under it with their pairs."""
        self._ambiguous: set[str] = set()
        self._other_meta: dict[str, None] = {}
        """Ids of documents that came again with other metadata."""

    def refuse(self, where: str, reason: str, hint: str = "") -> None:
        """Keep and count an item that is left out."""
        self._refused.append(Refusal(where=where, reason=reason, hint=hint))

    def note(self, *notes: Note) -> None:
        """Keep notes for the summary of an import."""
        self._notes.extend(notes)

    @contextmanager
    def refusing(self, where: str) -> Iterator[None]:
        """Turn an ``InputError`` or a record that does not fit, raised inside, into a refusal."""
        try:
            yield
        except ValidationError as error:
            self.refuse(where, fault_in(error, "the record"))
        except InputError as error:
            self.refuse(where, error.problem, error.hint)

    def add_document(self, where: str, document: Document) -> None:
        """Add a document that pairs name by its id; one without usable text or a second one of its id is refused."""
        with self.refusing(where):
            _check_ids(document)
            _check_text(document)
            held = self._content(document.id)
            if held in {None, _digest(document)}:
                self._keep(document)
            else:
                self._ambiguous.add(document.id)
                msg = f"a second document has the id {document.id!r}"
                raise InputError(msg, "give every document its own id")

    def add_lone_document(self, where: str, document: Document) -> None:
        """Add a document that no pair names by its id; where another text has its id, it gets one of its own."""
        with self.refusing(where):
            _check_text(document)
            self._place(document, self._id_for(document))

    def add_pair(self, where: str, pair: Pair) -> None:
        """Add a pair of documents that are added by themselves, before or after it."""
        with self.refusing(where):
            _check_id("pair", pair.id)
            if self._pairs.setdefault(pair.id, _Added(where, pair, whole=False))[1:] != (pair, False):
                self._refuse_second(where, pair)

    def add_whole_pair(self, where: str, source: Document, target: Document, pair: Pair) -> None:
        """Add a pair with both of its documents, or refuse all three."""
        with self.refusing(where):
            _check_id("pair", pair.id)
            for document in (source, target):
                _check_ids(document)
                _check_text(document)
            own_ids = self._id_for(source), self._id_for(target, source)
            if own_ids != (pair.source, pair.target):
                pair = pair.model_copy(update={"source": own_ids[0], "target": own_ids[1]})
            if pair.id in self._pairs:
                if self._pairs[pair.id][1:] != (pair, True):
                    self._refuse_second(where, pair)
                return
            # Of a pair without links nothing can be refused later: its place need not be kept for that.
            self._pairs[pair.id] = _Added(where if pair.links else "", pair, whole=True)
            self._place(source, pair.source)
            self._place(target, pair.target)

    def build(self) -> Corpus:
        """Check every pair against the documents and return the corpus."""
        refused = list(self._refused)
        pairs = [checked for added in self._pairs.values() if (checked := self._checked(refused, added))]
        found = {RENAMED: self._renamed.values(), OTHER_META: self._other_meta}
        found_notes = [Note.of(what, list(names)) for what, names in found.items() if names]
        return Corpus(
            name=self.name,
            documents=self._documents.documents(),
            pairs=pairs,
            refused=refused,
            notes=[*self._notes, *found_notes],
        )

    def _id_for(self, document: Document, other: Document | None = None) -> str:
        """Return the id under which a document of a whole pair is or will be kept, beside its other document."""
        reserved = {self._id_for(other): _digest(other)} if other else {}
        content = _digest(document)

        def is_for_it(name: str) -> bool:
            return (self._content(name) or reserved.get(name, content)) == content

        if is_for_it(document.id):
            return document.id
        if (document.id, content) in self._renamed:
            return self._renamed[document.id, content]
        number = self._copies.get(document.id, 1) + 1
        while not is_for_it(f"{document.id}@{number}"):
            number += 1
        return f"{document.id}@{number}"

    def _place(self, document: Document, own_id: str) -> None:
        content = _digest(document)
        if own_id != document.id and (document.id, content) not in self._renamed:
            self._renamed[document.id, content] = own_id
            self._copies[document.id] = int(own_id.rpartition("@")[2])
        self._keep(document if own_id == document.id else document.model_copy(update={"id": own_id}))

    def _keep(self, document: Document) -> None:
        """Add a document, unless it is there already."""
        meta = repr(sorted(document.meta.items())).encode(errors="surrogatepass")
        digest = _digest(document) + hashlib.blake2b(meta, digest_size=8).digest()
        held = self._documents.digest(document.id)
        if held is None:
            self._documents.add(document, digest)
        elif held != digest:
            self._other_meta[document.id] = None

    def _content(self, name: str) -> bytes | None:
        """Return the digest of the sentences that are held under an id."""
        held = self._documents.digest(name)
        return held and held[:DIGEST]

    def _refuse_second(self, where: str, pair: Pair) -> None:
        hint = "give every pair its own id; those of its documents, which may come again, are source_id and target_id"
        self.refuse(where, f"a second pair has the id {pair.id!r}", hint)

    def _checked(self, refused: list[Refusal], added: _Added) -> Pair | None:
        where, pair, whole = added
        for name in (pair.source, pair.target):
            if name not in self._documents:
                reason, hint = "does not exist or was refused", "add the document or remove the pair"
            elif name in self._ambiguous and not whole:
                reason, hint = "refers to two different texts", "give every document its own id"
            else:
                continue
            reason = f"pair {pair.id!r} names the document {name!r}, which {reason}"
            refused.append(Refusal(where=where, reason=reason, hint=hint))
            return None
        if pair.links is None:
            return pair
        links = self._checked_links(refused, where, pair, pair.links)
        # A pair that lost all of its links must not pass for one that was found to have none.
        lost_all = any(pair.links.values()) and not any(links.values())
        return pair.model_copy(update={"links": None if lost_all else links})

    def _checked_links(
        self, refused: list[Refusal], where: str, pair: Pair, links: Mapping[str, Iterable[str]]
    ) -> dict[str, tuple[str, ...]]:
        sources, targets = self._documents[pair.source].position, self._documents[pair.target].position
        kept: dict[str, tuple[str, ...]] = {}
        for source, named in links.items():
            distinct = tuple(dict.fromkeys(named))
            if source in sources:
                kept[source] = tuple(target for target in distinct if target in targets)
            for target in distinct:
                if source in sources and target in targets:
                    continue
                absent = f"{target!r} of {pair.target!r}" if source in sources else f"{source!r} of {pair.source!r}"
                reason = f"pair {pair.id!r}: link {source!r} to {target!r}: sentence {absent} does not exist"
                refused.append(Refusal(where=where, reason=reason, hint="correct the sentence id or remove the link"))
        return kept


def _digest(document: Document) -> bytes:
    """Return what tells the sentences of a document from those of any other."""
    content = "".join(f"{len(one.id)} {len(one.text)} {one.id}{one.text}" for one in document.sentences)
    return hashlib.blake2b(content.encode(errors="surrogatepass"), digest_size=DIGEST).digest()


def _check_ids(document: Document) -> None:
    _check_id("document", document.id)
    for sentence in document.sentences:
        _check_id("sentence", sentence.id)


def _check_id(what: str, given: str) -> None:
    """Refuse an id that nobody can read, or that a database or a UTF-8 file cannot hold."""
    if not given.strip() or any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in given):
        msg = f"{given!r} cannot be the id of a {what}"
        raise InputError(msg, "use any readable text")


def _check_text(document: Document) -> None:
    if not any(text.strip() for text in document.texts):
        msg = f"document {document.id!r} has no text"
        raise InputError(msg, "remove it or give it text")
    if NUL_SHARE * sum(map(len, document.texts)) < sum(text.count("\0") for text in document.texts):
        msg = f"document {document.id!r} is full of NUL characters, as UTF-16 is when it is read as UTF-8"
        raise InputError(msg, "save it as UTF-8")

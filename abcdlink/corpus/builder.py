"""Puts a corpus together from outside data: what does not fit is left out, kept and counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from pydantic import ValidationError

from abcdlink.corpus.records import Corpus, Document, Pair, Refusal
from abcdlink.errors import InputError


class CorpusBuilder:
    """Collects documents, pairs and refusals; checks the pairs when everything is there.

    A document or pair that comes twice with the same content is kept once; with other content
    the later one is refused. A pair whose document is missing is refused, and so is a single link
    to a sentence that is missing; the pair's other links stay.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._documents: dict[str, Document] = {}
        self._pairs: dict[str, tuple[str, Pair]] = {}
        self._refused: list[Refusal] = []

    def refuse(self, where: str, reason: str, mend: str = "") -> None:
        """Keep and count an item that is left out."""
        self._refused.append(Refusal(where=where, reason=reason, mend=mend))

    @contextmanager
    def refusing(self, where: str) -> Iterator[None]:
        """Turn an ``InputError`` or a record that does not fit, raised inside, into a refusal."""
        try:
            yield
        except ValidationError as error:
            self.refuse(where, first_problem(error))
        except InputError as error:
            self.refuse(where, error.problem, error.mend)

    def add_document(self, where: str, document: Document) -> None:
        """Add a document; one without any text, or a second one of the same id, is refused."""
        if not any(text.strip() for text in document.texts):
            self.refuse(where, f"document {document.id!r} has no text", "remove it or give it text")
        elif self._documents.setdefault(document.id, document) != document:
            self.refuse(where, f"a second document has the id {document.id!r}", "give every document its own id")

    def add_pair(self, where: str, pair: Pair) -> None:
        """Add a pair; a second one of the same id is refused."""
        if self._pairs.setdefault(pair.id, (where, pair))[1] != pair:
            self.refuse(where, f"a second pair has the id {pair.id!r}", "give every pair its own id")

    def add_whole_pair(self, where: str, source: Document, target: Document, pair: Pair) -> None:
        """Add a pair with both of its documents."""
        self.add_document(where, source)
        self.add_document(where, target)
        self.add_pair(where, pair)

    def add_corpus(self, corpus: Corpus) -> None:
        """Add all of another corpus, with what was refused there."""
        self._refused.extend(corpus.refused)
        for document in corpus.documents.values():
            self.add_document(f"corpus {corpus.name!r}", document)
        for pair in corpus.pairs:
            self.add_pair(f"corpus {corpus.name!r}", pair)

    def build(self) -> Corpus:
        """Check every pair against the documents and return the corpus."""
        pairs = [checked for where, pair in self._pairs.values() if (checked := self._checked(where, pair))]
        return Corpus(name=self.name, documents=dict(self._documents), pairs=pairs, refused=list(self._refused))

    def _checked(self, where: str, pair: Pair) -> Pair | None:
        missing = [name for name in (pair.source, pair.target) if name not in self._documents]
        if missing:
            reason = f"pair {pair.id!r} names the document {missing[0]!r}, which is not there"
            self.refuse(where, reason, "add the document or remove the pair")
            return None
        if pair.links is None:
            return pair
        links = self._checked_links(where, pair, pair.links)
        # A pair that lost all of its links must not pass for one that was found to have none.
        lost_all = any(pair.links.values()) and not any(links.values())
        return pair.model_copy(update={"links": None if lost_all else links})

    def _checked_links(self, where: str, pair: Pair, links: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
        sources, targets = self._documents[pair.source].position, self._documents[pair.target].position
        kept: dict[str, tuple[str, ...]] = {}
        for source, named in links.items():
            distinct = tuple(dict.fromkeys(named))
            if source in sources:
                kept[source] = tuple(target for target in distinct if target in targets)
            for target in distinct:
                if source not in sources:
                    self._refuse_link(where, pair, (source, target), f"sentence {source!r} of {pair.source!r}")
                elif target not in targets:
                    self._refuse_link(where, pair, (source, target), f"sentence {target!r} of {pair.target!r}")
        return kept

    def _refuse_link(self, where: str, pair: Pair, link: tuple[str, str], absent: str) -> None:
        reason = f"pair {pair.id!r}: link {link[0]!r} to {link[1]!r}: {absent} is not there"
        self.refuse(where, reason, "mend the sentence id or remove the link")


def merge(name: str, corpora: Iterable[Corpus]) -> Corpus:
    """Put several corpora together under a new name; conflicting ids of later ones are refused."""
    builder = CorpusBuilder(name)
    for corpus in corpora:
        builder.add_corpus(corpus)
    return builder.build()


def first_problem(error: ValidationError) -> str:
    """Say in one line which field of a record does not fit and why."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    return f"{field}: {first['msg']}" if field else str(first["msg"])

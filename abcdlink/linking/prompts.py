"""Prompts of the linkers: which parts of documents and which examples they show, and the wording."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from abcdlink.corpus.records import Corpus, Document, Sentence
from abcdlink.domain import Domain, Setting
from abcdlink.errors import InputError
from abcdlink.languages import words
from abcdlink.linking.records import Approach, Decision, Setup

Shown = Sequence[Sentence | None]
"""Sentences in document order, with ``None`` for each gap between them."""


def around(document: Document, ids: Iterable[str], window: int) -> Shown:
    """Return the sentences within ``window`` of the given ones.

    Raises:
        KeyError: when the document has no sentence with an id.
    """
    near = {
        index
        for i in ids
        for index in range(document.position[i] - window, document.position[i] + window + 1)
        if 0 <= index < len(document.sentences)
    }
    shown: list[Sentence | None] = []
    for index, sentence in enumerate(document.sentences):
        if index in near:
            shown.append(sentence)
        elif not shown or shown[-1] is not None:
            shown.append(None)
    return shown


def letters(shown: Shown) -> int:
    """Return the number of characters shown: a measure of length that needs no tokenizer."""
    return sum(len(sentence.text) for sentence in shown if sentence)


def halves(ids: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Divide ids into a first and a second half; the first is the larger one if they differ."""
    middle = (len(ids) + 1) // 2
    return ids[:middle], ids[middle:]


MODES_WITH_EXAMPLES = (2, 4)
MIN_WORDS = 4
"""Shorter sentences ("Methods.") occur anywhere and reveal nothing."""


def refuse_known_examples(domain: Domain, approach: Approach, corpus: Corpus, where: str) -> None:
    """Refuse an approach whose prompt shows a sentence of the corpus that it has to decide on.

    Sentences that differ only in case, punctuation and white space are the same. Only prompt modes 2 and 4 show
    examples. ``where``: the file of the documents, for the message. Raises ``InputError`` that names
    the example, the sentence and both files.
    """
    if approach.prompt_mode not in MODES_WITH_EXAMPLES:
        return
    shown: dict[tuple[str, ...], int] = {}
    for number, example in enumerate(domain.examples, start=1):
        for text in (example.source, example.target):
            shown.setdefault(tuple(words(text)), number)
    shown = {text: number for text, number in shown.items() if len(text) >= MIN_WORDS}
    for document in corpus.used_documents():
        for sentence in document.sentences:
            number = shown.get(tuple(words(sentence.text)), 0)
            if number:
                msg = (
                    f"{domain.folder / 'examples.jsonl'}, example {number} is sentence {sentence.id!r} of the document "
                    f"{document.id!r} in {where}"
                )
                raise InputError(
                    msg, "write another example, or use prompt mode 1 or 3: a prompt must not reveal links"
                )


HASH_DIGITS = 12
DOCUMENTS = "link_documents.j2"
SAMPLE = tuple(Sentence(id=str(i), text="one two three four five six seven eight nine ten") for i in range(2))
"""Sentences with which the templates are rendered for the hash, long enough for texts to be cut where possible."""
SHOWN = (*SAMPLE, None)


SAFE_ID = re.compile(r"(?!\s*$)(?!.*<[|/\w])[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\[\]\"\\]{1,100}")
"""Prompts show a sentence as ``[id] "text"``, and answers name it in JSON: no id may look like the end of either, nor
like a token of a chat template."""


class ShownPair:
    """The two documents of a pair under ids that a model can be shown.

    A document whose ids are all safe is shown as it is. The sentences of any other are called ``s1``, ``s2`` and so on
    (in the target document ``t1``, ``t2``), with the letter repeated where an id of the other document begins with it.
    """

    def __init__(self, source: Document, target: Document) -> None:
        self._source, self._target = source, target
        self.source = _shown_as(source, "s", target)
        self.target = _shown_as(target, "t", self.source)

    @property
    def documents(self) -> tuple[Document, Document]:
        """The source and target documents as they are shown."""
        return self.source, self.target

    def offered(self, offered: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
        """Return source id -> target ids as shown; raises ``KeyError`` if a document has no sentence with an id."""
        return {
            _named(source, self._source, self.source): tuple(_named(i, self._target, self.target) for i in ids)
            for source, ids in offered.items()
        }

    def decision(self, decision: Decision) -> Decision:
        """Return a decision on the shown ids as one on the sentences' real ids."""
        if self.source is self._source and self.target is self._target:
            return decision

        def targets(ids: Iterable[str]) -> tuple[str, ...]:
            return tuple(_named(i, self.target, self._target) for i in ids)

        return decision.model_copy(
            update={
                "source": _named(decision.source, self.source, self._source),
                "targets": targets(decision.targets),
                "offered": targets(decision.offered),
                "unknown": targets(decision.unknown),
                "scores": dict(zip(targets(decision.scores), decision.scores.values(), strict=True)),
            }
        )


def _shown_as(document: Document, letter: str, other: Document) -> Document:
    if all(map(SAFE_ID.fullmatch, document.position)):
        return document
    prefix = foreign_prefix([other.position], letter)
    named = (Sentence(id=f"{prefix}{n}", text=one.text) for n, one in enumerate(document.sentences, start=1))
    return Document(id=document.id, sentences=tuple(named))


def _named(sentence: str, of: Document, shown: Document) -> str:
    return shown.sentences[of.position[sentence]].id


class Prompts:
    """What a model is told in a set-up and prompt mode of a domain.

    What is constant in the domain comes first, then the two documents, then what differs: a server that caches prompt
    prefixes reads the documents of a pair once when its questions are asked one after the other. ``setup``: what one
    question is about; ``mode``: the guidance (1 none, 2 examples, 3 description, 4 both).
    """

    def __init__(self, domain: Domain, setup: Setup, mode: int) -> None:
        self._domain, self.setup, self.mode = domain, setup, mode
        self._systems: dict[tuple[str, str], str] = {}

    def system(self, *documents: Document) -> str:
        """Return the system message; the ids of its examples occur in none of the documents."""
        prefix, thoughts = foreign_prefix(document.position for document in documents), thoughts_key(*documents)
        if (prefix, thoughts) not in self._systems:
            values = {"mode": self.mode, "example": prefix, "thoughts": thoughts}
            self._systems[prefix, thoughts] = self._domain.render(f"{self.setup}_system.j2", **values)
        return self._systems[prefix, thoughts]

    def user(self, shown: tuple[Shown, Shown], source: Sentence, candidates: Sequence[Sentence], *, whole: bool) -> str:
        """Return the user message.

        ``shown``: the shown parts of the source and target documents. ``candidates``: in document order; ``whole``:
        whether they are all target sentences that are shown. All ids are those of a ``ShownPair``.
        """
        documents = self._domain.render(DOCUMENTS, source=shown[0], target=shown[1])
        question = self._domain.render(f"{self.setup}_question.j2", source=source, candidates=candidates, whole=whole)
        return f"{documents}\n\n{question}"

    @property
    def hash(self) -> str:
        """The version of these prompts: 12 hex digits of a SHA-256.

        It covers the templates without their comments and what they render in this domain, and
        so it changes with any text that can reach the model in this set-up and mode.
        """
        templates = (f"{self.setup}_system.j2", DOCUMENTS, f"{self.setup}_question.j2")
        texts = [text for name in templates for text in self._domain.template_texts(name)]
        said = [self.system(), *(self.user((SHOWN, SHOWN), SAMPLE[0], SAMPLE, whole=w) for w in (True, False))]
        return hashlib.sha256(json.dumps([texts, said]).encode()).hexdigest()[:HASH_DIGITS]


def setups_of(domain: Domain) -> tuple[Setup, ...]:
    """Return the set-ups for which a domain has prompts: in the paper's setting, the paper's."""
    return tuple(setup for setup in Setup if setup is not Setup.TWO_STEP or domain.settings.setting is Setting.DEFAULT)


def prompts_of(domain: Domain, approach: Approach) -> Prompts:
    """Return the prompts of an approach.

    Raises:
        InputError: when the approach asks no LLM, or the domain's setting lacks its set-up.
    """
    if approach.prompt_mode is None:
        msg = f"approach {approach.name!r} asks no LLM"
        raise InputError(msg, "use it as a retriever")
    if approach.setup not in setups_of(domain):
        msg = f"the setting {domain.settings.setting} has no prompts for the set-up {approach.setup}"
        raise InputError(msg, "choose another set-up, or use the domain without this setting")
    return Prompts(domain, approach.setup, approach.prompt_mode)


def thoughts_key(*documents: Document) -> str:
    """Return the key of the thoughts in a two-step answer: no id of the documents."""
    key = "thoughts"
    while any(key in document.position for document in documents):
        key += "_"
    return key


def foreign_prefix(ids: Iterable[Collection[str]], letter: str = "x") -> str:
    """Return a letter, once or several times: a beginning that none of the ids has."""
    taken = [i for some in ids for i in some if i.startswith(letter)]
    prefix = letter
    while any(i.startswith(prefix) for i in taken):
        prefix += letter
    return prefix

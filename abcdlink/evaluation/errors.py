"""Which links an approach got wrong, with the sentences around them, sorted into the paper's three patterns.

The patterns (scattered targets, ambiguous source, too many distractors) are properties of a source
sentence and its gold links. Each follows from numbers by a stated rule, so that anyone can check it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import combinations, pairwise

from abcdlink.corpus.records import Corpus, Document, Pair, Record, Sentence
from abcdlink.errors import InputError
from abcdlink.languages import stemmer
from abcdlink.linking.records import Decision

NEIGHBOURS = 2
"""Sentences shown on either side: a paragraph of news, or about half of one in a paper."""
FAR = 2 * NEIGHBOURS + 1
"""Gold targets further apart than this have no neighbour in common: 4 % of NEWS-ECB+'s sources with
several gold links."""
FEW_WORDS = 5
"""A source with fewer content words says little that could be looked for: 4 % of NEWS-ECB+'s sources with links."""
UNLIKE = 0.05
"""Gold targets less similar than this, on average, are about different things: one in 11 of NEWS-ECB+'s sources with
several gold links."""
MANY = 5
"""This many distractors fill the list of candidates that an LLM is offered: one in 6 sources of NEWS-ECB+."""


class ErrorKind(StrEnum):
    """Whether a decided link is not one, or a link was not decided."""

    FALSE_LINK = "false link"
    MISSED_LINK = "missed link"


class ErrorPattern(StrEnum):
    """What made a source sentence hard."""

    SCATTERED = "scattered targets"
    AMBIGUOUS = "ambiguous source"
    DISTRACTORS = "too many distractors"
    OTHER = "other"

    @property
    def rule(self) -> str:
        """When a source sentence shows the pattern, in words."""
        return RULES[self]


RULES = {
    ErrorPattern.SCATTERED: f"a gold target and the next are more than {FAR} sentences apart",
    ErrorPattern.AMBIGUOUS: f"the source has fewer than {FEW_WORDS} content words, or its gold targets share hardly "
    f"any (mean Jaccard similarity below {UNLIKE})",
    ErrorPattern.DISTRACTORS: f"{MANY} or more targets without a gold link share content words with the source and are "
    "as similar to it as its least similar gold target, or more",
    ErrorPattern.OTHER: "none of the other rules applies",
}


class Traits(Record):
    """The numbers from which the patterns of a source sentence follow.

    Similarity is the Jaccard similarity of content words, which needs no model.

    ``gap``: sentences from one gold target to the next, the widest; 0 with fewer than two of them.
    ``content_words``: distinct stems of the source, stop words (and so pronouns) left out.
    ``alikeness``: mean similarity of each two gold targets; ``None`` with fewer than two of them.
    ``distractors``: targets that are not gold links, share a content word with the source and are at
    least as similar to it as its least similar gold target; 0 without gold targets.
    """

    gap: int
    content_words: int
    alikeness: float | None
    distractors: int

    @property
    def patterns(self) -> tuple[ErrorPattern, ...]:
        """Every pattern whose rule holds, or ``other``."""
        rules = {
            ErrorPattern.SCATTERED: self.gap > FAR,
            ErrorPattern.AMBIGUOUS: self.content_words < FEW_WORDS
            or (self.alikeness is not None and self.alikeness < UNLIKE),
            ErrorPattern.DISTRACTORS: self.distractors >= MANY,
        }
        return tuple(pattern for pattern, holds in rules.items() if holds) or (ErrorPattern.OTHER,)


class LinkError(Record):
    """One wrong decision: the sentences, those around them in document order, and the source's gold links."""

    kind: ErrorKind
    pair: str
    source: str
    target: str
    gold: tuple[str, ...]
    around_source: tuple[Sentence, ...]
    around_target: tuple[Sentence, ...]
    traits: Traits

    @property
    def patterns(self) -> tuple[ErrorPattern, ...]:
        """The patterns of its source sentence."""
        return self.traits.patterns


class ErrorAnalysis(Record):
    """All errors of one approach, in the order of the corpus.

    ``sources``: answered source sentences of the annotated pairs. ``unanswered``: the others; what
    they lack is not an error of judgment and is not listed.
    """

    approach: str
    errors: tuple[LinkError, ...]
    sources: int
    unanswered: int

    def counts(self) -> dict[ErrorKind, dict[ErrorPattern, int]]:
        """Return how many errors of each kind show each pattern; an error counts for every pattern it shows."""
        found = Counter((error.kind, pattern) for error in self.errors for pattern in error.patterns)
        return {kind: {pattern: found[kind, pattern] for pattern in ErrorPattern} for kind in ErrorKind}


def analyse_errors(corpus: Corpus, decisions: Sequence[Decision]) -> ErrorAnalysis:
    """List the errors of one approach.

    Pairs without gold links are left out. There is at most one decision for each source sentence. Raises ``InputError``
    when the decisions are of several approaches.
    """
    names = list(dict.fromkeys(decision.approach for decision in decisions))
    if len(names) > 1:
        msg = f"these decisions are from {len(names)} approaches: {', '.join(names)}"
        raise InputError(msg, "analyse the errors of one approach at a time")
    by_source = {(decision.pair, decision.source): decision for decision in decisions}
    words = _ContentWords()
    errors: list[LinkError] = []
    sources = unanswered = 0
    for pair in corpus.pairs:
        if pair.links is None:
            continue
        for sentence in corpus.source_of(pair).sentences:
            decision = by_source.get((pair.id, sentence.id))
            if decision is None or not decision.outcome.answered:
                unanswered += 1
                continue
            sources += 1
            errors += _errors(corpus, pair, sentence.id, set(decision.targets), words)
    return ErrorAnalysis(approach="".join(names), errors=tuple(errors), sources=sources, unanswered=unanswered)


def _errors(corpus: Corpus, pair: Pair, source: str, decided: set[str], words: _ContentWords) -> Iterator[LinkError]:
    """Yield the errors on one source sentence, in the order of the target document."""
    documents = corpus.source_of(pair), corpus.target_of(pair)
    gold = {target for target in (pair.links or {}).get(source, ()) if target in documents[1].position}
    wrong = [sentence.id for sentence in documents[1].sentences if (sentence.id in gold) != (sentence.id in decided)]
    if not wrong:
        return
    traits = _traits(documents, source, gold, words)
    for target in wrong:
        yield LinkError(
            kind=ErrorKind.MISSED_LINK if target in gold else ErrorKind.FALSE_LINK,
            pair=pair.id,
            source=source,
            target=target,
            gold=tuple(sorted(gold, key=documents[1].position.__getitem__)),
            around_source=_around(documents[0], source),
            around_target=_around(documents[1], target),
            traits=traits,
        )


def _traits(documents: tuple[Document, Document], source: str, gold: set[str], words: _ContentWords) -> Traits:
    own = words.of(documents[0])[documents[0].position[source]]
    targets = words.of(documents[1])
    right = sorted(documents[1].position[target] for target in gold)
    similar = [_jaccard(own, target) for target in targets]
    weakest = min((similar[index] for index in right), default=1.0)
    alike = [_jaccard(targets[a], targets[b]) for a, b in combinations(right, 2)]
    return Traits(
        gap=max((after - before for before, after in pairwise(right)), default=0),
        content_words=len(own),
        alikeness=sum(alike) / len(alike) if alike else None,
        distractors=sum(0 < score >= weakest for index, score in enumerate(similar) if index not in right)
        if right
        else 0,
    )


def _around(document: Document, sentence: str) -> tuple[Sentence, ...]:
    place = document.position[sentence]
    return document.sentences[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1]


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return common / all stems; 0 for two sentences without any."""
    return len(one & other) / max(1, len(one | other))


class _ContentWords:
    """The stems of the content words of each sentence, by document; a document is read once."""

    def __init__(self) -> None:
        self._tokenize = stemmer()
        self._of: dict[str, list[frozenset[str]]] = {}

    def of(self, document: Document) -> list[frozenset[str]]:
        """Return one set of stems per sentence."""
        if document.id not in self._of:
            self._of[document.id] = [frozenset(self._tokenize(text)) for text in document.texts]
        return self._of[document.id]

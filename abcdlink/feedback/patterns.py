"""Kinds of candidates that can be seen in the task itself, each by a stated measure; no method is among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from abcdlink.corpus.records import Corpus, Document, Record
from abcdlink.judgments import Judgment, Place
from abcdlink.languages import stemmer, word_count

SHORT_WORDS = 6
"""A candidate of at most so many words is short."""
FAR_APART = 0.5
"""Source and candidate are far apart when their relative positions (0 to 1) differ by more."""
PARTIAL = (0.2, 0.6)
"""Overlap is partial between these; below, hardly a word is shared, above, most of the shorter sentence is."""


class Pattern(StrEnum):
    """A kind of candidate on which annotators may differ."""

    OUTSIDE = "evidence outside the sentence"
    PARTIAL = "partial overlap"
    SHORT = "short candidate"
    FAR_APART = "far apart"

    @property
    def measure(self) -> str:
        """When a candidate shows the pattern, in words."""
        return MEASURES[self]


MEASURES = {
    Pattern.OUTSIDE: "the sentences before and after the candidate share more content words with the source sentence "
    "than the candidate does",
    Pattern.PARTIAL: f"the content words in common are {PARTIAL[0]:.0%} to {PARTIAL[1]:.0%} of those of the shorter "
    "sentence",
    Pattern.SHORT: f"the candidate has {SHORT_WORDS} words or fewer",
    Pattern.FAR_APART: f"the relative places in the two documents differ by more than {FAR_APART:.0%} of a document",
}


class View(Record):
    """A candidate as an annotator sees it.

    ``source`` and ``candidate``: texts. ``overlap``: content words in common as a share of those of the
    sentence that has fewer (Szymkiewicz-Simpson), 0 when one has none. ``inside`` and ``outside``: content
    words of the source sentence in the candidate, and in the sentences before and after it. ``distance``:
    difference of the relative places, 0 (first) to 1 (last sentence of the document).
    """

    source: str
    candidate: str
    overlap: float
    inside: int
    outside: int
    distance: float

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """Every pattern whose measure holds."""
        holds = {
            Pattern.OUTSIDE: self.outside > self.inside,
            Pattern.PARTIAL: PARTIAL[0] <= self.overlap <= PARTIAL[1],
            Pattern.SHORT: word_count(self.candidate) <= SHORT_WORDS,
            Pattern.FAR_APART: self.distance > FAR_APART,
        }
        return tuple(pattern for pattern in Pattern if holds[pattern])


class Viewer:
    """Makes views of the candidates of a corpus. Content words are stems without stop words."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._pairs = {pair.id: pair for pair in corpus.pairs}
        self._tokenize = stemmer()

    def view(self, key: Place) -> View:
        """Return one candidate as it is seen."""
        pair, source_id, target_id = key
        source = self._corpus.source_of(self._pairs[pair])
        target = self._corpus.target_of(self._pairs[pair])
        at = target.position[target_id]
        own, candidate = self._words(source.text_of(source_id)), self._words(target.text_of(target_id))
        around = [target.sentences[n].text for n in (at - 1, at + 1) if 0 <= n < len(target.sentences)]
        shorter = min(len(own), len(candidate))
        return View(
            source=source.text_of(source_id),
            candidate=target.text_of(target_id),
            overlap=len(own & candidate) / shorter if shorter else 0.0,
            inside=len(own & candidate),
            outside=len(own & self._words(" ".join(around))),
            distance=abs(_place(source, source_id) - _place(target, target_id)),
        )

    def views(self, keys: Iterable[Place]) -> dict[Place, View]:
        """Return each of these candidates as it is seen."""
        return {key: self.view(key) for key in dict.fromkeys(keys)}

    def _words(self, text: str) -> frozenset[str]:
        return frozenset(self._tokenize(text))


def _place(document: Document, sentence: str) -> float:
    return document.position[sentence] / max(1, len(document.sentences) - 1)


def views_of(judgments: Sequence[Judgment], corpus: Corpus) -> dict[Place, View]:
    """Return the candidates that were judged, as they are seen."""
    return Viewer(corpus).views(judgment.at for judgment in judgments)

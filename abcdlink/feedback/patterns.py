"""What candidates look like to annotators, and where annotators disagree, in numbers; never by method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import permutations
from typing import NamedTuple

from abcdlink.corpus.records import Corpus, Document, Record
from abcdlink.judgments import Judgment, Label, Place, by_candidate
from abcdlink.languages import stemmer, word_count

SHORT_WORDS = 6
"""A candidate with at most this many words is short."""
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
    Pattern.FAR_APART: f"the relative positions in the two documents differ by more than {FAR_APART:.0%} of a document",
}


class CandidateView(Record):
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

    def view(self, key: Place) -> CandidateView:
        """Return one candidate as it is seen."""
        pair, source_id, target_id = key
        source = self._corpus.source_of(self._pairs[pair])
        target = self._corpus.target_of(self._pairs[pair])
        at = target.position[target_id]
        own, candidate = self._words(source.text_of(source_id)), self._words(target.text_of(target_id))
        around = [target.sentences[n].text for n in (at - 1, at + 1) if 0 <= n < len(target.sentences)]
        shorter = min(len(own), len(candidate))
        return CandidateView(
            source=source.text_of(source_id),
            candidate=target.text_of(target_id),
            overlap=len(own & candidate) / shorter if shorter else 0.0,
            inside=len(own & candidate),
            outside=len(own & self._words(" ".join(around))),
            distance=abs(_place(source, source_id) - _place(target, target_id)),
        )

    def _words(self, text: str) -> frozenset[str]:
        return frozenset(self._tokenize(text))


def _place(document: Document, sentence: str) -> float:
    return document.position[sentence] / max(1, len(document.sentences) - 1)


def views_of(judgments: Sequence[Judgment], corpus: Corpus) -> dict[Place, CandidateView]:
    """Return the candidates that were judged, as they are seen."""
    viewer = Viewer(corpus)
    return {at: viewer.view(at) for at in dict.fromkeys(judgment.at for judgment in judgments)}


ALL = "all others"


class JudgmentPair(NamedTuple):
    """Two annotators' judgments of one candidate."""

    own: Judgment
    other: Judgment

    @property
    def differs(self) -> bool:
        """Whether they disagree."""
        return self.own.label is not self.other.label

    @property
    def at(self) -> Place:
        """The candidate."""
        return self.own.at


class Strictness(Record):
    """An annotator beside another, or beside all others.

    ``compared``: judgments of the two on the same candidates. ``own_links`` and ``other_links``: how many of
    them are Link. ``stricter``: No Link against the other's Link; ``more_lenient``: the reverse.
    """

    other: str
    compared: int
    own_links: int
    other_links: int
    stricter: int
    more_lenient: int


class Rejections(Record):
    """How many candidates were rejected (No Link)."""

    candidates: int
    rejected: int

    @property
    def rate(self) -> float | None:
        """Share that was rejected; ``None`` without candidates."""
        return self.rejected / self.candidates if self.candidates else None


class ContextReliance(Record):
    """Whether rejection rises when the evidence is outside the sentence, on candidates judged in common."""

    outside: Rejections
    elsewhere: Rejections

    @property
    def rise(self) -> float | None:
        """Rejection rate with the evidence outside minus that of the others; ``None`` where one is undefined."""
        outside, elsewhere = self.outside.rate, self.elsewhere.rate
        return None if outside is None or elsewhere is None else outside - elsewhere


class PatternDisagreement(Record):
    """On how many of the comparisons two annotators differ; ``pattern`` is ``None`` for all of them."""

    pattern: Pattern | None
    compared: int
    differing: int

    @property
    def share(self) -> float:
        """Share on which they differ; 0 when nothing was compared."""
        return self.differing / self.compared if self.compared else 0.0


class Figures(Record):
    """The numbers of one annotator. ``strictness``: against each other annotator, then against all."""

    annotator: str
    judged: int
    strictness: tuple[Strictness, ...]
    own_context: ContextReliance
    other_context: ContextReliance
    patterns: tuple[PatternDisagreement, ...]


def comparisons_of(judgments: Sequence[Judgment]) -> dict[str, list[JudgmentPair]]:
    """Return all comparisons of each annotator with others."""
    found: dict[str, list[JudgmentPair]] = {name: [] for name in sorted({one.annotator for one in judgments})}
    for group in by_candidate(judgments).values():
        for own, other in permutations(sorted(group), 2):
            found[own].append(JudgmentPair(group[own], group[other]))
    return found


def figures_of(
    annotator: str,
    judgments: Sequence[Judgment],
    compared: Sequence[JudgmentPair],
    views: Mapping[Place, CandidateView],
) -> Figures:
    """Return the numbers of one annotator, from the judgments of everybody and the annotator's own comparisons."""
    others = sorted({comparison.other.annotator for comparison in compared})
    by_other = {name: [c for c in compared if c.other.annotator == name] for name in others}
    everyone = [(ALL, list(compared))] if len(others) != 1 else []
    return Figures(
        annotator=annotator,
        judged=sum(judgment.annotator == annotator for judgment in judgments),
        strictness=tuple(_strictness(name, part) for name, part in [*by_other.items(), *everyone]),
        own_context=context_reliance([comparison.own for comparison in compared], views),
        other_context=context_reliance([comparison.other for comparison in compared], views),
        patterns=disagreements(compared, views),
    )


def _strictness(other: str, compared: Sequence[JudgmentPair]) -> Strictness:
    return Strictness(
        other=other,
        compared=len(compared),
        own_links=sum(c.own.label is Label.LINK for c in compared),
        other_links=sum(c.other.label is Label.LINK for c in compared),
        stricter=sum(c.differs and c.other.label is Label.LINK for c in compared),
        more_lenient=sum(c.differs and c.own.label is Label.LINK for c in compared),
    )


def context_reliance(judgments: Sequence[Judgment], views: Mapping[Place, CandidateView]) -> ContextReliance:
    """Count rejections separately for candidates whose evidence is outside the sentence and for all others."""
    parts: dict[bool, list[Label]] = {True: [], False: []}
    for judgment in judgments:
        parts[Pattern.OUTSIDE in views[judgment.at].patterns].append(judgment.label)
    outside, elsewhere = (
        Rejections(candidates=len(said), rejected=said.count(Label.NO_LINK)) for said in (parts[True], parts[False])
    )
    return ContextReliance(outside=outside, elsewhere=elsewhere)


def disagreements(
    compared: Sequence[JudgmentPair], views: Mapping[Place, CandidateView]
) -> tuple[PatternDisagreement, ...]:
    """Count disagreements among the candidates of each pattern, and among all at the end."""
    found = []
    for pattern in (*Pattern, None):
        part = [c for c in compared if pattern is None or pattern in views[c.at].patterns]
        found.append(
            PatternDisagreement(
                pattern=pattern, compared=len(part), differing=sum(comparison.differs for comparison in part)
            )
        )
    return tuple(found)

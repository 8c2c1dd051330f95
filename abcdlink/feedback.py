"""Feedback between batches: one memo an annotator, on where and how the others judged otherwise.

A memo never tells which approach proposed a candidate: annotators judge the next batch blind, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from abcdlink.agreement import agreement
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.judgments import Judgment, Label, Pool, by_candidate

SHORT_WORDS = 6
"""A candidate of at most so many words is short."""
FAR_APART = 0.5
"""Source and candidate are far apart when their relative positions (0 to 1) differ by more."""
WORST = 5


class Comparison(NamedTuple):
    """What the reader of the memo and another annotator said of one candidate."""

    own: Judgment
    other: Judgment

    @property
    def differs(self) -> bool:
        """Whether they said different things."""
        return self.own.label is not self.other.label


class Pattern(NamedTuple):
    """A kind of candidate that an annotator can see without knowing its method."""

    name: str
    fits: Callable[[Comparison], bool]


def memos(judgments: Sequence[Judgment], corpus: Corpus, pools: Sequence[Pool]) -> dict[str, str]:
    """Return a Markdown memo for each annotator, by pseudonym.

    Args:
        judgments: of the batches so far.
        corpus: the documents that were judged.
        pools: the tasks of these batches.
    """
    groups = list(by_candidate(judgments).values())
    shown = {(pool.pair, pool.source) for pool in pools}
    pairs = {pair.id: pair for pair in corpus.pairs}
    result = {}
    for annotator in sorted({judgment.annotator for judgment in judgments}):
        own = [group for group in groups if annotator in group]
        compared = [
            Comparison(group[annotator], judgment)
            for group in own
            for other, judgment in group.items()
            if other != annotator
        ]
        parts = [
            f"# Feedback for {annotator}",
            _standing(own, annotator, compared, shown),
            _patterns(compared, corpus, pairs),
            _worst(compared, corpus, pairs),
        ]
        result[annotator] = "\n\n".join(parts) + "\n"
    return result


def _standing(
    own: Sequence[dict[str, Judgment]], annotator: str, compared: Sequence[Comparison], shown: set[tuple[str, str]]
) -> str:
    """Say how much was judged, how often Link, and how far all agree."""
    tasks = {(group[annotator].pair, group[annotator].source) for group in own}
    lines = [f"You judged {len(own)} candidates in {len(tasks & shown)} of {len(shown)} tasks."]
    if not compared:
        return "\n".join(
            [*lines, "", "Nobody else has judged the same candidates, so there is nothing to compare yet."]
        )
    mine = _link_rate([comparison.own for comparison in compared])
    others = _link_rate([comparison.other for comparison in compared])
    measured = agreement([judgment for group in own for judgment in group.values()])
    kappa = measured.note if measured.kappa is None else f"{measured.kappa:.2f}"
    differing = sum(comparison.differs for comparison in compared)
    return "\n".join(
        [
            *lines,
            "",
            "| | you | the others |",
            "|---|---|---|",
            f"| said Link | {mine:.0%} | {others:.0%} |",
            "",
            f"You and the others differ on {differing} of {len(compared)} judgments. Kappa so far: {kappa}",
            "(1 is full agreement, 0 is what chance gives).",
        ]
    )


def _link_rate(judgments: Sequence[Judgment]) -> float:
    return sum(judgment.label is Label.LINK for judgment in judgments) / len(judgments)


def _patterns(compared: Sequence[Comparison], corpus: Corpus, pairs: dict[str, Pair]) -> str:
    """Group the disagreements by patterns that can be seen in the task itself."""
    differing = [comparison for comparison in compared if comparison.differs]
    if not differing:
        return "## Where you differ\n\nNowhere so far."
    stricter = sum(comparison.own.label is Label.NO_LINK for comparison in differing)

    def short(comparison: Comparison) -> bool:
        _, candidate = _texts(comparison.own, corpus, pairs)
        return len(candidate.split()) <= SHORT_WORDS

    def far_apart(comparison: Comparison) -> bool:
        return _distance(comparison.own, corpus, pairs) > FAR_APART

    patterns = [
        Pattern(f"candidates of {SHORT_WORDS} words or fewer", short),
        Pattern("candidates far from the source's place in its document", far_apart),
        Pattern("all candidates", lambda _: True),
    ]
    rows = []
    for pattern in patterns:
        fitting = [comparison for comparison in compared if pattern.fits(comparison)]
        if fitting:
            wrong = sum(comparison.differs for comparison in fitting)
            rows.append(f"| {pattern.name} | {wrong} of {len(fitting)} | {wrong / len(fitting):.0%} |")
    return "\n".join(
        [
            "## Where you differ",
            "",
            f"- You were **stricter** {stricter} times: you said No Link, another said Link.",
            f"- You were **more lenient** {len(differing) - stricter} times: you said Link, another said No Link.",
            "",
            "| among | you differ on | share |",
            "|---|---|---|",
            *rows,
        ]
    )


def _distance(judgment: Judgment, corpus: Corpus, pairs: dict[str, Pair]) -> float:
    """Return how far apart the relative positions (0 first, 1 last sentence) of source and candidate are."""
    pair = pairs[judgment.pair]
    places = [
        document.position[sentence] / max(1, len(document.sentences) - 1)
        for document, sentence in (
            (corpus.source_of(pair), judgment.source),
            (corpus.target_of(pair), judgment.target),
        )
    ]
    return abs(places[0] - places[1])


def _worst(compared: Sequence[Comparison], corpus: Corpus, pairs: dict[str, Pair]) -> str:
    """Show the source sentences on whose candidates the annotators differ most, with all texts."""
    by_source: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in compared:
        by_source.setdefault((comparison.own.pair, comparison.own.source), []).append(comparison)
    scored = [(sum(c.differs for c in part) / len(part), part) for part in by_source.values()]
    worst = sorted((case for case in scored if case[0] > 0), key=lambda case: -case[0])[:WORST]
    if not worst:
        return ""
    lines = [
        "## The cases to look at again",
        "",
        "Nobody is right by default: read both texts, look into the guidelines,",
        "and decide how you will judge such cases.",
    ]
    for number, (_, part) in enumerate(worst, start=1):
        source, _ = _texts(part[0].own, corpus, pairs)
        lines += ["", f"### Case {number}", "", "Source sentence:", "", f"> “{_plain(source)}”"]
        for comparison in part:
            if comparison.differs:
                _, candidate = _texts(comparison.own, corpus, pairs)
                verdict = f"You: **{comparison.own.label}**. Another: **{comparison.other.label}**. Candidate:"
                lines += ["", verdict, "", f"> “{_plain(candidate)}”"]
    return "\n".join(lines)


def _texts(judgment: Judgment, corpus: Corpus, pairs: dict[str, Pair]) -> tuple[str, str]:
    """Return the texts of the source sentence and of the candidate."""
    pair = pairs[judgment.pair]
    source, target = corpus.source_of(pair), corpus.target_of(pair)
    return source.text_of(judgment.source), target.text_of(judgment.target)


def _plain(text: str) -> str:
    """Return a text on one line that Markdown shows as it stands: no mark-up, link or tag of it works."""
    return re.sub(r"([\\`*_{}\[\]<>#|!&~$])", r"\\\1", " ".join(text.split()))

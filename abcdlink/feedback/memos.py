"""Memos for annotators, and borderline cases in words; never which approach proposed what: people judge blind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from abcdlink.corpus.records import Corpus
from abcdlink.feedback import Case
from abcdlink.feedback.patterns import (
    Comparison,
    ContextReliance,
    Figures,
    Pattern,
    Rejections,
    View,
    comparisons_of,
    figures_of,
    views_of,
)
from abcdlink.interannotator import agreement
from abcdlink.judgments import Judgment, Label, Place, Pool, by_candidate


def plain(text: str) -> str:
    """Return a text on one line that Markdown shows literally: no mark-up, link or tag in it takes effect."""
    return re.sub(r"([\\`*_{}\[\]<>#|!&~$])", r"\\\1", " ".join(text.split()))


def example_text(case: Case, corpus: Corpus, label: Label) -> str:
    """Return a case as an example of the guidelines: both sentences, and what they are."""
    pair = next(pair for pair in corpus.pairs if pair.id == case.pair)
    source, target = corpus.source_of(pair), corpus.target_of(pair)
    return (
        f"**Example: {label}**\n\n> A: “{plain(source.text_of(case.source))}”\n>\n"
        f"> B: “{plain(target.text_of(case.target))}”"
    )


def cases_text(cases: Sequence[Case], corpus: Corpus) -> str:
    """Return the cases as Markdown: both sentences, what was said, and the patterns."""
    pairs = {pair.id: pair for pair in corpus.pairs}
    parts = []
    for number, case in enumerate(cases, start=1):
        source, target = corpus.source_of(pairs[case.pair]), corpus.target_of(pairs[case.pair])
        said = "; ".join(
            ", ".join([opinion.label, *opinion.flags, *([f"“{plain(opinion.comment)}”"] if opinion.comment else [])])
            for opinion in case.opinions
        )
        parts.append(
            f"### Case {number}\n\n> “{plain(source.text_of(case.source))}”\n\n> “{plain(target.text_of(case.target))}”"
            f"\n\nSaid: {said}. Patterns: {', '.join(case.patterns) or 'none'}."
        )
    return "\n\n".join(parts) or "There are none: annotators agree on every candidate."


WORST = 5
"""Source sentences that a memo shows."""


def memos(judgments: Sequence[Judgment], corpus: Corpus, pools: Sequence[Pool]) -> dict[str, str]:
    """Return a Markdown memo for each annotator, by pseudonym.

    Args:
        judgments: of the batch.
        corpus: the documents that were judged.
        pools: the tasks of the batch.
    """
    views = views_of(judgments, corpus)
    shown = {(pool.pair, pool.source) for pool in pools}
    result = {}
    for annotator, compared in comparisons_of(judgments).items():
        figures = figures_of(annotator, judgments, compared, views)
        parts = [f"# Feedback for {annotator}", _standing(figures, judgments, shown)]
        if compared:
            parts += [_strictness(figures), _context(figures), _patterns(figures), _worst(compared, views)]
        else:
            parts.append("Nobody else has judged the same candidates, so there is nothing to compare yet.")
        result[annotator] = "\n\n".join(part for part in parts if part) + "\n"
    return result


def _standing(figures: Figures, judgments: Sequence[Judgment], shown: set[tuple[str, str]]) -> str:
    """Say how much was judged, and how far annotators agree."""
    who = figures.annotator
    tasks = {(judgment.pair, judgment.source) for judgment in judgments if judgment.annotator == who}
    lines = [f"You judged {figures.judged} candidates in {len(tasks & shown)} of {len(shown)} tasks."]
    total = figures.patterns[-1]
    if total.compared:
        groups = [group for group in by_candidate(judgments).values() if who in group]
        measured = agreement([judgment for group in groups for judgment in group.values()])
        kappa = measured.note if measured.kappa is None else f"{measured.kappa:.2f}"
        lines += [
            "",
            f"You and the others differ on {total.differing} of {total.compared} judgments. Kappa: {kappa}",
            "(1 is full agreement, 0 is what chance alone would give).",
        ]
    return "\n".join(lines)


def _strictness(figures: Figures) -> str:
    rows = [
        f"| {row.other} | {row.compared} | {row.own_links / row.compared:.0%} | {row.other_links / row.compared:.0%} "
        f"| {row.stricter} | {row.more_lenient} |"
        for row in figures.strictness
    ]
    return "\n".join(
        [
            "## How strict you are",
            "",
            "*Stricter*: you said No Link where the other said Link. *More lenient*: the opposite.",
            "",
            "| compared with | both judged | you said Link | they said Link | you stricter | you more lenient |",
            "|---|---|---|---|---|---|",
            *rows,
        ]
    )


def _context(figures: Figures) -> str:
    """Say whether the annotator rejects more where the evidence is outside the sentence."""

    def cell(part: Rejections) -> str:
        return "-" if part.rate is None else f"{part.rejected} of {part.candidates} ({part.rate:.0%})"

    def row(name: str, reliance: ContextReliance) -> str:
        rise = "-" if reliance.rise is None else f"{100 * reliance.rise:+.0f} points"
        return f"| {name} | {cell(reliance.outside)} | {cell(reliance.elsewhere)} | {rise} |"

    return "\n".join(
        [
            "## How much you rely on context",
            "",
            f"Evidence is outside the sentence when {Pattern.OUTSIDE.measure}.",
            "",
            "| | rejected, evidence outside | rejected, elsewhere | difference |",
            "|---|---|---|---|",
            row("you", figures.own_context),
            row("the others, on the same candidates", figures.other_context),
        ]
    )


def _patterns(figures: Figures) -> str:
    """Show disagreements by patterns that can be seen in the task itself."""
    if not figures.patterns[-1].differing:
        return "## Where you differ\n\nNowhere so far."
    rows = [
        f"| {row.pattern or 'all candidates'} | {row.differing} of {row.compared} | {row.share:.0%} |"
        for row in figures.patterns
        if row.compared
    ]
    measures = [
        f"- *{row.pattern}*: {row.pattern.measure}." for row in figures.patterns if row.pattern and row.compared
    ]
    table = ["| among | you differ on | share |", "|---|---|---|", *rows]
    return "\n".join(["## Where you differ", "", *table, *([""] if measures else []), *measures])


def _worst(compared: Sequence[Comparison], views: Mapping[Place, View]) -> str:
    """Show the source sentences on whose candidates the annotators differ most, with all texts."""
    by_source: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in compared:
        by_source.setdefault((comparison.own.pair, comparison.own.source), []).append(comparison)
    scored = [(sum(c.differs for c in part) / len(part), part) for part in by_source.values()]
    worst = sorted((case for case in scored if case[0] > 0), key=lambda case: -case[0])[:WORST]
    if not worst:
        return ""
    lines = [
        "## Cases to look at again",
        "",
        "Neither answer is right by default: read both texts, check the guidelines,",
        "and decide how you will judge such cases.",
    ]
    for number, (_, part) in enumerate(worst, start=1):
        source = views[part[0].at].source
        lines += ["", f"### Case {number}", "", "Source sentence:", "", f"> “{plain(source)}”"]
        for comparison in part:
            if comparison.differs:
                verdict = (
                    f"You: **{comparison.own.label}**. Another annotator: **{comparison.other.label}**. Candidate:"
                )
                lines += ["", verdict, "", f"> “{plain(views[comparison.at].candidate)}”"]
    return "\n".join(lines)

"""Memos for annotators, and borderline cases in words; never which approach proposed what, as people judge blind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from abcdlink.corpus.records import Corpus
from abcdlink.feedback import Case
from abcdlink.feedback.patterns import JudgmentPair, Pattern, comparisons_of, figures_of, views_of
from abcdlink.interannotator.measures import agreement
from abcdlink.judgments import Judgment, Label, Pool, by_candidate
from abcdlink.templates import markdown_environment


def plain(text: str) -> str:
    """Return a text on one line that Markdown shows literally: no mark-up, link or tag in it takes effect."""
    return re.sub(r"([\\`*_{}\[\]<>#|&~$])", r"\\\1", " ".join(text.split()))


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
    """Return a Markdown memo for each annotator, by pseudonym."""
    environment = markdown_environment("abcdlink.feedback")
    environment.filters |= {"plain": plain, "percent": "{:.0%}".format}
    template = environment.get_template("memo.md.j2")
    views = views_of(judgments, corpus)
    shown = {(pool.pair, pool.source) for pool in pools}
    return {
        who: template.render(
            figures=figures_of(who, judgments, compared, views),
            done=len(shown & {one.at[:2] for one in judgments if one.annotator == who}),
            shown=len(shown),
            kappa=_kappa(who, judgments),
            outside=Pattern.OUTSIDE,
            worst=_worst(compared),
            views=views,
        )
        for who, compared in comparisons_of(judgments).items()
    }


def _kappa(annotator: str, judgments: Sequence[Judgment]) -> str:
    """Say how far someone agrees with the others, on the candidates that they judged."""
    groups = [group for group in by_candidate(judgments).values() if annotator in group]
    measured = agreement([judgment for group in groups for judgment in group.values()])
    return measured.note if measured.kappa is None else f"{measured.kappa:.2f}"


def _worst(compared: Sequence[JudgmentPair]) -> list[list[JudgmentPair]]:
    """Return the source sentences on whose candidates an annotator differs most from others."""
    by_source: dict[tuple[str, str], list[JudgmentPair]] = {}
    for comparison in compared:
        by_source.setdefault(comparison.at[:2], []).append(comparison)

    def share(part: Sequence[JudgmentPair]) -> float:
        return sum(one.differs for one in part) / len(part)

    return sorted(filter(share, by_source.values()), key=lambda part: -share(part))[:WORST]

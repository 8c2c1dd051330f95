"""Texts of documents inside Markdown, and the borderline cases as the coordinator reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from abcdlink.corpus.records import Corpus
from abcdlink.feedback.cases import Case
from abcdlink.judgments import Label


def plain(text: str) -> str:
    """Return a text on one line that Markdown shows as it stands: no mark-up, link or tag of it works."""
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
    return "\n\n".join(parts) or "There are none: annotators said the same of all candidates."

"""From borderline cases to the data of tasks: what was said is shown, never by whom, never a method.

Everyone who can log in to Label Studio can read all task data: no name of a document, no id of a sentence.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from typing import Any

from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.feedback import Case, Opinion
from abcdlink.judgments import Label
from abcdlink.keys import opaque
from labelstudio_config.html import document_html, guidelines_html, shown

HIDDEN = ("progress", "question", "doc_a_name", "doc_b_name", "cases", "notices")
"""Fields of a task that the list of tasks does not show."""

NOTHING_ADDED = "Nothing was added to the guidelines."


def notice_key(run_key: str, batch: int) -> str:
    """Return the opaque, stable name of the task in which the guidelines are acknowledged: 16 hex digits."""
    return opaque(run_key, f"feedback {batch}", "guidelines")


def feedback_tasks(
    run_key: str,
    batch: int,
    cases: Sequence[Case],
    corpus: Corpus,
    domain: Domain,
    clarifications: str,
    guidelines: str,
) -> dict[str, dict[str, Any]]:
    """Return task key -> data: one task a case, and at the end the guidelines.

    Args:
        run_key: name of the run.
        batch: after which the round is.
        cases: borderline cases of this batch.
        corpus: their documents.
        domain: question, and what documents are called.
        clarifications: Markdown that was added to the guidelines; may be empty.
        guidelines: Markdown of the newest guidelines.
    """
    added = guidelines_html(clarifications or NOTHING_ADDED)
    pairs = {pair.id: pair for pair in corpus.pairs}
    same = {
        "question": domain.settings.question,
        "doc_a_name": f"Document A: {domain.settings.source_name}",
        "doc_b_name": f"Document B: {domain.settings.target_name}",
    }
    tasks: dict[str, dict[str, Any]] = {}
    for number, case in enumerate(cases, start=1):
        source, target = corpus.source_of(pairs[case.pair]), corpus.target_of(pairs[case.pair])
        shown_case = {
            "source_text": shown(source.text_of(case.source)),
            "doc_a_html": document_html(source, {case.source: ""}),
            "doc_b_html": document_html(target, {case.target: ""}),
            "candidate": shown(target.text_of(case.target)),
            "said_html": said_html(case.opinions),
            "clarification_html": added,
        }
        tasks[case.key] = {**same, "progress": f"Case {number} of {len(cases)}", "cases": [shown_case], "notices": []}
    notice = {"html": guidelines_html(guidelines)}
    tasks[notice_key(run_key, batch)] = {**same, "progress": "The guidelines", "cases": [], "notices": [notice]}
    return tasks


def said_html(opinions: Sequence[Opinion]) -> str:
    """Return what annotators said of a case, without names: how many said what, then flags and comments."""
    counts = Counter(opinion.label for opinion in opinions)
    lines = [f"{_people(counts[label])}: <b>{label}</b>" for label in Label if counts[label]]
    for opinion in opinions:
        remarks = [*(html.escape(flag) for flag in opinion.flags)]
        if opinion.comment:
            remarks.append(f"“{html.escape(shown(opinion.comment))}”")
        if remarks:
            lines.append(f"With {opinion.label}: {', '.join(remarks)}")
    return "".join(f"<p>{line}</p>" for line in lines)


def _people(count: int) -> str:
    return "One annotator" if count == 1 else f"{count} annotators"

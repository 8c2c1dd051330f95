"""Documents to be rated as a project: nothing in it tells which are synthetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from abcdlink.corpus.records import Corpus, PairKind
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.ratings.criteria import Criterion
from abcdlink.ratings.records import HIGHEST, RatedDocument
from labelstudio_config.html import document_html, guidelines_html
from labelstudio_config.projects import Project, title_of

LABEL_CONFIG = Path(__file__).with_name("config.xml")
KEYS = ("12345", "qwert", "asdfg", "zxcvb")
"""For each criterion the keys of its values, lowest first: rows of the keyboard."""
HIDDEN = ("doc_a_name", "doc_b_name", "doc_a_html", "doc_b_html")


def rating_title(run_key: str) -> str:
    """Return the title of the project."""
    return title_of(run_key, "ratings")


def label_config(criteria: Sequence[Criterion]) -> str:
    """Return the label config for some criteria; their texts are escaped."""
    from jinja2 import Environment, StrictUndefined

    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(LABEL_CONFIG.read_text("utf-8"))
    return template.render(rows=list(zip(criteria, KEYS, strict=False)))


def rating_project(run_key: str, domain: Domain, criteria: Sequence[Criterion], overlap: int) -> Project:
    """Return the project; ``overlap``: raters a document."""
    return Project(
        title=rating_title(run_key),
        description=f"{domain.settings.title}. Rate each document.",
        label_config=label_config(criteria),
        instruction=guidelines_html(instruction(criteria)),
        overlap=overlap,
        hidden=HIDDEN,
    )


def instruction(criteria: Sequence[Criterion]) -> str:
    """Return what raters read first, as Markdown."""
    asked = "\n".join(f"- **{one.name}**: {one.question} 1: {one.low}. {HIGHEST}: {one.high}." for one in criteria)
    return (
        f"# Rate each document\n\nRead document A, and document B beside it. Then rate document A, from 1 to {HIGHEST}:"
        f"\n\n{asked}\n\nUse all values. Each criterion stands for itself: a fluent document may be of something else. "
        "Every value has its key, which stands beside it; Ctrl and Enter submits. Enter keeps a comment."
    )


def rating_tasks(
    documents: Sequence[RatedDocument], corpora: Mapping[PairKind, Corpus], domain: Domain
) -> dict[str, dict[str, Any]]:
    """Return task key -> data: two documents without marks, whatever is known of their links.

    Raises:
        InputError: when a document's pair is not in its corpus.
    """
    pairs = {(kind, pair.id): pair for kind, corpus in corpora.items() for pair in corpus.pairs}
    lost = next((one for one in documents if (one.kind, one.pair) not in pairs), None)
    if lost is not None:
        msg = f"the pair {lost.pair!r}, which is to be rated, is not among the {lost.kind} pairs"
        raise InputError(msg, "bring it back, or rate under another run key")
    tasks = {}
    for one in documents:
        corpus, pair = corpora[one.kind], pairs[one.kind, one.pair]
        tasks[one.key] = {
            "doc_a_name": f"Document A: {domain.settings.source_name}",
            "doc_b_name": f"Document B: {domain.settings.target_name}",
            "doc_a_html": document_html(corpus.source_of(pair), {}),
            "doc_b_html": document_html(corpus.target_of(pair), {}),
        }
    return tasks

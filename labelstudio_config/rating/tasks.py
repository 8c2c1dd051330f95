"""From documents to be rated to the data of tasks: nothing in it tells which are synthetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from abcdlink.corpus.records import Corpus, PairKind
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.ratings.records import RatedDocument
from labelstudio_config.html import document_html

HIDDEN = ("doc_a_name", "doc_b_name", "doc_a_html", "doc_b_html")
"""Fields of a task that the list of tasks does not show."""


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

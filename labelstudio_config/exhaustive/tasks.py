"""From a sampled source sentence to the data of its task: every target sentence with an opaque id.

Everyone who can log in to Label Studio can read all task data: no document's name, no id of a sentence.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from abcdlink.corpus.records import Corpus, Document
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.recall import SampledSource
from labelstudio_config.html import document_html, shown
from labelstudio_config.linking.tasks import candidate_id

HIDDEN = ("list_title", "doc_a_name", "doc_a_html", "targets_html")
"""Fields of a task that the list of tasks does not show."""

NO_KEY = "f19"
"""Key of each target sentence: keyboards lack it. Without one, Label Studio would give letters to the
first sentences, and a slip of a finger would tick a sentence that is out of sight."""


def documents_of(source: SampledSource, corpus: Corpus) -> tuple[Document, Document]:
    """Return the source and the target document of a sampled source.

    Raises:
        InputError: when the corpus does not have it.
    """
    pair = next((pair for pair in corpus.pairs if pair.id == source.pair), None)
    if pair is None or source.source not in corpus.source_of(pair).position:
        msg = f"the sample names the source {source.source!r} of the pair {source.pair!r}, which the corpus lacks"
        raise InputError(msg, "sample again from this corpus, in another run")
    return corpus.source_of(pair), corpus.target_of(pair)


def exhaustive_tasks(sources: Sequence[SampledSource], corpus: Corpus, domain: Domain) -> dict[str, dict[str, Any]]:
    """Return task key -> data, in the order of the sample.

    Raises:
        InputError: when the corpus lacks a sampled source.
    """
    return {source.key: task_data(source, *documents_of(source, corpus), domain) for source in sources}


def task_data(at: SampledSource, source: Document, target: Document, domain: Domain) -> dict[str, Any]:
    """Return the data of one task: the source sentence, its document, and all target sentences, numbered from 1."""
    names = domain.settings
    return {
        "list_title": f"Document B: {names.target_name}. Tick each sentence with the answer yes: {names.question}",
        "doc_a_name": f"Document A: {names.source_name}",
        "source_text": shown(source.text_of(at.source)),
        "doc_a_html": document_html(source, {at.source: ""}),
        "targets_html": [
            {
                "value": candidate_id(at.key, sentence.id),
                "html": f"<b>{number}</b> {html.escape(shown(sentence.text))}",
                "hotkey": NO_KEY,
            }
            for number, sentence in enumerate(target.sentences, start=1)
        ],
    }

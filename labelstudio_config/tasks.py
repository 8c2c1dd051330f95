"""From a candidate pool to the data of one Label Studio task.

Everyone who can log in to Label Studio can read all task data. So a task holds texts and opaque ids
only: no method, no gold link, no name of a document or an approach.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Sequence
from typing import Any

from abcdlink.corpus.records import Corpus, Document
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.judgments import Pool

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Control characters that a database or a browser cannot take."""

EMPTY = "(empty sentence)"


def candidate_id(key: str, target: str) -> str:
    """Return the opaque id of one candidate of the task ``key``: 12 hex digits of a SHA-256."""
    return hashlib.sha256(f"{key}|{target}".encode()).hexdigest()[:12]


def documents_of(pools: Sequence[Pool], corpus: Corpus) -> dict[str, tuple[Document, Document]]:
    """Return task key -> source and target document.

    Raises:
        InputError: when a pool names a pair or a sentence that the corpus does not have.
    """
    pairs = {pair.id: pair for pair in corpus.pairs}
    mend = "build the candidates again from this corpus"
    found = {}
    for pool in pools:
        if pool.pair not in pairs:
            msg = f"the pool {pool.key} names the pair {pool.pair!r}, which the corpus lacks"
            raise InputError(msg, mend)
        source, target = corpus.source_of(pairs[pool.pair]), corpus.target_of(pairs[pool.pair])
        for sentence, document in [(pool.source, source), *((c.target, target) for c in pool.candidates)]:
            if sentence not in document.position:
                msg = f"the pool {pool.key} names the sentence {sentence!r}, which document {document.id!r} lacks"
                raise InputError(msg, mend)
        found[pool.key] = source, target
    return found


def shown(text: str) -> str:
    """Return a sentence as people see it: without outer white space and control characters, never empty."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).strip() or EMPTY


def document_html(document: Document, marks: dict[str, str]) -> str:
    """Return a document as HTML, one paragraph a sentence, every text escaped.

    Args:
        document: what is shown.
        marks: sentence id -> what stands before the marked sentence (a number, or nothing). The
            browser opens the document at the first mark.
    """
    scroll = ' style="scroll-initial-target: nearest"'
    paragraphs = []
    for sentence in document.sentences:
        text = html.escape(shown(sentence.text))
        if sentence.id in marks:
            number = f"<b>{html.escape(marks[sentence.id])}</b> " if marks[sentence.id] else ""
            text, scroll = f"<mark{scroll}>{number}{text}</mark>", ""
        paragraphs.append(f"<p>{text}</p>")
    return "".join(paragraphs)


def task_data(pool: Pool, source: Document, target: Document, domain: Domain) -> dict[str, Any]:
    """Return the data of one task: the source sentence, both documents and the candidates.

    Candidates are numbered from 0, as their keys on the keyboard are.
    """
    numbers = {candidate.target: str(number) for number, candidate in enumerate(pool.candidates)}
    return {
        "task_key": pool.key,
        "question": domain.settings.question,
        "doc_a_name": f"Document A: {domain.settings.source_name}",
        "doc_b_name": f"Document B: {domain.settings.target_name}",
        "source_text": shown(source.text_of(pool.source)),
        "doc_a_html": document_html(source, {pool.source: ""}),
        "doc_b_html": document_html(target, numbers),
        "candidates": [
            {"id": candidate_id(pool.key, c.target), "text": f"{number} · {shown(target.text_of(c.target))}"}
            for number, c in enumerate(pool.candidates)
        ],
    }

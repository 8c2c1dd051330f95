"""From candidate pools to the data of Label Studio tasks, those of one pair after each other.

Everyone who can log in to Label Studio can read all task data. So a task holds texts and opaque ids
only: no method, no gold link, no name of a document or an approach.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from abcdlink.corpus.records import Corpus, Document
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.judgments import Pool
from abcdlink.keys import opaque
from labelstudio_config.html import document_html, jumps_html, shown

HIDDEN = ("question", "doc_a_name", "doc_b_name", "doc_a_html", "doc_b_html", "jumps_html", "candidates", "more")
"""Fields of a task that the list of tasks does not show."""

CANDIDATE_DIGITS = 12
"""Hex digits of a candidate's opaque id."""

DIGITS = 10
"""Candidates that digits decide. Label Studio takes the key ``10`` for ``1``, so further ones get letters."""

DECISION = "link_"
"""Names of the decisions in the label config: ``link_0``, ``link_1``, ... up to the last digit."""

FURTHER = "more_"
"""Names of the decisions on candidates beyond the digits: ``more_0``, ``more_1``, ..."""


def candidate_id(key: str, target: str) -> str:
    """Return the opaque id of one candidate of the task ``key``: 12 hex digits of a SHA-256."""
    return opaque(key, target, digits=CANDIDATE_DIGITS)


def of_batch(pools: Iterable[Pool], batch: int) -> dict[str, Pool]:
    """Return the pools of one batch by their key."""
    return {pool.key: pool for pool in pools if pool.batch == batch}


def keys_of(pools: Iterable[Pool], batch: int) -> tuple[str, ...]:
    """Return the task keys of one batch."""
    return tuple(of_batch(pools, batch))


def batch_tasks(
    run_key: str, batch: int, pools: Sequence[Pool], corpus: Corpus, domain: Domain
) -> dict[str, dict[str, Any]]:
    """Return task key -> data of one batch, in the order in which annotators get the tasks.

    Raises:
        InputError: when the batch has no pools, or a pool does not fit the corpus.
    """
    wanted = of_batch(pools, batch)
    if not wanted:
        msg = f"batch {batch} of run {run_key!r} has no candidate pools"
        raise InputError(msg, "give the run more pairs, or annotate it in fewer batches")
    documents = documents_of(list(wanted.values()), corpus)
    ordered = reading_order(wanted, corpus)
    return {
        pool.key: task_data(pool, *documents[pool.key], domain, progress)
        for pool, progress in zip(ordered, _progress(ordered), strict=True)
    }


def reading_order(pools: Mapping[str, Pool], corpus: Corpus) -> list[Pool]:
    """Return the pools so that those of one pair follow each other, in the order of its source document."""
    pair_at = {pair.id: index for index, pair in enumerate(corpus.pairs)}
    sources = {pair.id: corpus.source_of(pair).position for pair in corpus.pairs}
    return sorted(pools.values(), key=lambda pool: (pair_at[pool.pair], sources[pool.pair][pool.source]))


def _progress(pools: Sequence[Pool]) -> Iterator[str]:
    """Yield for each pool where it stands in the batch; the pools of one pair follow each other."""
    sizes = Counter(pool.pair for pool in pools)
    for number, pair in enumerate(sizes, start=1):
        for sentence in range(1, sizes[pair] + 1):
            yield f"Sentence {sentence} of {sizes[pair]} in this pair · pair {number} of {len(sizes)}"


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


def task_data(pool: Pool, source: Document, target: Document, domain: Domain, progress: str) -> dict[str, Any]:
    """Return the data of one task: the source sentence, both documents and the candidates.

    Candidates are numbered from 0, as their keys on the keyboard are.

    Args:
        pool: the candidates.
        source: document of the source sentence.
        target: document of the candidates.
        domain: question and names of the documents.
        progress: where in the batch the annotator is, in words.
    """
    numbers = {candidate.target: str(number) for number, candidate in enumerate(pool.candidates)}
    candidates = [
        {"id": candidate_id(pool.key, c.target), "text": f"{number} · {shown(target.text_of(c.target))}"}
        for number, c in enumerate(pool.candidates)
    ]
    return {
        "progress": progress,
        "question": domain.settings.question,
        "doc_a_name": f"Document A: {domain.settings.source_name}",
        "doc_b_name": f"Document B: {domain.settings.target_name}",
        "source_text": shown(source.text_of(pool.source)),
        "doc_a_html": document_html(source, {pool.source: ""}),
        "doc_b_html": document_html(target, numbers),
        "jumps_html": jumps_html(numbers.values()),
        "candidates": candidates[:DIGITS],
        "more": candidates[DIGITS:],
    }


def offered(data: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the candidates of a task's data (``id``, ``text``), in the order of their numbers."""
    return [*data["candidates"], *data.get("more", [])]


def controls_of(number: int) -> tuple[str, str]:
    """Return the names in the label config of the decision on a candidate and of the candidate's text."""
    if number < DIGITS:
        return f"{DECISION}{number}", f"cand_{number}"
    return f"{FURTHER}{number - DIGITS}", f"other_{number - DIGITS}"


def candidate_of(decision: str) -> int | None:
    """Return the number of the candidate that a decision is on; ``None``: it is no such name."""
    for prefix, first in ((DECISION, 0), (FURTHER, DIGITS)):
        number = decision.removeprefix(prefix)
        if number != decision and number.isdecimal():
            return first + int(number)
    return None

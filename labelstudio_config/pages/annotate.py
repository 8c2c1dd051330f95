"""A batch: for each candidate of a source sentence, annotators choose Link or No Link.

Everyone who can log in to Label Studio can read all task data. So a task has only texts and meaningless ids:
no method, no gold link, no name of a document or approach. Tasks of one pair are consecutive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Document
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.feedback.guidelines import guidelines_for
from abcdlink.interannotator.measures import Agreement, agreement
from abcdlink.judgments import Annotator, Judgment, Label, Pool, Skip, opaque_id
from abcdlink.layout import AGREEMENT, ANNOTATORS, JUDGMENTS, NATURAL, SKIPS, batch_file, batch_folder, batch_slug
from abcdlink.qualify import qualified_accounts
from abcdlink.stages.annotate import (
    PARTIAL_JUDGMENTS,
    PULLED,
    Pulled,
    annotators_of,
    gold_pairs_in,
    pools_of,
    pulled_of,
)
from abcdlink.store import Store
from labelstudio_config.answers import fingerprints_of, namer, read_answers, unqualified_in
from labelstudio_config.client import collection_paused
from labelstudio_config.pages import (
    Asked,
    JudgmentsPull,
    Page,
    Project,
    document_html,
    jumps_html,
    keep_pull,
    project_of,
    shown,
    title_of,
)
from labelstudio_config.snapshot import FLAG, Snapshot, TaskAnswer

HIDDEN = ("question", "doc_a_name", "doc_b_name", "doc_a_html", "doc_b_html", "jumps_html", "candidates", "more")

DIGITS = 10
"""Candidates with a digit as their key. Label Studio takes the key ``10`` for ``1``, so the others get letters."""

DECISION, FURTHER = "link_", "more_"
"""Names of the decisions in the label config: ``link_0``, ``link_1``, ... up to the last digit, then ``more_0``, ..."""
COMMENT = "comment"
"""Name in the label config."""

REST = "No Link (rest)"
"""No Link, set by the key for all undecided candidates: a choice of its own in the label config."""
LABELS = {**{label.value: label for label in Label}, REST: Label.NO_LINK}
"""What can be chosen for a candidate -> its label."""


def candidate_id(key: str, target: str) -> str:
    """Return the opaque id of one candidate of the task ``key``: 12 hex digits of a SHA-256."""
    return opaque_id(key, target, digits=12)


def of_batch(pools: Iterable[Pool], batch: int) -> dict[str, Pool]:
    """Return the pools of a batch by key."""
    return {pool.key: pool for pool in pools if pool.batch == batch}


def batch_tasks(
    run_key: str, batch: int, pools: Sequence[Pool], corpus: Corpus, domain: Domain
) -> dict[str, dict[str, Any]]:
    """Return task key -> data of one batch, in the order in which annotators see the tasks.

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
    """Return the pools grouped by pair, in the order of the source document."""
    pair_at = {pair.id: index for index, pair in enumerate(corpus.pairs)}
    sources = {pair.id: corpus.source_of(pair).position for pair in corpus.pairs}
    return sorted(pools.values(), key=lambda pool: (pair_at[pool.pair], sources[pool.pair][pool.source]))


def _progress(pools: Sequence[Pool]) -> Iterator[str]:
    """Yield the position of each pool in the batch; the pools of one pair are consecutive."""
    sizes = Counter(pool.pair for pool in pools)
    places = [(pair, at, size) for pair, size in enumerate(sizes.values(), start=1) for at in range(1, size + 1)]
    for number, (pair, at, size) in enumerate(places, start=1):
        yield f"{number} of {len(places)} · sentence {at} of {size} in pair {pair} of {len(sizes)}"


def documents_of(pools: Sequence[Pool], corpus: Corpus) -> dict[str, tuple[Document, Document]]:
    """Return task key -> source and target document.

    Raises:
        InputError: when a pool names a pair or a sentence that the corpus does not have.
    """
    pairs = {pair.id: pair for pair in corpus.pairs}
    hint = "build the candidates again from this corpus"
    found = {}
    for pool in pools:
        if pool.pair not in pairs:
            msg = f"the pool {pool.key} names the pair {pool.pair!r}, which is not in the corpus"
            raise InputError(msg, hint)
        source, target = corpus.source_of(pairs[pool.pair]), corpus.target_of(pairs[pool.pair])
        for sentence, document in [(pool.source, source), *((c.target, target) for c in pool.candidates)]:
            if sentence not in document.position:
                msg = f"the pool {pool.key} names the sentence {sentence!r}, which is not in document {document.id!r}"
                raise InputError(msg, hint)
        found[pool.key] = source, target
    return found


def task_data(pool: Pool, source: Document, target: Document, domain: Domain, progress: str) -> dict[str, Any]:
    """Return the data of one task: the source sentence, both documents and the candidates.

    Candidates are numbered from 0, like their keys. ``progress``: the annotator's position in the batch, in words.
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
    """Return the candidates in a task's data (``id``, ``text``), ordered by number."""
    return [*data["candidates"], *data.get("more", [])]


def controls_of(number: int) -> tuple[str, str]:
    """Return the names in the label config of the decision on a candidate and of the candidate's text."""
    if number < DIGITS:
        return f"{DECISION}{number}", f"cand_{number}"
    return f"{FURTHER}{number - DIGITS}", f"other_{number - DIGITS}"


def candidate_of(decision: str) -> int | None:
    """Return the number of the candidate that a decision is about; ``None`` if the name is not a decision's."""
    for prefix, first in ((DECISION, 0), (FURTHER, DIGITS)):
        number = decision.removeprefix(prefix)
        if number != decision and number.isdecimal():
            return first + int(number)
    return None


def batch_title(run_key: str, batch: int) -> str:
    """Return the title of a batch's project."""
    return title_of(run_key, f"batch {batch}")


def batch_project(run_key: str, batch: int, domain: Domain, overlap: int, guidelines: str = "") -> Project:
    """Return the project of a batch; ``guidelines``: Markdown, if they are no longer the domain's."""
    about = f"{domain.settings.title}. {domain.settings.question}"
    return project_of("annotate", batch_title(run_key, batch), about, guidelines or domain.guidelines, overlap, HIDDEN)


def judgments_in(snapshot: Snapshot, pools: Mapping[str, Pool], annotators: Sequence[Annotator]) -> JudgmentsPull:
    """Read judgments from what is in Label Studio."""
    answers = read_answers(snapshot, pools, annotators)
    anomalies = [*answers.anomalies]
    judgments: list[Judgment] = []
    for who, answer in answers.newest:
        found, problems = _judgments(answer, pools[answer.key], who)
        judgments += found
        anomalies += problems
    skips = [Skip(batch=pools[key].batch, key=key, annotator=who) for who, key in answers.skips]
    return JudgmentsPull(judgments=judgments, skips=skips, annotators=answers.annotators, anomalies=anomalies)


def _judgments(answer: TaskAnswer, pool: Pool, who: str) -> tuple[list[Judgment], list[str]]:
    """Read one annotation; candidates are found by their opaque ids, never by position alone."""
    candidates = {candidate_id(pool.key, candidate.target): candidate for candidate in pool.candidates}
    decisions, anomalies = _decisions(answer, who)
    ids = [candidate["id"] for candidate in offered(answer.data)]
    judgments = []
    for number, choice in sorted(decisions.items()):
        candidate = candidates.get(ids[number]) if number < len(ids) else None
        if candidate is None:
            anomalies.append(f"{who} judged candidate {number} of the task {pool.key}, which is not in its pool")
            continue
        judgments.append(
            Judgment(
                batch=pool.batch,
                pair=pool.pair,
                source=pool.source,
                target=candidate.target,
                method=candidate.method,
                annotator=who,
                label=LABELS[choice],
                seconds=answer.seconds,
                submitted=answer.at,
                flags=tuple(answer.given.choices.get(FLAG, ())),
                comment=answer.given.texts.get(COMMENT, ""),
                rest=choice == REST,
            )
        )
    open_ones = len(candidates) - len(judgments)
    if open_ones > 0:
        anomalies.append(f"{who} left {open_ones} of {len(candidates)} candidates of the task {pool.key} undecided")
    return judgments, anomalies


def _decisions(answer: TaskAnswer, who: str) -> tuple[dict[int, str], list[str]]:
    """Return candidate number -> what was chosen for it, and what could not be read."""
    decisions, anomalies = dict[int, str](), []
    for name, chosen in answer.given.choices.items():
        number = candidate_of(name)
        if number is not None and len(chosen) == 1 and chosen[0] in LABELS:
            decisions[number] = chosen[0]
        elif name != FLAG:
            anomalies.append(
                f"{who} gave {name} = {chosen} for the task {answer.key}, which is not an option on this page"
            )
    return decisions, anomalies


def result_in(store: Store, batch: int, snapshot: Snapshot) -> JudgmentsPull:
    """Read the judgments that count; note answers by people who are not qualified, and pairs that applicants knew."""
    result = judgments_in(snapshot, {pool.key: pool for pool in pools_of(store, batch)}, annotators_of(store))
    unqualified = unqualified_in(snapshot, qualified_accounts(store), namer(result.annotators))
    gold = [f"the pair {pair!r} is a gold pair of the qualification too" for pair in gold_pairs_in(store, batch)]
    return result.model_copy(update={"anomalies": [*result.anomalies, *unqualified, *gold]})


@collection_paused()
def keep_result(store: Store, batch: int, snapshot: Snapshot, version: int = 1) -> None:
    """Write what was pulled of a batch; the judgments and then the number of the pull come last."""
    result = result_in(store, batch, snapshot)
    keep_pull(store, batch_folder(batch), result, snapshot)
    store.write_records(ANNOTATORS, result.annotators)
    store.write_records(batch_file(batch, SKIPS), result.skips)
    store.write_records(batch_file(batch, JUDGMENTS), result.judgments)
    pulled = Pulled(version=version, at=datetime.now(UTC), answers=fingerprints_of(snapshot))
    store.write_record(batch_file(batch, PULLED), pulled)


def keep_partial(store: Store, batch: int, snapshot: Snapshot, overlap: int) -> Agreement:
    """Write what a batch would be if it ended now, separate from its own files; pseudonyms are kept for later."""
    result = result_in(store, batch, snapshot)
    so_far = agreement(result.judgments, overlap)
    store.write_records(ANNOTATORS, result.annotators)
    store.write_records(batch_file(batch, PARTIAL_JUDGMENTS), result.judgments)
    store.write_record(batch_file(batch, f"partial/{AGREEMENT}"), so_far)
    return so_far


class LinkingPage(Page):
    """A batch. ``overlap``: annotators per task. ``shared``: they share one project; otherwise each has their own."""

    batch: int
    overlap: int
    shared: bool = False

    @property
    def slug(self) -> str:
        return batch_slug(self.batch)

    def ask(self, store: Store, domain: Domain) -> Asked:
        pools, corpus = pools_of(store, self.batch), read_corpus_from(store, NATURAL)
        guidelines = guidelines_for(store, self.batch, domain.guidelines)
        project = batch_project(store.key, self.batch, domain, self.overlap, guidelines)
        asked = Asked(project, batch_tasks(store.key, self.batch, pools, corpus, domain))
        return asked if self.shared else asked._replace(needed=self.overlap, projects=self.overlap)

    def is_pulled(self, store: Store) -> bool:
        return pulled_of(store, self.batch) is not None

    def keep(self, store: Store, snapshot: Snapshot) -> None:
        keep_result(store, self.batch, snapshot)

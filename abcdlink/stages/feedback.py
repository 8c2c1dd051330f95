"""Stage feedback: what a feedback round starts with, what the coordinator accepts, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.feedback import Accepted, Acknowledgement, Case, FeedbackOutcome, SecondAnswer, choose_cases, outcome_of
from abcdlink.feedback.guidelines import clarify, finished, guidelines_for
from abcdlink.feedback.guidelines import draft_clarifications as draft
from abcdlink.feedback.memos import example_text, memos
from abcdlink.feedback.patterns import views_of
from abcdlink.judgments import Judgment, Label, Pool
from abcdlink.layout import JUDGMENTS, NATURAL, POOLS, batch_file
from abcdlink.store import Store

CASES = "feedback/cases.jsonl"
DRAFT = "feedback/draft.md"
MEMOS = "feedback/memos.json"
ACCEPTED = "feedback/accepted.json"
ANSWERS = "feedback/answers.jsonl"
ACKNOWLEDGEMENTS = "feedback/acknowledgements.jsonl"
OUTCOME = "feedback/outcome.json"
"""Files of a batch."""


class Feedback(Record):
    """What a round starts with: annotator -> memo, the borderline cases, and drafted clarifications (Markdown)."""

    memos: dict[str, str]
    cases: tuple[Case, ...]
    draft: str


def judged_in(store: Store, batch: int) -> list[Judgment]:
    """Return the judgments of a batch; raises ``InputError`` if they have not been pulled yet."""
    store.require(batch_file(batch, JUDGMENTS), "annotate")
    return store.read_records(batch_file(batch, JUDGMENTS), Judgment)


def judges_in(store: Store, batch: int) -> list[str]:
    """Return the pseudonyms of those who judged a batch."""
    return sorted({judgment.annotator for judgment in judged_in(store, batch)})


def prepare_feedback(store: Store, batch: int) -> Feedback:
    """Write the memos, cases and draft of a batch, unless they exist: the draft may have been edited.

    Raises:
        InputError: when the batch has no judgments yet.
    """
    if not store.exists(batch_file(batch, MEMOS)):
        judgments, corpus = judged_in(store, batch), read_corpus_from(store, NATURAL)
        pools = [pool for pool in store.read_records(POOLS, Pool) if pool.batch == batch]
        texts = memos(judgments, corpus, pools)
        for annotator, text in texts.items():
            store.write_text(batch_file(batch, f"feedback/{annotator}.md"), text)
        store.write_records(batch_file(batch, CASES), choose_cases(store.key, judgments, corpus))
        store.write_text(batch_file(batch, DRAFT), draft(batch, judgments, views_of(judgments, corpus)))
        store.write_json(batch_file(batch, MEMOS), texts)
    return Feedback(
        memos=store.read_json(batch_file(batch, MEMOS), dict[str, str]),
        cases=tuple(store.read_records(batch_file(batch, CASES), Case)),
        draft=store.read_text(batch_file(batch, DRAFT)),
    )


def accept_feedback(
    store: Store, batch: int, domain_text: str, clarifications: str, label_studio_round: bool, by: str = "coordinator"
) -> Accepted:
    """Store what the coordinator accepts and give the guidelines a new version; earlier acceptance stays.

    ``domain_text``: the domain's guidelines, for a batch that was pushed without storing its version.
    ``clarifications``: Markdown; the draft's notes are removed. ``label_studio_round``: whether annotators answer again
    in Label Studio; they never do where there are neither clarifications nor cases.
    """
    accepted = accepted_in(store, batch)
    if accepted is None:
        text, feedback = finished(clarifications), prepare_feedback(store, batch)
        guidelines_for(store, batch, domain_text)
        accepted = Accepted(
            by=by,
            clarifications=text,
            edited=text != finished(feedback.draft),
            label_studio_round=label_studio_round and bool(text or feedback.cases),
            guidelines=clarify(store, batch, text),
        )
        store.write_record(batch_file(batch, ACCEPTED), accepted)
    return accepted


def with_examples(store: Store, batch: int, clarifications: str, examples: Mapping[int, Label]) -> str:
    """Return clarifications with borderline cases as examples: case number, from 1 -> what it is an example of.

    Raises:
        InputError: when there is no case with such a number.
    """
    if not examples:
        return clarifications
    cases, corpus = prepare_feedback(store, batch).cases, read_corpus_from(store, NATURAL)
    lost = next((number for number in examples if not 1 <= number <= len(cases)), None)
    if lost is not None:
        msg = f"batch {batch} of run {store.key!r} has no borderline case {lost}"
        raise InputError(
            msg, f"its cases are numbered 1 to {len(cases)}; `abcdlink feedback show {store.key}` shows them"
        )
    texts = [example_text(cases[number - 1], corpus, label) for number, label in sorted(examples.items())]
    return "\n\n".join([clarifications.rstrip(), *texts]).lstrip() + "\n"


def asked_cases(store: Store, batch: int) -> list[Case]:
    """Return the cases that people judge again: all but those that the guidelines now decide, as examples."""
    cases, accepted = prepare_feedback(store, batch).cases, accepted_in(store, batch)
    if accepted is None or not accepted.clarifications:
        return list(cases)
    corpus, told = read_corpus_from(store, NATURAL), accepted.clarifications
    return [case for case in cases if not any(example_text(case, corpus, label) in told for label in Label)]


def second_answers(store: Store) -> list[SecondAnswer]:
    """Return what annotators answered in all feedback rounds so far."""
    names = [name for name in store.folder.names("batches/") if name.endswith(f"/{ANSWERS}")]
    return [answer for name in sorted(names) for answer in store.read_records(name, SecondAnswer)]


def accepted_in(store: Store, batch: int) -> Accepted | None:
    """Return what was accepted after a batch, or ``None``."""
    return store.find_record(batch_file(batch, ACCEPTED), Accepted)


def end_feedback(
    store: Store, batch: int, answers: Sequence[SecondAnswer], acknowledgements: Sequence[Acknowledgement]
) -> None:
    """Store the answers and the outcome; the judgments of the batch stay as they are."""
    if outcome_in(store, batch) is None:
        outcome = outcome_of(asked_cases(store, batch), judged_in(store, batch), answers, acknowledgements)
        store.write_records(batch_file(batch, ANSWERS), answers)
        store.write_records(batch_file(batch, ACKNOWLEDGEMENTS), acknowledgements)
        store.write_record(batch_file(batch, OUTCOME), outcome)


def end_unasked(store: Store, batch: int) -> None:
    """End a round in which nobody was asked: it has no outcome, and nobody is missing."""
    store.write_record(batch_file(batch, OUTCOME), outcome_in(store, batch) or FeedbackOutcome())


def outcome_in(store: Store, batch: int) -> FeedbackOutcome | None:
    """Return the outcome of the round after a batch; ``None`` until it is over."""
    return store.find_record(batch_file(batch, OUTCOME), FeedbackOutcome)

"""A feedback round: cases on which annotators disagreed, to judge again, and the new guidelines.

The page shows what was said, but never who said it, a method, a document's name or a sentence's id. Answers are second
answers and confirmations; they never become judgments.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from typing import Any

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.feedback import Acknowledgement, Case, Opinion, SecondAnswer
from abcdlink.feedback.guidelines import newest_guidelines
from abcdlink.judgments import Annotator, Label, opaque_id
from abcdlink.layout import ANNOTATORS, NATURAL, batch_file, feedback_slug
from abcdlink.stages.annotate import annotators_of
from abcdlink.stages.feedback import asked_cases, end_feedback, end_unasked, outcome_in
from abcdlink.store import Store
from labelstudio_config.answers import read_answers
from labelstudio_config.attendance import awaited_in
from labelstudio_config.pages import (
    Asked,
    Page,
    Project,
    Pull,
    document_html,
    guidelines_html,
    keep_pull,
    project_of,
    shown,
    text_html,
    title_of,
)
from labelstudio_config.snapshot import Snapshot

HIDDEN = ("progress", "question", "doc_a_name", "doc_b_name", "cases", "notices")

NOTHING_ADDED = "Nothing was added to the guidelines."


def notice_key(run_key: str, batch: int) -> str:
    """Return the opaque, stable key of the task that shows the guidelines: 16 hex digits."""
    return opaque_id(run_key, f"feedback {batch}", "guidelines")


def feedback_tasks(
    run_key: str,
    batch: int,
    cases: Sequence[Case],
    corpus: Corpus,
    domain: Domain,
    clarifications: str,
    guidelines: str,
) -> dict[str, dict[str, Any]]:
    """Return task key -> data of the round after a batch: one task per case, and the guidelines at the end.

    ``clarifications``: Markdown that was added to the guidelines; may be empty. ``guidelines``: Markdown, the newest.
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
    new = f"# New in the guidelines\n\n{clarifications}" if clarifications else f"*{NOTHING_ADDED}*"
    notice = {"html": guidelines_html(f"{new}\n\n---\n\n{guidelines}")}
    tasks[notice_key(run_key, batch)] = {**same, "progress": "The guidelines", "cases": [], "notices": [notice]}
    return tasks


def said_html(opinions: Sequence[Opinion]) -> str:
    """Return what annotators said about a case, without names: how many said what, then flags and comments."""
    counts = Counter(opinion.label for opinion in opinions)
    people = {1: "One annotator"}
    lines = [f"{people.get(n, f'{n} annotators')}: <b>{label}</b>" for label in Label if (n := counts[label])]
    for opinion in opinions:
        remarks = [*(html.escape(flag) for flag in opinion.flags)]
        if opinion.comment:
            remarks.append(f"“{text_html(opinion.comment)}”")
        if remarks:
            lines.append(f"With {opinion.label}: {', '.join(remarks)}")
    return "".join(f"<p>{line}</p>" for line in lines)


HOW_TO = """# Feedback round

- Annotators disagreed on these cases. **Nobody is right by default**: read both texts, what was said and the
  clarification, then judge again. Your first judgments will not change.
- With the keyboard: **0** for Link, **Shift + 0** for No Link. **Enter** submits.
- The last task shows the guidelines for the next batch. Confirm that you have read them (**a**), or say that you still
  have a question (**q**).

---

"""


def feedback_title(run_key: str, batch: int) -> str:
    """Return the title of the project of the round after a batch."""
    return title_of(run_key, f"feedback {batch}")


def feedback_project(run_key: str, batch: int, domain: Domain, guidelines: str, overlap: int) -> Project:
    """Return the project of the round after a batch, which ``overlap`` annotators answer."""
    about = f"{domain.settings.title}. Feedback after batch {batch}: cases on which annotators disagreed"
    return project_of("feedback", feedback_title(run_key, batch), about, HOW_TO + guidelines, overlap, HIDDEN)


DECISION, COMMENT = "link_0", "comment_0"
READ, QUESTION = "read_0", "question_0"
"""Names in the label config."""
UNDERSTOOD = "I have read the guidelines and will judge by them"
ASKS = "I have read the guidelines and still have a question"


class FeedbackPull(Pull):
    """What annotators answered in a round."""

    answers: list[SecondAnswer]
    acknowledgements: list[Acknowledgement]


def feedback_in(
    snapshot: Snapshot, batch: int, cases: Sequence[Case], notice: str, annotators: Sequence[Annotator]
) -> FeedbackPull:
    """Read answers from what is in Label Studio. ``notice``: key of the task with the guidelines."""
    by_key = {case.key: case for case in cases}
    answers = read_answers(snapshot, [*by_key, notice], annotators)
    second: list[SecondAnswer] = []
    acknowledgements: list[Acknowledgement] = []
    anomalies = [*answers.anomalies]
    for who, answer in answers.newest:
        if answer.key == notice:
            read = answer.given.choices.get(READ)
            if read in ([UNDERSTOOD], [ASKS]):
                acknowledgements.append(
                    Acknowledgement(
                        batch=batch,
                        annotator=who,
                        question=read == [ASKS],
                        comment=answer.given.texts.get(QUESTION, ""),
                        submitted=answer.at,
                    )
                )
            else:
                anomalies.append(f"{who} submitted the guidelines without confirming that they were read")
        elif (label := answer.given.choices.get(DECISION)) in ([Label.LINK], [Label.NO_LINK]):
            second.append(
                SecondAnswer(
                    **by_key[answer.key].model_dump(include={"batch", "pair", "source", "target"}),
                    annotator=who,
                    label=Label(label[0]),
                    comment=answer.given.texts.get(COMMENT, ""),
                    submitted=answer.at,
                )
            )
        else:
            anomalies.append(f"{who} left the case of the task {answer.key} undecided")
    return FeedbackPull(
        answers=second, acknowledgements=acknowledgements, annotators=answers.annotators, anomalies=anomalies
    )


class FeedbackPage(Page):
    """The round after a batch, for all its annotators still awaited. ``clarifications``: Markdown, may be empty."""

    batch: int
    clarifications: str = ""

    @property
    def slug(self) -> str:
        return feedback_slug(self.batch)

    def ask(self, store: Store, domain: Domain) -> Asked:
        guidelines = newest_guidelines(store, domain.guidelines)
        cases, corpus = asked_cases(store, self.batch), read_corpus_from(store, NATURAL)
        tasks = feedback_tasks(store.key, self.batch, cases, corpus, domain, self.clarifications, guidelines)
        awaited = max(len(awaited_in(store, self.slug) or ()), 1)
        return Asked(feedback_project(store.key, self.batch, domain, guidelines, awaited), tasks)

    def is_pulled(self, store: Store) -> bool:
        return outcome_in(store, self.batch) is not None

    def keep(self, store: Store, snapshot: Snapshot) -> None:
        cases = asked_cases(store, self.batch)
        result = feedback_in(snapshot, self.batch, cases, notice_key(store.key, self.batch), annotators_of(store))
        store.write_records(ANNOTATORS, result.annotators)
        keep_pull(store, batch_file(self.batch, "feedback"), result, snapshot)
        end_feedback(store, self.batch, result.answers, result.acknowledgements)

    def keep_unasked(self, store: Store) -> None:
        end_unasked(store, self.batch)

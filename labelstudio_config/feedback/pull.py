"""Annotations of a feedback round become second answers and acknowledgements; they never become judgments."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.feedback import Acknowledgement, Case, SecondAnswer
from abcdlink.judgments import Annotator, Label
from labelstudio_config.answers import read_answers
from labelstudio_config.client import Client
from labelstudio_config.feedback.project import feedback_title
from labelstudio_config.feedback.tasks import notice_key
from labelstudio_config.pulls import Pull
from labelstudio_config.snapshot import Answer, Snapshot, read_project

DECISION, COMMENT = "link_0", "comment_0"
READ, QUESTION = "read_0", "question_0"
"""Names in the label config."""
UNDERSTOOD = "I have read the guidelines and will judge by them"
ASKS = "I have read the guidelines and still have a question"


class FeedbackPull(Pull):
    """What annotators answered in a round."""

    answers: list[SecondAnswer]
    acknowledgements: list[Acknowledgement]


def pull_feedback(
    client: Client, run_key: str, batch: int, cases: Sequence[Case], annotators: Sequence[Annotator] = ()
) -> FeedbackPull:
    """Read what was answered so far. Reads only: run again, it gives the same for the same annotations.

    Args:
        client: the server.
        run_key: name of the run.
        batch: after which the round is.
        cases: that were pushed.
        annotators: those who are known, who keep their pseudonyms.

    Raises:
        ServiceError: when there is no such project, or Label Studio does not answer.
    """
    notice = notice_key(run_key, batch)
    snapshot = read_project(client, feedback_title(run_key, batch), [*(case.key for case in cases), notice])
    return feedback_in(snapshot, batch, cases, notice, annotators)


def feedback_in(
    snapshot: Snapshot, batch: int, cases: Sequence[Case], notice: str, annotators: Sequence[Annotator]
) -> FeedbackPull:
    """Read answers from what lies in Label Studio; ``notice``: key of the task with the guidelines."""
    by_key = {case.key: case for case in cases}
    answers = read_answers(snapshot, [*by_key, notice], annotators)
    second: list[SecondAnswer] = []
    acknowledgements: list[Acknowledgement] = []
    anomalies = [*answers.anomalies]
    for who, answer in answers.newest:
        if answer.key == notice:
            read = answer.given.choices.get(READ)
            if read in ([UNDERSTOOD], [ASKS]):
                acknowledgements.append(_acknowledgement(answer, batch, who, question=read == [ASKS]))
            else:
                anomalies.append(f"{who} submitted the guidelines without saying that they were read")
        elif (label := answer.given.choices.get(DECISION)) in ([Label.LINK], [Label.NO_LINK]):
            second.append(_second(answer, by_key[answer.key], who, Label(label[0])))
        else:
            anomalies.append(f"{who} left the case of the task {answer.key} undecided")
    return FeedbackPull(
        answers=second,
        acknowledgements=acknowledgements,
        annotators=answers.annotators,
        anomalies=anomalies,
        raw=snapshot.raw,
    )


def _second(answer: Answer, case: Case, who: str, label: Label) -> SecondAnswer:
    return SecondAnswer(
        batch=case.batch,
        pair=case.pair,
        source=case.source,
        target=case.target,
        annotator=who,
        label=label,
        comment=answer.given.texts.get(COMMENT, ""),
        submitted=answer.at,
    )


def _acknowledgement(answer: Answer, batch: int, who: str, question: bool) -> Acknowledgement:
    return Acknowledgement(
        batch=batch, annotator=who, question=question, comment=answer.given.texts.get(QUESTION, ""), submitted=answer.at
    )

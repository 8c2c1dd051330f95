"""Annotations become judgments: the newest of each annotator, and a word on all that was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from abcdlink.judgments import Annotator, Judgment, Label, Pool, Skip
from labelstudio_config.answers import read_answers
from labelstudio_config.client import Client
from labelstudio_config.linking.project import batch_title
from labelstudio_config.linking.tasks import candidate_id, candidate_of, of_batch, offered
from labelstudio_config.pulls import JudgmentsPull
from labelstudio_config.snapshot import Answer, Snapshot, read_project

FLAG, COMMENT = "flag", "comment"
"""Names in the label config."""


def pull_batch(
    client: Client, run_key: str, batch: int, pools: Sequence[Pool], annotators: Sequence[Annotator] = ()
) -> JudgmentsPull:
    """Read the judgments of a batch. Reads only: run again, it gives the same for the same annotations.

    The newest answer of an annotator to a task counts, a skip included; older ones are reported.

    Args:
        client: the server.
        run_key: name of the run.
        batch: number of the batch.
        pools: the candidate pools of the run.
        annotators: those of earlier batches, who keep their pseudonyms.

    Raises:
        ServiceError: when the batch has no project, or Label Studio does not answer.
    """
    wanted = of_batch(pools, batch)
    snapshot = read_project(client, batch_title(run_key, batch), wanted)
    return judgments_in(snapshot, wanted, annotators)


def judgments_in(snapshot: Snapshot, pools: Mapping[str, Pool], annotators: Sequence[Annotator]) -> JudgmentsPull:
    """Read judgments from what lies in Label Studio; for the arguments see ``pull_batch``."""
    answers = read_answers(snapshot, pools, annotators)
    anomalies = [*answers.anomalies]
    judgments: list[Judgment] = []
    for who, answer in answers.newest:
        found, problems = _judgments(answer, pools[answer.key], who)
        judgments += found
        anomalies += problems
    skips = [Skip(batch=pools[key].batch, key=key, annotator=who) for who, key in answers.skips]
    return JudgmentsPull(
        judgments=judgments, skips=skips, annotators=answers.annotators, anomalies=anomalies, raw=snapshot.raw
    )


def _judgments(answer: Answer, pool: Pool, who: str) -> tuple[list[Judgment], list[str]]:
    """Read one annotation; candidates are found by their opaque ids, never by their place alone."""
    candidates = {candidate_id(pool.key, candidate.target): candidate for candidate in pool.candidates}
    labels, flags, anomalies = _choices(answer, who)
    ids = [candidate["id"] for candidate in offered(answer.data)]
    seconds = answer.seconds
    comment = answer.given.texts.get(COMMENT, "")
    judgments = []
    for number, label in sorted(labels.items()):
        candidate = candidates.get(ids[number]) if number < len(ids) else None
        if candidate is None:
            anomalies.append(f"{who} judged candidate {number} of the task {pool.key}, which its pool does not have")
            continue
        judgments.append(
            Judgment(
                batch=pool.batch,
                pair=pool.pair,
                source=pool.source,
                target=candidate.target,
                method=candidate.method,
                annotator=who,
                label=label,
                seconds=seconds,
                submitted=answer.at,
                flags=flags,
                comment=comment,
            )
        )
    open_ones = len(candidates) - len(judgments)
    if open_ones > 0:
        anomalies.append(f"{who} left {open_ones} of {len(candidates)} candidates of the task {pool.key} undecided")
    return judgments, anomalies


def _choices(answer: Answer, who: str) -> tuple[dict[int, Label], tuple[str, ...], list[str]]:
    """Return candidate number -> label, the flags, and what could not be read."""
    labels: dict[int, Label] = {}
    flags: tuple[str, ...] = ()
    anomalies = []
    for name, chosen in answer.given.choices.items():
        number = candidate_of(name)
        if name == FLAG:
            flags = tuple(chosen)
        elif number is not None and len(chosen) == 1 and chosen[0] in set(Label):
            labels[number] = Label(chosen[0])
        else:
            anomalies.append(f"{who} gave {name} = {chosen} for the task {answer.key}, which says nothing")
    return labels, flags, anomalies

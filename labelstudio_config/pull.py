"""Annotations become judgments: the newest of each annotator, and a word on all that was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from abcdlink.corpus.records import Record
from abcdlink.judgments import Annotator, Judgment, Label, Pool, Skip
from labelstudio_config.client import Client
from labelstudio_config.snapshot import SIMULATED_DOMAIN, Answer, Snapshot, of_batch, read_batch
from labelstudio_config.tasks import candidate_id

DECISION = "link_"
"""Names of the decisions in the label config: ``link_0``, ``link_1``, ..."""

FLAG = "flag"


class PullResult(Record):
    """What annotators said of a batch.

    ``annotators``: all annotators of the run so far, those of earlier batches included.
    ``anomalies``: one sentence for each thing that was left out or looks wrong. ``raw``: the tasks
    with all their annotations as Label Studio has them, without the documents.
    """

    judgments: list[Judgment]
    skips: list[Skip]
    annotators: list[Annotator]
    anomalies: list[str]
    raw: list[dict[str, Any]]


def pull_batch(
    client: Client, run_key: str, batch: int, pools: Sequence[Pool], annotators: Sequence[Annotator] = ()
) -> PullResult:
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
    snapshot = read_batch(client, run_key, batch, pools)
    wanted = of_batch(pools, batch)
    known = _extended(annotators, snapshot)
    pseudonym = {annotator.account: annotator.annotator for annotator in known}
    anomalies = _about_tasks(snapshot)
    judgments: list[Judgment] = []
    skips: list[Skip] = []
    in_order = ((key, user) for key in wanted for user in sorted(snapshot.accounts_of(key)))
    for key, user in in_order:
        newest, *older = snapshot.answers[key, user]
        who = pseudonym[snapshot.account(user)]
        if older:
            anomalies.append(f"{who} answered the task {key} {len(older) + 1} times; the newest counts")
        if newest.skipped:
            skips.append(Skip(batch=batch, key=key, annotator=who))
            continue
        found, problems = _judgments(newest, wanted[key], who)
        judgments += found
        anomalies += problems
    return PullResult(judgments=judgments, skips=skips, annotators=known, anomalies=anomalies, raw=snapshot.raw)


def _extended(annotators: Sequence[Annotator], snapshot: Snapshot) -> list[Annotator]:
    """Give the accounts that are new pseudonyms after those in use, in the order of their account ids."""
    known = list(annotators)
    accounts = {annotator.account for annotator in known}
    for user in sorted({user for _, user in snapshot.answers}):
        account = snapshot.account(user)
        if account not in accounts:
            simulated = account.endswith(SIMULATED_DOMAIN)
            known.append(Annotator(annotator=f"annotator-{len(known) + 1}", account=account, simulated=simulated))
    return known


def _about_tasks(snapshot: Snapshot) -> list[str]:
    said = [f"the task {key} was pushed and is no longer in Label Studio" for key in snapshot.vanished]
    if snapshot.foreign:
        said.append(
            f"{snapshot.foreign} tasks in the project {snapshot.project} are not of this batch and are left out"
        )
    return said


def _judgments(answer: Answer, pool: Pool, who: str) -> tuple[list[Judgment], list[str]]:
    """Read one annotation; candidates are found by their opaque ids, never by their place alone."""
    candidates = {candidate_id(pool.key, candidate.target): candidate for candidate in pool.candidates}
    labels, flags, anomalies = _choices(answer, who)
    seconds = answer.raw.get("lead_time")
    judgments = []
    for number, label in sorted(labels.items()):
        candidate = candidates.get(answer.candidates[number]) if number < len(answer.candidates) else None
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
    for name, choices in _results(answer.raw["result"]):
        number = name.removeprefix(DECISION)
        if name == FLAG:
            flags = tuple(choices)
        elif number.isdecimal() and len(choices) == 1 and choices[0] in set(Label):
            labels[int(number)] = Label(choices[0])
        else:
            anomalies.append(f"{who} gave {name} = {choices} for the task {answer.key}, which says nothing")
    return labels, flags, anomalies


def _results(results: Iterable[dict[str, Any]]) -> Iterable[tuple[str, list[str]]]:
    for result in results:
        yield str(result.get("from_name")), list(result.get("value", {}).get("choices", []))

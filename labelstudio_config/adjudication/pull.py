"""Annotations become adjudications: of each candidate the newest decision, and a word on all that was left out."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.adjudication import Adjudication
from abcdlink.judgments import Annotator, Judgment, Pool, by_candidate
from labelstudio_config.adjudication.project import adjudication_title
from labelstudio_config.answers import with_pseudonyms
from labelstudio_config.client import Client
from labelstudio_config.linking.pull import judgments_in
from labelstudio_config.pulls import JudgmentsPull, Pull
from labelstudio_config.snapshot import Snapshot, read_project

ADJUDICATOR = "adjudicator"
"""What the pseudonyms of people begin with who decide without being annotators of the run."""


class AdjudicationPull(Pull):
    """What was decided. ``annotators``: the adjudicators who are not among the annotators of batches."""

    adjudications: list[Adjudication]


def pull_adjudications(
    client: Client,
    run_key: str,
    pools: Sequence[Pool],
    judgments: Sequence[Judgment],
    annotators: Sequence[Annotator] = (),
    adjudicators: Sequence[Annotator] = (),
) -> AdjudicationPull:
    """Read what was decided. Reads only: run again, it gives the same for the same annotations.

    Args:
        client: the server.
        run_key: name of the run.
        pools: what was pushed.
        judgments: of the annotators, which tell who decides on a judgment of her own.
        annotators: of the run; one of them who decides is called as she is there.
        adjudicators: others who are known, who keep their pseudonyms.

    Raises:
        ServiceError: when there is no such project, or Label Studio does not answer.
    """
    snapshot = read_project(client, adjudication_title(run_key), [pool.key for pool in pools])
    return adjudications_in(snapshot, pools, judgments, annotators, adjudicators)


def adjudications_in(
    snapshot: Snapshot,
    pools: Sequence[Pool],
    judgments: Sequence[Judgment],
    annotators: Sequence[Annotator],
    adjudicators: Sequence[Annotator],
) -> AdjudicationPull:
    """Read decisions from what lies in Label Studio; for the arguments see ``pull_adjudications``."""
    at_work = {person.account for person in annotators}
    known = [*annotators, *(person for person in adjudicators if person.account not in at_work)]
    result = judgments_in(snapshot, {pool.key: pool for pool in pools}, with_pseudonyms(known, snapshot, ADJUDICATOR))
    decided, twice = _newest(result, pools)
    judged = by_candidate(judgments)
    return AdjudicationPull(
        adjudications=[_adjudication(one, judged) for one in decided],
        annotators=[person for person in result.annotators if person.account not in at_work],
        anomalies=[*result.anomalies, *twice],
        raw=result.raw,
    )


def _newest(result: JudgmentsPull, pools: Sequence[Pool]) -> tuple[list[Judgment], list[str]]:
    """Return the newest decision on each candidate, in the order of the pools, and what several people decided."""
    decided = by_candidate(result.judgments)
    newest, anomalies = [], []
    for pool in pools:
        groups = [decided.get((pool.pair, pool.source, candidate.target), {}) for candidate in pool.candidates]
        people = sorted({name for group in groups for name in group})
        if len(people) > 1:
            anomalies.append(f"{' and '.join(people)} decided the task {pool.key}; the newest counts")
        newest += [max(group.values(), key=lambda one: str(one.submitted)) for group in groups if group]
    return newest, anomalies


def _adjudication(decision: Judgment, judged: dict[tuple[str, str, str], dict[str, Judgment]]) -> Adjudication:
    at = decision.pair, decision.source, decision.target
    return Adjudication(
        batch=decision.batch,
        pair=decision.pair,
        source=decision.source,
        target=decision.target,
        adjudicator=decision.annotator,
        label=decision.label,
        comment=decision.comment,
        consensus=decision.annotator in judged.get(at, {}),
        submitted=decision.submitted,
    )

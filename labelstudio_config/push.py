"""Pools become tasks of a Label Studio project: once, however often and by however many this is run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from abcdlink.corpus.records import Corpus, Record
from abcdlink.domain import Domain
from abcdlink.errors import InputError, ServiceError
from abcdlink.judgments import Pool
from labelstudio_config.client import Client
from labelstudio_config.projects import annotate_url, ensure_project
from labelstudio_config.snapshot import of_batch
from labelstudio_config.tasks import documents_of, task_data

CHUNK = 50
"""Tasks in one import call."""


class PushResult(Record):
    """Where a batch lies. ``created``: tasks that were not there before; ``already``: those that were."""

    project_id: int
    url: str
    created: int
    already: int


def push_batch(
    client: Client,
    run_key: str,
    batch: int,
    pools: Sequence[Pool],
    corpus: Corpus,
    domain: Domain,
    overlap: int | None = None,
) -> PushResult:
    """Bring the tasks of one batch into its project; tasks that are there already stay untouched.

    Label Studio knows no unique key, and a call that it answered too late may be sent again. So what
    is there is read back afterwards, and of tasks with the same key the first stays.

    Args:
        client: the server.
        run_key: name of the run.
        batch: number of the batch, from 1; pools of other batches are left aside.
        pools: the candidate pools of the run.
        corpus: the documents and pairs that the pools name.
        domain: guidelines and question.
        overlap: annotators per task; ``None``: as the domain says.

    Raises:
        InputError: when the batch has no pools, or a pool does not fit the corpus.
        ServiceError: when Label Studio does not do its part.
    """
    wanted = of_batch(pools, batch)
    if not wanted:
        msg = f"batch {batch} of run {run_key!r} has no candidate pools"
        raise InputError(msg, "give the run more pairs, or annotate it in fewer batches")
    documents = documents_of(list(wanted.values()), corpus)
    project = ensure_project(client, run_key, batch, domain, overlap or domain.settings.overlap)
    before = set(_tasks_by_key(client, project))
    missing = [pool for pool in _reading_order(wanted, corpus) if pool.key not in before]
    chunks = [missing[start : start + CHUNK] for start in range(0, len(missing), CHUNK)]
    for chunk in chunks:
        client.import_tasks(project, [{"data": task_data(pool, *documents[pool.key], domain)} for pool in chunk])
    if missing:
        _keep_first_of_each(client, project, wanted)
    return PushResult(
        project_id=project,
        url=annotate_url(client, project),
        created=len(missing),
        already=len(wanted) - len(missing),
    )


def _reading_order(pools: dict[str, Pool], corpus: Corpus) -> list[Pool]:
    """Return the pools so that those of one pair follow each other, in the order of its source document."""
    pair_at = {pair.id: index for index, pair in enumerate(corpus.pairs)}
    sources = {pair.id: corpus.source_of(pair).position for pair in corpus.pairs}
    return sorted(pools.values(), key=lambda pool: (pair_at[pool.pair], sources[pool.pair][pool.source]))


def _tasks_by_key(client: Client, project: int) -> dict[str, list[tuple[int, bool]]]:
    """Return task key -> (task id, whether it has annotations or drafts), lowest id first."""
    found: defaultdict[str, list[tuple[int, bool]]] = defaultdict(list)
    for task in sorted(client.tasks(project), key=lambda task: int(task["id"])):
        begun = bool(task["annotations"] or task["drafts"])
        found[task["data"].get("task_key", "")].append((task["id"], begun))
    return dict(found)


def _keep_first_of_each(client: Client, project: int, wanted: dict[str, Pool]) -> None:
    """Remove later tasks with the same key, unless someone has begun one; make sure that all are there."""
    found = _tasks_by_key(client, project)
    for key in wanted.keys() & found.keys():
        for task, begun in found[key][1:]:
            if not begun:
                client.delete_task(task)
    lost = wanted.keys() - found.keys()
    if lost:
        msg = f"Label Studio at {client.url} took the tasks of project {project}, but {len(lost)} are not there"
        raise ServiceError(msg, "look into its log and push again; tasks that are there are not pushed twice")

"""Parts of ranking, labelling and deciding, as tasks that a runner can send to a process.

What is loaded for one part serves the next ones of the same flow run, one thread at a time.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

from prefect import task
from prefect.runtime import flow_run

from abcdlink.domain import find_domain
from abcdlink.linking.records import Approach
from abcdlink.stages import decide
from abcdlink.stages.label import LabelRun
from abcdlink.stages.rank import Ranker
from abcdlink.store import open_run
from tasks.running import SERVICE_RETRIES, prefect_progress

_LOCK = Lock()


def one_at_a_time() -> Lock:
    """Return this process's lock: a ranker is not thread-safe, and uses the threads that the settings allow by itself.

    It is a function because a runner sends a task with all that it names, and a lock cannot be sent.
    """
    return _LOCK


@lru_cache(maxsize=1)
def ranker_of(flow_run_id: str, run: str, corpus: str, retriever: str) -> Ranker:  # noqa: ARG001
    """Return the ranker of the last part; another flow run reads again what the run holds."""
    return Ranker(open_run(run), corpus, retriever)


@lru_cache(maxsize=1)
def labels_of(flow_run_id: str, run: str, labels: str) -> LabelRun:  # noqa: ARG001
    """Return the labels of the last part; another flow run reads their plan again."""
    return LabelRun(open_run(run), labels)


def forget() -> None:
    """Release what is loaded."""
    ranker_of.cache_clear()
    labels_of.cache_clear()


@task(task_run_name="prepare {retriever} on {corpus}, part {part}")
def warm_part(run: str, corpus: str, retriever: str, part: int) -> None:
    """Compute what one retriever needs to know of one part of the sentences of a corpus."""
    with one_at_a_time():
        ranker_of(str(flow_run.id), run, corpus, retriever).warm(part)


@task(task_run_name="rank {corpus} with {retriever}, part {part}")
def rank_part(run: str, corpus: str, retriever: str, part: int) -> None:
    """Rank one part of a corpus with one retriever."""
    with one_at_a_time():
        ranker_of(str(flow_run.id), run, corpus, retriever).rank(part)


@task(task_run_name="label {labels}, part {part}")
def label_part(run: str, labels: str, part: int) -> None:
    """Label one part of a corpus that nobody judges."""
    with one_at_a_time():
        labels_of(str(flow_run.id), run, labels).label(part)


@task(task_run_name="{approach.name} on {corpus}, part {part}", **SERVICE_RETRIES)
def decide_part(run: str, corpus: str, domain: str, approach: Approach, part: int) -> None:
    """Let the LLM decide one part of a corpus."""
    decide.decide_part(open_run(run), corpus, find_domain(domain), approach, part, prefect_progress)

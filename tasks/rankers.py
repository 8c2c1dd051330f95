"""What ranking has loaded in this process: kept from one part to the next, used by one thread at a time.

Apart from the tasks: a runner sends a task's function to its processes with all that it names, and a
lock cannot be sent; functions of another module are found there by their names.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

from prefect.runtime import flow_run

from abcdlink.stages.label import LabelRun
from abcdlink.stages.rank import Ranker
from abcdlink.store import open_run

ONE_AT_A_TIME = Lock()
"""A ranker is not for several threads, and what it calls uses the threads that the settings allow by itself."""


def warm(run: str, corpus: str, retriever: str, part: int) -> None:
    """Compute what one retriever needs to know of one part of the sentences of a corpus."""
    with ONE_AT_A_TIME:
        _ranker(str(flow_run.id), run, corpus, retriever).warm(part)


def rank(run: str, corpus: str, retriever: str, part: int) -> None:
    """Rank one part of a corpus with one retriever."""
    with ONE_AT_A_TIME:
        _ranker(str(flow_run.id), run, corpus, retriever).rank(part)


def label(run: str, labels: str, part: int) -> None:
    """Label one part of a corpus that nobody judges."""
    with ONE_AT_A_TIME:
        _label_run(str(flow_run.id), run, labels).label(part)


def forget() -> None:
    """Let go of what is loaded."""
    _ranker.cache_clear()
    _label_run.cache_clear()


@lru_cache(maxsize=1)
def _ranker(flow_run_id: str, run: str, corpus: str, retriever: str) -> Ranker:  # noqa: ARG001
    """Return the ranker of the last part; another flow run reads again what the run holds."""
    return Ranker(open_run(run), corpus, retriever)


@lru_cache(maxsize=1)
def _label_run(flow_run_id: str, run: str, labels: str) -> LabelRun:  # noqa: ARG001
    """Return the labels of the last part; another flow run reads their plan again."""
    return LabelRun(open_run(run), labels)

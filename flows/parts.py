"""What flows do part by part, under the runner that is set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from abcdlink.linking.grid import steps
from abcdlink.linking.records import Approach
from abcdlink.settings import get_settings
from abcdlink.stages.decide import part_count
from abcdlink.stages.rank import Ranker
from abcdlink.store import open_run
from flows.asking import answers_are_there, tell_cost
from tasks import rankers
from tasks.approaches import decide_part, rank_part, warm_part
from tasks.progress import prefect_progress
from tasks.runner import Runner, run_parts, task_runner


def rank(run: str, corpus: str, retrievers: Iterable[str]) -> None:
    """Rank a corpus of the run with each retriever; what the run holds is not done again.

    Raises:
        AbcdlinkError: the error of the first part that fails; what is done by then is kept.
    """
    store = open_run(run)
    to_do = {}
    for name in retrievers:
        ranker = Ranker(store, corpus, name)
        if open_parts := ranker.open_parts():
            to_do[name] = ranker.plan.warm_parts, open_parts
    if not to_do:
        return
    with task_runner() as runner:
        for retriever, (warm_parts, open_parts) in to_do.items():
            done = _rank(runner, {"run": run, "corpus": corpus, "retriever": retriever}, warm_parts, open_parts)
            total = len(warm_parts) + len(open_parts)
            for _ in prefect_progress(done, f"rank {corpus} with {retriever}", total):
                pass
    rankers.forget()


def _rank(
    runner: Runner, parameters: dict[str, str], warm_parts: Sequence[int], open_parts: Sequence[int]
) -> Iterator[None]:
    yield from run_parts(runner, warm_part, [{**parameters, "part": part} for part in warm_parts])
    yield from run_parts(runner, rank_part, [{**parameters, "part": part} for part in open_parts])


def decide(run: str, corpus: str, domain: str, approaches: Sequence[Approach]) -> bool:
    """Let the LLM decide a corpus of the run by each approach; the rankings must be there.

    Returns whether all is decided: not while the answers to a batch are waited for (``flows.asking``).

    Parts wait for the LLM and not for this machine: they run in threads, or one after another where
    another runner is set, so that all questions know of each other's limits.
    """
    if not approaches:
        return True
    tell_cost(run, corpus, domain, approaches)
    if get_settings().llm_batch and not answers_are_there(run, corpus, domain, approaches):
        return False
    parts: list[dict[str, Any]] = [
        {"run": run, "corpus": corpus, "domain": domain, "approach": approach, "part": part}
        for approach, part in steps(approaches, part_count(open_run(run), corpus))
    ]
    if get_settings().runner != "threads":
        for parameters in parts:
            decide_part(**parameters)
        return True
    with task_runner() as runner:
        for _ in run_parts(runner, decide_part, parts):
            pass
    return True

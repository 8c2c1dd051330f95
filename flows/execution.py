"""How flows have the work of a stage done: steps as Prefect tasks, parts under the runner that is set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from prefect import Task
from prefect.cache_policies import NO_CACHE

from abcdlink.domain import Domain
from abcdlink.linking.records import Approach, steps, waves
from abcdlink.settings import get_settings
from abcdlink.stages.batch import ask_together, to_ask_by_batch
from abcdlink.stages.decide import part_count
from abcdlink.stages.execution import AnswersPendingError
from abcdlink.stages.rank import Ranker
from abcdlink.store import Store
from flows.llm_batch import answers_are_there, tell_cost
from tasks import rankers
from tasks.approaches import decide_part, rank_part, warm_part
from tasks.runner import Runner, run_parts, task_runner
from tasks.running import SERVICE_RETRIES, prefect_progress

T = TypeVar("T")


class AsTasks:
    """The execution of stages in flows; see ``abcdlink.stages.execution``."""

    progress = staticmethod(prefect_progress)

    def step(self, name: str, do: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401
        """Run the function as a task of this flow; it is tried again when a service did not answer."""
        # Its result is in the run's folder: nothing is to be found again by the hash of its arguments.
        as_task = Task(do, name=do.__name__, task_run_name=name, cache_policy=NO_CACHE, **SERVICE_RETRIES)
        return as_task(*arguments)

    def rank(self, store: Store, corpus_name: str, retrievers: Iterable[str]) -> None:
        """Rank in parts, under the runner that is set."""
        to_do = {}
        for name in retrievers:
            ranker = Ranker(store, corpus_name, name)
            if open_parts := ranker.open_parts():
                to_do[name] = ranker.plan.warm_parts, open_parts
        if not to_do:
            return
        with task_runner() as runner:
            for retriever, (warm_parts, open_parts) in to_do.items():
                parameters = {"run": store.key, "corpus": corpus_name, "retriever": retriever}
                done = _rank(runner, parameters, warm_parts, open_parts)
                total = len(warm_parts) + len(open_parts)
                for _ in prefect_progress(done, f"rank {corpus_name} with {retriever}", total):
                    pass
        rankers.forget()

    def decide(self, store: Store, corpus_name: str, domain: Domain, approaches: Sequence[Approach]) -> None:
        """Ask by batch first where that is set, then part by part.

        Parts wait for the LLM and not for this machine: they run in threads, or one after another where
        another runner is set, so that all questions know of each other's limits.
        """
        if not approaches:
            return
        folder = domain.reference
        tell_cost(store.key, corpus_name, folder, approaches)
        by_batch = to_ask_by_batch(approaches)
        if by_batch and not answers_are_there(store.key, corpus_name, folder, by_batch):
            raise AnswersPendingError(corpus_name)
        for wave in waves(approaches):
            ask_together(store, corpus_name, domain, wave, prefect_progress)
            parts: list[dict[str, Any]] = [
                {"run": store.key, "corpus": corpus_name, "domain": folder, "approach": approach, "part": part}
                for approach, part in steps(wave, part_count(store, corpus_name))
            ]
            if get_settings().runner != "threads":
                for parameters in parts:
                    decide_part(**parameters)
                continue
            with task_runner() as runner:
                for _ in run_parts(runner, decide_part, parts):
                    pass


AS_TASKS = AsTasks()


def _rank(
    runner: Runner, parameters: dict[str, str], warm_parts: Sequence[int], open_parts: Sequence[int]
) -> Iterator[None]:
    yield from run_parts(runner, warm_part, [{**parameters, "part": part} for part in warm_parts])
    yield from run_parts(runner, rank_part, [{**parameters, "part": part} for part in open_parts])

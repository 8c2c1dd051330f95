"""How flows execute a stage: steps as Prefect tasks, parts as tasks under the configured runner.

What is loaded for one part serves later parts of the same flow run, one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

from prefect import Task, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.futures import as_completed
from prefect.runtime import flow_run

from abcdlink.domain import Domain, find_domain
from abcdlink.errors import ServiceError
from abcdlink.linking.records import Approach, steps, waves, with_smaller
from abcdlink.llm.batch import BatchState
from abcdlink.llm.profiles import profile
from abcdlink.settings import get_settings
from abcdlink.stages import decide
from abcdlink.stages.estimate import CostEstimate, estimate_approaches
from abcdlink.stages.execution import AnswersPendingError, ask_by_batch, ask_together, to_ask_by_batch
from abcdlink.stages.label import LabelRun
from abcdlink.stages.rank import Ranker
from abcdlink.store import Store, open_run
from tasks.running import SERVICE_RETRIES, Runner, key, prefect_progress, show_text, task_runner

T = TypeVar("T")
_LOCK = Lock()


def one_at_a_time() -> Lock:
    """Return this process's lock: a ranker is not thread-safe, and uses all threads that the settings allow.

    It is a function because a runner pickles a task with everything it refers to, and a lock cannot be pickled.
    """
    return _LOCK


@lru_cache(maxsize=1)
def ranker_of(flow_run_id: str, run: str, corpus: str, retriever: str) -> Ranker:  # noqa: ARG001
    """Return the ranker of the last part; another flow run reads the run's data again."""
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
    """Compute what a retriever needs to know about one part of a corpus's sentences."""
    with one_at_a_time():
        ranker_of(str(flow_run.id), run, corpus, retriever).warm(part)


@task(task_run_name="rank {corpus} with {retriever}, part {part}")
def rank_part(run: str, corpus: str, retriever: str, part: int) -> None:
    """Rank one part of a corpus with one retriever."""
    with one_at_a_time():
        ranker_of(str(flow_run.id), run, corpus, retriever).rank(part)


@task(task_run_name="label {labels}, part {part}")
def label_part(run: str, labels: str, part: int) -> None:
    """Label one part of a corpus without judgments."""
    with one_at_a_time():
        labels_of(str(flow_run.id), run, labels).label(part)


@task(task_run_name="{approach.name} on {corpus}, part {part}", **SERVICE_RETRIES)
def decide_part(run: str, corpus: str, domain: str, approach: Approach, part: int) -> None:
    """Let the LLM decide one part of a corpus."""
    decide.decide_part(open_run(run), corpus, find_domain(domain), approach, part, prefect_progress)


def run_parts(runner: Runner, task: Task[Any, None], parts: Sequence[dict[str, Any]]) -> Iterator[None]:
    """Run a task once for each set of parameters; yields as they finish.

    The first error is raised at once. Tasks that have not started then never do; running ones are waited for
    when the runner exits, and their results are kept.

    Raises:
        ServiceError: when a process of the runner died.
    """
    futures = [runner.submit(task, parameters) for parameters in parts]
    for future in as_completed(futures):
        try:
            future.result()
        except BrokenProcessPool:
            msg = f"a process that ran {task.name!r} died (killed, or out of memory)"
            raise ServiceError(msg, "run this again: finished parts are kept") from None
        yield


class AsTasks:
    """The execution of stages in flows; see ``abcdlink.stages.execution``."""

    progress = staticmethod(prefect_progress)

    def step(self, name: str, do: Callable[..., T], *arguments: Any, **options: Any) -> T:  # noqa: ANN401
        """Run the function as a task of this flow; it is retried if a service did not answer."""
        # Its result is in the run's folder: no need for a cache by the hash of its arguments.
        as_task = Task(do, name=do.__name__, task_run_name=name, cache_policy=NO_CACHE, **SERVICE_RETRIES)
        done: T = as_task(*arguments, **options)
        return done

    def rank(self, store: Store, corpus_name: str, retrievers: Iterable[str]) -> None:
        """Rank in parts, under the configured runner."""
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
        forget()

    def decide(self, store: Store, corpus_name: str, domain: Domain, approaches: Sequence[Approach]) -> None:
        """Ask by batch first, if configured, then part by part.

        Parts wait for the LLM and not for this machine: they run in threads, or one after another if
        another runner is set, so that all questions share their limits.
        """
        if not approaches:
            return
        tell_cost(store, corpus_name, domain, approaches)
        by_batch = to_ask_by_batch(approaches)
        if by_batch and not answers_are_there(store, corpus_name, domain, by_batch):
            raise AnswersPendingError(corpus_name)
        for wave in waves(approaches):
            ask_together(store, corpus_name, domain, wave, prefect_progress)
            parts: list[dict[str, Any]] = [
                {
                    "run": store.key,
                    "corpus": corpus_name,
                    "domain": domain.reference,
                    "approach": approach,
                    "part": part,
                }
                for approach, part in steps(wave, decide.part_count(store, corpus_name))
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


def tell_cost(store: Store, corpus: str, domain: Domain, approaches: Sequence[Approach]) -> None:
    """Show what the LLM still has to be asked, unless it costs nothing."""
    settings = [profile(model) for model in dict.fromkeys(one.profile for one in with_smaller(approaches))]
    if not any(one.llm_has_prices for one in settings):
        return
    found = AS_TASKS.step(f"cost of asking about {corpus}", estimate_approaches, store, corpus, domain, approaches)
    if found.total.calls:
        names = " and ".join(one.llm_model for one in settings)
        told = cost_in_words(found, names, by_batch=bool(to_ask_by_batch(approaches)))
        whose = [one.llm_profile for one in settings if one.llm_profile]
        show_text(key(store.key, "llm", corpus, "cost", *whose), told, "What the LLM will cost")


def cost_in_words(found: CostEstimate, model: str, *, by_batch: bool) -> str:
    """Return the estimate as Markdown."""
    rows = [("approach", *found.total.row), ("---", *("---:" for _ in found.total.row))]
    rows += [(name, *map(str, one.row.values())) for name, one in {**found.approaches, "**all**": found.total}.items()]
    notes = [f"Prompt tokens: {found.total.method}."]
    notes += ["With the Batch API, the cost is half of that."] if by_batch else []
    notes += [f"No prices are set for {name}, so its cost is unknown." for name in found.priceless]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"# Questions for {model}\n\n{table}\n\n{' '.join(notes)}"


def answers_are_there(store: Store, corpus: str, domain: Domain, approaches: Sequence[Approach]) -> bool:
    """Ask by batch, once, and tell whether the batch is over; shows its outcome on the run page."""
    state = AS_TASKS.step(f"ask about {corpus} by batch", ask_by_batch, store, corpus, domain, approaches)
    told = batch_in_words(state)
    get_run_logger().info("LLM batch on the %s pairs: %s", corpus, told)
    show_text(key(store.key, "llm", corpus, "batch"), told, "Questions asked by batch")
    return state.done


def batch_in_words(state: BatchState) -> str:
    """Return how far a batch is, and what is asked one by one because the batch gave no answer."""
    told = [f"{state.answered} answered"]
    told += [f"{state.waiting} waited for"] if state.waiting else []
    if state.open:
        reasons = ", ".join(f"{count} x {reason}" for reason, count in state.reasons.items())
        told.append(f"{state.open} without an answer ({reasons}): these are asked one by one")
    return "; ".join(told)

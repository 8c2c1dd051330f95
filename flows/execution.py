"""How flows have the work of a stage done: steps as Prefect tasks, parts under the runner that is set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import uuid4

from prefect import Task, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas import FlowRun
from prefect.runtime import deployment, flow_run

from abcdlink.domain import Domain
from abcdlink.linking.records import Approach, steps, waves, with_smaller
from abcdlink.llm.batch import BatchState
from abcdlink.llm.profiles import profile
from abcdlink.settings import get_settings
from abcdlink.stages.decide import part_count
from abcdlink.stages.estimate import CostEstimate, estimate_approaches
from abcdlink.stages.execution import AnswersPendingError, ask_by_batch, ask_together, to_ask_by_batch
from abcdlink.stages.rank import Ranker
from abcdlink.store import Store, open_run
from abcdlink.waiting import WaitsFor, wait_for
from flows.artifacts import key
from flows.waiting import show_what_now
from tasks.parts import decide_part, forget, rank_part, warm_part
from tasks.running import SERVICE_RETRIES, Runner, prefect_progress, run_parts, task_runner
from tasks.runs import suspend

T = TypeVar("T")


class AsTasks:
    """The execution of stages in flows; see ``abcdlink.stages.execution``."""

    progress = staticmethod(prefect_progress)

    def step(self, name: str, do: Callable[..., T], *arguments: Any, **options: Any) -> T:  # noqa: ANN401
        """Run the function as a task of this flow; it is tried again when a service did not answer."""
        # Its result is in the run's folder: nothing is to be found again by the hash of its arguments.
        as_task = Task(do, name=do.__name__, task_run_name=name, cache_policy=NO_CACHE, **SERVICE_RETRIES)
        done: T = as_task(*arguments, **options)
        return done

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
        forget()

    def decide(self, store: Store, corpus_name: str, domain: Domain, approaches: Sequence[Approach]) -> None:
        """Ask by batch first where that is set, then part by part.

        Parts wait for the LLM and not for this machine: they run in threads, or one after another where
        another runner is set, so that all questions know of each other's limits.
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


PAUSE = "llm-batch"
"""Begins the keys of suspensions that wait for a batch, so that ``reconcile`` knows them from others."""


def tell_cost(store: Store, corpus: str, domain: Domain, approaches: Sequence[Approach]) -> None:
    """Show what the LLM has still to be asked; nothing where it costs nothing."""
    settings = [profile(model) for model in dict.fromkeys(one.profile for one in with_smaller(approaches))]
    if not any(one.llm_has_prices for one in settings):
        return
    found = AS_TASKS.step(f"cost of asking about {corpus}", estimate_approaches, store, corpus, domain, approaches)
    if found.total.calls:
        names = " and ".join(one.llm_model for one in settings)
        text = cost_in_words(found, names, by_batch=bool(to_ask_by_batch(approaches)))
        whose = [one.llm_profile for one in settings if one.llm_profile]
        create_markdown_artifact(
            key=key(store.key, "llm", corpus, "cost", *whose), markdown=text, description="What the LLM will cost"
        )


def cost_in_words(found: CostEstimate, model: str, *, by_batch: bool) -> str:
    """Return the estimate as Markdown."""
    head = "| approach | calls | answered before | prompt tokens | completion tokens, at most | cost, at most |"
    rows = [*found.approaches.items(), ("**all**", found.total)]
    lines = [
        f"| {name} | {one.calls} | {one.kept} | {one.prompt_tokens} | {one.completion_tokens} | {one.cost:.4g} |"
        for name, one in rows
    ]
    notes = [f"Prompt tokens: {found.total.method}."]
    notes += ["By the Batch API the cost is half of that."] if by_batch else []
    notes += [f"No prices are set for {name}: its cost is unknown." for name in found.priceless]
    table = "\n".join([head, "|---|---:|---:|---:|---:|---:|", *lines])
    return f"# What {model} has to be asked\n\n{table}\n\n{' '.join(notes)}"


def answers_are_there(store: Store, corpus: str, domain: Domain, approaches: Sequence[Approach]) -> bool:
    """Ask by batch, once, and tell whether the batch is over; says on the run page what came of it."""
    state = AS_TASKS.step(f"ask about {corpus} by batch", ask_by_batch, store, corpus, domain, approaches)
    text = batch_in_words(state)
    get_run_logger().info("LLM batch on the %s pairs: %s", corpus, text)
    create_markdown_artifact(
        key=key(store.key, "llm", corpus, "batch"), markdown=text, description="Questions asked by batch"
    )
    return state.done


def batch_in_words(state: BatchState) -> str:
    """Return how far a batch is, and what is asked as usual because it has no answer from the batch."""
    told = [f"{state.answered} answered"]
    told += [f"{state.waiting} waited for"] if state.waiting else []
    if state.open:
        reasons = ", ".join(f"{count} x {reason}" for reason, count in state.reasons.items())
        told.append(f"{state.open} without an answer ({reasons}): these are asked one by one")
    return "; ".join(told)


@contextmanager
def waiting_for_answers() -> Iterator[None]:
    """Suspend this run where its stages have to wait for a batch: it goes on from the top when the batch is over.

    Raises:
        AnswersPendingError: when it cannot be suspended since no deployment started it.
    """
    try:
        yield
    except AnswersPendingError as pending:
        if not deployment.id:
            raise
        store, corpus = open_run(str(flow_run.parameters["run"])), pending.corpus
        wait_for(store, str(flow_run.id), str(flow_run.flow_name), WaitsFor.LLM, told=corpus)
        show_what_now(store, str(flow_run.id))
        get_run_logger().info("This run waits for the LLM's batch about the %s pairs and goes on by itself.", corpus)
        # A key of its own each time: being resumed is a hint, the batch decides.
        suspend(f"{PAUSE} {corpus} {uuid4()}")


def batch_waited_for(suspended: FlowRun) -> str:
    """Return about which corpus a suspended run waits for a batch; empty: it waits for something else."""
    pause_key = (suspended.state.state_details.pause_key if suspended.state else None) or ""
    return pause_key.split(" ")[1] if pause_key.startswith(f"{PAUSE} ") else ""

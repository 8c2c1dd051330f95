"""Before an LLM is asked: what it will cost, and waiting while it is asked by batch.

While a batch is under way the run is suspended: no process waits. ``reconcile`` resumes it when the
batch is over, whatever came of it; the run then goes through its steps from the top and finds the
answers in the cache. What the batch left open is asked as usual, so that no batch is waited for twice.
Only a top-level run of a deployment can be suspended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

from prefect import get_run_logger, suspend_flow_run
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas import FlowRun
from prefect.runtime import deployment, flow_run

from abcdlink.linking.records import Approach, with_smaller
from abcdlink.llm.batch import BatchState
from abcdlink.llm.profiles import profile
from abcdlink.stages.batch import to_ask_by_batch
from abcdlink.stages.estimate import CostEstimate
from abcdlink.stages.execution import AnswersPendingError
from abcdlink.store import open_run
from abcdlink.waiting import WaitsFor, wait_for
from flows.ui.artifacts import key
from flows.ui.what_now import show_what_now
from tasks.approaches import ask_by_batch, estimate_cost

PAUSE = "llm-batch"
"""Begins the keys of suspensions that wait for a batch, so that ``reconcile`` knows them from others."""


def tell_cost(run: str, corpus: str, domain: str, approaches: Sequence[Approach]) -> None:
    """Show what the LLM has still to be asked; nothing where it costs nothing."""
    settings = [profile(model) for model in dict.fromkeys(one.profile for one in with_smaller(approaches))]
    if not any(one.llm_has_prices for one in settings):
        return
    found = estimate_cost(run, corpus, domain, list(approaches))
    if found.total.calls:
        names = " and ".join(one.llm_model for one in settings)
        text = cost_in_words(found, names, by_batch=bool(to_ask_by_batch(approaches)))
        whose = [one.llm_profile for one in settings if one.llm_profile]
        create_markdown_artifact(
            key=key(run, "llm", corpus, "cost", *whose), markdown=text, description="What the LLM will cost"
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


def answers_are_there(run: str, corpus: str, domain: str, approaches: Sequence[Approach]) -> bool:
    """Ask by batch, once, and tell whether the batch is over; says on the run page what came of it."""
    state = ask_by_batch(run, corpus, domain, list(approaches))
    text = batch_in_words(state)
    get_run_logger().info("LLM batch on the %s pairs: %s", corpus, text)
    create_markdown_artifact(
        key=key(run, "llm", corpus, "batch"), markdown=text, description="Questions asked by batch"
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
        suspend_flow_run(key=f"{PAUSE} {corpus} {uuid4()}", timeout=None)


def batch_waited_for(suspended: FlowRun) -> str:
    """Return about which corpus a suspended run waits for a batch; empty: it waits for something else."""
    pause_key = (suspended.state.state_details.pause_key if suspended.state else None) or ""
    return pause_key.split(" ")[1] if pause_key.startswith(f"{PAUSE} ") else ""

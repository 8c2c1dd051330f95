"""Flow exhaustive: people judge every target sentence of sampled sources; ends with each approach's true recall.

While people work the run is suspended, and ``reconcile`` resumes it, as those of ``annotate``.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from prefect import flow, get_run_logger, suspend_flow_run
from prefect.runtime import flow_run

from abcdlink.layout import EXHAUSTIVE_JUDGMENTS
from abcdlink.recall import Recall, RecallRow
from abcdlink.store import open_run
from flows.artifacts import key, show_project, table
from flows.parameters import ExhaustiveParameters, RunKey, run_domain
from tasks.exhaustive import SLUG, measure, pull, push, sample
from tasks.projects import WaitsFor, look, wait_for

NAME = "exhaustive"


@flow(name=NAME, flow_run_name="exhaustive {run}")
def exhaustive(run: RunKey, domain: str = "", judging: ExhaustiveParameters = ExhaustiveParameters()) -> None:
    """Have people judge every target sentence of a random sample of sources; ends with true recall.

    Args:
        run: run key, the name of this whole bootstrap.
        domain: name or path of the domain; empty: the one that the run was begun with.
        judging: what is sampled and how it is judged.
    """
    store = open_run(run)
    domain = run_domain(store, domain)
    sample(run, domain, judging.overlap_in(domain), judging.seed, judging.share_or_none, judging.number)
    pushed = push(run, domain)
    while not store.exists(EXHAUSTIVE_JUDGMENTS):
        progress = look(run, SLUG)
        if progress.complete:
            pull(run)
        else:
            show_project(run, pushed)
            wait_for(store, str(flow_run.id), NAME, WaitsFor.ANNOTATORS, SLUG)
            get_run_logger().info(
                "The sampled sources wait for annotators at %s (%d of %d tasks done). This run is suspended now and "
                "goes on by itself; a traceback below that ends in 'paused' is how Prefect reports a suspension.",
                pushed.url,
                progress.done,
                progress.tasks,
            )
            # A key of its own each time: being resumed is a hint, completeness decides.
            suspend_flow_run(key=f"{NAME}-{uuid4()}", timeout=None)
    show_recall(run, measure(run, domain, judging.rule))
    wait_for(store, str(flow_run.id), NAME, WaitsFor.NOTHING, SLUG)


def show_recall(run: str, result: Recall) -> None:
    """Show what each approach finds of the links of the sampled sources."""
    told = (
        f"True recall on {result.with_gold} sources with links ({result.links} links); {result.without_gold} without, "
        f"{result.incomplete} not judged by enough annotators"
    )
    table(key(run, "recall"), map(recall_row, result.rows), "; ".join([told, *result.notes]))


def recall_row(row: RecallRow) -> dict[str, Any]:
    """Return one row of the table; scores are fractions of 1 with their 95 % interval."""
    measures = dict(zip(("recall", "precision", "F1"), row.measures, strict=True))
    cells: dict[str, Any] = {
        "approach": row.approach,
        "lists": row.view.value,
        "mean over": f"{row.sources} ({row.over.value})",
        "unanswered": row.unanswered,
    }
    for name, value in measures.items():
        cells[name] = None if value is None else f"{value.mean:.3f} ({value.low:.3f} to {value.high:.3f})"
    false = None if row.false_links is None else round(row.false_links, 4)
    return {**cells, "false links": false, "of sources without links": row.without_gold}

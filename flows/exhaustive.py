"""Flow exhaustive: people judge every target sentence of sampled sources; ends with each approach's true recall."""

from __future__ import annotations

from typing import Any

from prefect import flow

from abcdlink.exhaustive import Recall, RecallRow
from abcdlink.layout import EXHAUSTIVE_JUDGMENTS, EXHAUSTIVE_SLUG
from abcdlink.store import open_run
from flows.parameters import ExhaustiveParameters, RunKey, run_domain
from flows.ui.artifacts import key, table
from flows.ui.what_now import NOTED
from flows.waiting import wait_for_annotators
from labelstudio_config.pages.exhaustive import ExhaustivePage
from tasks.people import sample_sources, true_recall
from tasks.projects import pull, push

NAME = "exhaustive"


@flow(name=NAME, flow_run_name="exhaustive {run}", **NOTED)
def exhaustive(run: RunKey, domain: str = "", judging: ExhaustiveParameters = ExhaustiveParameters()) -> None:
    """Have people judge every target sentence of a random sample of sources; ends with true recall.

    Args:
        run: run key, the name of this whole bootstrap.
        domain: name or path of the domain; empty: the one that the run was begun with.
        judging: what is sampled and how it is judged.
    """
    store = open_run(run)
    domain = run_domain(store, domain)
    overlap = judging.overlap_in(domain)
    sample_sources(run, domain, overlap, judging.seed, judging.share_or_none, judging.number, judging.links)
    push(run, domain, ExhaustivePage())
    if not store.exists(EXHAUSTIVE_JUDGMENTS):
        wait_for_annotators(store, NAME, EXHAUSTIVE_SLUG)
        pull(run, ExhaustivePage())
    show_recall(run, true_recall(run, domain, judging.rule))


def show_recall(run: str, result: Recall) -> None:
    """Show how many links of the sampled sources each approach finds."""
    told = (
        f"True recall on {result.with_gold} sources with links ({result.links} links); {result.without_gold} without, "
        f"{result.incomplete} not judged by enough annotators"
    )
    if result.hours:
        an_hour = result.links / result.hours
        told += f"; {result.hours:.1f} hours of all annotators together, {an_hour:.0f} links an hour"
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

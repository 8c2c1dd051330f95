"""Flow adjudicate: somebody decides the candidates on which annotators differ; ends with data set and report.

While people decide the run is suspended, and ``reconcile`` resumes it, as those of ``annotate``.
"""

from __future__ import annotations

from typing import Annotated

from prefect import flow
from pydantic import Field

from abcdlink.adjudicate import AdjudicationSummary, followed_rows, rows_of
from abcdlink.layout import ADJUDICATE_SLUG
from abcdlink.stages.adjudicate import summary_of
from abcdlink.store import open_run
from flows.parameters import RunKey, run_domain
from flows.ui.artifacts import key, table
from flows.ui.what_now import NOTED
from flows.waiting import wait_for_annotators
from labelstudio_config.pages.adjudicate import AdjudicationPage
from tasks.people import report
from tasks.projects import pull, push

NAME = "adjudicate"
Batches = Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=20)]


@flow(name=NAME, flow_run_name="adjudicate {run}", **NOTED)
def adjudicate(
    run: RunKey,
    domain: str = "",
    batches: Batches = [],  # noqa: B006 - pydantic copies it
    settled_too: bool = False,
) -> None:
    """Have a third person, or the annotators together, decide where annotators differ.

    Run it again when more batches were pulled, or pulled again: new disputes are added.

    Args:
        run: run key, the name of this whole bootstrap.
        domain: name or path of the domain; empty: the one that the run was begun with.
        batches: of which the disputes are decided; empty: of all that were pulled so far.
        settled_too: also ask about disagreements that a feedback round settled; else its answers decide them.
    """
    store = open_run(run)
    domain = run_domain(store, domain)
    page = AdjudicationPage(batches=tuple(batches), settled_too=settled_too)
    if push(run, domain, page) is not None:
        wait_for_annotators(store, NAME, page.slug)
    pull(run, page)
    show_adjudication(run, summary_of(store), f"report: {report(run)}")


def show_adjudication(run: str, summary: AdjudicationSummary, told: str) -> None:
    """Show what was decided by method, and whom the decisions followed."""
    table(key(run, ADJUDICATE_SLUG, "decisions"), rows_of(summary), f"Adjudication; {told}")
    followed = "How often decisions were what each annotator had said"
    table(key(run, ADJUDICATE_SLUG, "followed"), followed_rows(summary), followed)

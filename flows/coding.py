"""Flow coding: people sort wrong predictions into patterns; ends with a table of patterns by method, and agreement."""

from __future__ import annotations

from prefect import flow

from abcdlink.coding import agreement_in_words, rows_of
from abcdlink.layout import CODES, CODING_SLUG
from abcdlink.stages.coding import coding_summary
from abcdlink.store import open_run
from flows.parameters import CodingParameters, RunKey, run_domain
from flows.ui.artifacts import key, table
from flows.ui.what_now import NOTED
from flows.waiting import wait_for_annotators
from labelstudio_config.pages.coding import CodingPage
from tasks.people import draw_errors, report
from tasks.projects import pull, push

NAME = "coding"


@flow(name=NAME, flow_run_name="coding {run}", **NOTED)
def coding(run: RunKey, domain: str = "", coding: CodingParameters = CodingParameters()) -> None:
    """Have people say which pattern explains each wrong prediction, independently of each other.

    Best after the last batch and adjudication: only candidates on which people agree, or that were adjudicated, count.

    Args:
        run: run key, the name of this whole bootstrap.
        domain: name or path of the domain; empty: the one that the run was begun with.
        coding: what is coded and how.
    """
    store = open_run(run)
    draw_errors(run, coding.most, coding.overlap, coding.seed, coding.patterns)
    page = CodingPage()
    if push(run, run_domain(store, domain), page) is not None and not store.exists(CODES):
        wait_for_annotators(store, NAME, CODING_SLUG)
    pull(run, page)
    summary = coding_summary(store)
    said = f"{summary.coded} of {summary.found} wrong predictions coded; {agreement_in_words(summary)}"
    table(key(run, "patterns"), rows_of(summary), f"{said}; report: {report(run)}")

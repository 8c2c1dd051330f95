"""Flow exhaustive: people judge every target sentence of sampled sources; ends with each approach's true recall."""

from __future__ import annotations

from prefect import flow

from abcdlink.exhaustive import rows_of
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
    sample_sources(run, domain, overlap, judging.seed, judging.share_or_none, judging.size, judging.links)
    push(run, domain, ExhaustivePage())
    if not store.exists(EXHAUSTIVE_JUDGMENTS):
        wait_for_annotators(store, NAME, EXHAUSTIVE_SLUG)
        pull(run, ExhaustivePage())
    result = true_recall(run, domain, judging.rule)
    table(key(run, "recall"), rows_of(result), "; ".join(["True recall", *result.words]))

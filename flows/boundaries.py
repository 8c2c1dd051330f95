"""Flow boundaries: people look through the sentence boundaries of a corpus before anything is made of it."""

from __future__ import annotations

from prefect import flow

from abcdlink.boundaries import CORRECTED, SEGMENTATION, changed_documents
from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import find_domain
from abcdlink.layout import BOUNDARIES_SLUG
from abcdlink.stages.intake import take_corpus
from abcdlink.store import open_run
from flows.execution import AS_TASKS
from flows.parameters import FirstPairs, RunKey
from flows.ui.artifacts import key, table
from flows.ui.what_now import NOTED
from flows.waiting import wait_for_annotators
from labelstudio_config.pages.boundaries import BoundaryPage
from tasks.projects import pull, push

NAME = "boundaries"


@flow(name=NAME, flow_run_name="boundaries {run}", **NOTED)
def boundaries(run: RunKey, corpus: str, domain: str = "news", documents: FirstPairs = None) -> None:
    """Have people join, split or leave out sentences of a corpus; ends with a new version of the corpus.

    Args:
        run: run key, of this work alone: a run that has candidates keeps its documents as they are.
        corpus: folder of a corpus as `abcdlink import` writes it.
        domain: name or path of the domain that the documents are for.
        documents: only the first so many documents; none: all.
    """
    store = open_run(run)
    AS_TASKS.step(f"take corpus {corpus}", take_corpus, store, corpus, find_domain(domain), None)
    page = BoundaryPage(documents=documents)
    push(run, domain, page)
    if not store.exists(SEGMENTATION):
        wait_for_annotators(store, NAME, BOUNDARIES_SLUG)
        pull(run, page)
    made = read_corpus_from(store, CORRECTED)
    rows: list[dict[str, object]] = [{"what": "other sentences", "documents": len(changed_documents(store))}]
    rows += [{"what": f"left as it was: {refusal.reason}", "documents": refusal.where} for refusal in made.refused]
    table(key(run, "boundaries"), rows, f"Corrected corpus: {store.where(CORRECTED)}")

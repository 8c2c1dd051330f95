"""Flow rate: people rate synthetic documents, with natural ones among them, without knowing which are which."""

from __future__ import annotations

from prefect import flow

from abcdlink.domain import find_domain
from abcdlink.layout import RATE_SLUG
from abcdlink.rate import has_ratings, rating_settings, ratings_of, rows_of, summarise
from abcdlink.store import Store, open_run
from flows.parameters import RatingParameters, RunKey, run_domain
from flows.ui.artifacts import key, table
from flows.ui.what_now import NOTED
from flows.waiting import wait_for_annotators
from labelstudio_config.pages.rate import RatingPage
from tasks.people import sample_documents
from tasks.projects import pull, push

NAME = "rate"


@flow(name=NAME, flow_run_name="rate {run}", **NOTED)
def rate(run: RunKey, domain: str = "", rating: RatingParameters = RatingParameters()) -> None:
    """Have people rate documents of a run whose synthetic corpus is there.

    Args:
        run: run key, the name of this whole bootstrap.
        domain: name or path of the domain; empty: the one that the run was begun with.
        rating: how many documents, and how many raters.
    """
    store = open_run(run)
    meaning = run_domain(store, domain)
    sample_documents(run, meaning, rating.synthetic, rating.natural, rating.seed, rating.same_targets)
    collect(store, meaning, rating.overlap or rating_settings(find_domain(meaning)).raters)
    ratings = ratings_of(store)
    raters = len({one.annotator for one in ratings})
    table(key(run, "ratings"), map(dict, rows_of(summarise(ratings))), f"{len(ratings)} ratings by {raters} raters")


def collect(store: Store, domain: str, overlap: int) -> None:
    """Push the documents, suspend until all are rated, pull; nothing when that was done before."""
    page = RatingPage(overlap=overlap)
    push(store.key, domain, page)
    if not has_ratings(store):
        wait_for_annotators(store, NAME, RATE_SLUG)
        pull(store.key, page)

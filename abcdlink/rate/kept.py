"""What a run keeps of its ratings."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.judgments import Annotator
from abcdlink.rate.criteria import Criterion
from abcdlink.rate.records import RatedDocument, Rating
from abcdlink.store import Store

FOLDER = "ratings"
SAMPLE = f"{FOLDER}/sample.jsonl"
CRITERIA = f"{FOLDER}/criteria.jsonl"
"""As the page was made with them: the domain's may be edited while people rate."""
RATERS = f"{FOLDER}/raters.jsonl"
"""Who stands behind each pseudonym; the pseudonyms of batches are others."""
ANNOTATIONS = f"{FOLDER}/annotations.json"
ANOMALIES = f"{FOLDER}/anomalies.json"
RATINGS = f"{FOLDER}/ratings.jsonl"


def keep_sample(store: Store, documents: Sequence[RatedDocument], criteria: Sequence[Criterion]) -> None:
    """Keep which documents are rated, in their order, and by what; the documents are written last."""
    store.write_records(CRITERIA, criteria)
    store.write_records(SAMPLE, documents)


def sample_of(store: Store) -> list[RatedDocument]:
    """Return which documents are rated.

    Raises:
        InputError: when they were not chosen yet.
    """
    store.require(SAMPLE, "rate")
    return store.read_records(SAMPLE, RatedDocument)


def kept_criteria(store: Store) -> list[Criterion]:
    """Return by what the sampled documents are rated."""
    return store.read_records(CRITERIA, Criterion)


def raters_of(store: Store) -> list[Annotator]:
    """Return who rated, as far as it is known."""
    return store.find_records(RATERS, Annotator)


def has_ratings(store: Store) -> bool:
    """Tell whether the ratings were pulled."""
    return store.exists(RATINGS)


def keep_ratings(
    store: Store, raters: Sequence[Annotator], ratings: Sequence[Rating], anomalies: Sequence[str], raw: object
) -> None:
    """Keep what raters said; the ratings are written last."""
    store.write_json(ANNOTATIONS, raw)
    store.write_records(RATERS, raters)
    store.write_json(ANOMALIES, list(anomalies))
    store.write_records(RATINGS, ratings)


def ratings_of(store: Store) -> list[Rating]:
    """Return the ratings of a run.

    Raises:
        InputError: when they were not pulled yet.
    """
    store.require(RATINGS, "rate")
    return store.read_records(RATINGS, Rating)

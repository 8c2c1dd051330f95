"""What a run keeps of its qualification, apart from its other stages."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.corpus.io import read_corpus_from, write_corpus_to
from abcdlink.judgments import Annotator, Judgment, Pool
from abcdlink.qualify.records import GOLD, Applicant, GoldSet
from abcdlink.qualify.score import score_applicants
from abcdlink.store import Store

FOLDER = "qualification"
POOLS = f"{FOLDER}/candidates.jsonl"
APPLICANTS = f"{FOLDER}/applicants.jsonl"
"""Who stands behind each pseudonym; the pseudonyms of batches are others."""
JUDGMENTS = f"{FOLDER}/judgments.jsonl"
ANOMALIES = f"{FOLDER}/anomalies.json"
ANNOTATIONS = f"{FOLDER}/annotations.json"


def keep_gold_set(store: Store, gold: GoldSet) -> None:
    """Keep the gold pair and its tasks; the tasks are written last."""
    write_corpus_to(store, FOLDER, gold.corpus)
    store.write_records(POOLS, gold.pools)


def gold_set_of(store: Store) -> GoldSet:
    """Return the gold pair of a run.

    Raises:
        InputError: when the run has none yet.
    """
    store.require(POOLS, "qualify")
    pools = tuple(store.read_records(POOLS, Pool))
    links = sum(candidate.method == GOLD for pool in pools for candidate in pool.candidates)
    return GoldSet(corpus=read_corpus_from(store, FOLDER), pools=pools, links=links)


def people_of(store: Store) -> list[Annotator]:
    """Return who applied, as far as it is known."""
    return store.find_records(APPLICANTS, Annotator)


def keep_people(store: Store, people: Sequence[Annotator]) -> None:
    """Keep who stands behind which pseudonym, so that they stay."""
    store.write_records(APPLICANTS, people)


def has_judgments(store: Store) -> bool:
    """Tell whether the judgments of the applicants were pulled."""
    return store.exists(JUDGMENTS)


def keep_judgments(
    store: Store, people: Sequence[Annotator], judgments: Sequence[Judgment], anomalies: Sequence[str], raw: object
) -> None:
    """Keep what applicants said; the judgments are written last."""
    store.write_json(ANNOTATIONS, raw)
    keep_people(store, people)
    store.write_json(ANOMALIES, list(anomalies))
    store.write_records(JUDGMENTS, judgments)


def applicants_of(store: Store) -> list[Applicant]:
    """Return how the applicants of a run judged; nobody while their judgments were not pulled."""
    if not has_judgments(store):
        return []
    judgments = store.read_records(JUDGMENTS, Judgment)
    return score_applicants(_pools_there(store), judgments, people_of(store))


def _pools_there(store: Store) -> list[Pool]:
    """Return the tasks that were in Label Studio when it was last read: nobody can finish those that are gone."""
    there = {task["data"]["task_key"] for task in store.read_json(ANNOTATIONS)}
    return [pool for pool in store.read_records(POOLS, Pool) if pool.key in there]

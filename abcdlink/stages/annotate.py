"""Stage annotate: what was read of batches, and where it is kept: the newest pull, older ones, a partial one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from abcdlink.corpus.records import Record
from abcdlink.export import export_dataset
from abcdlink.interannotator import Agreement, Details, agreement, details
from abcdlink.judgments import Annotator, Judgment, Pool
from abcdlink.layout import AGREEMENT, ANNOTATIONS, ANNOTATORS, ANOMALIES, CHANGED, JUDGMENTS, POOLS, SKIPS, batch_file
from abcdlink.store import Store

PULLED = "pulled.json"
PARTIAL_JUDGMENTS = f"partial/{JUDGMENTS}"
FILES = (ANNOTATIONS, SKIPS, ANOMALIES, JUDGMENTS, AGREEMENT, PULLED)
"""The files of one pull; the last tells that the others are whole."""


class Pulled(Record):
    """Which pull of a batch this is, from 1, and the fingerprints of the answers that it read."""

    version: int
    at: datetime
    answers: dict[str, str]


class Changed(Record):
    """What is different in Label Studio since a batch was pulled."""

    noted: datetime
    changes: tuple[str, ...]


def pools_of(store: Store, batch: int | None = None) -> list[Pool]:
    """Return the pools of one batch, or of all."""
    store.require(POOLS, "candidates")
    pools = store.read_records(POOLS, Pool)
    return pools if batch is None else [pool for pool in pools if pool.batch == batch]


def annotators_of(store: Store) -> list[Annotator]:
    """Return the annotators of a run so far."""
    return store.find_records(ANNOTATORS, Annotator)


def pulled_of(store: Store, batch: int) -> Pulled | None:
    """Return which pull of a batch the run holds; ``None``: it was not pulled yet."""
    return store.find_record(batch_file(batch, PULLED), Pulled)


def changed_of(store: Store, batch: int) -> Changed | None:
    """Return what was seen to be different since a batch was pulled; ``None``: nothing."""
    return store.find_record(batch_file(batch, CHANGED), Changed)


def agreement_of(store: Store, batch: int, overlap: int) -> Agreement:
    """Return the agreement of a batch that was pulled; it is computed once."""
    kept = store.find_record(batch_file(batch, AGREEMENT), Agreement)
    return kept or keep_agreement(store, batch, overlap)


def keep_agreement(store: Store, batch: int, overlap: int) -> Agreement:
    """Compute the agreement of a batch from its judgments and write it."""
    result = agreement(store.read_records(batch_file(batch, JUDGMENTS), Judgment), overlap)
    store.write_record(batch_file(batch, AGREEMENT), result)
    return result


def details_so_far(store: Store, batch: int, *, partial: bool = False) -> Details:
    """Measure a batch and those before it together: their differences, times, how many more pairs are needed.

    Args:
        store: of the run.
        batch: the last of them.
        partial: take of it what was there at the last partial pull.
    """
    names = [batch_file(number, JUDGMENTS) for number in range(1, batch)]
    names.append(batch_file(batch, PARTIAL_JUDGMENTS if partial else JUDGMENTS))
    judgments = [judgment for name in names if store.exists(name) for judgment in store.read_records(name, Judgment)]
    return details(judgments, store.manifest.get("annotation", {}).get("overlap"))


def set_aside(store: Store, batch: int, version: int) -> None:
    """Copy the files of a pull to ``versions/N`` before a newer one takes their place; once, however often called."""
    folder = f"versions/{version}"
    if store.exists(batch_file(batch, f"{folder}/{PULLED}")):
        return
    for name in FILES:
        if store.exists(batch_file(batch, name)):
            store.folder.write(batch_file(batch, f"{folder}/{name}"), store.folder.read(batch_file(batch, name)))


def join_batches(store: Store, batches: int, overlap: int) -> dict[str, Any]:
    """Write the judgments of all batches, the agreement over all and the data set; returns where they are."""
    judgments = [
        judgment
        for batch in range(1, batches + 1)
        for judgment in store.read_records(batch_file(batch, JUDGMENTS), Judgment)
    ]
    store.write_records(JUDGMENTS, judgments)
    store.write_record(AGREEMENT, agreement(judgments, overlap))
    dataset = export_dataset(store, "jsonl")
    return {"judgments": len(judgments), "dataset": list(dataset.files)}

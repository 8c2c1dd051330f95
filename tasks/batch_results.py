"""What is read of a batch, and where it lies in the run's folder: the newest pull, older ones, a partial one."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from abcdlink.agreement import Agreement, Details, agreement, details
from abcdlink.corpus.records import Record
from abcdlink.judgments import Annotator, Judgment, Pool
from abcdlink.layout import AGREEMENT, ANNOTATORS, CHANGED, JUDGMENTS, POOLS, batch_file
from abcdlink.qualification import qualified_accounts
from abcdlink.store import Store
from labelstudio_config.anomalies import unqualified_in
from labelstudio_config.answers import namer
from labelstudio_config.fingerprints import fingerprints_of
from labelstudio_config.linking.pull import judgments_in
from labelstudio_config.pulls import JudgmentsPull
from labelstudio_config.snapshot import Snapshot

ANNOTATIONS = "annotations.json"
SKIPS = "skips.jsonl"
ANOMALIES = "anomalies.json"
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


def result_in(store: Store, batch: int, snapshot: Snapshot) -> JudgmentsPull:
    """Read judgments from what counts, with a word on answers of people who are not qualified."""
    result = judgments_in(snapshot, {pool.key: pool for pool in pools_of(store, batch)}, annotators_of(store))
    unqualified = unqualified_in(snapshot, qualified_accounts(store), namer(result.annotators))
    return result.model_copy(update={"anomalies": [*result.anomalies, *unqualified]})


def keep_result(store: Store, batch: int, snapshot: Snapshot, version: int = 1) -> None:
    """Write what is read of a batch; the judgments, and then which pull this is, come last."""
    result = result_in(store, batch, snapshot)
    # On one line: Python writes indented JSON ten times slower, and nobody reads this by eye.
    store.write_text(batch_file(batch, ANNOTATIONS), json.dumps(result.raw, ensure_ascii=False))
    store.write_records(ANNOTATORS, result.annotators)
    store.write_records(batch_file(batch, SKIPS), result.skips)
    store.write_json(batch_file(batch, ANOMALIES), result.anomalies)
    store.write_records(batch_file(batch, JUDGMENTS), result.judgments)
    pulled = Pulled(version=version, at=datetime.now(UTC), answers=fingerprints_of(snapshot))
    store.write_record(batch_file(batch, PULLED), pulled)


def keep_agreement(store: Store, batch: int, overlap: int) -> Agreement:
    """Compute the agreement of a batch from its judgments and write it."""
    result = agreement(store.read_records(batch_file(batch, JUDGMENTS), Judgment), overlap)
    store.write_record(batch_file(batch, AGREEMENT), result)
    return result


def keep_partial(store: Store, batch: int, snapshot: Snapshot, overlap: int) -> Agreement:
    """Write what a batch would be if it ended now, apart from its own files; pseudonyms stay afterwards."""
    result = result_in(store, batch, snapshot)
    so_far = agreement(result.judgments, overlap)
    store.write_records(ANNOTATORS, result.annotators)
    store.write_records(batch_file(batch, PARTIAL_JUDGMENTS), result.judgments)
    store.write_record(batch_file(batch, f"partial/{AGREEMENT}"), so_far)
    return so_far


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

"""What is read of a batch becomes the files of its pull."""

from __future__ import annotations

from datetime import UTC, datetime

from abcdlink.agreement import Agreement, agreement
from abcdlink.collection import collection_paused
from abcdlink.layout import AGREEMENT, ANNOTATORS, JUDGMENTS, SKIPS, batch_file, batch_folder
from abcdlink.qualification import qualified_accounts
from abcdlink.stages.annotate import (
    PARTIAL_JUDGMENTS,
    PULLED,
    Pulled,
    annotators_of,
    pools_of,
)
from abcdlink.store import Store
from labelstudio_config.anomalies import unqualified_in
from labelstudio_config.answers import namer
from labelstudio_config.fingerprints import fingerprints_of
from labelstudio_config.linking.pull import judgments_in
from labelstudio_config.pulls import JudgmentsPull, keep_pull
from labelstudio_config.snapshot import Snapshot


def result_in(store: Store, batch: int, snapshot: Snapshot) -> JudgmentsPull:
    """Read judgments from what counts, with a word on answers of people who are not qualified."""
    result = judgments_in(snapshot, {pool.key: pool for pool in pools_of(store, batch)}, annotators_of(store))
    unqualified = unqualified_in(snapshot, qualified_accounts(store), namer(result.annotators))
    return result.model_copy(update={"anomalies": [*result.anomalies, *unqualified]})


@collection_paused()
def keep_result(store: Store, batch: int, snapshot: Snapshot, version: int = 1) -> None:
    """Write what is read of a batch; the judgments, and then which pull this is, come last."""
    result = result_in(store, batch, snapshot)
    keep_pull(store, batch_folder(batch), result)
    store.write_records(ANNOTATORS, result.annotators)
    store.write_records(batch_file(batch, SKIPS), result.skips)
    store.write_records(batch_file(batch, JUDGMENTS), result.judgments)
    pulled = Pulled(version=version, at=datetime.now(UTC), answers=fingerprints_of(snapshot))
    store.write_record(batch_file(batch, PULLED), pulled)


def keep_partial(store: Store, batch: int, snapshot: Snapshot, overlap: int) -> Agreement:
    """Write what a batch would be if it ended now, apart from its own files; pseudonyms stay afterwards."""
    result = result_in(store, batch, snapshot)
    so_far = agreement(result.judgments, overlap)
    store.write_records(ANNOTATORS, result.annotators)
    store.write_records(batch_file(batch, PARTIAL_JUDGMENTS), result.judgments)
    store.write_record(batch_file(batch, f"partial/{AGREEMENT}"), so_far)
    return so_far

"""Results of batches: pulls (newest, older, partial), agreement, adjudication, and the data set."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from abcdlink.adjudicate import FEEDBACK, Adjudication, AdjudicationSummary, disputed, pools_to_decide, summarise
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.export import export_dataset
from abcdlink.export.dataset import judgments_needed
from abcdlink.feedback import settled
from abcdlink.interannotator import Details, details
from abcdlink.interannotator.measures import agreement
from abcdlink.judgments import Annotator, Judgment, LabelRule, Pool
from abcdlink.layout import (
    ADJUDICATION_ANOMALIES,
    ADJUDICATIONS,
    ADJUDICATORS,
    AGREEMENT,
    ANNOTATIONS,
    ANNOTATORS,
    ANOMALIES,
    CHANGED,
    DISPUTED,
    JUDGMENTS,
    NATURAL,
    POOLS,
    QUALIFY_SLUG,
    SKIPS,
    batch_file,
)
from abcdlink.stages.feedback import second_answers
from abcdlink.store import Store

PULLED = "pulled.json"
PARTIAL_JUDGMENTS = f"partial/{JUDGMENTS}"
FILES = (ANNOTATIONS, SKIPS, ANOMALIES, JUDGMENTS, AGREEMENT, PULLED)
"""The files of one pull; the last one marks the others as complete."""


class Pulled(Record):
    """Number of a pull of a batch, from 1, and the fingerprints of the answers that it read."""

    version: int
    at: datetime
    answers: dict[str, str]


class Changed(Record):
    """What has changed in Label Studio since a batch was pulled."""

    noted: datetime
    changes: tuple[str, ...]


def pools_of(store: Store, batch: int | None = None) -> list[Pool]:
    """Return the pools of one batch, or of all batches."""
    store.require(POOLS, "candidates")
    pools = store.read_records(POOLS, Pool)
    return pools if batch is None else [pool for pool in pools if pool.batch == batch]


def gold_pairs_in(store: Store, batch: int) -> list[str]:
    """Return the pairs of a batch that applicants judged in the qualification, by their texts."""
    from abcdlink.linking.fitted import pair_fingerprints

    if not store.exists(f"{QUALIFY_SLUG}/pairs.jsonl"):
        return []
    gold = {*pair_fingerprints(read_corpus_from(store, QUALIFY_SLUG)).values()}
    found = {pair for pair, texts in pair_fingerprints(read_corpus_from(store, NATURAL)).items() if texts in gold}
    return sorted({pool.pair for pool in pools_of(store, batch)} & found) if found else []


def judgments_of(store: Store, batches: Iterable[int]) -> list[Judgment]:
    """Return the judgments of some batches, as far as they have been pulled."""
    return [one for batch in batches for one in store.find_records(batch_file(batch, JUDGMENTS), Judgment)]


def annotators_of(store: Store) -> list[Annotator]:
    """Return the annotators of a run so far."""
    return store.find_records(ANNOTATORS, Annotator)


def pulled_of(store: Store, batch: int) -> Pulled | None:
    """Return the number of the pull of a batch that the run holds; ``None`` before the first."""
    return store.find_record(batch_file(batch, PULLED), Pulled)


def changed_of(store: Store, batch: int) -> Changed | None:
    """Return the changes found since a batch was pulled, or ``None``."""
    return store.find_record(batch_file(batch, CHANGED), Changed)


def details_so_far(store: Store, batch: int, *, partial: bool = False) -> Details:
    """Measure a batch together with the earlier ones: differences, times, how many more pairs are needed.

    ``partial``: use the batch's answers as of the last partial pull.
    """
    now = store.find_records(batch_file(batch, PARTIAL_JUDGMENTS if partial else JUDGMENTS), Judgment)
    return details([*judgments_of(store, range(1, batch)), *now], store.manifest.get("annotation", {}).get("overlap"))


def set_aside(store: Store, batch: int, version: int) -> None:
    """Copy the files of a pull to ``versions/N`` before a newer one replaces them; later calls change nothing."""
    folder = f"versions/{version}"
    if store.exists(batch_file(batch, f"{folder}/{PULLED}")):
        return
    for name in FILES:
        if store.exists(batch_file(batch, name)):
            store.folder.write(batch_file(batch, f"{folder}/{name}"), store.folder.read(batch_file(batch, name)))


def join_batches(store: Store, batches: int, overlap: int) -> dict[str, Any]:
    """Write the judgments of all batches, the overall agreement and the data set; returns their paths.

    Raises:
        InputError: when the judgments of a batch are missing.
    """
    for batch in range(1, batches + 1):
        store.require(batch_file(batch, JUDGMENTS), "annotate")
    judgments = judgments_of(store, range(1, batches + 1))
    store.write_records(JUDGMENTS, judgments)
    store.write_record(AGREEMENT, agreement(judgments, overlap))
    dataset = export_dataset(store, "jsonl")
    return {"judgments": len(judgments), "dataset": list(dataset.files)}


STAGE = "adjudicate"


def judged_so_far(store: Store, batches: Collection[int] = ()) -> list[Judgment]:
    """Return the judgments of pulled batches, whether or not they have been joined; by default, of all.

    Raises:
        InputError: when there are none, or a named batch was not pulled.
    """
    judgments = store.find_records(JUDGMENTS, Judgment) or judgments_of(store, batches_in(store))
    lost = sorted({*batches} - {judgment.batch for judgment in judgments})
    if lost or not judgments:
        what = f"of batch {lost[0]} " if lost else ""
        msg = f"run {store.key!r} has no judgments {what}yet"
        raise InputError(msg, "wait until a batch has been pulled, or name batches that have been")
    return [judgment for judgment in judgments if not batches or judgment.batch in batches]


def batches_in(store: Store) -> list[int]:
    """Return the numbers of the pulled batches."""
    names = (name.split("/") for name in store.folder.names("batches/"))
    return sorted({int(parts[1]) for parts in names if parts[2:] == [JUDGMENTS]})


def settled_in_feedback(store: Store) -> list[Adjudication]:
    """Return, as decisions, the disputes that feedback rounds settled and that nobody was asked to decide."""
    judgments = judged_so_far(store)
    asked = {(pool.pair, pool.source, candidate.target) for pool in pools_in(store) for candidate in pool.candidates}
    disputes, answers = disputed(judgments, judgments_needed(store.manifest, judgments)), second_answers(store)
    return [
        Adjudication(
            **answer.model_dump(include={"batch", "pair", "source", "target", "label", "submitted"}),
            adjudicator=FEEDBACK,
            consensus=True,
        )
        for at, answer in settled(judgments, answers).items()
        if at in disputes and at not in asked
    ]


def prepare_adjudication(store: Store, batches: Collection[int] = (), *, settled_too: bool = False) -> list[Pool]:
    """Return the disputes to decide, of all pulled batches by default; new ones are added to those stored before.

    ``settled_too``: whether to ask about disputes that a feedback round settled.

    Raises:
        InputError: as ``judged_so_far``, and when the corpus lacks something that was judged.
    """
    judgments = judged_so_far(store, batches)
    asked = pools_in(store)
    needed = judgments_needed(store.manifest, judged_so_far(store))
    but = () if settled_too else [one.at for one in settled_in_feedback(store)]
    pools = pools_to_decide(judgments, read_corpus_from(store, NATURAL), store.key, needed, asked, but)
    if pools != asked or not store.exists(DISPUTED):
        store.write_records(DISPUTED, pools)
    return pools


def pools_in(store: Store) -> list[Pool]:
    """Return the stored disputes."""
    return store.find_records(DISPUTED, Pool)


def keep_adjudications(
    store: Store,
    adjudications: Sequence[Adjudication],
    adjudicators: Sequence[Annotator],
    anomalies: Sequence[str],
) -> None:
    """Write all decisions, including those of feedback rounds; regenerate the data set once all batches are joined."""
    store.write_records(ADJUDICATORS, adjudicators)
    store.write_json(ADJUDICATION_ANOMALIES, list(anomalies))
    store.write_records(ADJUDICATIONS, [*adjudications, *settled_in_feedback(store)])
    if store.exists(JUDGMENTS):
        export_dataset(store, rule=LabelRule.ADJUDICATED)


def summary_of(store: Store) -> AdjudicationSummary:
    """Count the decisions so far; raises ``InputError`` when nothing has been decided yet."""
    store.require(ADJUDICATIONS, STAGE)
    judgments = judged_so_far(store)
    return summarise(
        judgments, store.read_records(ADJUDICATIONS, Adjudication), judgments_needed(store.manifest, judgments)
    )

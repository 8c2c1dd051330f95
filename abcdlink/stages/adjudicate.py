"""Stage adjudicate: what is to be decided, what was decided, and the data set that results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from abcdlink.adjudicate import Adjudication, AdjudicationSummary, disputed, pools_to_decide, summarise
from abcdlink.corpus.io import read_corpus_from
from abcdlink.errors import InputError
from abcdlink.export import export_dataset
from abcdlink.export.dataset import judgments_needed
from abcdlink.feedback import settled
from abcdlink.judgments import Annotator, Judgment, LabelRule, Pool
from abcdlink.layout import (
    ADJUDICATION_ANOMALIES,
    ADJUDICATIONS,
    ADJUDICATORS,
    DISPUTED,
    JUDGMENTS,
    NATURAL,
    batch_file,
)
from abcdlink.stages.feedback import second_answers
from abcdlink.store import Store

STAGE = "adjudicate"


def judged_so_far(store: Store, batches: Collection[int] = ()) -> list[Judgment]:
    """Return the judgments of the batches that were pulled, joined or not; none named: of all.

    Raises:
        InputError: when there are none, or a named batch was not pulled.
    """
    pulled = batches_in(store)
    parts = [JUDGMENTS] if store.exists(JUDGMENTS) else [batch_file(batch, JUDGMENTS) for batch in pulled]
    judgments = [judgment for part in parts for judgment in store.read_records(part, Judgment)]
    lost = sorted({*batches} - {judgment.batch for judgment in judgments})
    if lost or not judgments:
        what = f"of batch {lost[0]} " if lost else ""
        msg = f"run {store.key!r} has no judgments {what}yet"
        raise InputError(msg, "adjudicate when a batch has been pulled, or name batches that were")
    return [judgment for judgment in judgments if not batches or judgment.batch in batches]


def batches_in(store: Store) -> list[int]:
    """Return the numbers of the batches that were pulled."""
    names = (name.split("/") for name in store.folder.names("batches/"))
    return sorted({int(parts[1]) for parts in names if parts[2:] == [JUDGMENTS]})


FEEDBACK = "feedback round"
"""Takes the place of an adjudicator where all who had judged a candidate agreed on it in a feedback round."""


def settled_in_feedback(store: Store) -> list[Adjudication]:
    """Return the disputes that feedback rounds settled and that nobody was asked to decide, as decisions."""
    judgments = judged_so_far(store)
    asked = {(pool.pair, pool.source, candidate.target) for pool in pools_in(store) for candidate in pool.candidates}
    disputes, answers = disputed(judgments, judgments_needed(store, judgments)), second_answers(store)
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
    """Return what is to be decided; disputes that are new are added to those that were kept before.

    Args:
        store: the run.
        batches: whose disputes; none named: those of all that were pulled.
        settled_too: whether to ask about disputes that a feedback round settled.

    Raises:
        InputError: as ``judged_so_far``, and when the corpus does not hold what was judged.
    """
    judgments = judged_so_far(store, batches)
    asked = pools_in(store)
    needed = judgments_needed(store, judged_so_far(store))
    but = () if settled_too else [one.at for one in settled_in_feedback(store)]
    pools = pools_to_decide(judgments, read_corpus_from(store, NATURAL), store.key, needed, asked, but)
    if pools != asked or not store.exists(DISPUTED):
        store.write_records(DISPUTED, pools)
    return pools


def pools_in(store: Store) -> list[Pool]:
    """Return what somebody is asked to decide."""
    return store.find_records(DISPUTED, Pool)


def adjudicators_in(store: Store) -> list[Annotator]:
    """Return who decided without being one of the annotators."""
    return store.find_records(ADJUDICATORS, Annotator)


def keep_adjudications(
    store: Store,
    adjudications: Sequence[Adjudication],
    adjudicators: Sequence[Annotator],
    anomalies: Sequence[str],
) -> dict[str, Any]:
    """Write what was decided, also in feedback rounds; then regenerate the data set, once all batches have been joined.

    Returns:
        How much was decided, and where the data set is.
    """
    store.write_records(ADJUDICATORS, adjudicators)
    store.write_json(ADJUDICATION_ANOMALIES, list(anomalies))
    store.write_records(ADJUDICATIONS, [*adjudications, *settled_in_feedback(store)])
    files: tuple[str, ...] = ()
    if store.exists(JUDGMENTS):
        files = export_dataset(store, rule=LabelRule.ADJUDICATED).files
    return {"adjudications": len(adjudications), "dataset": list(files)}


def summary_of(store: Store) -> AdjudicationSummary:
    """Count what was decided so far.

    Raises:
        InputError: when nothing was decided yet.
    """
    store.require(ADJUDICATIONS, STAGE)
    judgments = judged_so_far(store)
    return summarise(judgments, store.read_records(ADJUDICATIONS, Adjudication), judgments_needed(store, judgments))

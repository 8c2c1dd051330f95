"""What an adjudication decided, as a report tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from abcdlink.adjudication import Adjudication, AdjudicationSummary, by_place, summarise
from abcdlink.export.dataset import judgments_needed
from abcdlink.judgments import Judgment
from abcdlink.layout import ADJUDICATION_ANOMALIES, ADJUDICATIONS
from abcdlink.store import Store


class Decisions(NamedTuple):
    """What was decided, (pair, source, target) -> decision; its figures; and what looked wrong, a sentence each."""

    by_place: dict[tuple[str, str, str], Adjudication]
    summary: AdjudicationSummary
    anomalies: list[str]


def decisions_in(store: Store, judgments: Sequence[Judgment]) -> Decisions | None:
    """Read what was decided on judgments; ``None``: nothing was read back yet."""
    if not (store.exists(ADJUDICATIONS) and judgments):
        return None
    decided = store.read_records(ADJUDICATIONS, Adjudication)
    summary = summarise(judgments, decided, judgments_needed(store, judgments))
    anomalies = store.read_json(ADJUDICATION_ANOMALIES) if store.exists(ADJUDICATION_ANOMALIES) else []
    return Decisions(by_place(decided), summary, anomalies)

"""What an adjudication decided, as a report tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from abcdlink.adjudication import Adjudication, AdjudicationSummary, by_place, summarise
from abcdlink.export.dataset import judgments_needed
from abcdlink.judgments import Annotator, Judgment
from abcdlink.layout import ADJUDICATION_ANOMALIES, ADJUDICATIONS, ADJUDICATORS
from abcdlink.store import Store


class Decisions(NamedTuple):
    """What was decided: (pair, source, target) -> decision, and its figures.

    ``anomalies``: what looked wrong, a sentence each. ``adjudicators``: those who are no annotators of the run.
    """

    by_place: dict[tuple[str, str, str], Adjudication]
    summary: AdjudicationSummary
    anomalies: list[str]
    adjudicators: list[Annotator]


def decisions_in(store: Store, judgments: Sequence[Judgment]) -> Decisions | None:
    """Read what was decided on judgments; ``None``: nothing was read back yet."""
    if not (store.exists(ADJUDICATIONS) and judgments):
        return None
    decided = store.read_records(ADJUDICATIONS, Adjudication)
    summary = summarise(judgments, decided, judgments_needed(store, judgments))
    anomalies = store.read_json(ADJUDICATION_ANOMALIES) if store.exists(ADJUDICATION_ANOMALIES) else []
    adjudicators = store.read_records(ADJUDICATORS, Annotator) if store.exists(ADJUDICATORS) else []
    return Decisions(by_place(decided), summary, anomalies, adjudicators)

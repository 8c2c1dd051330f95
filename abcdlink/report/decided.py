"""What was decided after annotators judged, as a report shows it: feedback rounds, and adjudication."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from abcdlink.adjudicate import Adjudication, AdjudicationSummary, by_place
from abcdlink.adjudicate import summarise as summarise_decisions
from abcdlink.export.dataset import judgments_needed
from abcdlink.feedback import Accepted, FeedbackOutcome
from abcdlink.feedback.guidelines import version_of
from abcdlink.judgments import Annotator, Judgment
from abcdlink.layout import ADJUDICATION_ANOMALIES, ADJUDICATIONS, ADJUDICATORS
from abcdlink.stages.feedback import accepted_in, outcome_in
from abcdlink.store import Store


class Round(NamedTuple):
    """A batch and the round after it.

    ``guidelines``: version that the batch was annotated under, ``None`` where the run kept none. ``accepted``:
    what the coordinator accepted, ``outcome``: the result; ``None`` while there is none.
    """

    batch: int
    guidelines: int | None
    accepted: Accepted | None
    outcome: FeedbackOutcome | None

    @property
    def is_over(self) -> bool:
        """Whether annotators were asked and have answered."""
        return self.accepted is not None and self.accepted.label_studio_round and self.outcome is not None

    @property
    def stands(self) -> str:
        """How far the round is, in words."""
        if self.accepted is None:
            return "no round" if self.outcome is None else "ended without one"
        if not self.accepted.label_studio_round:
            return "nobody was asked again"
        return "annotators answer" if self.outcome is None else "over"


def rounds_in(store: Store, batches: Iterable[int]) -> list[Round]:
    """Read the rounds after batches; empty when there was none and the run kept no versions of its guidelines."""
    rounds = [
        Round(batch, version_of(store, batch), accepted_in(store, batch), outcome_in(store, batch)) for batch in batches
    ]
    return rounds if any(one.guidelines or one.accepted for one in rounds) else []


class Decisions(NamedTuple):
    """What was decided: (pair, source, target) -> decision, and its figures.

    ``anomalies``: what looked wrong, a sentence each. ``adjudicators``: those who are not annotators of the run.
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
    summary = summarise_decisions(judgments, decided, judgments_needed(store.manifest, judgments))
    anomalies = lines_in(store, ADJUDICATION_ANOMALIES)
    return Decisions(by_place(decided), summary, anomalies, store.find_records(ADJUDICATORS, Annotator))


def lines_in(store: Store, name: str) -> list[str]:
    """Return the sentences of a file; none where the run does not have it."""
    return store.read_json(name, list[str]) if store.exists(name) else []

"""Feedback rounds, as a report tells them: beside each batch its guidelines, and what came of the round after it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from abcdlink.feedback import Accepted, Outcome
from abcdlink.feedback.guidelines import version_of
from abcdlink.stages.feedback import accepted_in, outcome_in
from abcdlink.store import Store


class Round(NamedTuple):
    """A batch and the round after it.

    ``guidelines``: version that the batch was annotated under, ``None`` where the run kept none. ``accepted``:
    what the coordinator accepted, ``outcome``: what came of it; ``None`` where it is not that far.
    """

    batch: int
    guidelines: int | None
    accepted: Accepted | None
    outcome: Outcome | None

    @property
    def is_over(self) -> bool:
        """Whether annotators were asked, and what they answered is known."""
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

"""What is known of one source sentence's candidates while its questions are being answered."""

from __future__ import annotations

from collections.abc import Mapping

from abcdlink.linking.records import Approach, Decision, Scoring
from abcdlink.linking.verdict import Verdict, worst
from abcdlink.llm.records import Outcome

HALF = 0.5
"""A score above it is a link: more votes for than against, or more probable than not."""


class Tally:
    """Collects the answers on one source sentence.

    Args:
        approach: whose decision it will be.
        offered: the target sentences it chooses among, best first.
    """

    def __init__(self, approach: Approach, offered: tuple[str, ...]) -> None:
        self._approach, self.offered = approach, offered
        self.scores: dict[str, float] = {}
        self._outcomes: list[tuple[Outcome, str]] = []

    def know(self, scores: Mapping[str, float]) -> None:
        """Take over scores by target id, 0 or 1 for a plain answer."""
        self.scores |= scores

    def close(self, verdict: Verdict) -> None:
        """Note how a question ended after which nothing more is asked about its candidates."""
        self._outcomes.append((verdict.outcome, verdict.detail))

    def decision(self, pair: str, source: str) -> Decision:
        """Return the decision; ids that were never answered are unknown, never ``False``."""
        outcome, detail = worst(self._outcomes, "questions") if self._outcomes else (Outcome.OK, "")
        known = [target for target in self.offered if target in self.scores]
        return Decision(
            approach=self._approach.name,
            pair=pair,
            source=source,
            targets=tuple(target for target in known if self.scores[target] > HALF),
            offered=self.offered,
            unknown=tuple(target for target in self.offered if target not in self.scores),
            scores={}
            if self._approach.scoring is Scoring.ANSWER
            else {target: self.scores[target] for target in known},
            outcome=outcome,
            detail=detail,
        )

"""What the answers to one question, and all answers on one source sentence, say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from abcdlink.corpus.records import Record
from abcdlink.linking.records import Approach, Decision, Scoring
from abcdlink.llm.records import Answer, Outcome

WORST_FIRST = (
    Outcome.FAILED,
    Outcome.TOO_LONG,
    Outcome.REFUSED,
    Outcome.TRUNCATED,
    Outcome.INVALID,
    Outcome.MISSING_IDS,
    Outcome.REPAIRED,
    Outcome.OK,
)
"""Of several outcomes the first of these is told: a server that fails can be repaired, so it comes before what a
model does not do."""
VALID = (Outcome.OK, Outcome.REPAIRED, Outcome.MISSING_IDS)
"""What such an answer says counts, for the ids that it names."""


class Verdict(Record):
    """``scores``: target id -> score from 0 to 1, for the ids that are known; ``outcome`` of the question."""

    scores: dict[str, float]
    outcome: Outcome
    detail: str = ""


def worst(outcomes: Sequence[tuple[Outcome, str]], unit: str) -> tuple[Outcome, str]:
    """Return the worst of some outcomes with its detail, which says of how many ``unit`` it is true."""
    outcome, detail = min(outcomes, key=lambda ended: WORST_FIRST.index(ended[0]))
    count = sum(one is outcome for one, _ in outcomes)
    if len(outcomes) == 1 or outcome is Outcome.OK:
        return outcome, detail
    return outcome, f"{count} of {len(outcomes)} {unit}: {detail}"


def verdict_of(ids: Sequence[str], answers: Sequence[Answer], scores: Sequence[Mapping[str, float]]) -> Verdict:
    """Return what all samples of one question say.

    An id is known when more than half of the samples score it, and its score is their mean: for
    plain answers the share of votes for a link. The question is answered when more than half of the
    samples are valid for every id; a minority that failed does not undo the others.

    Args:
        ids: the target sentences that were asked about.
        answers: one or more samples.
        scores: for each sample, target id -> score.
    """
    known: dict[str, float] = {}
    open_ids: list[str] = []
    for target in ids:
        given = [of_one[target] for of_one in scores if target in of_one]
        valid = sum(target in of_one and a.outcome in VALID for a, of_one in zip(answers, scores, strict=True))
        if 2 * len(given) > len(answers):
            known[target] = sum(given) / len(given)
        if 2 * valid <= len(answers):
            open_ids.append(target)
    outcome, detail = worst([(answer.outcome, answer.detail) for answer in answers], "samples")
    if open_ids and outcome.answered:  # an answer without its probability
        return Verdict(
            scores=known, outcome=Outcome.MISSING_IDS, detail=f"no score for {', '.join(map(repr, open_ids))}"
        )
    if not open_ids and not outcome.answered:
        repaired = any(answer.outcome is Outcome.REPAIRED for answer in answers)
        return Verdict(scores=known, outcome=Outcome.REPAIRED if repaired else Outcome.OK, detail=detail)
    return Verdict(scores=known, outcome=outcome, detail=detail)


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

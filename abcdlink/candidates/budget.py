"""Candidates by the probability of a link over a whole corpus, and a random share to estimate what they miss.

Most source sentences of real documents link to nothing. The first k targets of every source ask people about all of
them; taken by probability, the same links cost fewer judgments. What a linker does not believe in is then never seen,
so a part of the budget goes to an audit: every other pair of sentences has a known chance to be judged. Half of it
grows with sqrt(p (1 - p)), the standard deviation of the answer if the probability p is right (Neyman allocation). The
other half is the same for all, so that no link which the linker thinks impossible counts for thousands (a defensive
mixture; Hesterberg, "Weighted Average Importance Sampling and Defensive Mixture Distributions", 1995).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from abcdlink.audits import SUREST
from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.judgments import SECONDS_A_CANDIDATE
from abcdlink.linking.rows import Mask, Rows, Values
from abcdlink.statistics import Estimate

if TYPE_CHECKING:
    import pandas as pd

EVEN = 0.5
"""Share of the audit that ignores probabilities."""
POINTS = 40
"""Of a curve of links against judgments."""


class BudgetRules(Record):
    """How many candidates are judged, and how they are grouped into tasks of one source sentence.

    One of ``judgments``, ``hours`` and ``links`` says how many. The audit is a part of them.
    """

    judgments: int | None = Field(
        None, ge=1, description="Number of candidates to judge; overlap says by how many people."
    )
    hours: float | None = Field(None, gt=0, description="Instead: hours of one person.")
    links: int | None = Field(None, ge=1, description="Instead: number of links to find, by the probabilities.")
    seconds: float = Field(
        SECONDS_A_CANDIDATE,
        gt=0,
        description="For hours: seconds per candidate, until the run's own judged batches have measured it.",
    )
    least: int = Field(1, ge=1, le=20, description="Fewest candidates for a source sentence that is shown.")
    most: int = Field(8, ge=1, le=100, description="Most candidates for a source sentence, not counting the audit's.")
    audit: float = Field(
        0.1, ge=0, lt=1, description="Share of the judgments spent on random candidates, for an unbiased recall."
    )

    @model_validator(mode="after")
    def _one_size(self) -> BudgetRules:
        given = [name for name in ("judgments", "hours", "links") if getattr(self, name) is not None]
        if len(given) > 1:
            msg = f"the budget is given as {' and as '.join(given)}"
            raise InputError(msg, "give one of judgments, hours and links")
        if self.least > self.most:
            msg = f"a task cannot have at least {self.least} and at most {self.most} candidates"
            raise InputError(msg, "lower the least or raise the most")
        return self


class CurvePoint(Record):
    """The expected yield of a number of judgments, by the probabilities, without the audit's finds.

    ``judgments``: with the audit's. ``tasks``: source sentences that are shown for their probable links.
    """

    judgments: int
    tasks: int
    links: Estimate
    recall: Estimate

    @property
    def acceptance(self) -> float:
        """Expected links of one judgment."""
        return self.links.value / self.judgments if self.judgments else 0.0


class Yield(Record):
    """What to expect from a budget. All intervals assume that the probabilities are right.

    ``chosen``: the chosen budget. ``curve``: the yield of other budgets. ``total``: links of all candidates.
    """

    chosen: CurvePoint
    curve: tuple[CurvePoint, ...]
    total: float


class Order:
    """The candidates of a corpus in the order in which a budget takes them.

    A source sentence comes with its ``least`` best targets at once, by their mean probability; further targets by their
    own, up to ``most``.

    Args:
        rankings: of a linker whose scores are probabilities of a link.
        wanted: rows whose source sentence may be shown, shape (rows,).
        rules: how tasks are made.

    Raises:
        InputError: when a score is not a probability.
    """

    def __init__(self, rankings: pd.DataFrame, wanted: Mask, rules: BudgetRules) -> None:
        self.p = rankings["score"].to_numpy(np.float64)
        if len(self.p) and not (self.p.min() >= 0 and self.p.max() <= 1):
            msg = "the scores of these rankings are not probabilities"
            raise InputError(msg, "rank with a learned linker")
        self.rules, self.wanted = rules, wanted
        rows = Rows(rankings)
        p = self.p[rows.order]
        together = rows.rank <= np.minimum(rules.least, rows.size)
        mean = rows.over_source(np.add, np.where(together, p, 0)) / np.maximum(
            rows.over_source(np.add, together.astype(float)), 1
        )
        key = np.where(together, mean, np.where(rows.rank <= rules.most, p, -np.inf))
        key[~wanted[rows.order]] = -np.inf
        order = np.lexsort((rows.rank, rows.source, -key))
        order = order[np.isfinite(key[order])]
        self.rows: NDArray[np.intp] = rows.order[order]
        """Rows of the table in the order in which they are taken; those that no budget takes are left out."""
        self._first = rows.rank[order] == 1
        # A cut is possible after a row that completes its group.
        self._whole = rows.rank[order] >= np.minimum(rules.least, rows.size[order])
        self.total = float(self.p[wanted].sum())
        self._links = np.cumsum(self.p[self.rows])
        self._variance = np.cumsum((self.p * (1 - self.p))[self.rows])
        self._all_variance = float((self.p * (1 - self.p))[wanted].sum())

    def taken(self) -> int:
        """Return how many candidates the rules take by probability, in whole groups."""
        rules, ours = self.rules, 1 - self.rules.audit
        if rules.links is not None:
            enough = np.flatnonzero(self._links >= rules.links)
            count = int(enough[0]) + 1 if len(enough) else len(self.rows)
            while count < len(self.rows) and not self._whole[count - 1]:
                count += 1
            return count
        if rules.hours is not None:
            return self._cut(int(rules.hours * 3600 / rules.seconds * ours))
        return self._cut(len(self.rows) if rules.judgments is None else int(rules.judgments * ours))

    def _cut(self, count: int) -> int:
        count = min(count, len(self.rows))
        while count and not self._whole[count - 1]:
            count -= 1
        return count

    def point(self, count: int) -> CurvePoint:
        """Return the expected yield of the first ``count`` candidates."""
        links = float(self._links[count - 1]) if count else 0.0
        inside = float(self._variance[count - 1]) if count else 0.0
        outside = max(self._all_variance - inside, 0.0)
        share = links / self.total if self.total else 0.0
        # Of a ratio of sums of independent answers.
        spread = np.sqrt((1 - share) ** 2 * inside + share**2 * outside) / max(self.total, 1e-9)
        return CurvePoint(
            judgments=count + self.audited(count),
            tasks=int(self._first[:count].sum()),
            links=Estimate.around(links, np.sqrt(inside), 0.0, float(count)),
            recall=Estimate.around(share, float(spread), 0.0, 1.0),
        )

    def audited(self, count: int) -> int:
        """Return how many candidates the audit adds to ``count`` others."""
        return min(round(count * self.rules.audit / (1 - self.rules.audit)), int(self.wanted.sum()) - count)

    def forecast(self) -> Yield:
        """Return the expected yield of the rules, with a curve of other budgets."""
        counts = sorted({self._cut(int(n)) for n in np.geomspace(1, max(len(self.rows), 1), POINTS)} - {0})
        return Yield(chosen=self.point(self.taken()), curve=tuple(map(self.point, counts)), total=self.total)

    def select(self, seed: int) -> Selection:
        """Choose what people judge.

        The same rankings, rules and ``seed`` (of the audit) give the same choice.
        """
        count = self.taken()
        chance = np.zeros(len(self.p))
        chosen = np.zeros(len(self.p), bool)
        chosen[self.rows[:count]] = True
        rest = np.flatnonzero(self.wanted & ~chosen)
        chance[rest] = chances(self.p[rest], self.audited(count))
        audited = np.random.default_rng(seed).random(len(self.p)) < chance
        chance[chosen] = 1.0
        return Selection(chosen, audited, chance, _dispersion(self.p[rest], chance[rest]))


class Selection:
    """What people judge of a rankings table: arrays of shape (rows,).

    They are ``chosen`` by probability or ``audited``: drawn at random among the others. ``chance``: of a row to be
    judged: 1 for what was chosen, 0 where its source sentence is never shown. ``dispersion``: variance of the estimated
    links that were not chosen, for each of them, by the probabilities.
    """

    def __init__(self, chosen: Mask, audited: Mask, chance: Values, dispersion: float) -> None:
        self.chosen, self.audited, self.chance, self.dispersion = chosen, audited, chance, dispersion

    @property
    def judged(self) -> Mask:
        """What people see."""
        return self.chosen | self.audited


def _dispersion(probability: Values, chance: Values) -> float:
    """Return sum of p (1 - c) / c over sum of p: the variance of the sum of found links' 1 / c, for each link."""
    p, c = np.clip(probability, SUREST, 1 - SUREST), chance
    drawn = c > 0
    links = float(p[drawn].sum())
    return max(float((p * (1 - c))[drawn] @ (1 / c[drawn])) / links, 1e-3) if links else 1.0


def chances(probability: Values, wanted: int) -> Values:
    """Return the chance of each candidate to be drawn: ``wanted`` in the mean, more where the answer is less sure."""
    p = np.clip(probability, SUREST, 1 - SUREST)
    weight = np.sqrt(p * (1 - p))
    chance = np.zeros(len(p))
    free: Mask = np.ones(len(p), bool)
    # No chance is above 1: the surplus is divided among the others.
    while free.any() and wanted > (~free).sum():
        chance[free] = weight[free] * (wanted - (~free).sum()) / weight[free].sum()
        over = free & (chance >= 1)
        if not over.any():
            break
        chance[over], free = 1.0, free & ~over
    return (1 - EVEN) * chance + EVEN * min(1.0, wanted / max(len(p), 1))

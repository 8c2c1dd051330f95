"""What batches by budget gave: links an hour, calibration with and without learning, and estimated recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from abcdlink.candidates.audit import Audited, AuditResult
from abcdlink.corpus.records import Record
from abcdlink.evaluation.calibration import Calibration, calibration
from abcdlink.judgments import Judgment
from abcdlink.layout import JUDGMENTS, batch_file
from abcdlink.stages.budget import CHOSEN, Choice, choices_of, labels_of
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd

GAINS = "gains.json"


class Gain(Record):
    """What a batch gave.

    Attributes:
        batch: its number.
        judged: labelled candidates.
        links: those that all who judged them call links.
        acceptance: their share.
        hours: of all annotators together; ``None`` where times are unknown.
        calibration: of the linker that chose the batch, on its candidates.
        without_learning: of the linker as it was before anybody judged, on the same candidates.
        audit: estimates over the pairs of this batch; ``None`` without an audit.
    """

    batch: int
    judged: int
    links: int
    acceptance: float
    hours: float | None
    calibration: Calibration
    without_learning: Calibration
    audit: AuditResult | None

    @property
    def links_per_hour(self) -> float | None:
        """Links for each hour of an annotator."""
        return self.links / self.hours if self.hours else None


class Gains(Record):
    """What all batches so far gave, and what is to be expected of the rest.

    ``audit``: over the pairs of all of them. ``another_hour``: links that an hour of one annotator is expected to find
    next, by the newest choice; ``None`` where nothing is left or times are unknown.
    """

    batches: tuple[Gain, ...]
    choices: tuple[Choice, ...]
    audit: AuditResult | None
    another_hour: float | None = None

    @property
    def rows(self) -> list[dict[str, str | int]]:
        """A table with a row for each judged batch."""
        choices = {choice.batch: choice for choice in self.choices}
        return [
            {
                "batch": gain.batch,
                "candidates": gain.judged,
                "links expected": round(choices[gain.batch].expected),
                "links": gain.links,
                "acceptance": f"{gain.acceptance:.1%}",
                "links an hour": "" if gain.links_per_hour is None else f"{gain.links_per_hour:.1f}",
                "calibration error": f"{gain.calibration.error:.2f}",
                "without learning": f"{gain.without_learning.error:.2f}",
                "recall in its pairs": str(gain.audit.recall) if gain.audit else "",
            }
            for gain in self.batches
        ]

    @property
    def words(self) -> str:
        """Say in a sentence or two whether it is worth to go on."""
        parts = []
        if self.another_hour is not None:
            parts.append(f"Another hour of one annotator is expected to find {self.another_hour:.0f} links.")
        if self.audit:
            parts.append(f"Estimated recall in the pairs judged so far: {self.audit.recall}.")
        return " ".join(parts)


def measure_gains(store: Store) -> Gains | None:
    """Measure what the judged batches gave and keep it; ``None`` when candidates were not chosen by budget."""
    import pandas as pd

    choices = choices_of(store)
    judged = [choice for choice in choices if store.exists(batch_file(choice.batch, JUDGMENTS))]
    if not judged:
        return None
    tables, gains = [], []
    for choice in judged:
        labels = labels_of(store, choice.batch)
        table = store.read_table(batch_file(choice.batch, CHOSEN)).astype({"pair": str, "source": str, "target": str})
        table["link"] = [labels.get(at) for at in zip(table["pair"], table["source"], table["target"], strict=True)]
        shown = int((~table["audit"]).sum()), int(table["audit"].sum())
        table = table[table["link"].notna()].astype({"link": bool})
        tables.append(table)
        linked, weight = table["link"].to_numpy(), 1 / table["chance"].to_numpy()
        gains.append(
            Gain(
                batch=choice.batch,
                judged=len(table),
                links=int(linked.sum()),
                acceptance=float(linked.mean()) if len(linked) else 0.0,
                hours=_hours(store.read_records(batch_file(choice.batch, JUDGMENTS), Judgment)),
                calibration=calibration(table["score"].to_numpy(), linked, weight),
                without_learning=calibration(table["first"].to_numpy(), linked, weight),
                audit=_audit(table, choice.dispersion, shown),
            )
        )
    shown = sum(choice.judgments - choice.audited for choice in judged), sum(choice.audited for choice in judged)
    dispersion = float(np.average([c.dispersion for c in judged], weights=[c.audited + 1 for c in judged]))
    result = Gains(
        batches=tuple(gains),
        choices=tuple(choices),
        audit=_audit(pd.concat(tables), dispersion, shown),
        another_hour=_another_hour(gains, choices),
    )
    store.write_record(GAINS, result)
    return result


def _audit(table: pd.DataFrame, dispersion: float, shown: tuple[int, int]) -> AuditResult | None:
    if not table["audit"].any():
        return None
    chance = np.where(table["audit"], np.minimum(table["chance"], 1 - 1e-9), 1.0)
    return Audited(table["link"].to_numpy(), chance, dispersion, shown).result()


def _another_hour(gains: Sequence[Gain], choices: Sequence[Choice]) -> float | None:
    """Return the links that the next hour is expected to find, by the curve of the last choice."""
    hours = sum(gain.hours or 0.0 for gain in gains)
    if not hours or len(choices) <= len(gains):
        return None
    curve = choices[-1].forecast.curve
    candidates = sum(gain.judged for gain in gains) / hours
    return float(np.interp(candidates, [0, *(p.judgments for p in curve)], [0, *(p.links.value for p in curve)]))


def _hours(judgments: Sequence[Judgment]) -> float | None:
    """Return the hours that annotators spent on tasks; each judgment has the time of its whole task."""
    tasks = {(one.annotator, one.pair, one.source): one.seconds for one in judgments}
    known = [seconds for seconds in tasks.values() if seconds is not None]
    # Tasks without a time count as the mean of the others.
    return sum(known) / len(known) * len(tasks) / 3600 if known else None

"""What batches by budget yielded: links per hour, calibration with and without learning, estimated recall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from abcdlink.audits import Audited, AuditResult
from abcdlink.corpus.records import Record
from abcdlink.evaluation.results import Calibration, calibration
from abcdlink.judgments import Judgment
from abcdlink.layout import JUDGMENTS, NATURAL, batch_file
from abcdlink.linking.learners import base_retrievers
from abcdlink.linking.records import ApproachKind
from abcdlink.stages.budget import Choice, choices_of, labels_of, measured_seconds, read_chosen
from abcdlink.stages.rank import holds_rankings, read_rankings
from abcdlink.stages.shortlist import decided_links, read_shortlist
from abcdlink.statistics import Estimate
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd

GAINS = "gains.json"
PLACE = ("pair", "source", "target")
FIRST = (1, 3)
"""Targets of every source sentence in a fixed pool, which is compared with candidates by probability."""


class Gain(Record):
    """What a batch yielded.

    ``links``: candidates that everyone who judged them calls links; ``acceptance``: their share. ``hours``: total of
    all annotators, where known. ``calibration``: of the linker that chose the batch, on its candidates;
    ``without_learning``: of the linker before anyone judged. ``audit``: estimates over the pairs of this batch.
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
        """Links per hour of an annotator."""
        return self.links / self.hours if self.hours else None


class ApproachRecall(Record):
    """Estimated share of all links in the judged pairs that an approach finds with ``candidates`` candidates."""

    approach: str
    candidates: int
    recall: Estimate


class Gains(Record):
    """What all batches have yielded so far, and what to expect from the rest.

    ``audit``: estimates over all their pairs. ``another_hour``: links that an hour of one annotator is expected to find
    next, by the latest choice; ``None`` if nothing is left or times are unknown. ``approaches``: what others would
    have found.
    """

    batches: tuple[Gain, ...]
    choices: tuple[Choice, ...]
    audit: AuditResult | None
    another_hour: float | None = None
    approaches: tuple[ApproachRecall, ...] = ()

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
                "links per hour": "" if gain.links_per_hour is None else f"{gain.links_per_hour:.1f}",
                "calibration error": f"{gain.calibration.error:.2f}",
                "without learning": f"{gain.without_learning.error:.2f}",
                "recall in its pairs": str(gain.audit.recall) if gain.audit else "",
            }
            for gain in self.batches
        ]

    @property
    def words(self) -> str:
        """Say in a sentence or two whether another batch is worth it."""
        parts = []
        if self.another_hour is not None:
            parts.append(f"Another hour of one annotator is expected to find {self.another_hour:.0f} links.")
        if self.audit:
            parts.append(f"Estimated recall in the pairs judged so far: {self.audit.recall}.")
        return " ".join(parts)


def measure_gains(store: Store) -> Gains | None:
    """Measure and store what the judged batches yielded; ``None`` if candidates were not chosen by budget."""
    import pandas as pd

    choices = choices_of(store)
    judged = [choice for choice in choices if store.exists(batch_file(choice.batch, JUDGMENTS))]
    if not judged:
        return None
    tables, gains = [], []
    for choice in judged:
        labels = labels_of(store, choice.batch)
        table = read_chosen(store, choice.batch).astype({"pair": str, "source": str, "target": str})
        table["link"] = [labels.get(at) for at in zip(table["pair"], table["source"], table["target"], strict=True)]
        shown = int((~table["audit"]).sum()), int(table["audit"].sum())
        table = table[table["link"].notna()].astype({"link": bool})
        tables.append(table)
        linked, weight = table["link"].to_numpy(), 1 / table["chance"].to_numpy()
        audited = _audited(table, choice.dispersion, shown)
        seconds = measured_seconds(store, [choice.batch])
        judgments = store.read_records(batch_file(choice.batch, JUDGMENTS), Judgment)
        gains.append(
            Gain(
                batch=choice.batch,
                judged=len(table),
                links=int(linked.sum()),
                acceptance=float(linked.mean()) if len(linked) else 0.0,
                # Judgments without a time get the mean of the others.
                hours=None if seconds is None else seconds * len(judgments) / 3600,
                calibration=calibration(table["score"].to_numpy(), linked, weight),
                without_learning=calibration(table["first"].to_numpy(), linked, weight),
                audit=audited.result() if audited else None,
            )
        )
    shown = sum(choice.judgments - choice.audited for choice in judged), sum(choice.audited for choice in judged)
    dispersion = float(np.average([c.dispersion for c in judged], weights=[c.audited + 1 for c in judged]))
    everything = pd.concat(tables)
    audited = _audited(everything, dispersion, shown)
    result = Gains(
        batches=tuple(gains),
        choices=tuple(choices),
        audit=audited.result() if audited else None,
        approaches=tuple(_approaches(store, audited, everything, judged)) if audited else (),
        another_hour=_another_hour(gains, choices),
    )
    store.write_record(GAINS, result)
    return result


def _audited(table: pd.DataFrame, dispersion: float, shown: tuple[int, int]) -> Audited | None:
    if not table["audit"].any():
        return None
    chance = np.where(table["audit"], np.minimum(table["chance"], 1 - 1e-9), 1.0)
    return Audited(table["link"].to_numpy(), chance, dispersion, shown)


def _approaches(
    store: Store, audited: Audited, table: pd.DataFrame, judged: Sequence[Choice]
) -> Iterator[ApproachRecall]:
    """Yield the recall of the shortlist, and of the first targets of each retriever under the linker."""
    shortlist = read_shortlist(store)
    found = {
        one.name: {
            (made.pair, made.source, target)
            for made in decided_links(store, shortlist, one, 0)
            for target in made.targets
        }
        for one in shortlist.approaches
        # In this mode, an LLM proposes and decides nothing.
        if one.kind is not ApproachKind.LLM and holds_rankings(store, NATURAL, one.retriever)
    }
    for name in base_retrievers(judged[0].linker):
        if holds_rankings(store, NATURAL, name):
            rankings = read_rankings(store, NATURAL, name).table
            for k in FIRST:
                top = rankings[rankings["rank"] <= k]
                found[f"{name}@{k}"] = set(zip(*(top[end].astype(str) for end in PLACE), strict=True))
    pairs = {pair for choice in judged for pair in choice.pairs}
    places = list(zip(*(table[end] for end in PLACE), strict=True))
    for name, proposed in found.items():
        links = {place for place in proposed if place[0] in pairs}
        recall = audited.recall_of(np.array([place in links for place in places]))
        yield ApproachRecall(approach=name, candidates=len(links), recall=recall)


def _another_hour(gains: Sequence[Gain], choices: Sequence[Choice]) -> float | None:
    """Return the links that the next hour is expected to find, by the curve of the last choice."""
    hours = sum(gain.hours or 0.0 for gain in gains)
    if not hours or len(choices) <= len(gains):
        return None
    curve = choices[-1].forecast.curve
    candidates = sum(gain.judged for gain in gains) / hours
    return float(np.interp(candidates, [0, *(p.judgments for p in curve)], [0, *(p.links.value for p in curve)]))

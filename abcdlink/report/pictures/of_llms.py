"""Pictures of what LLMs add and cost: quality against cost, and retrievers against LLMs on their candidates.

F1 counts unanswered sources as wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from math import ceil, inf
from typing import NamedTuple

from markupsafe import Markup

from abcdlink.evaluation.results import ApproachResult
from abcdlink.linking.records import ApproachKind
from abcdlink.report.pictures import LINE, SERIES, SOFT, legend, name_rows, picture

MOST_NAMED = 10
"""Approaches on the front to name; of a longer front, some evenly spaced ones."""


class CostPoint(NamedTuple):
    """An approach in a picture of quality against cost."""

    name: str
    cost: float
    f1: float


def points_of(results: Sequence[ApproachResult], *, money: bool) -> list[CostPoint]:
    """Return the approaches that have a cost: seconds of all, or money of those that ask an LLM, per 1,000 pairs."""
    costs = [(one, one.cost_per_1000_pairs if money else one.seconds_per_1000_pairs) for one in results]
    return [CostPoint(one.approach.name, cost, one.f1_of_all) for one, cost in costs if cost > 0]


def pareto_front(points: Sequence[CostPoint]) -> list[CostPoint]:
    """Return the points that no other beats in both cost and F1, cheapest first."""
    front: list[CostPoint] = []
    best = -inf
    for point in sorted(points, key=lambda one: (one.cost, -one.f1, one.name)):
        if point.f1 > best:
            front.append(point)
            best = point.f1
    return front


def quality_against_cost(points: Sequence[CostPoint], unit: str) -> Markup:
    """Draw F1 against cost in some unit, above 0, with the front of those that nothing beats in both."""
    front = pareto_front(points)
    told = "; ".join(f"{one.name}: F1 {one.f1:.2f} for {one.cost:.3g}" for one in front)
    alt = f"F1 against {unit} per 1,000 pairs. Not beaten in both: {told}. {len(points) - len(front)} others."
    named = front[:: ceil(len(front) / MOST_NAMED)]
    with picture(2.8 + 0.2 * len(named), alt) as (axes, parts):
        others = [one for one in points if one not in front]
        axes.scatter([one.cost for one in others], [one.f1 for one in others], color=SOFT, s=22, clip_on=False)
        axes.plot([one.cost for one in front], [one.f1 for one in front], color=LINE, linewidth=1.6)
        for one, colour in zip(named, cycle(SERIES), strict=False):
            axes.scatter([one.cost], [one.f1], color=colour, s=60, label=one.name, zorder=3, clip_on=False)
        axes.set_xscale("log")
        # Matplotlib's own labels are formulas, which are drawn as they are written here.
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.xaxis.set_minor_formatter(lambda *_: "")
        axes.set_xlabel(f"{unit} per 1,000 pairs")
        axes.set_ylabel("F1")
        axes.set_ylim(0, min(1.0, ceil(5 * max(one.f1 for one in points) + 0.01) / 5))
        axes.grid(axis="y")
        legend(axes, 1)
    return parts[0]


class Row(NamedTuple):
    """One approach with its interval; ``base``: it is a retriever whose candidates the approaches below decide on."""

    name: str
    f1: float
    interval: tuple[float, float]
    base: bool


def rows_against_llms(results: Sequence[ApproachResult]) -> list[Row]:
    """Return each retriever that an LLM decides on, at its best fixed cutoff, and below it the LLMs, best first."""
    rows: list[Row] = []
    with_llm = [one for one in results if one.approach.kind is ApproachKind.LLM and one.interval]
    for retriever in dict.fromkeys(one.approach.retriever for one in with_llm):
        own = [
            one
            for one in results
            if one.approach.retriever == retriever
            and one.approach.kind is not ApproachKind.LLM
            and isinstance(one.approach.cutoff, int)
            and one.interval
        ]
        base = max(own, key=lambda one: one.f1_of_all, default=None)
        decided = sorted((one for one in with_llm if one.approach.retriever == retriever), key=lambda r: -r.f1_of_all)
        shown = [*([base] if base else []), *decided]
        rows += [Row(one.approach.name, one.f1_of_all, one.interval, one is base) for one in shown if one.interval]
    return rows


def retriever_against_llms(rows: Sequence[Row]) -> Markup:
    """Draw F1 with 95 % intervals, a retriever above the LLMs that decide on its candidates."""
    told = "; ".join(f"{one.name}: {one.f1:.2f} ({one.interval[0]:.2f} to {one.interval[1]:.2f})" for one in rows)
    with picture(0.9 + 0.32 * len(rows), f"Retriever against LLM, F1 with 95 % interval. {told}.") as (axes, parts):
        for place, one in enumerate(rows):
            colour = SOFT if one.base else SERIES[0]
            axes.plot(one.interval, [place, place], color=colour, linewidth=3, solid_capstyle="round")
            axes.plot([one.f1], [place], color=colour, marker="s" if one.base else "o", markersize=7)
            axes.text(1.02, place, f"{one.f1:.2f}", va="center")
        name_rows(axes, [one.name for one in rows])
        axes.set_xlim(0, 1)
        axes.set_xlabel("F1")
    return parts[0]


def llm_pictures(results: Sequence[ApproachResult]) -> dict[str, Markup]:
    """Return title -> picture of what LLMs add and cost; nothing where no LLM was asked."""
    if not any(one.approach.kind is ApproachKind.LLM for one in results):
        return {}
    pictures: dict[str, Markup] = {}
    if rows := rows_against_llms(results):
        pictures["Retriever against LLM"] = retriever_against_llms(rows)
    if seconds := points_of(results, money=False):
        pictures["F1 against seconds"] = quality_against_cost(seconds, "seconds")
    if money := points_of(results, money=True):
        pictures["F1 against money"] = quality_against_cost(money, "money")
    return pictures

"""Pictures of a run over its batches and within one: links by judgments, learning curve, agreement, seconds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, pairwise
from math import nan
from typing import TYPE_CHECKING

from markupsafe import Markup

from abcdlink.interannotator import Details
from abcdlink.interannotator.measures import Measures
from abcdlink.interannotator.over_time import PARTS, BatchParts, Curve
from abcdlink.report.pictures import LINE, SERIES, SOFT, legend, picture
from abcdlink.stages.budget import Choice
from abcdlink.stages.gains import Gains

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def yield_curve(choices: Sequence[Choice], gains: Gains | None) -> Markup:
    """Draw the links that each choice expected from the rest of the budget, and the links that were found."""
    found = [(0, 0)]
    for gain in gains.batches if gains else ():
        found.append((found[-1][0] + gain.judged, found[-1][1] + gain.links))
    told = (
        ", ".join(f"{links} links after {judged} judgments" for judged, links in found[1:]) or "nobody has judged yet"
    )
    with picture(3.2, f"Links against judgments. Found: {told}.") as (axes, parts):
        most = max(
            choice.forecast.chosen.judgments + found[min(n, len(found) - 1)][0] for n, choice in enumerate(choices)
        )
        for number, choice in enumerate(choices):
            if number >= len(found):
                break
            judged, links = found[number]
            points = [(judged, float(links))]
            points += [(judged + p.judgments, links + p.links.value) for p in choice.forecast.curve]
            points = [point for point in points if point[0] <= most] or points[:1]
            newest = number == min(len(choices), len(found)) - 1
            axes.plot(
                *zip(*points, strict=True),
                color=SERIES[0] if newest else SOFT,
                linestyle="-" if newest else "--",
                linewidth=1.8 if newest else 1.2,
                label=f"expected before batch {choice.batch}",
            )
        if len(found) > 1:
            axes.plot(*zip(*found, strict=True), color=SERIES[1], marker="o", linewidth=0, markersize=7, label="found")
        axes.set_xlabel("judged candidates")
        axes.set_ylabel("links")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        axes.legend(frameon=False, fontsize=9)
    return parts[0]


HEIGHT = 3.0
"""Inches."""

MEASURES = ("kappa", "observed", "ac1")

SHIFT = 0.07
"""Shift between the lines of two batches, so that their intervals do not overlap."""


def pictures_over_time(details: Details) -> dict[str, Markup]:
    """Return title -> picture of everything that can be drawn of agreement and time."""
    drawn = {
        "Learning curve": curve_picture(details.curve),
        "Kappa within a batch": kappa_by_part(details.positions),
        "Seconds within a batch": seconds_by_part(details.positions),
    }
    return {title: picture for title, picture in drawn.items() if picture is not None}


def curve_picture(curve: Curve) -> Markup | None:
    """Draw kappa with its interval, raw agreement and AC1 so far; ``None`` where there is no line to draw."""
    points = [point for point in curve.points if point.measures.kappa is not None]
    if len(points) < 2:  # noqa: PLR2004 - a line has two ends
        return None
    told = "; ".join(f"after {point.done}: {_told(point.measures)}" for point in points)
    done = [point.done for point in points]
    spans = [point.measures.interval or (nan, nan) for point in points]
    from matplotlib.ticker import MaxNLocator

    with picture(HEIGHT, f"Learning curve. Kappa on all judged so far, {curve.unit}s done: {told}.") as (axes, parts):
        axes.fill_between(
            done, [low for low, _ in spans], [high for _, high in spans], color=SERIES[0], alpha=0.18, linewidth=0
        )
        for what, name, colour, line in zip(
            MEASURES, ("kappa", "raw agreement", "AC1"), SERIES, ("-", ":", "--"), strict=False
        ):
            values = [_value(getattr(point.measures, what)) for point in points]
            axes.plot(done, values, color=colour, linestyle=line, linewidth=1.8, label=name)
        for before, after in pairwise(points):
            if before.batch == after.batch:
                continue
            axes.axvline(before.done, color=LINE, linewidth=1.4, zorder=0)
            axes.annotate(
                f"batch {after.batch}",
                (before.done, 0),
                xycoords=("data", "axes fraction"),
                xytext=(3, 4),
                textcoords="offset points",
                color=SOFT,
            )
        axes.set_xlabel(f"{curve.unit}s done")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        _finish(axes, min(low for low, _ in spans))
    return parts[0]


def kappa_by_part(batches: Sequence[BatchParts]) -> Markup | None:
    """Draw kappa with its interval in each part of each batch; ``None`` where it is undefined in all."""
    shown = [batch for batch in batches if any(part.measures.kappa is not None for part in batch.parts)]
    if not shown:
        return None
    told = "; ".join(
        f"batch {batch.batch}: " + ", ".join(f"part {n} {_told(p.measures)}" for n, p in enumerate(batch.parts, 1))
        for batch in shown
    )
    lowest = 0.0
    with picture(HEIGHT, f"Kappa within a batch. {told}.") as (axes, parts):
        for row, (batch, colour) in enumerate(zip(shown, cycle(SERIES), strict=False)):
            known = [(n, part.measures) for n, part in enumerate(batch.parts, 1) if part.measures.kappa is not None]
            places = [n + SHIFT * (row - (len(shown) - 1) / 2) for n, _ in known]
            for place, (_, one) in zip(places, known, strict=True):
                if one.interval:
                    axes.plot([place, place], one.interval, color=colour, linewidth=1.4, clip_on=False)
                    lowest = min(lowest, one.interval[0])
            values = [_value(one.kappa) for _, one in known]
            name = f"batch {batch.batch}"
            axes.plot(places, values, color=colour, linewidth=2, marker="o", markersize=6, label=name)
        _parts_axis(axes, shown)
        _finish(axes, lowest)
    return parts[0]


def seconds_by_part(batches: Sequence[BatchParts]) -> Markup | None:
    """Draw the median seconds on a task in each part of each batch; ``None`` where no times are known."""
    shown = [batch for batch in batches if any(part.seconds is not None for part in batch.parts)]
    if not shown:
        return None
    told = "; ".join(
        f"batch {batch.batch}: "
        + ", ".join(f"part {n} {p.seconds:.0f} s (n = {p.timed})" for n, p in enumerate(batch.parts, 1) if p.timed)
        for batch in shown
    )
    with picture(HEIGHT, f"Seconds within a batch. {told}.") as (axes, parts):
        for batch, colour in zip(shown, cycle(SERIES), strict=False):
            known = [(n, part.seconds) for n, part in enumerate(batch.parts, 1) if part.seconds is not None]
            places, values = [n for n, _ in known], [seconds for _, seconds in known]
            name = f"batch {batch.batch}"
            axes.plot(places, values, color=colour, linewidth=2, marker="o", markersize=6, label=name)
        _parts_axis(axes, shown)
        axes.set_ylim(0, 1.1 * max(part.seconds or 0 for batch in shown for part in batch.parts) or 1)
        axes.set_ylabel("seconds a task")
        axes.grid(axis="y")
        legend(axes)
    return parts[0]


def _parts_axis(axes: Axes, batches: Sequence[BatchParts]) -> None:
    """Name the parts of a batch, the first and the last in words."""
    last = max(len(batch.parts) for batch in batches)
    names = ["first", *(str(number) for number in range(2, last)), "last"][:last]
    axes.set_xticks(range(1, last + 1), names)
    axes.set_xlim(0.7, last + 0.3)
    axes.set_xlabel("quarter of the batch" if last == PARTS else "part of the batch")


def _finish(axes: Axes, lowest: float) -> None:
    """Give an axis of agreement its range, and the picture its legend."""
    axes.set_ylim(min(0, lowest - 0.02), 1)
    axes.grid(axis="y")
    legend(axes)


def _told(one: Measures) -> str:
    return one.note if one.kappa is None else f"{one.kappa:.2f} (n = {one.judged})"


def _value(value: float | None) -> float:
    """Return NaN, which is not drawn, where a measure is undefined."""
    return nan if value is None else value

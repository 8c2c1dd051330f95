"""Picture of candidates by budget: links against judgments, as expected before and as found."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from abcdlink.report.pictures.drawing import SERIES, SOFT, picture
from abcdlink.stages.budget import Choice
from abcdlink.stages.gains import Gains


def yield_curve(choices: Sequence[Choice], gains: Gains | None) -> Markup:
    """Draw the links that each choice expected of the rest of the budget, from what was found by then, and what was."""
    found = [(0, 0)]
    for gain in gains.batches if gains else ():
        found.append((found[-1][0] + gain.judged, found[-1][1] + gain.links))
    told = (
        ", ".join(f"{links} links after {judged} judgments" for judged, links in found[1:]) or "nobody has judged yet"
    )
    parts: list[Markup] = []
    with picture(3.2, f"Links against judgments. Found: {told}.", parts) as axes:
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

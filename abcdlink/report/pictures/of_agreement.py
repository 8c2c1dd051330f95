"""Pictures of what annotators said."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

from markupsafe import Markup

from abcdlink.interannotator import Acceptance, Measures
from abcdlink.judgments import RANDOM
from abcdlink.report.pictures.drawing import INK, LINE, SERIES, SOFT, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def acceptance_bars(acceptance: Mapping[str, Acceptance]) -> Markup:
    """Draw the acceptance rate of each method with its 95 % interval."""
    told = "; ".join(
        f"{method}: {one.accepted} of {one.candidates}, {one.rate:.0%} "
        f"(interval {one.interval[0]:.0%} to {one.interval[1]:.0%})"
        for method, one in acceptance.items()
    )
    parts: list[Markup] = []
    with picture(0.5 + 0.42 * len(acceptance), f"Acceptance rate by method. {told}.", parts) as axes:
        for row, ((method, one), colour) in enumerate(zip(acceptance.items(), cycle(SERIES), strict=False)):
            axes.barh(row, one.rate, height=0.56, color=SOFT if method == RANDOM else colour)
            axes.plot(one.interval, [row, row], color=INK, linewidth=1.6, marker="|", markersize=9)
            axes.text(1.04, row, f"{one.rate:.0%}  ({one.accepted}/{one.candidates})", va="center")
        name_rows(axes, list(acceptance))
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    return parts[0]


def kappa_intervals(rows: Mapping[str, Measures]) -> Markup:
    """Draw kappa with its 95 % interval for each row (all, a batch); says where it is undefined."""
    told = "; ".join(f"{name}: {_kappa_in_words(one)}" for name, one in rows.items())
    lows = [one.interval[0] if one.interval else one.kappa or 0 for one in rows.values()]
    parts: list[Markup] = []
    with picture(0.8 + 0.4 * len(rows), f"Kappa by batch. {told}.", parts) as axes:
        axes.axvline(0, color=LINE, linewidth=1.4)
        for row, (one, colour) in enumerate(zip(rows.values(), cycle(SERIES), strict=False)):
            if one.kappa is None:
                axes.text(0.03, row, one.note, va="center", color=SOFT)
                continue
            if one.interval:
                axes.plot(one.interval, [row, row], color=colour, linewidth=3, solid_capstyle="round")
            axes.plot([one.kappa], [row], color=colour, marker="o", markersize=9)
            axes.text(1.04, row, f"{one.kappa:.2f}  (n = {one.judged})", va="center")
        name_rows(axes, list(rows))
        axes.set_xlim(min(0, *lows) - 0.02, 1)
        axes.set_xlabel("kappa (0: chance, 1: full agreement)")
    return parts[0]


def name_rows(axes: Axes, names: list[str]) -> None:
    """Name the rows of a horizontal picture, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _kappa_in_words(one: Measures) -> str:
    if one.kappa is None:
        return one.note
    interval = f" (interval {one.interval[0]:.2f} to {one.interval[1]:.2f})" if one.interval else ""
    return f"{one.kappa:.2f}{interval} over {one.judged} candidates"

"""Pictures of what annotators said."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from math import nan
from typing import TYPE_CHECKING

from markupsafe import Markup

from abcdlink.interannotator import Acceptance, Measures
from abcdlink.judgments import RANDOM
from abcdlink.report.pictures.drawing import INK, LINE, SERIES, SOFT, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def acceptance_bars(acceptance: Mapping[str, Acceptance], title: str = "Acceptance rate by method") -> Markup:
    """Draw the acceptance rate of each method, or of several combined, with its 95 % interval."""
    told = "; ".join(
        f"{method}: {one.accepted} of {one.candidates}, {one.rate:.0%} "
        f"(interval {one.interval[0]:.0%} to {one.interval[1]:.0%})"
        for method, one in acceptance.items()
    )
    parts: list[Markup] = []
    with picture(0.5 + 0.42 * len(acceptance), f"{title}. {told}.", parts) as axes:
        for row, ((method, one), colour) in enumerate(zip(acceptance.items(), cycle(SERIES), strict=False)):
            axes.barh(row, one.rate, height=0.56, color=SOFT if method == RANDOM else colour)
            axes.plot(one.interval, [row, row], color=INK, linewidth=1.6, marker="|", markersize=9)
            axes.text(1.04, row, f"{one.rate:.0%}  ({one.accepted}/{one.candidates})", va="center")
        name_rows(axes, list(acceptance))
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    return parts[0]


def links_by_annotator(links: Mapping[str, Mapping[str, int]]) -> Markup:
    """Draw how many candidates of each method each annotator calls a link."""
    annotators = list(dict.fromkeys(name for said in links.values() for name in said))
    told = "; ".join(f"{method}: " + ", ".join(f"{n} {c}" for n, c in said.items()) for method, said in links.items())
    height = 0.8 / max(len(annotators), 1)
    most = max((count for said in links.values() for count in said.values()), default=0) or 1
    parts: list[Markup] = []
    with picture(1 + 0.62 * len(links), f"Labelled links by method and annotator. {told}.", parts) as axes:
        for number, (annotator, colour) in enumerate(zip(annotators, cycle(SERIES), strict=False)):
            rows = [row + height * (number - (len(annotators) - 1) / 2) for row in range(len(links))]
            counts = [said.get(annotator, 0) for said in links.values()]
            axes.barh(rows, counts, height=0.9 * height, color=colour, label=annotator)
            for row, count in zip(rows, counts, strict=True):
                axes.text(count + 0.01 * most, row, str(count), va="center")
        name_rows(axes, list(links))
        axes.set_xlim(0, 1.1 * most)
        axes.set_xlabel("candidates called a link")
        axes.get_figure().legend(loc="outside lower center", ncol=3, frameon=False)  # type: ignore[union-attr]
    return parts[0]


def agreement_by_document(documents: Mapping[str, Measures]) -> Markup:
    """Draw kappa and raw agreement of each document (pair), in the order in which they were judged."""
    from matplotlib.ticker import MaxNLocator

    kappas, observed = ([getattr(one, what) for one in documents.values()] for what in ("kappa", "observed"))
    told = "; ".join(f"{number}: {_kappa_in_words(one)}" for number, one in enumerate(documents.values(), start=1))
    places = range(1, len(documents) + 1)
    parts: list[Markup] = []
    with picture(3.0, f"Agreement over documents: kappa. {told}.", parts) as axes:
        axes.axhline(0, color=LINE, linewidth=1.4)
        for values, colour, line, name in ((kappas, SERIES[0], "-", "kappa"), (observed, SERIES[1], ":", "agreement")):
            drawn = [nan if value is None else value for value in values]
            axes.plot(places, drawn, color=colour, linestyle=line, linewidth=1.8, marker="o", markersize=5, label=name)
        axes.set_xlabel("documents, as judged")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(min(0, *(value for value in kappas if value is not None), 0) - 0.02, 1.02)
        axes.grid(axis="y")
        axes.get_figure().legend(loc="outside lower center", ncol=3, frameon=False)  # type: ignore[union-attr]
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

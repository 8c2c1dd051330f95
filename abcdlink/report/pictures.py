"""Pictures of a report: matplotlib draws them, the page's style sheet colours them.

Every colour is a stand-in that becomes a CSS variable, so that one picture serves the light and the
dark scheme; text stays text and takes the page's font.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from math import ceil
from typing import TYPE_CHECKING, Literal, NamedTuple

from markupsafe import Markup, escape

from abcdlink.agreement import Acceptance, Measures
from abcdlink.evaluation.results import ApproachResult
from abcdlink.judgments import RANDOM
from abcdlink.linking.records import ApproachKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, SOFT, LINE = "#010101", "#010102", "#010103"
SERIES = tuple(f"#02010{number}" for number in range(1, 7))
CSS_NAMES = {INK: "ink", SOFT: "soft", LINE: "line", **{colour: f"series-{n}" for n, colour in enumerate(SERIES, 1)}}
MARKERS = ("o", "s", "^", "D", "v", "P")
STYLE = {
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 11,
    "grid.color": LINE,
    "grid.linewidth": 0.7,
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}
WIDTH = 4.6
"""Inches; at a phone's width the text is still 10 px high."""
LONG_NAME = 24
"""Letters; beside a longer name there is no room for another in the legend."""


class Series(NamedTuple):
    """One line of a picture: cutoff -> value; ``alone``: a single point rather than a line."""

    name: str
    values: Mapping[int, float]
    alone: bool = False


@contextmanager
def _picture(height: float, alt: str, parts: list[Markup]) -> Iterator[Axes]:
    """Give axes to draw on; append the finished SVG to ``parts``."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # The salt names clip paths and markers: pictures of one page must not share these names.
    with mpl.rc_context({**STYLE, "svg.hashsalt": alt}):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        yield axes
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    parts.append(_for_page(buffer.getvalue(), alt))


def _for_page(svg: str, alt: str) -> Markup:
    """Return a matplotlib SVG as part of a page: no prologue, size by the page, stand-ins as variables."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    view = re.search(r'viewBox="[^"]+"', svg)
    box = view.group(0) if view else ""
    head = f'<svg {box} role="img" aria-label="{escape(alt)}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    svg = head + svg[svg.index(">") + 1 :]
    for colour, name in CSS_NAMES.items():
        svg = svg.replace(colour, f"var(--{name})")
    return Markup(svg)  # noqa: S704 - drawn by matplotlib, which escapes text; the rest is ours


def as_image(picture: Markup) -> str:
    """Return a picture as a ``data:`` address that any page can show, in the colours of the light scheme."""
    from base64 import b64encode
    from importlib.resources import files

    css = files("abcdlink.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    colours: dict[str, str] = {}
    for name, colour in re.findall(r"--([a-z0-9-]+): (#[0-9a-f]+)", css):
        colours.setdefault(name, colour)  # the light scheme comes first
    svg = re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: colours[found.group(1)], picture)
    background = f'<svg xmlns="http://www.w3.org/2000/svg" style="background: {colours["card"]}" '
    svg = svg.replace("<svg ", background, 1)
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


def series(results: Sequence[ApproachResult], measure: Literal["precision", "recall", "f1"]) -> list[Series]:
    """Return one measure of a benchmark by cutoff: retrievers and learned linkers, then approaches with an LLM.

    Approaches that cut by a rule, and an LLM alone, have no place on this axis; the table has them.
    """
    lines: dict[str, dict[int, float]] = {}
    points = []
    for result in results:
        approach, value = result.approach, getattr(result, measure)
        if not isinstance(approach.cutoff, int):
            continue
        if approach.kind is ApproachKind.LLM:
            points.append(Series(approach.name, {approach.cutoff: value}, alone=True))
        else:
            lines.setdefault(approach.retriever, {})[approach.cutoff] = value
    return [Series(name, values) for name, values in sorted(lines.items())] + points


def by_cutoff(measure: str, lines: Sequence[Series]) -> Markup:
    """Draw one measure (``F1``, ``Recall``) by cutoff, a line for what ranks, a point for an approach with an LLM."""
    cutoffs = sorted({cutoff for one in lines for cutoff in one.values})
    place = {cutoff: index for index, cutoff in enumerate(cutoffs)}
    told = "; ".join(f"{s.name}: " + ", ".join(f"{v:.2f} at {k}" for k, v in sorted(s.values.items())) for s in lines)
    parts: list[Markup] = []
    columns = 1 if max(len(one.name) for one in lines) > LONG_NAME else 2
    with _picture(2.6 + 0.2 * ceil(len(lines) / columns), f"{measure} by cutoff. {told}.", parts) as axes:
        for one, colour, marker in zip(lines, cycle(SERIES), cycle(MARKERS), strict=False):
            points = sorted(one.values.items())
            axes.plot(
                [place[cutoff] for cutoff, _ in points],
                [value for _, value in points],
                label=one.name,
                color=colour,
                marker="*" if one.alone else marker,
                markersize=13 if one.alone else 6,
                linewidth=0 if one.alone else 2,
                clip_on=False,
            )
        axes.set_xticks(range(len(cutoffs)), [str(cutoff) for cutoff in cutoffs])
        axes.set_xlabel("cutoff k")
        axes.set_ylim(0, min(1.0, ceil(5 * max(max(one.values.values()) for one in lines) + 0.01) / 5))
        axes.grid(axis="y")
        axes.get_figure().legend(loc="outside lower center", ncol=columns, frameon=False)  # type: ignore[union-attr]
    return parts[0]


def acceptance_bars(acceptance: Mapping[str, Acceptance]) -> Markup:
    """Draw the acceptance rate of each method with its 95 % interval."""
    told = "; ".join(
        f"{method}: {one.accepted} of {one.candidates}, {one.rate:.0%} "
        f"(interval {one.interval[0]:.0%} to {one.interval[1]:.0%})"
        for method, one in acceptance.items()
    )
    parts: list[Markup] = []
    with _picture(0.5 + 0.42 * len(acceptance), f"Acceptance rate by method. {told}.", parts) as axes:
        for row, ((method, one), colour) in enumerate(zip(acceptance.items(), cycle(SERIES), strict=False)):
            axes.barh(row, one.rate, height=0.56, color=SOFT if method == RANDOM else colour)
            axes.plot(one.interval, [row, row], color=INK, linewidth=1.6, marker="|", markersize=9)
            axes.text(1.04, row, f"{one.rate:.0%}  ({one.accepted}/{one.candidates})", va="center")
        _rows(axes, list(acceptance))
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    return parts[0]


def kappa_intervals(rows: Mapping[str, Measures]) -> Markup:
    """Draw kappa with its 95 % interval for each row (all, a batch); says where it is undefined."""
    told = "; ".join(f"{name}: {_kappa_in_words(one)}" for name, one in rows.items())
    lows = [one.interval[0] if one.interval else one.kappa or 0 for one in rows.values()]
    parts: list[Markup] = []
    with _picture(0.8 + 0.4 * len(rows), f"Kappa by batch. {told}.", parts) as axes:
        axes.axvline(0, color=LINE, linewidth=1.4)
        for row, (one, colour) in enumerate(zip(rows.values(), cycle(SERIES), strict=False)):
            if one.kappa is None:
                axes.text(0.03, row, one.note, va="center", color=SOFT)
                continue
            if one.interval:
                axes.plot(one.interval, [row, row], color=colour, linewidth=3, solid_capstyle="round")
            axes.plot([one.kappa], [row], color=colour, marker="o", markersize=9)
            axes.text(1.04, row, f"{one.kappa:.2f}  (n = {one.judged})", va="center")
        _rows(axes, list(rows))
        axes.set_xlim(min(0, *lows) - 0.02, 1)
        axes.set_xlabel("kappa (0: chance, 1: full agreement)")
    return parts[0]


def _rows(axes: Axes, names: list[str]) -> None:
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

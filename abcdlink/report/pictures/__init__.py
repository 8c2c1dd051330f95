"""Pictures of a report: matplotlib draws them, the page's style sheet colours them.

Every colour is a stand-in that becomes a CSS variable, so that one picture serves the light and the
dark scheme; text stays text and takes the page's font.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INK, SOFT, LINE = "#010101", "#010102", "#010103"
SERIES = tuple(f"#02010{number}" for number in range(1, 7))
CSS_NAMES = {INK: "ink", SOFT: "soft", LINE: "line", **{colour: f"series-{n}" for n, colour in enumerate(SERIES, 1)}}
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


@contextmanager
def picture(height: float, alt: str) -> Iterator[tuple[Axes, list[Markup]]]:
    """Yield axes to draw on, and a list that holds the finished SVG afterwards."""
    import matplotlib as mpl

    parts: list[Markup] = []
    # The salt names clip paths and markers: pictures of one page must not share these names.
    with mpl.rc_context({**STYLE, "svg.hashsalt": alt}):
        figure = blank(height)
        axes = figure.add_subplot()
        yield axes, parts
        svg = rendered(figure)
    parts.append(_for_page(svg, alt))


def name_rows(axes: Axes, names: list[str]) -> None:
    """Name the rows of a horizontal picture, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def percent_axis(axes: Axes) -> None:
    """Show fractions as percentages on the horizontal axis."""
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])


def legend(axes: Axes, columns: int = 3) -> None:
    """Put the legend below the picture."""
    axes.get_figure().legend(loc="outside lower center", ncol=columns, frameon=False)  # type: ignore[union-attr]


def blank(height: float) -> Figure:
    """Return a figure of a height in inches that nothing is drawn on."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


def rendered(figure: Figure) -> str:
    """Return a figure as an SVG file."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # Text stays text: browsers have letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


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

    return f"data:image/svg+xml;base64,{b64encode(as_file(picture).encode()).decode()}"


def as_file(picture: Markup) -> str:
    """Return a picture as the content of an SVG file, in the colours of the light scheme."""
    from importlib.resources import files

    css = files("abcdlink.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    colours: dict[str, str] = {}
    for name, colour in re.findall(r"--([a-z0-9-]+): (#[0-9a-f]+)", css):
        colours.setdefault(name, colour)  # the light scheme comes first
    svg = re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: colours[found.group(1)], picture)
    background = f'<svg xmlns="http://www.w3.org/2000/svg" style="background: {colours["card"]}" '
    return svg.replace("<svg ", background, 1)

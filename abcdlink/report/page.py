"""Writes the report: a page without scripts that opens offline, in light or dark, on a phone or printed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from abcdlink import __version__
from abcdlink.coding import agreement_in_words
from abcdlink.layout import REPORT
from abcdlink.page_templates import html_environment
from abcdlink.report.content import Content, gather
from abcdlink.report.links import write_links
from abcdlink.report.pictures import (
    acceptance_bars,
    agreement_by_document,
    benchmark_pictures,
    kappa_intervals,
    links_by_annotator,
    pictures_over_time,
    rating_histograms,
    validation_pictures,
    yield_curve,
)
from abcdlink.report.todo import steps_of
from abcdlink.store import Store
from abcdlink.validation import MEASURES

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_LISTED = 300
"""So many disagreements, and so many refusals of one corpus, are listed; the files hold all."""

MOST_SCORES = 12
"""So many approaches are in the table of scores; the others are folded away, except shortlisted ones."""

DASH = "\N{EN DASH}"
"""Stands where there is no figure."""


def write_report(store: Store) -> str:
    """Write the run's report, and its page of links; return where the report is. Stages that have not run are named."""
    content = gather(store)
    store.write_text(REPORT, render(content))
    if content.pairs and not isinstance(content.pairs, str):
        write_links(store)
    return store.where(REPORT)


def render(content: Content) -> str:
    """Return the report as HTML; every text of the run is escaped."""
    environment = html_environment("abcdlink.report")
    environment.filters |= {
        "percent": _percent,
        "figure": _figure,
        "span": _span,
        "pretty": _pretty,
        "money": _money,
        "seconds": _seconds,
        "coders": agreement_in_words,
    }
    return environment.get_template("report.html.j2").render(
        run=content,
        pictures=_pictures(content),
        steps=steps_of(content),
        most=MOST_LISTED,
        measures_of_style=MEASURES,
        dash=DASH,
        most_scores=MOST_SCORES,
        version=__version__,
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _pictures(content: Content) -> dict[str, Markup]:
    pictures = benchmark_pictures(content.results)
    pictures |= {f"ratings: {name}": made for name, made in rating_histograms(content.ratings).items()}
    if content.validation:
        pictures |= {f"validation: {name}": made for name, made in validation_pictures(content.validation).items()}
    if content.agreement:
        result = content.agreement
        rows = {f"batch {batch}": measures for batch, measures in result.batches.items()}
        pictures["kappa"] = kappa_intervals({**rows, "all": result})
        if result.acceptance:
            pictures["acceptance"] = acceptance_bars(result.acceptance)
            pictures["links by annotator"] = links_by_annotator(result.links)
        if result.aggregates:
            pictures["aggregates"] = acceptance_bars(result.aggregates, "Acceptance rate of methods together")
    if content.choices:
        pictures["yield"] = yield_curve(content.choices, content.gains)
    if content.details:
        pictures |= pictures_over_time(content.details)
        if len(content.details.documents) > 1:
            pictures["documents"] = agreement_by_document(content.details.documents)
    return pictures


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _figure(value: float | None) -> str:
    """Return a measure with two decimals, or a dash where it is undefined."""
    return DASH if value is None else f"{value:.2f}"


def _span(interval: tuple[float, float] | None) -> str:
    return DASH if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"


def _money(value: float) -> str:
    """Return an amount with cents, or with four significant digits where it is less."""
    return f"{value:.2f}" if value >= 1 or not value else f"{value:.4g}"


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"  # noqa: PLR2004 - so that all take four places


def _pretty(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return json.dumps(value, ensure_ascii=False, indent=2)

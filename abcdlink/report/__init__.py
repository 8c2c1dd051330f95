"""The report: one self-contained page without scripts that opens offline, in light or dark, on a phone or printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from abcdlink import __version__
from abcdlink.coding import agreement_in_words
from abcdlink.errors import counted
from abcdlink.interannotator import KAPPA
from abcdlink.layout import REPORT
from abcdlink.report.content import Content, gather
from abcdlink.report.links import write_links
from abcdlink.report.pictures.of_benchmark import benchmark_pictures
from abcdlink.report.pictures.of_people import (
    acceptance_bars,
    agreement_by_document,
    kappa_intervals,
    links_by_annotator,
    rating_histogram,
    validation_pictures,
)
from abcdlink.report.pictures.over_time import pictures_over_time, yield_curve
from abcdlink.store import Store
from abcdlink.templates import html_environment
from abcdlink.validation import MEASURES

if TYPE_CHECKING:
    from markupsafe import Markup


class Step(NamedTuple):
    """Something to do, or to look at; ``section``: of the report, which says more; ``command``: which does it."""

    what: str
    section: str
    command: str = ""


def steps_of(content: Content) -> list[Step]:
    """Return what is left to do, the most pressing first."""
    return [*_of_people(content), *_of_judgments(content), *_to_look_at(content)]


def _of_people(content: Content) -> Iterator[Step]:
    if content.applicants and content.qualified is None:
        finished, all_of_them = sum(one.finished for one in content.applicants), len(content.applicants)
        what = f"{finished} of {counted(all_of_them, 'applicant')} finished every task; nobody is qualified yet"
        yield Step(what, "qualification", f"abcdlink qualify confirm {content.key} …")
    for one in content.rounds:
        if not one.is_over or one.outcome is None:
            continue
        later = {judgment.annotator for judgment in content.judgments if judgment.batch > one.batch}
        # Who judged none of the batches since then need not know.
        if missing := [who for who in one.outcome.missing if not later or who in later]:
            what = f"Did not acknowledge the guidelines after batch {one.batch}: {', '.join(missing)}"
            yield Step(what, "feedback")
        if one.outcome.questions:
            names = ", ".join(one.outcome.questions)
            what = f"Still have a question after the feedback on batch {one.batch}: {names}"
            yield Step(what, "feedback", f"abcdlink feedback show {content.key} --batch {one.batch}")


def _of_judgments(content: Content) -> Iterator[Step]:
    result = content.agreement
    if result is None:
        return
    pulled = {judgment.batch for judgment in content.judgments}
    missing = [batch for batch in (content.pools.batches if content.pools else ()) if batch not in pulled]
    if missing:
        yield Step(f"No judgments of batch {', '.join(map(str, missing))} were pulled yet", "candidates")
    if result.incomplete:
        yield Step(
            f"{counted(result.incomplete, 'candidate')} with fewer judgments than were asked for, in no figure",
            "agreement",
        )
    asked = [one for part in content.disagreements.values() for one in part if len(one.said) >= content.needed]
    open_ones = content.decisions.summary.total.open if content.decisions else len(asked)
    if open_ones:
        resolved = 0 if content.decisions else sum(one.outcome.resolved for one in content.rounds if one.outcome)
        what = f"{counted(open_ones, 'disagreement')} that nobody has decided"
        what += f", {resolved} of them resolved after feedback" if resolved else ""
        section = "adjudication" if content.decisions else "disagreements"
        yield Step(what, section, f"abcdlink adjudicate start {content.key}")
    if content.coding and content.coding.incomplete:
        what = f"{counted(content.coding.incomplete, 'wrong prediction')} not coded by all who were asked"
        yield Step(what, "coding")
    needed = next((one for one in content.details.needed if one.measure == KAPPA), None) if content.details else None
    if needed is not None and needed.more:
        what = f"About {counted(needed.more, 'more pair')} for a 95 % interval of kappa only {needed.width:g} wide"
        yield Step(what, "agreement")


def _to_look_at(content: Content) -> Iterator[Step]:
    if content.anomalies:
        yield Step(f"{counted(len(content.anomalies), 'thing')} looked wrong when answers were pulled", "agreement")
    if content.decisions and content.decisions.anomalies:
        what = f"{counted(len(content.decisions.anomalies), 'thing')} looked wrong when decisions were pulled"
        yield Step(what, "adjudication")
    if content.validation and content.validation.flags:
        flags = counted(len(content.validation.flags), "measure")
        yield Step(f"{flags} of the generated pairs outside the domain's thresholds", "generated")
    refused = sum(map(len, content.refusals.values()))
    if refused:
        yield Step(f"{counted(refused, 'pair or document', 'pairs or documents')} left out", "refusals")


MOST_LISTED = 300
"""Disagreements, and refusals of one corpus, that are listed; the files have all of them."""

MOST_SCORES = 12
"""Approaches in the table of scores; the others are folded away, except shortlisted ones."""

DASH = "\N{EN DASH}"
"""Shown in place of a figure that does not exist."""


def write_report(store: Store) -> str:
    """Write the run's report, and its page of links; return where the report is. It names stages that have not run."""
    content = gather(store)
    store.write_text(REPORT, render(content))
    if content.pairs and not isinstance(content.pairs, str):
        write_links(store)
    return store.where(REPORT)


def render(content: Content) -> str:
    """Return the report as HTML; every text of the run is escaped."""
    environment = html_environment("abcdlink.report")
    environment.filters |= {
        "percent": lambda value: f"{100 * value:.1f} %",
        "figure": lambda value: DASH if value is None else f"{value:.2f}",
        "span": lambda interval: DASH if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}",
        "pretty": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
        # An amount with cents, or with four significant digits below 1.
        "money": lambda value: f"{value:.2f}" if value >= 1 or not value else f"{value:.4g}",
        # So that all take four places.
        "seconds": lambda value: f"{value:,.0f}" if value >= 100 else f"{value:.1f}",  # noqa: PLR2004
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
    pictures |= {f"ratings: {one.criterion}": rating_histogram(one) for one in content.ratings}
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

"""What is left to do or to look at in a run beside *What now*, in sentences for its coordinator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from abcdlink.errors import counted
from abcdlink.interannotator.details import KAPPA
from abcdlink.report.content import Content


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
        finished = sum(one.finished for one in content.applicants)
        what = f"{finished} of {counted(len(content.applicants), 'applicant')} did every task; nobody is qualified yet"
        yield Step(what, "qualification", f"abcdlink qualify confirm {content.key} …")
    for one in content.rounds:
        if not one.is_over or one.outcome is None:
            continue
        if one.outcome.missing:
            names = ", ".join(one.outcome.missing)
            yield Step(f"Did not acknowledge the guidelines after batch {one.batch}: {names}", "feedback")
        if one.outcome.questions:
            names = ", ".join(one.outcome.questions)
            what = f"Still with a question after the round after batch {one.batch}: {names}"
            yield Step(what, "feedback", f"abcdlink feedback show {content.key} --batch {one.batch}")


def _of_judgments(content: Content) -> Iterator[Step]:
    result = content.agreement
    if result is None:
        return
    missing = [batch for batch in (content.pools or {}).get("batches", {}) if int(batch) not in result.batches]
    if missing:
        yield Step(f"No judgments of batch {', '.join(missing)} were pulled yet", "candidates")
    if result.incomplete:
        yield Step(f"{counted(result.incomplete, 'candidate')} lack a judgment and are in no figure", "agreement")
    open_ones = (
        content.decisions.summary.total.open if content.decisions else sum(map(len, content.disagreements.values()))
    )
    if open_ones:
        what = f"{counted(open_ones, 'disagreement')} that nobody has decided"
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

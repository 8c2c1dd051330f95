"""Flows in which people do work other than judging batches: qualify, rate, exhaustive, adjudicate, coding."""

from __future__ import annotations

from itertools import count
from typing import Annotated

from prefect import flow, get_run_logger
from prefect.input import RunInput
from pydantic import Field

from abcdlink import adjudicate as adjudication
from abcdlink import coding as codes
from abcdlink import exhaustive as recall
from abcdlink import rate as ratings
from abcdlink.criteria import rating_settings
from abcdlink.domain import domain_of, find_domain
from abcdlink.errors import InputError
from abcdlink.layout import ADJUDICATE_SLUG, QUALIFY_SLUG
from abcdlink.qualify import (
    Applicant,
    Qualified,
    applicants_of,
    confirm,
    coordinator_rows,
    doubts,
    gold,
    people_of,
    proposal,
    qualified_of,
)
from abcdlink.qualify.screening import ineligible, keep_eligibility, screening_of
from abcdlink.report import write_report
from abcdlink.stages.annotate import summary_of
from abcdlink.stages.coding import coding_summary, prepare_coding
from abcdlink.stages.exhaustive import make_sample, measure_recall
from abcdlink.store import Store, open_run
from flows.parameters import (
    CodingParameters,
    ExhaustiveParameters,
    QualificationParameters,
    RatingParameters,
    RunKey,
)
from flows.waiting import NOTED, ask_people, wait_for_coordinator
from labelstudio_config.pages.adjudicate import AdjudicationPage
from labelstudio_config.pages.coding import CodingPage
from labelstudio_config.pages.exhaustive import ExhaustivePage
from labelstudio_config.pages.qualify import GoldPage, QualificationPage
from labelstudio_config.pages.rate import RatingPage
from tasks.execution import AS_TASKS
from tasks.running import key, table

Batches = Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=20)]


def report(store: Store) -> str:
    """Regenerate the report of a run; returns its path."""
    return AS_TASKS.step("report", write_report, store)


@flow(name="rate", flow_run_name="rate {run}", **NOTED)
def rate(run: RunKey, domain: str = "", rating: RatingParameters = RatingParameters()) -> None:
    """Have people rate synthetic documents mixed with natural ones, without knowing which is which.

    The run must have a synthetic corpus.

    Args:
        run: run key, the name of this whole job.
        domain: name or path of the domain; empty: the one that the run was started with.
        rating: how many documents, and how many raters.
    """
    store = open_run(run)
    meaning = domain_of(store, domain)
    numbers = rating.synthetic, rating.natural, rating.seed
    AS_TASKS.step(
        "sample documents to rate", ratings.prepare, store, meaning, *numbers, same_targets=rating.same_targets
    )
    ask_people(store, meaning.reference, RatingPage(overlap=rating.overlap or rating_settings(meaning).raters))
    rated = ratings.ratings_of(store)
    raters = len({one.annotator for one in rated})
    rows = map(dict, ratings.rows_of(ratings.summarise(rated)))
    table(key(run, "ratings"), rows, f"{len(rated)} ratings by {raters} raters")


@flow(name="exhaustive", flow_run_name="exhaustive {run}", **NOTED)
def exhaustive(run: RunKey, domain: str = "", judging: ExhaustiveParameters = ExhaustiveParameters()) -> None:
    """Have people judge every target sentence of a random sample of sources; ends with true recall.

    Args:
        run: run key, the name of this whole job.
        domain: name or path of the domain; empty: the one that the run was started with.
        judging: what is sampled and how it is judged.
    """
    store = open_run(run)
    domain = domain_of(store, domain).reference
    meaning = find_domain(domain)
    AS_TASKS.step("sample sources", make_sample, store, meaning, *judging.sampling(meaning))
    ask_people(store, domain, ExhaustivePage())
    result = AS_TASKS.step("true recall", measure_recall, store, meaning, judging.rule)
    report(store)
    table(key(run, "recall"), recall.rows_of(result), "; ".join(["True recall", *result.words]))


@flow(name="adjudicate", flow_run_name="adjudicate {run}", **NOTED)
def adjudicate(
    run: RunKey,
    domain: str = "",
    batches: Batches = [],  # noqa: B006 - pydantic copies it
    settled_too: bool = False,
) -> None:
    """Have a third person, or the annotators together, decide where annotators disagree; ends with data set and report.

    Run it again after more batches have been pulled: new disputes are added.

    Args:
        run: run key, the name of this whole job.
        domain: name or path of the domain; empty: the one that the run was started with.
        batches: batches whose disputes are decided; empty: all that have been pulled.
        settled_too: also ask about disagreements that a feedback round settled; otherwise its answers decide them.
    """
    store = open_run(run)
    ask_people(
        store, domain_of(store, domain).reference, AdjudicationPage(batches=tuple(batches), settled_too=settled_too)
    )
    summary = summary_of(store)
    rows = adjudication.rows_of(summary)
    table(key(run, ADJUDICATE_SLUG, "decisions"), rows, f"Adjudication; report: {report(store)}")
    followed = "How often decisions followed each annotator"
    table(key(run, ADJUDICATE_SLUG, "followed"), adjudication.followed_rows(summary), followed)


@flow(name="coding", flow_run_name="coding {run}", **NOTED)
def coding(run: RunKey, domain: str = "", coding: CodingParameters = CodingParameters()) -> None:
    """Have people say, independently of each other, which pattern explains each wrong prediction.

    Best after the last batch and adjudication: only candidates on which people agree, or that were adjudicated, count.

    Args:
        run: run key, the name of this whole job.
        domain: name or path of the domain; empty: the one that the run was started with.
        coding: what is coded and how.
    """
    store = open_run(run)
    how = coding.most, coding.overlap, coding.seed, coding.patterns
    AS_TASKS.step("draw wrong predictions", prepare_coding, store, *how)
    ask_people(store, domain_of(store, domain).reference, CodingPage())
    summary = coding_summary(store)
    said = f"{summary.coded} of {summary.found} wrong predictions coded; {codes.agreement_in_words(summary)}"
    table(key(run, "patterns"), codes.rows_of(summary), f"{said}; report: {report(store)}")


class Approval(RunInput):
    """Who may judge batches, by pseudonym or account: the coordinator's form."""

    qualified: list[str]


@flow(name="qualify", flow_run_name="qualify {run}", **NOTED)
def qualify(run: RunKey, domain: str = "", qualification: QualificationParameters = QualificationParameters()) -> None:
    """Have applicants judge pairs whose links are known, and let the coordinator choose the best.

    It needs nothing else from the run, so it can come before all other flows. An expert may link the pairs first.
    Applications close when the wanted number of applicants have judged every task, or earlier when this run is resumed.

    Args:
        run: run key, the name of this whole job; it may be new.
        domain: name or path of the domain; empty: the one that the run was started with.
        qualification: how applicants are tried out.
    """
    store, asked = open_run(run), qualification
    meaning = gold.domain_to_begin(store, domain)
    keep_eligibility(store, asked.eligibility)
    if asked.expert:
        AS_TASKS.step("pairs for the expert", gold.prepare_expert, store, meaning, asked.corpus, asked.pairs)
        ask_people(store, meaning.reference, GoldPage())
    pairs = asked.corpus, asked.pairs, asked.links, asked.seed
    AS_TASKS.step("gold pairs", gold.prepare, store, meaning, *pairs, expert=asked.expert)
    page = QualificationPage(applicants=asked.applicants)
    ask_people(store, meaning.reference, page, or_resumed="applications are closed")
    applicants = applicants_of(store)
    barred = ineligible(store, people_of(store))
    best = proposal(applicants, asked.wanted, asked.threshold, barred)
    show_applicants(store, applicants, best)
    decision = qualified_of(store) or decide(store, best)
    get_run_logger().info("Qualified: %s", ", ".join(decision.annotators))
    for one in doubts(applicants, decision.annotators, barred):
        get_run_logger().warning("%s.", one)


def show_applicants(store: Store, applicants: list[Applicant], best: list[Applicant]) -> None:
    """Show the coordinator's table, with accounts and screening fields."""
    names = [one.annotator for one in best]
    people = people_of(store)
    rows = coordinator_rows(applicants, names, people, screening_of(store), ineligible(store, people))
    finished = sum(one.finished for one in applicants)
    told = (
        f"{len(applicants)} applicants, {finished} of them judged every task; proposed: {', '.join(names) or 'nobody'}"
    )
    table(key(store.key, "applicants"), rows, told)


def decide(store: Store, best: list[Applicant]) -> Qualified:
    """Suspend until the coordinator has chosen; a form that names nobody, or a non-applicant, is shown again."""
    error_text = ""
    for attempt in count(1):
        told = f"Resume it with the chosen applicants, or use `abcdlink qualify confirm {store.key}`."
        form = Approval.with_initial_data(
            description=f"{error_text}Who may judge batches? Pseudonyms or accounts of applicants, as in the table "
            "under Artifacts. The proposal is filled in.",
            qualified=[one.annotator for one in best],
        )
        # The same key in every process: the form is read again if the run is killed afterwards.
        answer = wait_for_coordinator(store, QUALIFY_SLUG, told, f"decision-{attempt}", form)
        try:
            return confirm(store, answer.qualified)
        except InputError as error:
            error_text = f"**{error}**\n\n"
    raise AssertionError

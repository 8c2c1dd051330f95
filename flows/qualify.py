"""Flow qualify: applicants judge gold pairs, the best are proposed, the coordinator decides.

It needs nothing else of the run, so that it can come before all other flows. An expert may link the gold pairs
first. While people work, and while the coordinator decides, the run is suspended.
"""

from __future__ import annotations

from itertools import count

from prefect import flow, get_run_logger, suspend_flow_run
from prefect.input import RunInput

from abcdlink.errors import InputError
from abcdlink.layout import GOLD_SLUG, QUALIFY_SLUG
from abcdlink.qualify import (
    Applicant,
    Qualified,
    applicants_of,
    confirm,
    coordinator_rows,
    has_judgments,
    people_of,
    proposal,
    qualified_of,
)
from abcdlink.qualify.gold import domain_to_begin
from abcdlink.qualify.screening import ineligible, keep_eligibility, screening_of
from abcdlink.store import Store, open_run
from flows.parameters import QualificationParameters, RunKey
from flows.ui.artifacts import key, table
from flows.ui.what_now import NOTED
from flows.waiting import wait_for_annotators, wait_for_coordinator
from labelstudio_config.pages.qualify import GoldPage, QualificationPage
from tasks.people import choose_gold_pairs, take_gold_pairs
from tasks.projects import pull, push

NAME = "qualify"


class Decision(RunInput):
    """Who may judge batches, by pseudonym or account: the form that the coordinator fills in."""

    qualified: list[str]


@flow(name=NAME, flow_run_name="qualify {run}", **NOTED)
def qualify(run: RunKey, domain: str = "", qualification: QualificationParameters = QualificationParameters()) -> None:
    """Have applicants judge pairs whose links are known, and let the coordinator take the best.

    Applications close when the wanted number of applicants have judged every task, or earlier when this run is resumed.

    Args:
        run: run key, the name of this whole bootstrap; it may be new.
        domain: name or path of the domain; empty: the one that the run was begun with.
        qualification: how applicants are tried out.
    """
    store, asked = open_run(run), qualification
    meaning = domain_to_begin(store, domain).reference
    keep_eligibility(store, asked.eligibility)
    if asked.expert:
        take_expert_links(store, meaning, asked)
    take_gold_pairs(run, meaning, asked.corpus, asked.pairs, asked.links, asked.seed, expert=asked.expert)
    if not has_judgments(store):
        take_applications(store, meaning, asked.applicants)
    applicants = applicants_of(store)
    barred = ineligible(store, people_of(store))
    best = proposal(applicants, asked.wanted, asked.threshold, barred)
    show_applicants(store, applicants, best)
    decision = qualified_of(store) or decide(store, best)
    get_run_logger().info("Qualified: %s", ", ".join(decision.annotators))


def take_expert_links(store: Store, domain: str, asked: QualificationParameters) -> None:
    """Suspend until one account has linked the named pairs, or the coordinator closes this, then pull."""
    page = GoldPage()
    choose_gold_pairs(store.key, domain, asked.corpus, asked.pairs)
    push(store.key, domain, page)
    if not page.is_pulled(store):
        wait_for_annotators(store, NAME, GOLD_SLUG)
        pull(store.key, page)


def take_applications(store: Store, domain: str, applicants: int) -> None:
    """Push the gold pairs, suspend until enough applicants are done or the coordinator resumes, then pull."""
    page = QualificationPage(applicants=applicants)
    push(store.key, domain, page)
    wait_for_annotators(store, NAME, QUALIFY_SLUG, or_resumed="applications are closed")
    pull(store.key, page)


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
    """Suspend until the coordinator has said who is taken; a form that names nobody or someone else comes again."""
    trouble = ""
    for attempt in count(1):
        told = f"Resume it with those applicants who are taken, or by `abcdlink qualify confirm {store.key}`."
        wait_for_coordinator(store, NAME, QUALIFY_SLUG, told)
        form = Decision.with_initial_data(
            description=f"{trouble}Who may judge batches? Pseudonyms or accounts of applicants, as the table under "
            "Artifacts shows them. The proposal is filled in.",
            qualified=[one.annotator for one in best],
        )
        # The same key in every process: what was filled in is read again when the run was killed after it.
        answer = suspend_flow_run(wait_for_input=form, key=f"decision-{attempt}", timeout=None)
        try:
            return confirm(store, answer.qualified)
        except InputError as error:
            trouble = f"**{error}**\n\n"
    raise AssertionError

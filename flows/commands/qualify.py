"""Commands of ``qualify``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from abcdlink.cli.output import (
    CorpusOption,
    JsonOption,
    RunArgument,
    RunDomainOption,
    listed,
    print_json,
    print_table,
    say,
)
from abcdlink.errors import InputError
from abcdlink.judgments import Annotator
from abcdlink.layout import QUALIFY_SLUG
from abcdlink.store import Store, existing_run, open_run
from abcdlink.waiting import WaitsFor, waiting_of
from flows.commands.starting import start_flow
from flows.commands.status import WaitOption, answer, group, resume_run

if TYPE_CHECKING:
    from abcdlink.qualify import Applicant

WantedOption = Annotated[int, typer.Option("--wanted", min=1, help="Propose at most this many applicants.")]
ThresholdOption = Annotated[
    float, typer.Option("--threshold", min=-1, max=1, help="Minimum kappa of proposed applicants.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    qualify = group(app, "qualify", "Test applicants on pairs whose links are known.", start=start, show=show)
    qualify.command("screening")(screening)
    qualify.command("confirm")(confirm)


def start(
    run: RunArgument,
    domain: RunDomainOption = "",
    corpus: CorpusOption = "sample",
    pair: Annotated[
        list[str] | None, typer.Option(help="Id of a gold pair; repeatable. Default: one pair, chosen by --links.")
    ] = None,
    links: Annotated[int, typer.Option(min=1, help="Number of links that this gold pair should have.")] = 30,
    expert: Annotated[
        bool, typer.Option("--expert", help="First, one account links the pairs named by --pair in Label Studio.")
    ] = False,
    applicants: Annotated[int, typer.Option(min=1, max=50, help="Close when this many have judged every task.")] = 4,
    wanted: WantedOption = 2,
    threshold: ThresholdOption = 0.6,
    language: Annotated[list[str] | None, typer.Option(help="Eligible native language; repeatable.")] = None,
    residence: Annotated[list[str] | None, typer.Option(help="Eligible country; repeatable.")] = None,
    degree: Annotated[list[str] | None, typer.Option(help="Eligible degree; repeatable.")] = None,
    approval_rate: Annotated[float, typer.Option(min=0, max=100, help="Minimum approval rate, in percent.")] = 0.0,
    studies: Annotated[int, typer.Option(min=0, help="Minimum number of earlier studies.")] = 0,
    as_in_paper: Annotated[
        bool, typer.Option("--as-in-paper", help="Use the paper's criteria of eligibility.")
    ] = False,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Push gold pairs for applicants; if the run key is new, name the domain.

    Example: `abcdlink qualify start spring-news --domain news --applicants 6`
    """
    from abcdlink.qualify.gold import domain_to_begin, prepare, prepare_expert
    from abcdlink.qualify.screening import PAPER_ELIGIBILITY, Eligibility

    rules = Eligibility(
        native_languages=tuple(language or ()),
        residences=tuple(residence or ()),
        degrees=tuple(degree or ()),
        approval_rate=approval_rate,
        studies=studies,
    )
    if as_in_paper and rules != Eligibility():
        msg = "--as-in-paper cannot be combined with your own criteria"
        raise InputError(msg, "give one or the other")
    if expert and not pair:
        msg = "no pair is named for the expert to link"
        raise InputError(msg, "name one or more with --pair; pairs.jsonl in the corpus folder lists them")
    store, pairs = open_run(run), pair or []
    meaning = domain_to_begin(store, domain)
    asked = {"corpus": corpus, "pairs": pairs, "links": links, "expert": expert, "applicants": applicants}
    eligibility = PAPER_ELIGIBILITY if as_in_paper else rules
    choice = {**asked, "wanted": wanted, "threshold": threshold, "eligibility": eligibility.model_dump(mode="json")}
    of_expert = partial(prepare_expert, store, meaning, corpus, pairs)
    begin = of_expert if expert else partial(prepare, store, meaning, corpus, pairs, links)
    start_flow("qualify/qualify", {"run": run, "domain": domain, "qualification": choice}, json, wait, begin)


def screening(
    run: RunArgument,
    file: Annotated[Path, typer.Argument(help="CSV file, one row per applicant.")],
    json: JsonOption = False,
) -> None:
    """Record screening data on applicants. Only the coordinator sees it; it is in no export or report.

    Columns: account or participant_id, native_language, residence, degree, approval_rate (percent), studies; any others
    are kept too. Prolific's demographic export works as it is.

    Example: `abcdlink qualify screening spring-news applicants.csv`
    """
    from abcdlink.qualify.screening import add_screening, read_screening, screening_of

    store = open_run(run)
    known = {one.participant_id: one.account for one in screening_of(store).values() if one.participant_id}
    rows, strangers = read_screening(file, known)
    kept = add_screening(store, rows)
    if json:
        print_json({"rows": len(rows), "left_out": strangers, "accounts": len(kept)})
        return
    say(f"Read {len(rows)} rows; run {run} has screening fields of {len(kept)} accounts.")
    if strangers:
        say(f"Left out {strangers} rows: these participants have judged nothing yet (`abcdlink qualify show {run}`).")


def show(
    run: RunArgument, wanted: WantedOption = 2, threshold: ThresholdOption = 0.6, json: JsonOption = False
) -> None:
    """Show applicants with their accounts and screening fields, best first; while applications are open, so far.

    Example: `abcdlink qualify show spring-news`
    """
    from abcdlink.qualify import coordinator_rows, proposal, qualified_of
    from abcdlink.qualify.screening import ineligible, screening_of

    store = existing_run(run)
    applicants, people = _applicants(store)
    barred = ineligible(store, people)
    names = [one.annotator for one in proposal(applicants, wanted, threshold, barred)]
    rows = coordinator_rows(applicants, names, people, screening_of(store), barred)
    decision = qualified_of(store)
    taken = list(decision.annotators) if decision else None
    if json:
        print_json({"applicants": rows, "proposed": names, "qualified": taken})
        return
    columns = list(dict.fromkeys(column for row in rows for column in row))
    cells = [["" if row.get(column) is None else row[column] for column in columns] for row in rows]
    if rows:
        print_table(f"{run}: applicants", columns, cells, texts=len(columns))
    else:
        say("Nobody has judged a task yet.")
    say("Not decided yet." if taken is None else f"Qualified: {', '.join(taken)}.")


def _applicants(store: Store) -> tuple[list[Applicant], list[Annotator]]:
    """Return the applicants as they were pulled or, while applications are open, as Label Studio has them now."""
    from abcdlink.qualify import applicants_of, has_judgments, keep_people, people_of, score_applicants
    from abcdlink.qualify.gold import gold_set_of

    if has_judgments(store):
        return applicants_of(store), people_of(store)
    from labelstudio_config.pages.qualify import applications_in
    from labelstudio_config.projects import look_now

    pools = gold_set_of(store).pools
    _, snapshot = look_now(store, QUALIFY_SLUG)
    result = applications_in(snapshot, pools, people_of(store))
    keep_people(store, result.annotators)
    return score_applicants(pools, result.judgments, result.annotators), result.annotators


def confirm(
    run: RunArgument,
    accounts: Annotated[str, typer.Option(help="Accounts or pseudonyms, comma-separated; default: the proposal.")] = "",
    wanted: WantedOption = 2,
    threshold: ThresholdOption = 0.6,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Confirm who may judge batches; judgments by anyone else are reported.

    Example: `abcdlink qualify confirm spring-news --accounts ada@example.org,ben@example.org`
    """
    from abcdlink.qualify import applicants_of, doubts, people_of, proposal
    from abcdlink.qualify import confirm as decide
    from abcdlink.qualify.screening import ineligible

    store = existing_run(run)
    barred = ineligible(store, people_of(store))
    applicants = applicants_of(store)
    best = [one.annotator for one in proposal(applicants, wanted, threshold, barred)]
    decision = decide(store, listed(accounts) or best)
    told = [f"Qualified: {', '.join(decision.annotators)}."]
    if doubtful := doubts(applicants, decision.annotators, barred):
        told += [f"{one}." for one in doubtful]
        told += ["To take others, run the command again with --accounts: it replaces the decision."]
    waiting = waiting_of(store, "qualify")
    if waiting is not None and waiting.kind is not WaitsFor.COORDINATOR:
        waiting = None
    if waiting is not None:
        resume_run(waiting.flow_run, {"qualified": list(decision.annotators)})
    answer(store, " ".join(told), json, wait, waiting)

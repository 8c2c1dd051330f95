"""Commands of qualification and ratings: ``qualify``, ``rate``, ``ratings``.

Prefect is imported inside the commands: it takes seconds, and ``--help`` must not.
"""

from __future__ import annotations

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
from flows.commands.starting import start_flow, use_local_server

if TYPE_CHECKING:
    from abcdlink.judgments import Annotator
    from abcdlink.qualify import Applicant
    from abcdlink.store import Store

WantedOption = Annotated[int, typer.Option("--wanted", min=1, help="Propose at most this many applicants.")]
ThresholdOption = Annotated[float, typer.Option("--threshold", min=-1, max=1, help="Smallest kappa of the proposed.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    qualify = typer.Typer(help="Try out applicants on a pair whose links are known.", no_args_is_help=True)
    qualify.command("start")(start)
    qualify.command("screening")(screening)
    qualify.command("show")(show)
    qualify.command("close")(close)
    qualify.command("confirm")(confirm)
    app.add_typer(qualify, name="qualify")
    app.command("rate")(rate)
    app.command("ratings")(ratings)


def start(
    run: RunArgument,
    domain: RunDomainOption = "",
    corpus: CorpusOption = "sample",
    pair: Annotated[str, typer.Option(help="Id of the gold pair; default: the one nearest to --links.")] = "",
    links: Annotated[int, typer.Option(min=1, help="How many links the gold pair should have.")] = 30,
    applicants: Annotated[int, typer.Option(min=1, max=50, help="Close when so many have judged every task.")] = 4,
    wanted: WantedOption = 2,
    threshold: ThresholdOption = 0.6,
    json: JsonOption = False,
) -> None:
    """Push a gold pair for applicants; the run key may be new, then name the domain.

    Example: `abcdlink qualify start spring-news --domain news --applicants 6`
    """
    from abcdlink.qualify.prepare import domain_to_begin
    from abcdlink.store import open_run

    domain_to_begin(open_run(run), domain)
    asked = {"corpus": corpus, "pair": pair, "links": links, "applicants": applicants}
    choice = {**asked, "wanted": wanted, "threshold": threshold}
    start_flow("qualify/qualify", {"run": run, "domain": domain, "qualification": choice}, json)


def screening(run: RunArgument, file: Annotated[Path, typer.Argument(help="CSV file, one row an applicant.")]) -> None:
    """Record what is known of applicants; it is shown to the coordinator alone and is in no export or report.

    Columns: account, native_language, degree, approval_rate (percent), participant_id; others are kept as well.

    Example: `abcdlink qualify screening spring-news applicants.csv`
    """
    from abcdlink.qualify import add_screening, read_screening
    from abcdlink.store import open_run

    rows = read_screening(file)
    kept = add_screening(open_run(run), rows)
    say(f"Took {len(rows)} rows; run {run} has screening fields of {len(kept)} accounts.")


def show(
    run: RunArgument, wanted: WantedOption = 2, threshold: ThresholdOption = 0.6, json: JsonOption = False
) -> None:
    """Show applicants with their accounts and screening fields, best first; before applications close, so far.

    Example: `abcdlink qualify show spring-news`
    """
    from abcdlink.qualify import proposal, screening_of
    from abcdlink.qualify.confirm import qualified_of
    from abcdlink.qualify.table import coordinator_rows
    from abcdlink.store import existing_run

    store = existing_run(run)
    applicants, people = _applicants(store)
    names = [one.annotator for one in proposal(applicants, wanted, threshold)]
    rows = coordinator_rows(applicants, names, people, screening_of(store))
    decision = qualified_of(store)
    taken = list(decision.annotators) if decision else None
    if json:
        print_json({"applicants": rows, "proposed": names, "qualified": taken})
        return
    columns = list(dict.fromkeys(column for row in rows for column in row)) or ["applicant"]
    cells = [["" if row.get(column) is None else row[column] for column in columns] for row in rows]
    print_table(f"{run}: applicants", columns, cells, texts=len(columns))
    say("Not decided yet." if taken is None else f"Qualified: {', '.join(taken)}.")


def _applicants(store: Store) -> tuple[list[Applicant], list[Annotator]]:
    """Return the applicants as they were pulled, or, while applications are open, as they stand in Label Studio."""
    from abcdlink.qualify import applicants_of, gold_set_of, score_applicants
    from abcdlink.qualify.kept import has_judgments, keep_people, people_of

    if has_judgments(store):
        return applicants_of(store), people_of(store)
    from abcdlink.layout import QUALIFY_SLUG
    from labelstudio_config.pages.qualify import applications_in
    from labelstudio_config.run import look_now

    pools = gold_set_of(store).pools
    _, snapshot = look_now(store, QUALIFY_SLUG)
    result = applications_in(snapshot, pools, people_of(store))
    keep_people(store, result.annotators)
    return score_applicants(pools, result.judgments, result.annotators), result.annotators


def close(run: RunArgument) -> None:
    """Close applications before as many as asked for are done.

    Example: `abcdlink qualify close spring-news`
    """
    from abcdlink.store import existing_run
    from abcdlink.waiting import WaitsFor, waiting_of

    waiting = waiting_of(existing_run(run), "qualify")
    if waiting is None or waiting.kind is not WaitsFor.ANNOTATORS:
        msg = f"run {run!r} does not wait for applicants"
        raise InputError(msg, "look at the run in the Prefect UI, or begin with `abcdlink qualify start`")
    _resume(waiting.flow_run)
    say(f"Applications of run {run} are closed.")


def confirm(
    run: RunArgument,
    accounts: Annotated[str, typer.Option(help="Accounts or pseudonyms, with commas; default: the proposal.")] = "",
    wanted: WantedOption = 2,
    threshold: ThresholdOption = 0.6,
) -> None:
    """Say who may judge batches; judgments of others will be reported.

    Example: `abcdlink qualify confirm spring-news --accounts ada@example.org,ben@example.org`
    """
    from abcdlink.qualify import applicants_of, proposal
    from abcdlink.qualify import confirm as decide
    from abcdlink.store import existing_run
    from abcdlink.waiting import WaitsFor, waiting_of

    store = existing_run(run)
    best = [one.annotator for one in proposal(applicants_of(store), wanted, threshold)]
    decision = decide(store, listed(accounts) or best)
    say(f"Qualified: {', '.join(decision.annotators)}.")
    waiting = waiting_of(store, "qualify")
    if waiting is not None and waiting.kind is WaitsFor.COORDINATOR:
        _resume(waiting.flow_run, {"qualified": list(decision.annotators)})


def _resume(flow_run: str, form: dict[str, object] | None = None) -> None:
    """Resume a run.

    Raises:
        InputError: when it is not suspended.
        ServiceError: when no Prefect server answers.
    """
    use_local_server()
    from flows.watch import reach_server
    from tasks.runs import resume

    reach_server()
    if not resume(flow_run, form):
        msg = f"the flow run {flow_run} is not suspended any more"
        raise InputError(msg, "look at it in the Prefect UI: it was resumed already, or it ended")


def rate(
    run: RunArgument,
    domain: RunDomainOption = "",
    synthetic: Annotated[int, typer.Option(min=1, help="Synthetic documents, at most.")] = 20,
    natural: Annotated[int, typer.Option(min=0, help="Natural documents mixed in, at most.")] = 10,
    overlap: Annotated[int, typer.Option(min=1, max=10, help="Raters a document.")] = 2,
    json: JsonOption = False,
) -> None:
    """Have people rate synthetic documents, with natural ones among them.

    Example: `abcdlink rate spring-news --synthetic 20 --natural 10`
    """
    from abcdlink.layout import SYNTHETIC
    from abcdlink.store import existing_run

    existing_run(run).require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    rating = {"synthetic": synthetic, "natural": natural, "overlap": overlap}
    start_flow("rate/rate", {"run": run, "domain": domain, "rating": rating}, json)


def ratings(run: RunArgument, json: JsonOption = False) -> None:
    """Show the mean ratings of synthetic and natural documents, and how far raters agree.

    Example: `abcdlink ratings spring-news`
    """
    from abcdlink.rate import ratings_of, summarise
    from abcdlink.rate.summary import rows_of
    from abcdlink.store import existing_run

    summaries = summarise(ratings_of(existing_run(run)))
    if json:
        print_json({"criteria": [one.model_dump(mode="json") for one in summaries]})
        return
    rows = rows_of(summaries)
    columns = list(rows[0]) if rows else ["criterion"]
    print_table(f"{run}: ratings", columns, [["" if v is None else v for v in row.values()] for row in rows], texts=2)

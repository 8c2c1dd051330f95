"""Commands of feedback rounds: ``feedback show``, ``feedback accept``.

Prefect is imported inside the commands: it takes seconds, and ``--help`` must not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abcdlink.cli.output import JsonOption, RunArgument, out, print_json, say
from abcdlink.errors import InputError
from flows.commands.starting import use_local_server

if TYPE_CHECKING:
    from abcdlink.store import Store
    from abcdlink.waiting import Waiting

FLOW = "annotate"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    feedback = typer.Typer(help="Feedback rounds between batches.", no_args_is_help=True)
    feedback.command("show")(show)
    feedback.command("accept")(accept)
    app.add_typer(feedback, name="feedback")


def show(
    run: RunArgument,
    batch: Annotated[int, typer.Option(min=1, help="The batch that the round is about.")] = 1,
    json: JsonOption = False,
) -> None:
    """Show the memos, the borderline cases, the draft and, when the round is over, what came of it.

    Example: `abcdlink feedback show spring-news --batch 1`
    """
    from abcdlink.layout import batch_file
    from abcdlink.stages.feedback import DRAFT, accepted_in, outcome_in, prepare_feedback
    from abcdlink.store import existing_run

    store = existing_run(run)
    feedback = prepare_feedback(store, batch)
    accepted, outcome = accepted_in(store, batch), outcome_in(store, batch)
    if json:
        parts = {"accepted": accepted, "outcome": outcome}
        later = {name: part.model_dump(mode="json") if part else None for name, part in parts.items()}
        print_json({**feedback.model_dump(mode="json"), **later})
        return
    for memo in feedback.memos.values():
        out.print(memo, soft_wrap=True, markup=False)
    out.print(feedback.draft, soft_wrap=True, markup=False)
    say(f"{len(feedback.cases)} borderline cases. The draft is in {store.where(batch_file(batch, DRAFT))}.")
    if outcome and not (outcome.acknowledged or outcome.missing or outcome.cases):
        say("No round was held: nobody was asked in Label Studio.")
    elif outcome:
        say(
            f"Of {outcome.cases} disagreements {outcome.answered} were judged again and {outcome.resolved} resolved; "
            f"did not say that they read the guidelines: {', '.join(outcome.missing) or 'nobody'}."
        )


def accept(
    run: RunArgument,
    clarifications: Annotated[
        Path | None,
        typer.Option(help="Markdown file with what is added to the guidelines; default: the draft in the run."),
    ] = None,
    without_round: Annotated[
        bool, typer.Option("--without-round", help="Start the next batch at once: nobody is asked in Label Studio.")
    ] = False,
) -> None:
    """Accept the clarifications; while annotators answer in Label Studio: go on without those who have not.

    Example: `abcdlink feedback accept spring-news --clarifications clarifications.md`
    """
    from abcdlink.layout import batch_of
    from abcdlink.store import existing_run
    from abcdlink.waiting import WaitsFor

    store = existing_run(run)
    waiting = _waits_for_feedback(store)
    batch, form = batch_of(waiting.slug), None
    if waiting.kind is WaitsFor.COORDINATOR:
        form = _filled_in(store, batch, clarifications, without_round)
    elif clarifications is not None:
        msg = f"the clarifications after batch {batch} of run {run!r} were accepted already"
        raise InputError(msg, "leave --clarifications out to go on without those who have not answered")
    use_local_server()
    from flows.watch import reach_server
    from tasks.runs import resume

    reach_server()
    if not resume(waiting.flow_run, form):
        msg = f"run {run!r} was not resumed: it was before, or it ended"
        raise InputError(msg, "look at the run in the Prefect UI")
    say(f"Run {run} goes on after the feedback on batch {batch}.")


def _waits_for_feedback(store: Store) -> Waiting:
    """Return what the run waits for; ``InputError`` when it is no feedback."""
    from abcdlink.layout import is_feedback
    from abcdlink.waiting import WaitsFor, waiting_of

    waiting = waiting_of(store, FLOW)
    if waiting is not None and waiting.kind is not WaitsFor.NOTHING and is_feedback(waiting.slug):
        return waiting
    annotators = waiting is not None and waiting.kind is WaitsFor.ANNOTATORS
    what = f"the annotators of {waiting.slug}" if waiting and annotators else "nothing"
    msg = f"run {store.key!r} waits for {what}, not for feedback"
    raise InputError(msg, f"`abcdlink annotate status {store.key}` shows how far its batches are")


def _filled_in(store: Store, batch: int, clarifications: Path | None, without_round: bool) -> dict[str, Any]:
    """Return the form of the coordinator, filled in."""
    from abcdlink.stages.feedback import prepare_feedback

    if clarifications is None:
        text = prepare_feedback(store, batch).draft
    else:
        try:
            text = clarifications.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            msg = f"there is no file {clarifications}"
            raise InputError(msg, "give a Markdown file, or leave the option out to take the draft") from None
        except UnicodeDecodeError as error:
            msg = f"{clarifications} is not UTF-8 (byte {error.start})"
            raise InputError(msg, "save the file as UTF-8") from None
    return {"clarifications": text, "label_studio_round": not without_round}

"""Commands of feedback rounds: ``feedback``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abcdlink.cli.output import JsonOption, RunArgument, out, print_json, say
from abcdlink.errors import InputError
from abcdlink.judgments import Label
from abcdlink.layout import NATURAL, batch_file, batch_of, is_feedback
from abcdlink.store import Store, existing_run
from abcdlink.waiting import Waiting, WaitsFor, waiting_of
from flows.commands.status import WaitOption, answer, group, resume_run

if TYPE_CHECKING:
    from abcdlink.feedback import FeedbackOutcome

FLOW = "annotate"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group(app, "feedback", "Feedback rounds between batches.", start=start, show=show, flow=FLOW)


def show(
    run: RunArgument,
    batch: Annotated[int, typer.Option(min=1, help="Batch that the round is about.")] = 1,
    json: JsonOption = False,
) -> None:
    """Show the memos, the borderline cases, the draft and, once the round is over, its outcome.

    Example: `abcdlink feedback show spring-news --batch 1`
    """
    from rich.markdown import Markdown

    from abcdlink.corpus.io import read_corpus_from
    from abcdlink.feedback import Acknowledgement
    from abcdlink.feedback.memos import cases_text
    from abcdlink.stages.feedback import ACKNOWLEDGEMENTS, DRAFT, accepted_in, outcome_in, prepare_feedback

    store = existing_run(run)
    feedback = prepare_feedback(store, batch)
    accepted, outcome = accepted_in(store, batch), outcome_in(store, batch)
    if json:
        parts = {"accepted": accepted, "outcome": outcome}
        later = {name: part.model_dump(mode="json") if part else None for name, part in parts.items()}
        print_json({**feedback.model_dump(mode="json"), **later})
        return
    cases = cases_text(feedback.cases, read_corpus_from(store, NATURAL))
    for text in (*feedback.memos.values(), f"# Borderline cases, numbered for --example\n\n{cases}", feedback.draft):
        if out.is_terminal:
            out.print(Markdown(text))
        else:
            out.print(text, soft_wrap=True, markup=False)
    say(f"{len(feedback.cases)} borderline cases. The draft is in {store.where(batch_file(batch, DRAFT))}.")
    if outcome and not (outcome.acknowledged or outcome.missing or outcome.cases):
        say("There was no round: nobody was asked in Label Studio.")
    elif outcome:
        again = f"{outcome.answered} were judged again and {outcome.resolved} resolved"
        say(f"Of {outcome.cases} disagreements, {again}. {_who_read(outcome)}")
        for one in store.find_records(batch_file(batch, ACKNOWLEDGEMENTS), Acknowledgement):
            if one.question or one.comment:
                said = "still has a question" if one.question else "says"
                say(f"{one.annotator} {said}: {one.comment or 'they did not write which'}")


def start(
    run: RunArgument,
    clarifications: Annotated[
        Path | None,
        typer.Option(help="Markdown file to add to the guidelines; default: the draft in the run."),
    ] = None,
    without_round: Annotated[
        bool,
        typer.Option("--without-round", help="Start the next batch at once, without asking anyone in Label Studio."),
    ] = False,
    example: Annotated[
        list[str] | None,
        typer.Option(help="Borderline case that becomes an example: its number and link or no-link, as in 3=link."),
    ] = None,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Accept the clarifications: annotators see them and judge the borderline cases again in Label Studio.

    Example: `abcdlink feedback start spring-news --clarifications clarifications.md`
    """
    store = existing_run(run)
    waiting = _waits_for_coordinator(store)
    batch = batch_of(waiting.slug)
    filled = _filled_in(store, batch, clarifications, without_round)
    resume_run(waiting.flow_run, filled | _examples(store, batch, example or ()))
    accepted = f"the text of {clarifications}" if clarifications else "the draft"
    told = f"Run {run} continues after the feedback on batch {batch}, with {accepted}."
    if not without_round:
        told += f" `abcdlink status {run}` shows the links to send, and the one by which people create accounts."
    answer(store, told, json, wait, waiting)


def _who_read(outcome: FeedbackOutcome) -> str:
    if outcome.missing:
        return f"They did not confirm that they read the guidelines: {', '.join(outcome.missing)}."
    return "All confirmed that they read the guidelines."


def _waits_for_coordinator(store: Store) -> Waiting:
    """Return what the run waits for; ``InputError`` when it is not the coordinator's word on a batch."""
    key, waiting = store.key, waiting_of(store, FLOW)
    about = waiting is not None and is_feedback(waiting.slug)
    if waiting is not None and about and waiting.kind is WaitsFor.COORDINATOR:
        return waiting
    if waiting is not None and about and waiting.kind is WaitsFor.ANNOTATORS:
        msg = f"the clarifications of run {key!r} have already been accepted"
        raise InputError(msg, f"`abcdlink feedback close {key}` continues without those who have not answered")
    whom = {WaitsFor.ANNOTATORS: "waits for the annotators of", WaitsFor.COORDINATOR: "waits for your Go for"}
    what = (
        f"{whom[waiting.kind]} batch {batch_of(waiting.slug)}"
        if waiting and waiting.kind in whom
        else "does not wait for you"
    )
    msg = f"run {key!r} {what}: there is no feedback to give now"
    raise InputError(msg, f"`abcdlink status {key}` shows where it stands")


def _examples(store: Store, batch: int, given: Sequence[str]) -> dict[str, str]:
    """Return the fields of the form that make cases examples."""
    from abcdlink.stages.feedback import with_examples

    labels = {"link": Label.LINK, "no-link": Label.NO_LINK}
    found: dict[int, Label] = {}
    for one in given:
        number, _, label = one.partition("=")
        if not number.isdecimal() or label not in labels:
            msg = f"{one!r} does not say which case becomes an example of what"
            raise InputError(msg, "give the number of a case and link or no-link, as in 3=link")
        found[int(number)] = labels[label]
    with_examples(store, batch, "", found)  # a wrong case number is found before the run continues
    return {f"case_{number}": label.value for number, label in found.items()}


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
            raise InputError(msg, "give a Markdown file, or leave out the option to use the draft") from None
        except UnicodeDecodeError as error:
            msg = f"{clarifications} is not UTF-8 (byte {error.start})"
            raise InputError(msg, "save the file as UTF-8") from None
    return {"clarifications": text, "label_studio_round": not without_round}

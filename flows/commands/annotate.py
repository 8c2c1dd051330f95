"""Commands of batches: ``annotate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from abcdlink.cli.agreement_details import print_details
from abcdlink.cli.output import JsonOption, RunArgument, RunDomainOption, out, print_json, print_rows, print_table, say
from abcdlink.cli.results import OpenOption, open_page, print_agreement
from abcdlink.domain import domain_of
from abcdlink.errors import InputError
from abcdlink.interannotator.measures import Agreement
from abcdlink.layout import AGREEMENT, batch_file, batch_of, is_feedback
from abcdlink.store import Store, existing_run
from abcdlink.waiting import Waiting, WaitsFor, waiting_of
from flows.commands.starting import AutoFeedbackOption, OverlapOption, PreviewOption, start_flow
from flows.commands.status import WaitOption, answer, group, resume_run

if TYPE_CHECKING:
    from abcdlink.stages.batch_preview import BatchPreview
    from labelstudio_config.batches import Status

BatchOption = Annotated[int, typer.Option("--batch", min=1, help="Batch number.")]
MaybeBatchOption = Annotated[
    int | None, typer.Option("--batch", min=1, help="Batch number; default: all that are in Label Studio.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    annotate = group(app, "annotate", "Batches for annotators.", start=start, status=status, show=show)
    annotate.command("preview")(preview)
    annotate.command("go")(go)
    annotate.command("pull")(pull)
    annotate.command("check")(check)
    annotate.command("reassign")(reassign)
    annotate.command("requeue")(requeue)


def start(
    run: RunArgument,
    domain: RunDomainOption = "",
    batches: Annotated[
        int | None, typer.Option(min=1, max=20, help="Number of batches; default: all that have candidates.")
    ] = None,
    overlap: OverlapOption = None,
    deadline_days: Annotated[
        int | None, typer.Option(min=1, max=365, help="Days annotators have for a batch; default: no deadline.")
    ] = None,
    late_days: Annotated[
        int, typer.Option(min=1, max=365, help="Days without an answer after which an annotator counts as late.")
    ] = 3,
    reminders: Annotated[
        str, typer.Option(help="Prefect notification block that reminders are sent by, as type/name.")
    ] = "",
    auto_feedback: AutoFeedbackOption = False,
    preview: PreviewOption = None,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Start annotating a run that has candidates.

    Example: `abcdlink annotate start spring-news --overlap 2 --deadline-days 14`
    """
    from abcdlink.stages.candidates import batches_of, overlap_of

    store = existing_run(run)
    overlap_of(store, domain_of(store, domain), overlap)
    annotation = {
        "batches": batches_of(store, batches),
        "overlap": overlap,
        "deadline_days": deadline_days,
        "late_days": late_days,
        "reminder_block": reminders,
        "auto_feedback": auto_feedback,
        "preview": preview,
    }
    start_flow("annotate/annotate", {"run": run, "domain": domain, "annotation": annotation}, json, wait)


def preview(
    run: RunArgument,
    min_words: Annotated[
        int | None, typer.Option(min=1, help="Show only source sentences with at least this many words.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            help="Also leave out source sentences that match this regular expression; repeatable. "
            "An empty one removes the filters set so far."
        ),
    ] = None,
    unproposed: Annotated[
        bool | None,
        typer.Option("--unproposed/--proposed-only", help="Whether to show source sentences without any proposal."),
    ] = None,
    show: OpenOption = False,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """See the batch that waits for your Go as annotators will see it, or change what it leaves out.

    Filter options choose the candidates again, for this batch and later ones. Then look again.

    Example: `abcdlink annotate preview spring-news --min-words 6 --exclude "^Read more"`
    """
    from abcdlink.stages.batch_preview import PREVIEW_PAGE, checked_filters
    from abcdlink.whatnow import about_guidelines

    store = existing_run(run)
    waiting, found = _waits_for_go(store)
    batch = found.batch
    before = () if exclude and "" in exclude else found.filters.exclude
    given = {
        "min_words": min_words,
        "exclude": None if exclude is None else list(dict.fromkeys([*before, *filter(None, exclude)])),
        "unproposed": unproposed,
    }
    if said := {name: value for name, value in given.items() if value is not None}:
        filters = checked_filters(found.filters, said)
        resume_run(waiting.flow_run, {**filters.model_dump(mode="json"), "go": False})
        told = "The candidates are being chosen again; then the batch waits for your Go again."
        answer(store, told, json, wait, waiting)
        return
    page = store.where(batch_file(batch, PREVIEW_PAGE))
    if json:
        print_json({**found.model_dump(mode="json"), "hours": found.hours, "page": page})
    else:
        print_table(f"Batch {batch} of run {run}", ("what", "how much"), found.rows, texts=2)
        say(f"Preview: {page}")
        for line in about_guidelines(store, batch):
            say(line.plain())
        say(f"Release it to annotators with `abcdlink annotate go {run}`.")
    open_page(page, show)


def go(run: RunArgument, wait: WaitOption = False, json: JsonOption = False) -> None:
    """Release the batch that waits for your Go to annotators.

    Example: `abcdlink annotate go spring-news`
    """
    store = existing_run(run)
    waiting, found = _waits_for_go(store)
    resume_run(waiting.flow_run, {**found.filters.model_dump(mode="json"), "go": True})
    told = (
        f"Batch {found.batch} of run {run} goes to annotators. `abcdlink status {run}` shows the links to send, and "
        "the one by which people create accounts."
    )
    answer(store, told, json, wait, waiting)


def _waits_for_go(store: Store) -> tuple[Waiting, BatchPreview]:
    """Return what the run waits for, with the preview; ``InputError`` when it is not the coordinator's Go."""
    from abcdlink.stages.batch_preview import preview_of

    waiting = waiting_of(store, "annotate")
    if waiting is None or waiting.kind is not WaitsFor.COORDINATOR or is_feedback(waiting.slug):
        msg = f"no batch of run {store.key!r} waits for your Go"
        raise InputError(msg, f"`abcdlink status {store.key}` says what the run waits for")
    found = preview_of(store, batch_of(waiting.slug))
    if found is None:
        msg = f"{waiting.slug} of run {store.key!r} has no preview"
        raise InputError(msg, f"`abcdlink status {store.key}` says where the run stands")
    return waiting, found


def status(run: RunArgument, batch: MaybeBatchOption = None, json: JsonOption = False) -> None:
    """Show how many tasks each annotator has done in each batch, who is late, and the deadline.

    Example: `abcdlink annotate status spring-news`
    """
    from labelstudio_config import batches

    store = existing_run(run)
    found = [batches.status(store, number) for number in _batches(store, batch)]
    if json:
        print_json({"run": run, "batches": [one.model_dump(mode="json") for one in found]})
        return
    for one in found:
        _show_status(run, one)
    if not found:
        say(f"No batch of run {run} is in Label Studio: `abcdlink status {run}` says what it waits for.")


def show(run: RunArgument, batch: MaybeBatchOption = None, json: JsonOption = False) -> None:
    """Show agreement and acceptance rates of each batch; for a batch not pulled yet, of the answers so far.

    Example: `abcdlink annotate show spring-news --batch 1`
    """
    from abcdlink.stages.annotate import details_so_far
    from labelstudio_config import batches

    store, found = existing_run(run), {}
    for number in _batches(store, batch):
        name = batch_file(number, AGREEMENT)
        over = store.exists(name)
        found[number] = store.read_record(name, Agreement) if over else batches.pull_partial(store, number)
        if not json and not over and not found[number].judged:
            say(f"Run {run}, batch {number}: no candidate has as many judgments as were asked for yet.")
        elif not json:
            print_agreement(found[number], f"Run {run}, batch {number}{'' if over else ' so far'}")
            print_details(details_so_far(store, number, partial=not over), tables=False)
    if json:
        print_json({"run": run, "batches": {str(number): one.model_dump(mode="json") for number, one in found.items()}})
    elif not found:
        say(f"No batch of run {run} is in Label Studio.")


def pull(run: RunArgument, batch: BatchOption = 1, json: JsonOption = False) -> None:
    """Pull a batch again after answers were changed in Label Studio; the earlier pull is kept.

    Example: `abcdlink annotate pull spring-news --batch 1`
    """
    from labelstudio_config import batches

    again = batches.pull_again(existing_run(run), batch)
    if json:
        print_json(again.model_dump(mode="json"))
        return
    _tell(again.words(batch))


def check(run: RunArgument, batch: MaybeBatchOption = None, json: JsonOption = False) -> None:
    """Check whether answers were changed in Label Studio after their batch was pulled.

    Example: `abcdlink annotate check spring-news`
    """
    from abcdlink.stages.annotate import pulled_of
    from labelstudio_config import batches

    store = existing_run(run)
    numbers = [number for number in _batches(store, batch) if batch or pulled_of(store, number)]
    found = {number: changed.changes if (changed := batches.check(store, number)) else () for number in numbers}
    if json:
        print_json({"run": run, "changes": {str(number): list(changes) for number, changes in found.items()}})
        return
    for number, changes in found.items():
        _tell([f"batch {number}: {line}" for line in changes] or [f"batch {number}: nothing has changed"])
    if any(found.values()):
        say(f"The figures of run {run} predate these changes: `abcdlink annotate pull` recomputes them.")


def reassign(
    run: RunArgument,
    account: Annotated[str, typer.Option("--from", help="Annotator to stop waiting for: account or pseudonym.")],
    batch: BatchOption = 1,
    to: Annotated[str, typer.Option("--to", help="Account that does the work instead.")] = "",
    json: JsonOption = False,
) -> None:
    """Stop waiting for an annotator, and say how someone else can do the open tasks.

    Example: `abcdlink annotate reassign spring-news --batch 1 --from ada@example.org --to ben@example.org`
    """
    from labelstudio_config import batches

    _answer(batches.reassign(existing_run(run), batch, account, to), json)


def requeue(run: RunArgument, batch: BatchOption = 1, json: JsonOption = False) -> None:
    """Offer skipped tasks again to those who skipped them, and wait for their answers.

    Example: `abcdlink annotate requeue spring-news --batch 1`
    """
    from labelstudio_config import batches

    _answer(batches.requeue(existing_run(run), batch), json)


def _batches(store: Store, batch: int | None) -> list[int]:
    from labelstudio_config.batches import batches_pushed

    return batches_pushed(store) if batch is None else [batch]


def _show_status(run: str, found: Status) -> None:
    pulled = f", pull {found.pulled}" if found.pulled else ""
    deadline = f", deadline {found.schedule.deadline:%Y-%m-%d %H:%M} UTC" if found.schedule.deadline else ""
    title = f"{run}: batch {found.batch}, {found.done} of {found.tasks} tasks done{pulled}{deadline}"
    if found.people:
        print_rows(title, [one.row for one in found.people], texts=4)
    else:
        say(f"{title}; nobody has started.")
    out.print(f"{found.overlap} annotators per task: {found.url}", soft_wrap=True, markup=False)


def _answer(sentences: list[str], json: bool) -> None:
    if json:
        print_json({"said": sentences})
    else:
        _tell(sentences)


def _tell(sentences: list[str]) -> None:
    for sentence in sentences:
        is_address = "@" in sentence.partition(" ")[0]
        out.print(sentence if is_address else f"{sentence[0].upper()}{sentence[1:]}", soft_wrap=True, markup=False)

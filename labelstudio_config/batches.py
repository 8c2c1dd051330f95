"""What a coordinator can do with a batch that annotators work on: look, pull, reassign, offer again.

Plain functions: the command line calls them in its own process, the flow ``batches`` from the Prefect UI.
"""

from __future__ import annotations

from datetime import UTC, datetime

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.interannotator.measures import Agreement, keep_agreement
from abcdlink.layout import CHANGED, JUDGMENTS, REPORT, batch_file, batch_slug, feedback_slug
from abcdlink.report import write_report
from abcdlink.stages.annotate import Changed, Pulled, annotators_of, changed_of, join_batches, pulled_of, set_aside
from abcdlink.stages.feedback import outcome_in
from abcdlink.store import Store
from labelstudio_config.answers import differences, namer
from labelstudio_config.attendance import Attendance, Schedule, attendance, awaited_in, relieve, schedule_of
from labelstudio_config.client import public
from labelstudio_config.history import user_of
from labelstudio_config.pages.annotate import keep_partial, keep_result
from labelstudio_config.progress import open_keys, progress_in
from labelstudio_config.projects import let_titles_say, look_now
from labelstudio_config.run import PushedProject, is_pushed, label_studio, look_at
from labelstudio_config.snapshot import Snapshot


class Status(Record):
    """How far a batch is. ``pulled``: number of the pull that the run holds, 0 before the first."""

    batch: int
    url: str
    tasks: int
    done: int
    overlap: int
    schedule: Schedule
    pulled: int
    people: tuple[Attendance, ...]


class PulledAgain(Record):
    """Result of pulling again; without changes, everything stayed as it was."""

    version: int
    changes: tuple[str, ...]

    def words(self, batch: int) -> list[str]:
        """Return which pull this is and what has changed, one sentence each."""
        return [f"this is pull {self.version} of batch {batch}", *(self.changes or ["nothing had changed"])]


def status(store: Store, batch: int) -> Status:
    """Return how far a batch is and who works on it."""
    pushed, snapshot = _look(store, batch)
    progress, pulled = progress_in(snapshot, pushed.task_keys, pushed.overlap), pulled_of(store, batch)
    return Status(
        batch=batch,
        url=pushed.url,
        tasks=progress.tasks,
        done=progress.done,
        overlap=pushed.overlap,
        schedule=schedule_of(store, pushed.slug),
        pulled=pulled.version if pulled else 0,
        people=tuple(attendance(store, pushed, snapshot, datetime.now(UTC))),
    )


def batches_pushed(store: Store) -> list[int]:
    """Return the numbers of the batches that are in Label Studio."""
    batches = int(store.manifest.get("annotation", {}).get("batches", 0))
    return [batch for batch in range(1, batches + 1) if is_pushed(store, batch_slug(batch))]


def check(store: Store, batch: int) -> Changed | None:
    """Compare a pulled batch with what is in Label Studio now; ``None``: nothing is different.

    Differences are noted in ``changed.json``, and the report, if there is one, says that it is out of date.
    """
    _, snapshot = _look(store, batch)
    pulled, before = _require_pulled(store, batch), changed_of(store, batch)
    changes = _differences(store, pulled, snapshot)
    if not changes:
        if before:
            store.folder.remove(batch_file(batch, CHANGED))
            _regenerate_report(store)
        return None
    if before is None or before.changes != changes:
        noted = Changed(noted=datetime.now(UTC), changes=changes)
        store.write_record(batch_file(batch, CHANGED), noted)
        _regenerate_report(store)
    return changed_of(store, batch)


def pull_again(store: Store, batch: int) -> PulledAgain:
    """Pull a batch again; the previous pull is kept as a numbered version.

    Everything made from the judgments is regenerated. If it is killed on the way, the same call resumes:
    the note that the batch has changed is removed last.
    """
    pushed, snapshot = _look(store, batch)
    pulled = _require_pulled(store, batch)
    changes = _differences(store, pulled, snapshot)
    version = pulled.version
    if changes:
        set_aside(store, batch, version)
        version += 1
        keep_result(store, batch, snapshot, version)
    keep_agreement(store, batch, pushed.overlap)
    concluded = store.exists(JUDGMENTS)
    if concluded:
        join_batches(store, int(store.manifest["annotation"]["batches"]), pushed.overlap)
    store.folder.remove(batch_file(batch, CHANGED))
    if concluded or store.exists(REPORT):
        write_report(store)
    return PulledAgain(version=version, changes=changes)


def pull_partial(store: Store, batch: int) -> Agreement:
    """Return kappa and acceptance rates as if the batch ended now, without touching its own files."""
    pushed, snapshot = _look(store, batch)
    return keep_partial(store, batch, snapshot, pushed.overlap)


def requeue(store: Store, batch: int) -> list[str]:
    """Offer tasks again to those who skipped them, or whose answer does not count; returns one sentence for each.

    Skips and answers are kept in the run and deleted in Label Studio, and the run waits for their tasks again. So are
    older answers of someone who answered a task in two annotators' projects: another person is offered it.
    """
    pushed, snapshot = _look(store, batch)
    name, wanted = namer(annotators_of(store)), set(pushed.task_keys)
    there = {one["id"]: task["project"] for task in snapshot.history.tasks for one in task["annotations"]}
    skipped = [one for answers in snapshot.answers.values() for one in answers if one.skipped]
    again = [(one.raw["id"], one.key, one.user) for one in skipped]
    again += [
        (one.annotation["id"], one.key, user_of(one.annotation)) for one in snapshot.set_aside if not one.original
    ]
    twice = [
        (older.raw["id"], older.key, older.user)
        for newest, *others in snapshot.answers.values()
        for older in others
        if there.get(older.raw["id"]) != there.get(newest.raw["id"])
    ]
    again = [one for one in (*again, *twice) if one[0] in there and one[1] in wanted]
    client = label_studio()
    for annotation, _, _ in again:
        client.delete_annotation(annotation)
    look_at(store, client, pushed, requeued={annotation for annotation, _, _ in again})
    if again:
        let_titles_say(store, pushed.slug, closed=False)
    said = []
    for one in again:
        account = snapshot.account(one[2])
        who = f"{account} ({name(account)})"
        doubled = f"{who} answered the task {one[1]} in two projects: someone else will be offered it"
        said.append(doubled if one in twice else f"{who} will be offered the task {one[1]} again")
    if said and pulled_of(store, batch):
        pull = f"`abcdlink annotate pull {store.key} --batch {batch}`"
        said.append(f"batch {batch} has been pulled, and nothing waits for these answers: {pull} then counts them")
    return said or ["nobody skipped a task of this batch"]


def reassign(store: Store, batch: int, account: str, to: str = "") -> list[str]:
    """Stop waiting for an annotator, in the round after the batch too; returns, in sentences, what is left to do.

    Label Studio Community does not assign tasks: whoever opens the link of the batch is
    offered each task that fewer people than needed have answered. So nothing changes there; who was
    relieved is noted in the run, for tables, lateness and reminders.

    Raises:
        InputError: when the account has no part in this batch, or both accounts are the same.
    """
    pushed, snapshot = _look(store, batch)
    rows = {row.account: row for row in attendance(store, pushed, snapshot, datetime.now(UTC))}
    by_name = {name.lower(): row for row in rows.values() for name in (row.account, row.annotator) if name}
    if account.lower() not in by_name:
        msg = f"{account!r} has no part in batch {batch} of run {store.key!r}"
        raise InputError(msg, f"name one of {', '.join(rows) or 'nobody: no one has answered yet'}")
    relieved = by_name[account.lower()]
    to = by_name[to.lower()].account if to.lower() in by_name else to
    if to == relieved.account:
        msg = f"{account!r} cannot take over from themselves"
        raise InputError(msg, "name another account, or none: anyone who opens the link can do the tasks")
    relieve(store, pushed.slug, relieved.account, to)
    said = [
        f"the run no longer waits for {relieved.account}; their answers to {relieved.done} tasks stay",
        *_in_words(pushed, snapshot, relieved, to),
    ]
    if is_pushed(store, feedback_slug(batch)) and outcome_in(store, batch) is None:
        names = ", ".join(awaited_in(store, feedback_slug(batch)) or ()) or "nobody"
        said.append(f"the feedback round after batch {batch} now waits for {names}")
    client = label_studio()
    if to and to not in client.accounts().values():
        said.append(f"{to} has no account yet, and creates one here first: {client.invitation()}")
    return said


def _in_words(pushed: PushedProject, snapshot: Snapshot, relieved: Attendance, to: str) -> list[str]:
    unfinished = open_keys(snapshot, pushed.task_keys, pushed.overlap)
    left, tasks = len(unfinished), len(pushed.task_keys)
    if not left:
        return [f"all {tasks} tasks are done, so nobody has to take over any"]
    offered = (
        "Label Studio does not assign tasks: whoever opens this link is offered each task that still needs an answer; "
        "nothing has to change there, and drafts block nobody"
    )
    said = [
        f"{left} of {tasks} tasks need another answer; {relieved.account} has not answered {relieved.open} of them",
        offered,
        f"give this link to {to or 'whoever takes over'}: {_link_to(pushed, snapshot, relieved.account)}",
    ]
    mine = {key for key, user in snapshot.answers if snapshot.account(user) == to}
    if twice := sum(key in mine for key in unfinished):
        said.append(f"{to} has already answered {twice} of the open tasks: these need a third person")
    return said


def _link_to(pushed: PushedProject, snapshot: Snapshot, account: str) -> str:
    """Return where someone's work is: their own project or, before their first answer, those that nobody has begun.

    The page that leads annotators to their own tasks does not lead to somebody else's.
    """
    if len(pushed.projects) == 1:
        return pushed.url
    begun: dict[int, set[str]] = {}
    for task in snapshot.history.tasks:
        begun.setdefault(task["project"], set()).update(snapshot.account(user_of(one)) for one in task["annotations"])
    theirs = [one for one in pushed.projects if account in begun.get(one.project_id, ())]
    free = [one for one in pushed.projects if not begun.get(one.project_id)]
    return " or ".join(public(one.url) for one in theirs or free) or pushed.url


def _look(store: Store, batch: int) -> tuple[PushedProject, Snapshot]:
    slug = batch_slug(batch)
    if not is_pushed(store, slug):
        msg = f"batch {batch} of run {store.key!r} is not in Label Studio"
        raise InputError(msg, f"start it with `abcdlink annotate start {store.key}`, or name another batch")
    return look_now(store, slug)


def _require_pulled(store: Store, batch: int) -> Pulled:
    pulled = pulled_of(store, batch)
    if pulled is None:
        msg = f"batch {batch} of run {store.key!r} is not complete: it has not been pulled yet"
        raise InputError(msg, "the run pulls it when its annotators are done; `--partial` shows what is there so far")
    return pulled


def _differences(store: Store, pulled: Pulled, snapshot: Snapshot) -> tuple[str, ...]:
    return tuple(differences(pulled.answers, snapshot, namer(annotators_of(store))))


def _regenerate_report(store: Store) -> None:
    if store.exists(REPORT):
        write_report(store)

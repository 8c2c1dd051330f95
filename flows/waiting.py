"""How a run waits, mostly for people: it is suspended, so no process waits, and its page stays up to date.

``reconcile`` resumes the run when its project is complete; the run then goes through its steps from the start, and each
finds its result in the run's folder. Only a top-level run of a deployment can be suspended.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID, uuid4

from prefect import get_run_logger
from prefect.artifacts import Artifact, MarkdownArtifact, ProgressArtifact, TableArtifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactUpdate
from prefect.exceptions import ObjectNotFound
from prefect.runtime import deployment, flow_run
from prefect.settings import PREFECT_UI_URL

from abcdlink.layout import project_file
from abcdlink.stages.execution import AnswersPendingError
from abcdlink.store import Store, open_run
from abcdlink.waiting import WaitsFor, wait_for, waiting_of
from abcdlink.whatnow import what_now
from flows.artifacts import show_project
from labelstudio_config.pages import Page
from labelstudio_config.progress import ProjectProgress
from labelstudio_config.run import read_pushed, surroundings
from tasks.projects import look, pull, push
from tasks.running import key
from tasks.runs import Form, suspend

if TYPE_CHECKING:
    from prefect import Flow
    from prefect.client.schemas import FlowRun, State
    from prefect.client.schemas.objects import Artifact as ArtifactResponse

LIVE_ARTIFACTS = "live-artifacts.json"
"""What run pages show about a project, by artifact key and flow run; stored beside the project in the run."""


def show_progress(store: Store, flow_run: str, slug: str, progress: ProjectProgress) -> None:
    """Show how much of a project is done, on the page of the run that waits for it."""
    closed = ", closed" if progress.complete and progress.done < progress.tasks else ""
    bar = ProgressArtifact(
        key=key(store.key, slug, "progress"),
        progress=100.0 * progress.done / max(progress.tasks, 1),
        description=f"Run {store.key}, {slug}: {progress.words}{closed}",
        flow_run_id=UUID(flow_run),
    )
    show_live(store, slug, bar, bar.description)


def show_rows(store: Store, flow_run: str, slug: str, name: str, rows: list[dict[str, Any]], told: str) -> None:
    """Show a table on the page of the run that waits for a project."""
    shown = TableArtifact(
        key=key(store.key, slug, name), table=list(rows), description=told, flow_run_id=UUID(flow_run)
    )
    show_live(store, slug, shown, rows)


def show_live(store: Store, slug: str, artifact: Artifact, content: object) -> None:
    """Show an artifact, or replace it in place, unless it already shows ``content``.

    Otherwise, updates every half minute would fill the page of a run that waits for weeks.
    """
    name = project_file(slug, LIVE_ARTIFACTS)
    shown_now: dict[str, Any] = store.read_json(name, dict[str, dict[str, str]]) if store.exists(name) else {}
    # Each flow run has its own page, and several of them may show the same thing.
    shown_as = f"{artifact.key} {artifact.flow_run_id}"
    before = shown_now.get(shown_as, {})
    # Stored as a digest: the page may contain an invitation, and the run's folder may be shared.
    digest = hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()
    if before and before["content"] == digest:
        return
    shown = before["id"] if before and replace(UUID(before["id"]), artifact) else create(artifact)
    store.write_json(name, {**shown_now, shown_as: {"id": shown, "content": digest}})


def create(artifact: Artifact) -> str:
    """Show an artifact for the first time; returns its id."""
    return str(cast("ArtifactResponse", artifact.create()).id)


def replace(artifact_id: UUID, artifact: Artifact) -> bool:
    """Replace data and description of an artifact; ``False`` if it is gone."""
    change = ArtifactUpdate(data=artifact.format(), description=artifact.description)
    with get_client(sync_client=True) as client:
        try:
            client.update_artifact(artifact_id, change)
        except ObjectNotFound:
            return False
    return True


SHOWN = "what-now"
RAISED = re.compile(r"^(Flow run encountered an exception: )?(\w+Error: )?")
NOT_FOUND, MISSING = "FileNotFoundError: ", "this file is missing: "


def show_what_now(store: Store, flow_run: str) -> None:
    """Show on a run's page where the run stands."""
    now = what_now(store, surroundings(store, PREFECT_UI_URL.value() or ""))
    text = now.markdown()
    shown = MarkdownArtifact(
        key=key(store.key, SHOWN), markdown=text, description=now.headline, flow_run_id=UUID(flow_run)
    )
    show_live(store, SHOWN, shown, text)


def in_words(message: str | None) -> str:
    """Return a failed run's message without what Prefect and Python put before it."""
    return RAISED.sub(lambda found: MISSING if found[2] == NOT_FOUND else "", message or "", count=1)


def note(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Note that a flow is running, has finished, or failed and why. A subflow notes nothing: its parent flow does."""
    if flow_run.parent_task_run_id is not None:
        return
    kind = WaitsFor.NOBODY if state.is_running() else WaitsFor.NOTHING if state.is_completed() else WaitsFor.FIX
    store = open_run(str(flow_run.parameters["run"]))
    before, told = waiting_of(store, flow.name), in_words(state.message) if kind is WaitsFor.FIX else ""
    wait_for(store, str(flow_run.id), flow.name, kind, before.slug if before else "", told)
    show_what_now(store, str(flow_run.id))


NOTED: dict[str, Any] = {f"on_{what}": [note] for what in ("running", "completion", "failure", "cancellation")}
"""Hooks of every flow with a run key: they keep *What now* up to date."""


def ask_people(store: Store, domain: str, page: Page, or_resumed: str = "") -> None:
    """Push the tasks of a page, suspend this run until people have done them, and pull the answers.

    Nothing is pushed if the answers have already been pulled. ``or_resumed``: see ``wait_for_annotators``.
    """
    if not page.is_pulled(store) and push(store.key, domain, page) is not None:
        wait_for_annotators(store, page.slug, or_resumed)
    pull(store.key, page)


def wait_for_annotators(store: Store, slug: str, or_resumed: str = "") -> None:
    """Suspend this run until the annotators of a pushed project are done; return when they are.

    ``or_resumed``: what resuming the run early means; empty: nothing, it keeps waiting.
    """
    while not (progress := look(store.key, slug)).complete:
        pushed = read_pushed(store, slug)
        show_project(store.key, pushed)
        with noted(store, WaitsFor.ANNOTATORS, slug):
            get_run_logger().info(
                "%s waits for people at %s (%d of %d tasks done). This run is suspended now and continues by itself "
                "when they are done%s.",
                slug,
                pushed.url,
                progress.done,
                progress.tasks,
                f", or when it is resumed: {or_resumed}" if or_resumed else "",
            )
            # One fixed key: Prefect suspends once for it, so resuming the run ends the wait. Else a new key each time:
            # resuming is only a hint, completeness decides.
            suspend(f"{slug}-annotators" if or_resumed else f"{slug}-{uuid4()}")
        if or_resumed:
            progress = progress.model_copy(update={"complete": True})
            break
    show_progress(store, str(flow_run.id), slug, progress)


def wait_for_coordinator(store: Store, slug: str, told: str, key: str, form: type[Form]) -> Form:
    """Suspend this run until the coordinator has filled in a form; ``key``: see ``suspend``."""
    with noted(store, WaitsFor.COORDINATOR, slug):
        get_run_logger().info("%s This run is suspended now.", told)
        return suspend(key, form)


@contextmanager
def noted(store: Store, kind: WaitsFor, slug: str = "", told: str = "") -> Iterator[None]:
    """Note what this run waits for before the block suspends it and, where that is over already, that it is at work."""
    this_run = str(flow_run.id), str(flow_run.flow_name)
    wait_for(store, *this_run, kind, slug, told)
    show_what_now(store, this_run[0])
    yield
    wait_for(store, *this_run, WaitsFor.NOBODY, slug)
    show_what_now(store, this_run[0])


PAUSE = "llm-batch"
"""Prefix of the keys of suspensions that wait for a batch, by which ``reconcile`` recognises them."""


@contextmanager
def waiting_for_answers() -> Iterator[None]:
    """Suspend this run if its stages have to wait for a batch; it continues from the start when the batch is over.

    Raises:
        AnswersPendingError: when it cannot be suspended because no deployment started it.
    """
    try:
        yield
    except AnswersPendingError as pending:
        if not deployment.id:
            raise
        corpus = pending.corpus
        with noted(open_run(str(flow_run.parameters["run"])), WaitsFor.LLM, told=corpus):
            get_run_logger().info("This run waits for the LLM batch on the %s pairs and continues by itself.", corpus)
            # A new key each time: resuming is only a hint, the batch decides.
            suspend(f"{PAUSE} {corpus} {uuid4()}")


def batch_waited_for(suspended: FlowRun) -> str:
    """Return the corpus whose LLM batch a suspended run waits for; empty if it waits for something else."""
    pause_key = (suspended.state.state_details.pause_key if suspended.state else None) or ""
    return pause_key.split(" ")[1] if pause_key.startswith(f"{PAUSE} ") else ""

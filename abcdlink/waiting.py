"""What the flows of a run are doing or waiting for, and how far people are; kept in the run's folder."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum

from abcdlink.corpus.records import Record
from abcdlink.layout import WAITING, project_file, waiting_file
from abcdlink.store import Store

PROGRESS = "standing.json"
"""How far a project is, under the name that stored runs have; beside the other files on the project."""


class WaitsFor(StrEnum):
    """What a flow run waits for."""

    ANNOTATORS = "annotators"
    COORDINATOR = "coordinator"
    LLM = "llm"
    NOBODY = "nobody"
    """It is at work."""
    FIX = "fix"
    """It failed, and goes on when the cause is removed and it is started again."""
    NOTHING = "nothing"
    """It is over."""


class Waiting(Record):
    """What a flow run waits for.

    ``slug``: the project at which it waits, or waited last. ``at``: since when; ``None`` in runs of earlier versions.
    ``told``: why it failed, what an LLM is asked about, or how far its work is.
    """

    flow_run: str
    kind: WaitsFor
    slug: str = ""
    at: datetime | None = None
    told: str = ""


def wait_for(store: Store, flow_run: str, flow: str, kind: WaitsFor, slug: str = "", told: str = "") -> None:
    """Note what a flow run is doing, or is about to wait for."""
    waiting = Waiting(flow_run=flow_run, kind=kind, slug=slug, at=datetime.now(UTC), told=told)
    store.write_record(waiting_file(flow), waiting)


def note_progress(store: Store, flow: str, told: str) -> None:
    """Note how far a flow's work is, if it is at work."""
    waiting = waiting_of(store, flow)
    if waiting and waiting.kind is WaitsFor.NOBODY and waiting.told != told:
        store.write_record(waiting_file(flow), waiting.model_copy(update={"told": told}))


def waiting_of(store: Store, flow: str) -> Waiting | None:
    """Return what a flow run waits for, or last waited for; ``None``: this flow was never started."""
    return store.find_record(waiting_file(flow), Waiting)


def all_waiting(store: Store) -> Iterator[tuple[str, Waiting]]:
    """Return every flow that was started for this run, and what it waits for."""
    for name in store.folder.names(f"{WAITING}/"):
        flow = name.removeprefix(f"{WAITING}/").removesuffix(".json")
        yield flow, store.read_record(name, Waiting)


class Person(Record):
    """How far one annotator is. ``annotator``: pseudonym, empty until an answer of theirs was pulled."""

    account: str
    annotator: str
    done: int
    open: int


class PeopleProgress(Record):
    """How far the people of a project are.

    ``needed``: answers that are waited for, ``answers``: those that are there. ``first``: when the first came.
    ``own_urls``: a link for each annotator, where each has a project of their own; else all share ``url``.
    ``note``: what else tells how far they are.
    """

    title: str
    url: str
    tasks: int
    done: int
    needed: int
    answers: int
    people: tuple[Person, ...]
    looked: datetime
    first: datetime | None = None
    deadline: datetime | None = None
    own_urls: tuple[str, ...] = ()
    note: str = ""

    @property
    def expected_end(self) -> datetime | None:
        """When the last answer comes if people go on at their pace so far; ``None``: too little to tell by."""
        if self.first is None or self.done == self.tasks or self.answers < ENOUGH or self.looked <= self.first:
            return None
        return self.looked + (self.needed - self.answers) * (self.looked - self.first) / self.answers


ENOUGH = 3
"""Fewer answers than this say nothing of a pace."""


CLOSED = "closed.json"


class Closed(Record):
    """A project that waits for nobody, as long as it has so many tasks."""

    tasks: int


def close_project(store: Store, slug: str, tasks: int) -> None:
    """Note that the answers that are there are enough; tasks that are added later are waited for again."""
    store.write_record(project_file(slug, CLOSED), Closed(tasks=tasks))


def is_closed(store: Store, slug: str, tasks: int) -> bool:
    """Tell whether the coordinator closed a project that has so many tasks."""
    closed = store.find_record(project_file(slug, CLOSED), Closed)
    return closed is not None and closed.tasks in {0, tasks}


def keep_people_progress(store: Store, slug: str, progress: PeopleProgress) -> None:
    """Keep how far a project is."""
    store.write_record(project_file(slug, PROGRESS), progress)


def people_progress(store: Store, slug: str) -> PeopleProgress | None:
    """Return how far a project was at the last look; ``None``: nobody looked."""
    return store.find_record(project_file(slug, PROGRESS), PeopleProgress)

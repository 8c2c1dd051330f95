"""What a suspended flow run waits for, kept in the run's folder."""

from __future__ import annotations

from enum import StrEnum

from abcdlink.corpus.records import Record
from abcdlink.layout import waiting_file
from abcdlink.store import Store


class WaitsFor(StrEnum):
    """Whom a suspended flow run waits for."""

    ANNOTATORS = "annotators"
    COORDINATOR = "coordinator"
    NOTHING = "nothing"


class Waiting(Record):
    """What a flow run waits for, and at which project."""

    flow_run: str
    kind: WaitsFor
    slug: str


def wait_for(store: Store, flow_run: str, flow: str, kind: WaitsFor, slug: str) -> None:
    """Note what a flow run is about to wait for; at its end, nothing."""
    waiting = Waiting(flow_run=flow_run, kind=kind, slug=slug)
    store.write_record(waiting_file(flow), waiting)


def waiting_of(store: Store, flow: str) -> Waiting | None:
    """Return what the flow run waits for, or last waited for; ``None``: it never waited."""
    return store.find_record(waiting_file(flow), Waiting)

"""Progress of long work as a Prefect progress artifact."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar, cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact

T = TypeVar("T")

SECONDS_BETWEEN_UPDATES = 2.0


def prefect_progress(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and keep a progress artifact on the run page up to date."""
    length = total if total is not None else (len(items) if isinstance(items, Sized) else None)
    artifact = cast("UUID", create_progress_artifact(progress=0.0, description=label))
    shown = time.monotonic()
    for done, item in enumerate(items):
        if length and time.monotonic() - shown > SECONDS_BETWEEN_UPDATES:
            shown = time.monotonic()
            update_progress_artifact(
                artifact, progress=100.0 * done / length, description=f"{label}: {done} of {length}"
            )
        yield item
    all_done = f"{label}: {length} of {length}" if length else label
    update_progress_artifact(artifact, progress=100.0, description=all_done)

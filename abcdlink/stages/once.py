"""Doing a stage once: it is cut into parts, and what the run holds is not done again; which LLM was asked is noted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.locks import one_at_a_time
from abcdlink.progress import Progress
from abcdlink.store import Store

if TYPE_CHECKING:
    from abcdlink.llm.client import LLM

T = TypeVar("T")


def parts_of(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Cut items into parts of ``size``; the number of a part is its position."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def alone(store: Store, stage: str, progress: Progress) -> AbstractContextManager[None]:
    """Let one process of this machine at a time do a stage of the run: none pays for what another is asking.

    A process that was stopped, on a laptop that slept, say, may go on beside the one that was started in its place.
    """
    return one_at_a_time(f"{store.key}+{stage}", f"{stage} of run {store.key!r}", progress)


def is_done(store: Store, stage: str, result: str, asked: Record | dict[str, Any]) -> bool:
    """Tell whether the run already holds a stage's result, made from the same inputs.

    The first call for a stage claims the run for these inputs, so that an interrupted stage can
    only be taken up with the inputs it was begun with. Where they are a record, a claim by an earlier
    version of this program is read as one: its names as they are now, later settings at their defaults.

    Raises:
        InputError: when the stage was begun with other inputs.
    """
    claimed = store.manifest.get("inputs", {})
    inputs = asked.model_dump(mode="json") if isinstance(asked, Record) else asked
    if stage not in claimed:
        store.note_in("inputs", stage, inputs)
    elif claimed[stage] != inputs and not (isinstance(asked, Record) and _reads_as(asked, claimed[stage])):
        changed = sorted(k for k in {*inputs, *claimed[stage]} if inputs.get(k) != claimed[stage].get(k))
        before = ", ".join(f"{k}={claimed[stage].get(k)!r} (now {inputs.get(k)!r})" for k in changed)
        msg = f"run {store.key!r} began its stage {stage!r} with other settings: {before}"
        raise InputError(msg, "use the same settings, or another run key")
    return store.exists(result)


def _reads_as(asked: Record, claimed: dict[str, Any]) -> bool:
    try:
        return type(asked).model_validate(claimed) == asked
    except ValidationError:
        return False


def note_llm(store: Store, asked_for: str, llm: LLM) -> None:
    """Note in the manifest's section ``llm`` by which model, server and parameters questions were answered.

    Args:
        store: the run.
        asked_for: what the questions were for; each has its own entry, since another model may serve it.
        llm: the one that was asked; its key is not noted.
    """
    # What was found out about the server is known to it for a day only.
    store.note_in("llm", asked_for, {**store.manifest.get("llm", {}).get(asked_for, {}), **llm.describe()})

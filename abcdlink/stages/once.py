"""Doing a stage only once: dividing it into parts, skipping what is done, and recording which LLM was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from pydantic import ValidationError

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.locks import one_at_a_time
from abcdlink.progress import Progress
from abcdlink.store import Store

if TYPE_CHECKING:
    from abcdlink.llm.client import LLM

T = TypeVar("T")
Given = ParamSpec("Given")


class OtherInputsError(InputError):
    """A stage was started with other inputs."""


def parts_of(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Divide items into parts of ``size``; the number of a part is its position."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def alone(store: Store, stage: str, progress: Progress) -> AbstractContextManager[None]:
    """Let only one process on this machine do a stage of the run, so that no question is paid for twice.

    Otherwise, a process on a laptop that slept could continue beside its replacement.
    """
    return one_at_a_time(f"{store.key}+{stage}", f"{stage} of run {store.key!r}", progress)


def is_done(
    store: Store, stage: str, result: str, asked: Record | dict[str, Any], otherwise: str = "another run key"
) -> bool:
    """Tell whether the run already has a stage's result from the same inputs.

    The first call for a stage claims the run for these inputs, so that an interrupted stage can
    only continue with the inputs it was started with. If they are a record, a claim by an earlier
    version of this program is read as one: its names as they are now, later settings at their defaults. ``otherwise``:
    what else to give for other inputs.

    Raises:
        OtherInputsError: when the stage was started with other inputs.
    """
    claimed = store.manifest.get("inputs", {})
    inputs = asked.model_dump(mode="json") if isinstance(asked, Record) else asked
    if stage not in claimed:
        store.note_in("inputs", stage, inputs)
    elif claimed[stage] != inputs and not (isinstance(asked, Record) and _reads_as(asked, claimed[stage])):
        changed = ", ".join(_changed(claimed[stage], inputs))
        msg = f"run {store.key!r} started its stage {stage!r} with other settings: {changed}"
        raise OtherInputsError(msg, f"use the same settings, or {otherwise}")
    return store.exists(result)


def _changed(before: Any, now: Any, name: str = "") -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield each setting that differs, with its value before and now: ``sampling.floor=0.2 (now 0.05)``."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            yield from _changed(before.get(key), now.get(key), f"{name}.{key}" if name else key)
    elif before != now:
        was, is_now = ("unset" if value is None else repr(value) for value in (before, now))
        yield f"{name}={was} (now {is_now})"


def at_once(
    stage: str,
) -> Callable[[Callable[Concatenate[Store, Given], T]], Callable[Concatenate[Store, Given], T]]:
    """Mark a function that does a stage in one go: what it refuses does not claim the run for these inputs."""

    def mark(do: Callable[Concatenate[Store, Given], T]) -> Callable[Concatenate[Store, Given], T]:
        @wraps(do)
        def marked(store: Store, /, *given: Given.args, **named: Given.kwargs) -> T:
            was_free = stage not in store.manifest.get("inputs", {})
            try:
                return do(store, *given, **named)
            except OtherInputsError:
                raise
            except InputError:
                if was_free and stage in store.manifest.get("inputs", {}):
                    store.take_back("inputs", stage)
                raise

        return marked

    return mark


def _reads_as(asked: Record, claimed: dict[str, Any]) -> bool:
    try:
        return type(asked).model_validate(claimed) == asked
    except ValidationError:
        return False


def note_llm(store: Store, asked_for: str, llm: LLM) -> None:
    """Record in the manifest's section ``llm`` which model, server and parameters answered the questions.

    ``asked_for``: purpose of the questions; each has its own entry, since models may differ. The LLM's key is not
    recorded.
    """
    # The client remembers what it found out about the server for only a day.
    store.note_in("llm", asked_for, {**store.manifest.get("llm", {}).get(asked_for, {}), **llm.describe()})

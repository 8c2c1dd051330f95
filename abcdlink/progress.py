"""Progress of long work: the library says how far it is, the caller decides how that is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")


class Progress(Protocol):
    """Wraps an iterable: yields its items and tells whoever is watching how many are done."""

    def __call__(self, items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
        """Yield the items; ``label`` says what is done, ``total`` how many there are, if known."""


def silent(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:  # noqa: ARG001
    """Yield the items and show nothing."""
    yield from items


@contextmanager
def terminal() -> Iterator[Progress]:
    """Show rich progress bars on stderr while the context is open."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    # An LLM's answers come some at once, then none for a minute: the time left goes by the last ten minutes.
    with Bars(*columns, console=Console(stderr=True), speed_estimate_period=600) as bars:

        def show(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
            length = total if total is not None else (len(items) if isinstance(items, Sized) else None)
            task = bars.add_task(label, total=length)
            for item in items:
                yield item
                bars.advance(task)

        yield show

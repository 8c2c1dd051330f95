"""Two threads that ask the same thing at the same moment pay for it once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from abcdlink.llm.records import Answer


class Flights:
    """The questions of this process that are under way, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[Answer]] = {}

    def once(self, key: str, pay: Callable[[], Answer]) -> tuple[Answer, bool]:
        """Return the answer and whether it was this caller who paid; the others wait for theirs.

        What ``pay`` raises is raised for all of them.
        """
        with self._lock:
            flight = self._under_way.get(key)
            mine = flight is None
            if flight is None:
                flight = self._under_way[key] = Future()
        if not mine:
            return flight.result(), False
        try:
            flight.set_result(pay())
        except BaseException as error:
            flight.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._under_way[key]
        return flight.result(), True

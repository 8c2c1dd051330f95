"""What all clients of one server in this process share: its pace, questions under way, what is known about it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

from abcdlink.llm.capabilities import Capabilities
from abcdlink.llm.errors import NoReplyError
from abcdlink.llm.records import Answer
from abcdlink.settings import Settings

BROKEN_AFTER = 5
"""Different questions in a row to which a server gives no answer; then the fault is not in the questions."""

OVERHEAD = 64
"""Tokens that a chat template may add."""
MARGIN = 1.2
"""How much denser than any prompt before the next one may be."""
SHORT = 200
"""Bytes; in shorter prompts the chat template weighs too much to tell a ratio."""


class SingleFlight:
    """Lets threads that ask the same thing at the same moment pay for it once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[Answer]] = {}

    @contextmanager
    def of(self, key: str) -> Iterator[tuple[Future[Answer], bool]]:
        """Give what holds the answer, and whether it is this caller who has to find it; the others wait for it.

        What is raised inside is raised for all of them.
        """
        with self._lock:
            mine = key not in self._under_way
            flight = self._under_way.setdefault(key, Future())
        if not mine:
            yield flight, False
            return
        try:
            yield flight, True
        except BaseException as error:
            flight.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._under_way[key]


class RateLimiter:
    """Limits how many requests are under way: fewer when the server refuses them, more again when it answers.

    Additive increase, multiplicative decrease (Chiu and Jain 1989), as in TCP: every answer allows
    1 / allowed more at once, so that a round of answers allows one more; a refusal halves what is
    allowed, once for all that were under way when it came. It stays between 1 and ``most``.

    Where a refusal says how long to wait, no request starts until then. One limiter serves all threads
    of the process that ask one server.

    Args:
        most: the most requests at once.
        now: a clock in seconds that never goes back.
    """

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self.allowed = float(most)
        self._now = now
        self._changed = threading.Condition()
        self._inside = 0
        self._refusals = 0
        self._shut_until, self._times_shut = 0.0, 0

    def enter(self, sleep: Callable[[float], None]) -> int:
        """Wait for a place; returns the number that ``refused`` wants to know.

        Args:
            sleep: waits so many seconds while no request may start; each such time is slept for once.
        """
        slept = 0
        while True:
            with self._changed:
                wait = self._shut_until - self._now()
                if wait > 0 and slept < self._times_shut:
                    slept = self._times_shut
                elif self._inside < int(self.allowed):
                    self._inside += 1
                    return self._refusals
                else:
                    self._changed.wait()
                    continue
            sleep(wait)

    def leave(self) -> None:
        """Give the place back."""
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def passed(self) -> None:
        """Note that the server answered."""
        with self._changed:
            self.allowed = min(float(self.most), self.allowed + 1 / self.allowed)

    def refused(self, entered: int, wait: float) -> None:
        """Note that the server is overloaded.

        Args:
            entered: what ``enter`` returned for the request.
            wait: seconds for which the server wants to be left alone; 0 where it does not say.
        """
        with self._changed:
            if entered == self._refusals:  # not sent before others found out
                self._refusals += 1
                self.allowed = max(1.0, self.allowed / 2)
            if wait > 0:
                self._shut_until = max(self._shut_until, self._now() + wait)
                self._times_shut += 1


class Ratio:
    """Tokens per byte of prompt, as the server counted them; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._highest = 0.0

    def note(self, size: int, tokens: int) -> None:
        """Note that a prompt of ``size`` bytes had so many tokens."""
        if size >= SHORT and tokens:
            with self._lock:
                self._highest = max(self._highest, tokens / size)

    def most(self, size: int) -> int:
        """Return how many tokens a prompt of ``size`` bytes has at most.

        No tokenizer makes more tokens than bytes; once prompts were counted, 1.2 times the densest
        of them is taken as the bound.
        """
        with self._lock:
            density = min(1.0, MARGIN * self._highest) if self._highest else 1.0
        return math.ceil(density * size) + OVERHEAD


@dataclass
class ServerState:
    """The state of one server, as far as this process knows it.

    ``paying``: held while questions are paid for together. ``failure``, ``failures``: why its capabilities could not be
    found out the last time, and how often that happened.
    ``given_up``: it did not answer for a whole round of attempts. ``broken_on``: prompts that ended in an error
    since the last answer. ``too_long``: questions that do not fit its context; another start of the server may
    enlarge it, so no other process hears of them.
    """

    limiter: RateLimiter
    single_flight: SingleFlight = field(default_factory=SingleFlight)
    ratio: Ratio = field(default_factory=Ratio)
    lock: threading.Lock = field(default_factory=threading.Lock)
    paying: threading.Lock = field(default_factory=threading.Lock)
    capabilities: Capabilities | None = None
    failure: NoReplyError | None = None
    failures: int = 0
    given_up: bool = False
    broken_on: set[str] = field(default_factory=set)
    too_long: dict[str, Answer] = field(default_factory=dict)

    def answered(self) -> None:
        """Note that the server works."""
        self.given_up = False
        self.broken_on.clear()

    def broke_on(self, prompt: str) -> None:
        """Note that a prompt ended in an error, whatever its seed."""
        self.broken_on.add(prompt)
        self.given_up = self.given_up or len(self.broken_on) >= BROKEN_AFTER


_LOCK = threading.Lock()
_STATES: dict[tuple[str, ...], ServerState] = {}


def state_of(settings: Settings, base_url: str) -> ServerState:
    """Return what the clients of a server with these settings share."""
    told = (settings.llm_model, settings.llm_answers, settings.llm_reasoning_effort, settings.llm_extra)
    key = (base_url, *told, str(settings.llm_concurrency), str(settings.cache_root))
    with _LOCK:
        return _STATES.setdefault(key, ServerState(RateLimiter(settings.llm_concurrency)))

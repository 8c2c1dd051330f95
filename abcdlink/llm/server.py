"""What all clients of a server in this process share: its rate limit, pending questions, and its state."""

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
"""Number of consecutive unanswered questions after which the server, not the questions, is at fault."""

OVERHEAD = 64
"""Tokens that a chat template may add."""
MARGIN = 1.2
"""How much denser than all earlier prompts the next one may be."""
SHORT = 200
"""Bytes; in shorter prompts, the chat template weighs too much to measure a ratio."""


class SingleFlight:
    """Lets threads that ask the same question at the same time pay for it once."""

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
    """Limits parallel requests: fewer when the server refuses them, more again when it answers.

    Additive increase, multiplicative decrease (Chiu and Jain 1989), as in TCP: every answer allows
    1 / allowed more, so that a round of answers allows one more; a refusal halves what is
    allowed, once for all requests that were pending then. It stays between 1 and ``most``.

    If a refusal says how long to wait, no request starts until then. One limiter serves all threads
    of the process that use one server.
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
        """Wait for a slot, and as long as no request may start; returns the number that ``refused`` needs."""
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
        """Release the slot."""
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def passed(self) -> None:
        """Note that the server answered."""
        with self._changed:
            self.allowed = min(float(self.most), self.allowed + 1 / self.allowed)

    def refused(self, entered: int, wait: float) -> None:
        """Note that the server is overloaded and asks to wait some seconds (0: it does not say).

        ``entered``: what ``enter`` returned for the request.
        """
        with self._changed:
            if entered == self._refusals:  # it was not sent before an earlier refusal
                self._refusals += 1
                self.allowed = max(1.0, self.allowed / 2)
            if wait > 0:
                self._shut_until = max(self._shut_until, self._now() + wait)
                self._times_shut += 1


class Ratio:
    """Tokens per byte of prompt, as counted by the server; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._highest = 0.0

    def note(self, size: int, tokens: int) -> None:
        """Record the number of tokens of a prompt of ``size`` bytes."""
        if size >= SHORT and tokens:
            with self._lock:
                self._highest = max(self._highest, tokens / size)

    def most(self, size: int) -> int:
        """Return the most tokens that a prompt of ``size`` bytes can have.

        No tokenizer produces more tokens than bytes; once prompts were counted, 1.2 times the densest
        of them is the bound.
        """
        with self._lock:
            density = min(1.0, MARGIN * self._highest) if self._highest else 1.0
        return math.ceil(density * size) + OVERHEAD


@dataclass
class ServerState:
    """The state of a server, as far as this process knows it.

    ``paying``: held while questions are paid for together. ``failure``, ``failures``: why its capabilities could not be
    found out the last time, and how often that happened.
    ``given_up``: it did not answer for a whole round of attempts. ``broken_on``: prompts that failed
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

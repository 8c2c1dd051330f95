"""How many requests are under way at once: as many as the server bears."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Gate:
    """Lets requests through, fewer when the server refuses them, more again when it answers.

    Additive increase, multiplicative decrease (Chiu and Jain 1989), as in TCP: every answer allows
    1 / allowed more at once, so that a round of answers allows one more; a refusal halves what is
    allowed, once for all that were under way when it came. It stays between 1 and ``most``.

    Where a refusal says how long to wait, nobody is let in until then. One gate serves all threads
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
            sleep: waits so many seconds while the gate is shut; each shutting is slept for once.
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
        """Note that the server has too much to do.

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

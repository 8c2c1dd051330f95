"""``python -m flows.watcher``: the process that keeps checking waiting and dead runs.

A check is one request to Prefect, and one small request to Label Studio for each waiting run; only when answers came
in, and every ten minutes, is the whole project read. A run is resumed through Prefect's API; checking creates no
flow run. The watcher holds no lock and stores only its heartbeat, so it can be killed at any moment.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prefect.client.orchestration import SyncPrefectClient, get_client

from abcdlink.errors import AbcdlinkError
from abcdlink.settings import get_settings
from flows.reconcile import look_at_all
from labelstudio_config.client import Client
from labelstudio_config.run import label_studio
from services import Heartbeat, read_heartbeat

LOOK_SECONDS = 15.0
BATCH_SECONDS = 60.0
"""Seconds between checks of an LLM batch, which takes minutes to hours."""
WHOLE_SECONDS = 600.0
"""Seconds between reads of a whole project in which nothing seems new: changed answers, reminders."""
QUIET_SECONDS = 60.0
"""Seconds between checks if nobody has answered since before the last whole read: nights and weekends."""
SHARE = 10
"""Seconds of pause before the next check of a project for each second that the last one took."""
MOST_SECONDS = 60.0
"""Longest such pause: a check may have taken long because a server was restarting."""
STALE = timedelta(seconds=150)
ASLEEP = timedelta(seconds=90)
"""Seconds between two checks above which the machine slept or Prefect was down, so no run could send a heartbeat."""

logger = logging.getLogger("abcdlink.watcher")


class WorthALook:
    """Chooses the runs that have new answers, by Label Studio's counts, or that are due anyway."""

    def __init__(self) -> None:
        self._client: Client | None = None
        self._counts: dict[str, tuple[int, ...]] = {}
        self._next: dict[str, float] = {}
        self._whole: dict[str, float] = {}
        self._answered: dict[str, float] = {}
        self._began = 0.0
        self._asked: tuple[int, ...] = ()

    def is_due(self, run: str, projects: Sequence[int]) -> bool:
        """Tell whether to look at a run's projects (none: its LLM batch) now."""
        self._began = time.monotonic()
        if self._began < self._next.get(run, 0.0):
            return False
        if not projects:
            self._next[run] = self._began + BATCH_SECONDS
            return True
        counts = self._ask(projects)
        new = counts is None or counts != self._counts.get(run)
        if new:
            self._answered[run] = self._began
        elif self._began - self._answered[run] > WHOLE_SECONDS:
            self._next[run] = self._began + QUIET_SECONDS
        if not new and self._began < self._whole.get(run, 0.0):
            return False
        self._asked = counts or ()
        return True

    def looked(self, run: str) -> None:
        """Note how long the look took, which sets the time of the next one."""
        now = time.monotonic()
        self._counts[run] = self._asked
        self._whole[run] = now + WHOLE_SECONDS
        self._next[run] = max(self._next.get(run, 0.0), now + min(SHARE * (now - self._began), MOST_SECONDS))

    def _ask(self, projects: Sequence[int]) -> tuple[int, ...] | None:
        try:
            client = self._client = self._client or label_studio()
            return tuple(count for project in projects for count in client.counts(project))
        except AbcdlinkError:  # gone or unavailable: the look itself says what is wrong
            self._client = None
            return None


class Watcher:
    """Checks the runs and writes the heartbeat into the home folder."""

    def __init__(self, home: Path) -> None:
        self.home, self.choice = home, WorthALook()
        self.shown: dict[str, str] = {}
        self.began = datetime.now(UTC)
        self.awake: datetime | None = None

    def run(self) -> None:
        """Check forever; wait for a Prefect server that is down."""
        while True:
            try:
                with get_client(sync_client=True) as client:
                    while True:
                        self.look(client)
                        time.sleep(LOOK_SECONDS)
            except Exception as error:  # noqa: BLE001 - it must survive any error
                self.note(f"{type(error).__name__}: {error}")
                time.sleep(LOOK_SECONDS)

    def look(self, client: SyncPrefectClient) -> None:
        """Look once."""
        now = datetime.now(UTC)
        if now - self.began > ASLEEP:
            self.awake = now
        self.began = now
        found = look_at_all(client, STALE, self.choice, self.shown, self.awake)
        for line in found.done:
            logger.info(line)
        looked = datetime.now(UTC)
        Heartbeat(looked=looked, awake=self.awake, waiting=found.waiting, faults=found.faults).write(self.home)

    def note(self, error: str) -> None:
        """Record why the newest check failed, and when the last one succeeded."""
        before = read_heartbeat(self.home) or Heartbeat(looked=datetime.now(UTC))
        if before.error != error:
            logger.warning(error)
        before.model_copy(update={"error": error}).write(self.home)


def main() -> int:
    """Run until the process is stopped."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    Watcher(get_settings().home.resolve()).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())

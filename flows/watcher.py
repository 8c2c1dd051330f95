"""``python -m flows.watcher``: the one process that looks after waiting and dead runs, again and again.

A look is one request to Prefect, and for each waiting run one small request to Label Studio; only where answers came
in, and every ten minutes, the project is read whole. A run is resumed through Prefect's API: no flow run is made for
looking. It holds no lock and keeps nothing but its heartbeat, so it can be killed at any moment.
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
"""Between looks at an LLM's batch, which takes minutes to hours."""
WHOLE_SECONDS = 600.0
"""Between looks at a whole project where nothing seems new: changed answers, reminders."""
QUIET_SECONDS = 60.0
"""Between looks where nobody has answered for as long as until a whole look: nights and weekends."""
SHARE = 10
"""After a look that took a second, so many seconds pass before the next one at the same project."""
MOST_SECONDS = 60.0
"""But no more than this: a look may have taken long since a server was being started again."""
STALE = timedelta(seconds=150)
ASLEEP = timedelta(seconds=90)
"""Between two looks: the machine slept, or Prefect was away, and no run could give a sign of life."""

logger = logging.getLogger("abcdlink.watcher")


class WorthALook:
    """Chooses the runs where something is new, by how many answers Label Studio counts, or that are due anyway."""

    def __init__(self) -> None:
        self._client: Client | None = None
        self._counts: dict[str, tuple[int | None, ...]] = {}
        self._next: dict[str, float] = {}
        self._whole: dict[str, float] = {}
        self._answered: dict[str, float] = {}
        self._began = 0.0
        self._asked: tuple[int | None, ...] = ()

    def is_due(self, run: str, projects: Sequence[int]) -> bool:
        """Tell whether a run is worth a look."""
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
        """Note how long the look took, and with it when the next one may be."""
        now = time.monotonic()
        self._counts[run] = self._asked
        self._whole[run] = now + WHOLE_SECONDS
        self._next[run] = max(self._next.get(run, 0.0), now + min(SHARE * (now - self._began), MOST_SECONDS))

    def _ask(self, projects: Sequence[int]) -> tuple[int | None, ...] | None:
        try:
            client = self._client = self._client or label_studio()
            return tuple(count for project in projects for count in client.counts(project))
        except AbcdlinkError:  # gone, or not there: the look itself says what is wrong
            self._client = None
            return None


class Watcher:
    """Looks, and writes the heartbeat.

    Args:
        home: folder of the heartbeat.
    """

    def __init__(self, home: Path) -> None:
        self.home, self.choice = home, WorthALook()
        self.shown: dict[str, str] = {}
        self.began = datetime.now(UTC)
        self.awake: datetime | None = None

    def run(self) -> None:
        """Look for ever; a Prefect server that is away is waited for."""
        while True:
            try:
                with get_client(sync_client=True) as client:
                    while True:
                        self.look(client)
                        time.sleep(LOOK_SECONDS)
            except Exception as error:  # noqa: BLE001 - it must outlive whatever goes wrong
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
        """Keep why the newest look failed, beside when the last one succeeded."""
        before = read_heartbeat(self.home) or Heartbeat(looked=datetime.now(UTC))
        if before.error != error:
            logger.warning(error)
        before.model_copy(update={"error": error}).write(self.home)


def main() -> int:
    """Run until the process is ended."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    Watcher(get_settings().home.resolve()).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The watcher's sign of life: when it last looked, and what it could not do. It writes this, ``status`` reads it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from abcdlink.folders import write_atomically

FILE = "watcher.json"
SILENT_SECONDS = 120.0
"""Nobody has looked for so long: something is wrong."""


class Heartbeat(BaseModel):
    """What the watcher did last.

    Attributes:
        looked: when it last finished a look.
        waiting: how many suspended runs it found.
        error: why the newest look failed, empty when it did not.
        faults: run name -> what went wrong with this run alone.
    """

    model_config = ConfigDict(frozen=True)

    looked: datetime
    waiting: int = 0
    error: str = ""
    faults: dict[str, str] = {}

    def write(self, home: Path) -> None:
        """Keep it in the home folder."""
        write_atomically(home / FILE, self.model_dump_json().encode(), mode=0o600)

    @property
    def age(self) -> float:
        """Seconds since the last look."""
        return (datetime.now(UTC) - self.looked).total_seconds()

    @property
    def problem(self) -> str:
        """What is wrong, in words; empty: nothing."""
        if self.age > SILENT_SECONDS:
            minutes = f"nobody has looked after waiting runs for {self.age / 60:.0f} minutes"
            return f"{minutes}: {self.error}" if self.error else minutes
        return "; ".join(f"run {name}: {fault}" for name, fault in self.faults.items())


def read_heartbeat(home: Path) -> Heartbeat | None:
    """Return the newest sign of life; ``None``: there is none."""
    try:
        return Heartbeat.model_validate_json((home / FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None

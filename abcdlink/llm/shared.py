"""What all clients of one server in this process share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from abcdlink.llm.abilities import Abilities
from abcdlink.llm.flights import Flights
from abcdlink.llm.gate import Gate
from abcdlink.llm.records import Answer
from abcdlink.llm.tokens import Ratio
from abcdlink.llm.troubles import NoReplyError
from abcdlink.settings import Settings


@dataclass
class Shared:
    """The state of one server, as far as this process knows it.

    ``failure``, ``failures``: why it was last not possible to find out its abilities, and how often.
    ``given_up``: it did not answer for a whole round of attempts. ``too_long``: questions that do not
    fit its context, which another start of the server may enlarge: so no other process hears of them.
    """

    gate: Gate
    flights: Flights = field(default_factory=Flights)
    ratio: Ratio = field(default_factory=Ratio)
    lock: threading.Lock = field(default_factory=threading.Lock)
    abilities: Abilities | None = None
    failure: NoReplyError | None = None
    failures: int = 0
    given_up: bool = False
    too_long: dict[str, Answer] = field(default_factory=dict)


_LOCK = threading.Lock()
_SHARED: dict[tuple[str, ...], Shared] = {}


def shared_by(settings: Settings, base_url: str) -> Shared:
    """Return what the clients of a server with these settings share."""
    told = (settings.llm_model, settings.llm_answers, settings.llm_reasoning_effort, settings.llm_extra)
    key = (base_url, *told, str(settings.llm_concurrency), str(settings.cache_root))
    with _LOCK:
        return _SHARED.setdefault(key, Shared(Gate(settings.llm_concurrency)))

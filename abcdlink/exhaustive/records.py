"""Exhaustive judging: which source sentences were sampled, and what approaches find of their links."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.statistics import MeanInterval

Source = tuple[str, str]
"""Pair and source sentence."""

EXHAUSTIVE = "exhaustive"
"""Method of a judgment that no approach proposed: every target sentence was judged."""

NO_BATCH = 0
"""Batch of an exhaustive judgment: it is of none."""


class SampledSource(Record):
    """A source sentence for which every target sentence is judged; ``key``: opaque name of its task."""

    key: str
    pair: str
    source: str

    @property
    def at(self) -> Source:
        """Where it stands."""
        return self.pair, self.source


class Sample(Record):
    """The sampled source sentences, pair by pair in the order of the corpus.

    ``population``: source sentences that could be sampled. ``filtered``: reason -> number of source
    sentences that the domain does not show to annotators.
    """

    sources: tuple[SampledSource, ...]
    population: int
    filtered: dict[str, int]
    seed: int


class View(StrEnum):
    """Which targets of an approach are looked at."""

    FULL = "full lists"
    """All that it decides."""
    POOL = "pool limits"
    """As many of its best as fit into a candidate pool."""


class Over(StrEnum):
    """The sources that a mean is over."""

    GOLD = "all sources with gold links"
    """A source for which nothing is found has zeros."""
    SHARED = "sources with a shared target"
    """Only those for which both approaches find a target in common: the paper's rows under pool limits."""


class RecallRow(Record):
    """What one approach, or both in common, finds of the links of exhaustively judged sources.

    ``recall``, ``precision``, ``f1``: macro means over ``sources`` of them, in fractions of 1; ``None``
    where there is none. ``unanswered``: sources with gold that the approach (an LLM) could not answer;
    they are in no mean. ``without_gold``: answered sources that have no gold link; ``false_links``: the
    share of these for which a link is decided, ``None`` where there is none.
    """

    approach: str
    view: View
    over: Over
    sources: int
    unanswered: int
    recall: MeanInterval | None
    precision: MeanInterval | None
    f1: MeanInterval | None
    without_gold: int
    false_links: float | None

    @property
    def measures(self) -> tuple[MeanInterval | None, MeanInterval | None, MeanInterval | None]:
        """Recall, precision and F1, in this order."""
        return self.recall, self.precision, self.f1


class Recall(Record):
    """True recall of a run's approaches.

    ``with_gold``, ``without_gold``: judged sources that have a link, and that have none. ``incomplete``:
    sampled sources that too few annotators judged; they count nowhere. ``unlabelled``: targets of the
    others that have no label by the rule, such as ties; they count neither as link nor as false link.
    ``hours``: of all annotators together, where times are known.
    """

    with_gold: int
    without_gold: int
    incomplete: int
    unlabelled: int
    links: int
    rule: str
    rows: tuple[RecallRow, ...]
    notes: tuple[str, ...] = Field((), description="what is missing, and why")
    hours: float | None = None

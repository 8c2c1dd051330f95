"""Stage label: a learned linker of the run labels a corpus of any size, part by part; finished parts are stored."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import unquote

from abcdlink.corpus.records import Refusal
from abcdlink.domain import targets_of
from abcdlink.errors import InputError
from abcdlink.labels.corpus_index import CorpusIndex
from abcdlink.labels.parts import CELLS_PER_PART, Histogram, Labeller, LabelSampling, cut
from abcdlink.labels.records import Drift, LabelPlan, Labels, PartResult
from abcdlink.layout import SYNTHETIC, labels_file, model_file
from abcdlink.linking.learned import LearnedLinker
from abcdlink.linking.learners import FittedLinker, gives_probabilities
from abcdlink.linking.saving import from_bytes
from abcdlink.progress import Progress, silent
from abcdlink.stages.once import alone, is_done
from abcdlink.stages.rank import holds_rankings, read_rankings
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd

PLAN, LABELS = "plan.json", "labels.json"
CLAIM = "label "
"""Begins the names of the stages that make labels."""
AFTER = "@after-"
"""Separates a learned linker's name from the number of the last batch that it has learned from."""
EXAMPLES = 10
"""Most refused items that a summary lists."""


def drift_of(store: Store, linker: str, here: Histogram) -> Drift | None:
    """Compare a linker's probabilities with those on the run's synthetic pairs; ``None`` without either."""
    if not sum(here.best) or not holds_rankings(store, SYNTHETIC, linker):
        return None
    return Drift.between(Histogram.of(read_rankings(store, SYNTHETIC, linker).table), here)


class LabelRun:
    """The labelling of one corpus by a linker of the run.

    Raises:
        InputError: when the run has no such labels, or its linker or the corpus has changed since.
    """

    def __init__(self, store: Store, name: str) -> None:
        self.store, self.name = store, name
        if not store.exists(labels_file(name, PLAN)):
            there = sorted(
                stage.removeprefix(CLAIM) for stage in store.manifest.get("inputs", {}) if stage.startswith(CLAIM)
            )
            msg = f"run {store.key!r} has no labels {name!r}; it has {', '.join(there) or 'none'}"
            raise InputError(msg, f"make them with `abcdlink label {store.key} CORPUS --name {name}`")
        self.plan = store.read_record(labels_file(name, PLAN), LabelPlan)

    @property
    def open_parts(self) -> list[int]:
        """Numbers of the unfinished parts."""
        # One listing, since thousands of single requests take long on S3.
        there = set(self.store.folder.names(labels_file(self.name, "part-")))
        return [part for part in range(len(self.plan.parts)) if self._file(part, "json") not in there]

    @property
    def finished(self) -> list[int]:
        """Numbers of the finished parts."""
        still_open = set(self.open_parts)
        return [part for part in range(len(self.plan.parts)) if part not in still_open]

    def label(self, part: int, progress: Progress = silent) -> None:
        """Label one part, unless that is already done."""
        if self.store.exists(self._file(part, "json")):
            return
        started = time.perf_counter()
        done = self._labeller.label(range(*self.plan.parts[part]), part, progress)
        counts = done.counts
        if part == 0:  # items refused for the whole corpus belong to no part
            counts = counts.model_copy(update={"refused": (*self.corpus().refused(), *counts.refused)})
        size = self.store.write_table(self._file(part, "parquet"), done.rows)
        seconds = time.perf_counter() - started
        result = PartResult(counts=counts, rows=len(done.rows), size=size, seconds=seconds)
        # Written last: it marks the part as complete.
        self.store.write_record(self._file(part, "json"), result, indent=None)

    def tables(self) -> Iterator[pd.DataFrame]:
        """Yield the tables of the finished parts, one at a time."""
        for part in self.finished:
            yield self.store.read_table(self._file(part, "parquet"))

    def corpus(self) -> CorpusIndex:
        """Return the corpus; raises ``InputError`` if it has changed since labelling began."""
        index = CorpusIndex(self.plan.corpus)
        if index.digest != self.plan.digest:
            msg = f"the corpus {self.plan.corpus} has changed since {self.name!r} was started"
            raise InputError(msg, "label it under another name with --name")
        return index

    def summary(self, precision: float) -> Labels:
        """Join the finished parts and store the result; ``precision``: target of the links, from 0 to 1."""
        refused: list[Refusal] = []
        left_out = 0
        histogram, pairs, sources, rows, size, seconds = Histogram(), 0, 0, 0, 0, 0.0
        finished = self.finished
        for part in finished:
            one = self.store.read_record(self._file(part, "json"), PartResult)
            histogram += one.counts.histogram
            pairs += one.counts.pairs
            sources += one.counts.sources
            rows += one.rows
            size += one.size
            seconds += one.seconds
            left_out += len(one.counts.refused)
            refused += one.counts.refused[: EXAMPLES - len(refused)]
        threshold = histogram.threshold_for(precision)
        links, expected = histogram.above(threshold) if threshold is not None else (0, 0.0)
        result = Labels(
            run=self.store.key,
            name=self.name,
            corpus=self.plan.corpus,
            linker=self.plan.linker,
            fitted_on=self._linker.fitted_on.words,
            parts=(len(finished), len(self.plan.parts)),
            pairs=pairs,
            sources=sources,
            candidates=sum(histogram.counts),
            rows=rows,
            expected_links=histogram.expected_links,
            expected_below_floor=histogram.expected_links - histogram.above(self.plan.sampling.floor)[1],
            precision=precision,
            threshold=threshold,
            links=links,
            expected_precision=expected / links if links else None,
            expected_recall=expected / histogram.expected_links if histogram.expected_links else None,
            refused=left_out,
            examples=tuple(refused),
            seconds=seconds,
            size=size,
            pairs_to_go=sum(end - start for n, (start, end) in enumerate(self.plan.parts) if n not in set(finished)),
            drift=drift_of(self.store, _base_name(self.plan.linker), histogram),
        )
        self.store.write_record(labels_file(self.name, LABELS), result)
        return result

    def _file(self, part: int, ending: str) -> str:
        return labels_file(self.name, f"part-{part:05d}.{ending}")

    @cached_property
    def _linker(self) -> LearnedLinker | FittedLinker:
        data = self.store.folder.read(model_file(self.plan.linker))
        if hashlib.sha256(data).hexdigest() != self.plan.model:
            msg = f"the linker {self.plan.linker} of run {self.store.key!r} has changed since {self.name!r} was started"
            raise InputError(msg, "label the corpus under another name with --name")
        return from_bytes(data, self.store.where(model_file(self.plan.linker)))

    @cached_property
    def _labeller(self) -> Labeller:
        return Labeller(self._linker, self.corpus(), self.plan.sampling, self.store.language, targets_of(self.store))


def plan_labels(
    store: Store,
    corpus: str,
    name: str,
    linker: str = "",
    sampling: LabelSampling | None = None,
    progress: Progress = silent,
    cells: int = CELLS_PER_PART,
) -> LabelRun:
    """Plan the labelling of a corpus, or return the stored plan.

    The name of the linker may be empty if there is only one. ``sampling``: which rows are kept; ``cells``: pairs of
    sentences in one part.

    Raises:
        InputError: when there is no such linker or corpus, the linker gives no probabilities, or labels of this
            name were started with other settings.
    """
    chosen = the_linker(store, linker)
    if not gives_probabilities(_base_name(chosen)):
        msg = f"the scores of the linker {chosen!r} are not probabilities"
        raise InputError(msg, "choose another linker")
    model = hashlib.sha256(store.folder.read(model_file(chosen))).hexdigest()
    index = CorpusIndex(corpus, progress)
    parts = tuple((part.start, part.stop) for part in cut(index, cells))
    if not parts:
        msg = f"the corpus {corpus} has no pairs"
        raise InputError(msg, "import pairs with `abcdlink import`")
    plan = LabelPlan(
        corpus=corpus,
        digest=index.digest,
        linker=chosen,
        model=model,
        sampling=sampling or LabelSampling(),
        parts=parts,
    )
    file = labels_file(name, PLAN)
    if not is_done(store, f"{CLAIM}{name}", file, plan.model_copy(update={"parts": ()}), "another --name"):
        store.write_record(file, plan, indent=None)
    return LabelRun(store, name)


def the_linker(store: Store, wanted: str = "") -> str:
    """Return the name of the run's learned linker, in its version that last learned from people, or the one wanted.

    Raises:
        InputError: when there is none, or not the one wanted, or several.
    """
    ending = ".skops"
    names = [unquote(name.removeprefix("models/").removesuffix(ending)) for name in store.folder.names("models/")]
    if not names:
        msg = f"run {store.key!r} has no learned linker"
        raise InputError(msg, "benchmark with one, as `abcdlink run bootstrap` does with synthetic pairs")
    if wanted:
        if wanted not in names:
            msg = f"run {store.key!r} has no learned linker {wanted!r}; it has {', '.join(sorted(names))}"
            raise InputError(msg, "name one of these with --linker")
        return wanted
    if len({_base_name(name) for name in names}) > 1:
        msg = f"run {store.key!r} has several learned linkers: {', '.join(names)}"
        raise InputError(msg, "name one with --linker")
    return max(names, key=lambda name: int(name.rpartition(AFTER)[2]) if AFTER in name else 0)


def _base_name(name: str) -> str:
    """Return the name of a learned linker before it learned from people."""
    return name.partition(AFTER)[0]


def run_labels(
    labels: LabelRun, precision: float, most_parts: int | None = None, progress: Progress = silent
) -> Labels:
    """Label the unfinished parts in this process, or ``most_parts`` of them; ``precision``: target of the links."""
    with alone(labels.store, f"label {labels.name}", progress):
        for part in progress(labels.open_parts[:most_parts], f"label {labels.name}"):
            labels.label(part)
    return labels.summary(precision)

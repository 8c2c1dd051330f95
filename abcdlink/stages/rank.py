"""Rank the target sentences of a run's corpus with a retriever, part by part; a stored part is not repeated."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Pair, Record
from abcdlink.domain import targets_of
from abcdlink.errors import InputError
from abcdlink.layout import rank_plan_file, rankings_part
from abcdlink.linking.decisions import over_kept_targets
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Effort, Retriever
from abcdlink.stages.once import parts_of
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd

STAGE = "rank"
EFFORT = "effort"
"""Attribute of a part's table, which Parquet keeps, so that the effort stays with its result."""


class RankPlan(Record):
    """How a retriever's work on a corpus is divided; stored in the run, so that later versions divide it the same way.

    ``sentences_per_part``: distinct sentences of one warm part, ``None`` if there is nothing to
    warm; ``sentences``: how many there are; ``parts``: pair ids of each rank part, in corpus order.
    """

    sentences_per_part: int | None
    sentences: int
    parts: tuple[tuple[str, ...], ...]

    @property
    def warm_parts(self) -> range:
        """The numbers of the warm parts."""
        return range(-(-self.sentences // self.sentences_per_part) if self.sentences_per_part else 0)


class PartEffort(Record):
    """The effort of one rank part.

    ``prepare_seconds``: for preparing all documents, by this part or an earlier one of the same
    process; ``score_seconds``: for ranking its pairs; ``effort``: for preparing, and for scoring this
    part alone.
    """

    prepare_seconds: float
    score_seconds: float
    effort: Effort


class RankingEffort(Record):
    """The effort of a whole ranking.

    Preparation is counted once, as the fastest part's, since every part prepares all documents (or reuses what its
    process prepared); the time for ranking pairs is added up. What warm parts, other parts and earlier runs computed is
    in ``kept_seconds``: the store knows what each vector cost, so the time of warm parts is already included.
    ``truncated`` and ``max_length``: as in ``Effort``.
    """

    seconds: float
    kept_seconds: float
    truncated: int
    max_length: int | None

    @property
    def cost(self) -> float:
        """Seconds that one process would need if nothing was on disk."""
        return self.seconds + self.kept_seconds

    @classmethod
    def of_parts(cls, parts: Sequence[PartEffort]) -> RankingEffort:
        """Combine the efforts of all parts."""
        least = min(parts, key=lambda part: part.prepare_seconds + part.effort.kept_seconds)
        whole = Effort.of_parts(part.effort for part in parts)
        return cls(
            seconds=least.prepare_seconds + sum(part.score_seconds for part in parts),
            kept_seconds=least.effort.kept_seconds,
            truncated=whole.truncated,
            max_length=whole.max_length,
        )

    @classmethod
    def on_top(cls, efforts: Sequence[RankingEffort], seconds: float) -> RankingEffort:
        """Return the effort of rankings that were derived from others in this many seconds."""
        return cls(
            seconds=seconds + sum(one.seconds for one in efforts),
            kept_seconds=sum(one.kept_seconds for one in efforts),
            truncated=sum(one.truncated for one in efforts),
            max_length=min((one.max_length for one in efforts if one.max_length), default=None),
        )


class Rankings(NamedTuple):
    """A table as ``rank_corpus`` returns it, and its effort."""

    table: pd.DataFrame
    effort: RankingEffort


class Ranker:
    """Does one retriever's work on one corpus of a run, part by part.

    What is loaded and prepared for one part serves later ones, so a process keeps one of these. It is not thread-safe.
    ``given``: the retriever itself, if ``get_retriever`` knows it by no name.

    Raises:
        InputError: from every method, when the corpus or the retriever is missing.
    """

    def __init__(self, store: Store, corpus_name: str, retriever: str, given: Retriever | None = None) -> None:
        self._store, self._given = store, given
        self._names = (corpus_name, retriever)

    @cached_property
    def plan(self) -> RankPlan:
        """The run's plan; created and stored if there is none."""
        name = rank_plan_file(*self._names)
        if not self._store.exists(name):
            plan = RankPlan(
                sentences_per_part=self._retriever.sentences_per_part,
                sentences=len(self._sentences),
                parts=_cut(self._corpus, self._retriever.cells_per_part),
            )
            self._store.write_record(name, plan, indent=None)
        return self._store.read_record(name, RankPlan)

    def open_parts(self) -> list[int]:
        """Return the numbers of the unfinished rank parts; if there are none, warm nothing."""
        parts = range(len(self.plan.parts))
        return [part for part in parts if not self._store.exists(rankings_part(*self._names, part))]

    def warm(self, part: int, progress: Progress = silent) -> None:
        """Compute what preparation needs for one part of the distinct sentences, unless it is on disk."""
        if self.plan.sentences_per_part is not None:
            self._retriever.warm(parts_of(self._sentences, self.plan.sentences_per_part)[part], progress)

    def rank(self, part: int, progress: Progress = silent) -> None:
        """Rank one part of the pairs, unless that is already done; it is written as a whole at the end."""
        from abcdlink.retrieval.base import rank_pairs

        name = rankings_part(*self._names, part)
        if self._store.exists(name):
            return
        prepare_seconds = self._prepare_seconds
        before, started = self._retriever.effort, time.perf_counter()
        table = rank_pairs(
            self._corpus, self._retriever, [self._pairs[pair] for pair in self.plan.parts[part]], progress
        )
        took = PartEffort(
            prepare_seconds=prepare_seconds,
            score_seconds=time.perf_counter() - started,
            effort=_since(before, self._retriever.effort),
        )
        table.attrs[EFFORT] = took.model_dump()
        self._store.write_table(name, table)

    @cached_property
    def _prepare_seconds(self) -> float:
        """Prepare the retriever on first use."""
        started = time.perf_counter()
        self._retriever.prepare(list(self._corpus.used_documents()))
        return time.perf_counter() - started

    @cached_property
    def _corpus(self) -> Corpus:
        return read_corpus_from(self._store, self._names[0])

    @cached_property
    def _pairs(self) -> dict[str, Pair]:
        return {pair.id: pair for pair in self._corpus.pairs}

    @cached_property
    def _sentences(self) -> list[str]:
        return list(dict.fromkeys(text for document in self._corpus.used_documents() for text in document.texts))

    @cached_property
    def _retriever(self) -> Retriever:
        from abcdlink.retrieval import get_retriever

        return self._given or get_retriever(self._names[1], self._store.language_of(self._names[0]))


def rank(
    store: Store, corpus_name: str, retriever: str, progress: Progress = silent, given: Retriever | None = None
) -> None:
    """Do all unfinished parts of one retriever's work on one corpus in this process.

    ``given``: the retriever itself, if it has no name in the registry.
    """
    ranker = Ranker(store, corpus_name, retriever, given)
    open_parts = ranker.open_parts()
    if not open_parts:
        return
    steps = [*((ranker.warm, part) for part in ranker.plan.warm_parts), *((ranker.rank, part) for part in open_parts)]
    for do, part in progress(steps, f"rank {corpus_name} with {retriever}"):
        do(part)


def holds_rankings(store: Store, corpus_name: str, name: str) -> bool:
    """Tell whether the run has rankings stored by ``keep_rankings``."""
    return store.exists(rank_plan_file(corpus_name, name))


def keep_rankings(store: Store, corpus_name: str, name: str, table: pd.DataFrame, effort: RankingEffort) -> None:
    """Store rankings that no retriever made, as one part."""
    own = Effort(truncated=effort.truncated, max_length=effort.max_length, kept_seconds=effort.kept_seconds)
    took = PartEffort(prepare_seconds=0.0, score_seconds=effort.seconds, effort=own)
    kept = table.copy(deep=False)
    kept.attrs[EFFORT] = took.model_dump()
    store.write_table(rankings_part(corpus_name, name, 0), kept)
    plan = RankPlan(sentences_per_part=None, sentences=0, parts=(tuple(table["pair"].cat.categories),))
    # Written last: the plan marks the rankings as complete.
    store.write_record(rank_plan_file(corpus_name, name), plan, indent=None)


def read_rankings(
    store: Store, corpus_name: str, retriever: str, pairs: Collection[str] | None = None, *, whole: bool = False
) -> Rankings:
    """Return a retriever's rankings as one table, and the effort of the parts that were read.

    ``pairs``: only these pair ids; parts without any of them are not read. ``whole``: include the target sentences that
    the run leaves out, for callers that read a pair as a matrix.

    Raises:
        InputError: when a part is missing.
    """
    store.require(rank_plan_file(corpus_name, retriever), STAGE)
    plan = store.read_record(rank_plan_file(corpus_name, retriever), RankPlan)
    numbers = [n for n, part in enumerate(plan.parts) if pairs is None or not set(part).isdisjoint(pairs)]
    tables = [_read_part(store, rankings_part(corpus_name, retriever, number)) for number in numbers]
    efforts = [PartEffort.model_validate(table.attrs.pop(EFFORT)) for table in tables]
    table, rules = _joined(tables), targets_of(store)
    if pairs is not None:
        table = table[table["pair"].isin(pairs)]
    if not (whole or rules.keeps_all):
        table = over_kept_targets(table, read_corpus_from(store, corpus_name), rules)
    return Rankings(table, RankingEffort.of_parts(efforts))


def _read_part(store: Store, name: str) -> pd.DataFrame:
    store.require(name, STAGE)
    table = store.read_table(name, ("pair", "source", "target"), ("score", "rank"))
    if EFFORT not in table.attrs:
        msg = f"{store.where(name)} does not say what it took"
        raise InputError(msg, "remove it and run the stage that makes it")
    return table


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate tables; ids that only some of them have stay categories."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    if len(tables) == 1:
        return tables[0]
    columns = {
        name: union_categoricals([table[name] for table in tables])
        if isinstance(tables[0][name].dtype, pd.CategoricalDtype)
        else np.concatenate([table[name].to_numpy() for table in tables])
        for name in tables[0].columns
    }
    return pd.DataFrame(columns)


def _cut(corpus: Corpus, cells: int) -> tuple[tuple[str, ...], ...]:
    """Divide the pairs, in order, into parts of at most this many pairs of sentences; a bigger pair is its own part."""
    parts: list[list[str]] = [[]]
    size = 0
    for pair in corpus.pairs:
        more = len(corpus.source_of(pair).sentences) * len(corpus.target_of(pair).sentences)
        if parts[-1] and size + more > cells:
            parts.append([])
            size = 0
        parts[-1].append(pair.id)
        size += more
    return tuple(map(tuple, parts))


def _since(before: Effort, now: Effort) -> Effort:
    """Return the effort of preparation and of what was scored since ``before``: a retriever keeps counting pairs."""
    return now.model_copy(
        update={
            "truncated": now.truncated - before.truncated_pairs,
            "truncated_pairs": now.truncated_pairs - before.truncated_pairs,
        }
    )

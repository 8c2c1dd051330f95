"""Before annotators see a batch: its contents, the time it takes, filters that can still be changed, and Go.

The coordinator looks as often as they like. Changed filters apply to this batch and later ones; a batch
that annotators have seen never changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from abcdlink.candidates.pools import REPEATS, PoolMode, count_left_out, split_batches
from abcdlink.corpus.counts import repeated_pairs
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Record
from abcdlink.domain import Domain, SourceFilter, targets_of
from abcdlink.domain.settings import name_of_pattern
from abcdlink.errors import AbcdlinkError, InputError, counted, fault_in
from abcdlink.interannotator.times import seconds_a_candidate
from abcdlink.judgments import BOTH, RANDOM, SECONDS_A_CANDIDATE
from abcdlink.layout import NATURAL, batch_file
from abcdlink.stages.annotate import gold_pairs_in, judgments_of, pools_of
from abcdlink.stages.budget import CHOICE, read_choice
from abcdlink.stages.candidates import NothingToAnnotateError, PoolPlan, choose_candidates, make_pools, plan_of
from abcdlink.store import Store

PREVIEW = "preview.json"
PREVIEW_PAGE = "preview.html"
"""The tasks as annotators will see them; stored beside the preview."""
FILTERS = "filters.json"
"""Which source sentences are left out from this batch on, if the coordinator changed that."""
REVIEW = "review.json"
ALIKE = (
    "Both approaches propose all of these candidates: the second adds none, and judgments cannot tell which is better; "
    "another run can name two others with --approaches"
)


class BatchPreview(Record):
    """What a batch would ask of annotators.

    ``methods``: method -> candidates, only for the coordinator. ``left_out`` and ``targets_left_out``: reason ->
    sentences of the batch's pairs that are not shown. ``seconds``: that one annotator takes for one candidate, measured
    on the ``timed`` judged candidates in earlier batches; 0: it is assumed. ``gold``: pairs that applicants judged.
    ``alike``: two approaches could have proposed different candidates, and did not.
    """

    batch: int
    tasks: int
    pairs: int
    candidates: int
    methods: dict[str, int]
    left_out: dict[str, int]
    targets_left_out: dict[str, int] = Field(default_factory=dict)
    overlap: int
    seconds: float
    timed: int
    filters: SourceFilter
    gold: tuple[str, ...] = ()
    alike: bool = False

    @property
    def notes(self) -> list[str]:
        """What the coordinator should know before annotators judge the batch."""
        gold = f"It has gold pairs, which applicants judged in the qualification: {', '.join(self.gold)}"
        return [*([gold] if self.gold else ()), *([ALIKE] if self.alike else ())]

    @property
    def hours(self) -> float:
        """Hours that an annotator needs to judge all tasks."""
        return self.candidates * self.seconds / 3600

    @property
    def size(self) -> str:
        """The size of the batch, in words."""
        of, number = counted(self.candidates, "candidate"), counted(self.pairs, "pair")
        return f"{counted(self.tasks, 'task')} with {of}, from {number}"

    @property
    def time(self) -> str:
        """How long it takes, and how that was estimated, in words."""
        minutes = round(60 * self.hours)
        told = f"{minutes} minutes" if self.hours < 1 else f"{self.hours:.1f} hours"
        how = f"measured on {self.timed} candidates" if self.timed else "assumed"
        each = f"about {told} for each of {self.overlap} annotators"
        return f"{each}, at {self.seconds:.0f} seconds per candidate ({how})"

    @property
    def shares(self) -> str:
        """Share of the candidates by method, in words; only for the coordinator."""
        counts = sorted(self.methods.items(), key=lambda one: -one[1])
        return ", ".join(f"{method} {count} ({count / self.candidates:.0%})" for method, count in counts)

    @property
    def rows(self) -> list[tuple[str, object]]:
        """The preview as a table: what, and how much."""
        return [
            ("tasks", self.size),
            ("time", self.time),
            ("candidates by method", self.shares),
            *(("note", note) for note in self.notes),
            *((f"left out: {reason}", count) for reason, count in self.left_out.items()),
            *((f"target sentences left out: {reason}", count) for reason, count in self.targets_left_out.items()),
            ("filter: minimum words", self.filters.min_words),
            ("filter: excluded", ", ".join(dict.fromkeys(map(name_of_pattern, self.filters.exclude))) or "nothing"),
            ("filter: without proposals too", "yes" if self.filters.unproposed else "no"),
        ]


class Review(Record):
    """The coordinator's decisions on a batch. ``looks``: how many; ``problem``: why the last one was rejected."""

    looks: int = 0
    go: bool = False
    problem: str = ""


def review_of(store: Store, batch: int) -> Review:
    """Return the coordinator's decisions on a batch so far."""
    return store.find_record(batch_file(batch, REVIEW), Review) or Review()


def preview_of(store: Store, batch: int) -> BatchPreview | None:
    """Return the last preview of a batch, or ``None``."""
    return store.find_record(batch_file(batch, PREVIEW), BatchPreview)


def filters_of(store: Store, domain: Domain, batch: int) -> SourceFilter:
    """Return the filters of a batch: as changed for it or an earlier batch, else as the domain says."""
    for number in range(batch, 0, -1):
        if found := store.find_record(batch_file(number, FILTERS), SourceFilter):
            return found
    return domain.settings.sources


def filtered(domain: Domain, filters: SourceFilter) -> Domain:
    """Return the domain with other filters of source sentences."""
    return domain.with_settings(sources=filters)


def preview_batch(store: Store, domain: Domain, batch: int, overlap: int) -> BatchPreview:
    """Count the contents of a batch and estimate how long it will take."""
    pools, filters = pools_of(store, batch), filters_of(store, domain, batch)
    corpus = read_corpus_from(store, NATURAL)
    asked = {(pool.pair, pool.source) for pool in pools}
    plan = plan_of(store)
    # What an audit of labels judges is a random sample, of which nothing is left out.
    names = _pairs_of(store, plan, batch) | {pool.pair for pool in pools} if plan else set[str]()
    nothing = plan.mode.nothing if plan else ""
    pairs, repeated = [pair for pair in corpus.pairs if pair.id in names], repeated_pairs(corpus)
    left_out = Counter(
        REPEATS if pair.id in repeated else filters.reason_to_leave_out(sentence.text) or nothing
        for pair in pairs
        for sentence in corpus.source_of(pair).sentences
        if (pair.id, sentence.id) not in asked
    )
    methods = Counter(candidate.method for pool in pools for candidate in pool.candidates)
    seconds, timed = seconds_a_candidate(judgments_of(store, range(1, batch))) or (SECONDS_A_CANDIDATE, 0)
    could_differ = plan is not None and plan.mode in {PoolMode.COMPARISON, PoolMode.UNION}
    return BatchPreview(
        batch=batch,
        tasks=len(pools),
        pairs=len({pool.pair for pool in pools}),
        candidates=methods.total(),
        methods=dict(methods),
        left_out=dict(left_out.most_common()),
        targets_left_out=count_left_out(corpus, pairs, targets_of(store)),
        overlap=overlap,
        seconds=seconds,
        timed=timed,
        filters=filters,
        gold=tuple(gold_pairs_in(store, batch)),
        alike=could_differ and methods.keys() - {RANDOM} == {BOTH},
    )


def _pairs_of(store: Store, plan: PoolPlan, batch: int) -> set[str]:
    if plan.mode is PoolMode.BUDGET:
        return set(read_choice(store, batch).pairs)
    divided = split_batches(read_corpus_from(store, NATURAL).pairs, plan.batches)
    return {pair for pair, number in divided.items() if number == batch}


def take_review(store: Store, domain: Domain, batch: int, said: Mapping[str, Any], go: bool) -> Review:
    """Apply the coordinator's decision on a batch: filters, and whether annotators may see it now.

    Invalid filters, or ones that would leave a batch empty, are rejected; the review says why, and the batch keeps
    waiting. If this is killed at any moment, the same call does the rest. ``said``: the filters, as fields of
    ``SourceFilter``; missing ones stay as they are.
    """
    before, problem = review_of(store, batch), ""
    try:
        change_filters(store, domain, batch, said)
    except AbcdlinkError as error:
        problem = error.problem
    review = Review(looks=before.looks + 1, go=go and not problem, problem=problem)
    # Written last: it marks this as applied.
    store.write_record(batch_file(batch, REVIEW), review)
    return review


def checked_filters(now: SourceFilter, said: Mapping[str, Any]) -> SourceFilter:
    """Return the changed filters; raises ``InputError`` if they are invalid."""
    try:
        return SourceFilter.model_validate({**now.model_dump(), **said})
    except ValidationError as error:
        hint = "for a mark as it is, put a backslash before it: \\( finds (; --min-words takes 1 or more"
        raise InputError(fault_in(error), hint) from None


def change_filters(store: Store, domain: Domain, batch: int, said: Mapping[str, Any]) -> None:
    """Choose the candidates of a batch and later ones again, with other filters; does nothing if they are the same.

    Raises:
        InputError: when the filters cannot be used, or the stage candidates did not make the pools.
        NothingToAnnotateError: when a batch would be empty; then nothing changes.
    """
    now = filters_of(store, domain, batch)
    wanted = checked_filters(now, said)
    if wanted == now:
        return
    plan = plan_of(store)
    if plan is None:
        msg = (
            f"the candidates of run {store.key!r} were not built by its stage candidates, so no filter can change them"
        )
        raise InputError(msg, "release the batch as it is, or build the candidates in a new run")
    if plan.mode is PoolMode.BUDGET:
        _choose_again(store, domain, plan, batch, wanted)
    else:
        make_pools(store, filtered(domain, wanted), plan, first=batch)
    # Written last: it marks the pools as those of these filters.
    store.write_record(batch_file(batch, FILTERS), wanted)


def _choose_again(store: Store, domain: Domain, plan: PoolPlan, batch: int, wanted: SourceFilter) -> None:
    now = filters_of(store, domain, batch)
    if store.exists(batch_file(batch, CHOICE)):
        store.folder.remove(batch_file(batch, CHOICE))
    try:
        choose_candidates(store, filtered(domain, wanted), plan, batch)
    except NothingToAnnotateError:
        choose_candidates(store, filtered(domain, now), plan, batch)
        msg = f"batch {batch} of run {store.key!r} would be empty"
        raise NothingToAnnotateError(msg, "loosen the filters") from None

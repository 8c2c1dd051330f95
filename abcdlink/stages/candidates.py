"""Stage candidates: the shortlisted approaches propose links on the natural pairs; pools for annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from pydantic import Field, model_validator

from abcdlink.candidates.pools import (
    PoolMode,
    PoolResult,
    PoolRules,
    Proposals,
    build_pools,
    count_left_out,
    sampled,
    split_batches,
)
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Record
from abcdlink.domain import Domain, targets_of
from abcdlink.errors import AbcdlinkError, InputError, counted
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.judgments import Pool
from abcdlink.layout import NATURAL, POOL_COUNTS, POOLS
from abcdlink.linking.learners import gives_probabilities, is_learned
from abcdlink.linking.records import Approach, ApproachKind
from abcdlink.stages.budget import BudgetPlan, choose_batch
from abcdlink.stages.execution import HERE, Execution, each_model
from abcdlink.stages.learn import rank_learned
from abcdlink.stages.once import alone, is_done
from abcdlink.stages.plan import retrievers_under
from abcdlink.stages.shortlist import decided_links, read_shortlist
from abcdlink.store import Store

STAGE = "candidates"


class NothingToAnnotateError(AbcdlinkError):
    """No source sentence has a candidate: nothing was proposed, or everything was filtered out."""


class PoolPlan(Record):
    """Which pools are built.

    ``distractors``: random target sentences per source sentence; by default as the domain says in a comparison, and
    none in the other modes, whose pools are for finding links.
    """

    batches: int = Field(2, ge=1, le=20, description="Number of batches; a feedback round follows each but the last.")
    seed: int = Field(13, ge=0, description="Random seed of the distractors.")
    mode: PoolMode = Field(
        PoolMode.COMPARISON,
        description="comparison: the first candidates of both approaches, and distractors. To find links - "
        "single: all links of the first approach; intersection: those of both; union: those of either; budget: as many "
        "as a budget buys, by a learned linker's probabilities over the whole corpus.",
    )
    budget: BudgetPlan = Field(
        BudgetPlan(), description="For the mode budget: how many candidates the batches have in total."
    )
    distractors: int | None = Field(
        None,
        ge=0,
        le=20,
        description="Random target sentences beside the candidates; empty: as the domain says in a comparison, else 0.",
    )

    @model_validator(mode="after")
    def _budget_is_given(self) -> PoolPlan:
        if self.mode is PoolMode.BUDGET:
            self.budget.after(0, 0)
        return self

    def distractors_in(self, domain: Domain) -> int:
        """Return how many distractors one source sentence gets."""
        if self.distractors is not None:
            return self.distractors
        return domain.settings.pool.random if self.mode is PoolMode.COMPARISON else 0


class PoolCounts(Record):
    """Counts of pools and candidates, and of what was left out, as stored in ``candidates.json``."""

    mode: PoolMode
    pools: int
    candidates: int
    batches: dict[int, int]
    methods: dict[str, int]
    filtered: dict[str, int] = Field(default_factory=dict)
    targets_left_out: dict[str, int] = Field(default_factory=dict)
    refused: int = 0

    @property
    def rows(self) -> list[tuple[str, int]]:
        """The counts as a table: what, and how many."""
        return [
            *((f"pools of batch {batch}", count) for batch, count in self.batches.items()),
            *((f"candidates by {method}", count) for method, count in self.methods.items()),
            *((f"source sentences left out: {reason}", count) for reason, count in self.filtered.items()),
            *((f"target sentences left out: {reason}", count) for reason, count in self.targets_left_out.items()),
        ]

    @classmethod
    def of(cls, pools: Sequence[Pool], mode: PoolMode, **left_out: Any) -> PoolCounts:  # noqa: ANN401 - other fields
        """Count pools; ``left_out``: the fields that say what was left out of them."""
        methods = Counter(candidate.method for pool in pools for candidate in pool.candidates)
        return cls(
            mode=mode,
            pools=len(pools),
            candidates=methods.total(),
            batches=dict(sorted(Counter(pool.batch for pool in pools).items())),
            methods=dict(methods),
            **left_out,
        )


def proposing(shortlist: Shortlist, mode: PoolMode) -> tuple[Approach, ...]:
    """Return the shortlisted approaches that propose in a mode; raises ``InputError`` if it needs more."""
    if mode is PoolMode.BUDGET:
        return (_proposing_linker(shortlist),)
    found = shortlist.approaches[: mode.approaches]
    if len(found) < mode.approaches:
        msg = f"the mode {mode.value!r} needs two approaches, and the shortlist has only {shortlist.first.name}"
        raise InputError(msg, "choose the mode 'single', or shortlist two approaches in a new run")
    return found


def _proposing_linker(shortlist: Shortlist) -> Approach:
    """Return the first shortlisted learned linker that gives probabilities."""
    for approach in shortlist.approaches:
        if approach.kind is ApproachKind.LEARNED and gives_probabilities(approach.retriever):
            return approach
    names = ", ".join(approach.name for approach in shortlist.approaches)
    msg = f"the mode 'budget' needs a learned linker that gives probabilities, and the shortlist has {names}"
    raise InputError(msg, "shortlist one by name: `--approaches learned-boosting@expected-f1`")


def retrievers_to_rank(approaches: Sequence[Approach]) -> list[str]:
    """Return the retrievers that approaches need, including those of learned linkers."""
    names = [approach.retriever for approach in approaches if approach.retriever]
    return list(dict.fromkeys(part for name in names for part in retrievers_under(name)))


def learned_to_rank(approaches: Sequence[Approach]) -> list[str]:
    """Return the learned linkers that approaches need."""
    return [name for name in dict.fromkeys(a.retriever for a in approaches) if is_learned(name)]


def rank_natural(store: Store, approaches: Sequence[Approach], execution: Execution = HERE) -> None:
    """Rank the natural pairs with everything that approaches need; what is already done is not repeated."""
    execution.rank(store, NATURAL, retrievers_to_rank(approaches))
    for name in learned_to_rank(approaches):
        execution.step(f"rank {NATURAL} with {name}", rank_learned, store, NATURAL, name)


def make_pools(store: Store, domain: Domain, plan: PoolPlan, first: int = 1) -> PoolCounts:
    """Build the pools from what the shortlisted approaches decided on the natural pairs.

    Batches before ``first`` keep their pools.

    Raises:
        InputError: when the mode needs more approaches than there are.
        NothingToAnnotateError: when there is no candidate to annotate, or none in one of the batches.
    """
    shortlist, corpus = read_shortlist(store), read_corpus_from(store, NATURAL)
    sizes = domain.settings.pool
    # Outside a comparison, no places have to be filled: a retriever proposes as many as its cutoff says.
    places = (sizes.first, sizes.second) if plan.mode is PoolMode.COMPARISON else (0, 0)
    proposals = [
        Proposals(label, decided_links(store, shortlist, approach, size))
        for approach, label, size in zip(proposing(shortlist, plan.mode), shortlist.labels, places, strict=False)
    ]
    rules = PoolRules(mode=plan.mode, sizes=sizes, sources=domain.settings.sources, targets=targets_of(store))
    distractors = sampled(plan.distractors_in(domain), plan.seed)
    result = build_pools(corpus, proposals, rules, distractors, store.key, split_batches(corpus.pairs, plan.batches))
    if first > 1:
        kept = [pool for pool in store.read_records(POOLS, Pool) if pool.batch < first]
        pools = (*kept, *(pool for pool in result.pools if pool.batch >= first))
        result = result.model_copy(update={"pools": pools})
    counts = _count(store, result, plan, len(corpus.pairs))
    # Not earlier: a plan that leaves nothing to annotate must not bind the run.
    is_done(store, STAGE, POOL_COUNTS, plan)
    store.write_records(POOLS, result.pools)
    store.write_record(POOL_COUNTS, counts)
    return counts


def _count(store: Store, result: PoolResult, plan: PoolPlan, pairs: int) -> PoolCounts:
    """Count the pools; raises ``NothingToAnnotateError`` as ``make_pools`` says."""
    if not result.pools:
        reasons = ", ".join(f"{count} x {reason}" for reason, count in result.filtered.items())
        msg = f"run {store.key!r} has no candidates to annotate ({reasons})"
        raise NothingToAnnotateError(msg, "loosen the filters in domain.toml or import more pairs")
    by_batch = {pool.batch for pool in result.pools}
    empty = [batch for batch in range(1, plan.batches + 1) if batch not in by_batch]
    if empty:
        msg = (
            f"batch {empty[0]} of run {store.key!r} would be empty: {counted(pairs, 'pair')} for {plan.batches} batches"
        )
        raise NothingToAnnotateError(msg, "use fewer batches, or import more pairs")
    return PoolCounts.of(
        result.pools,
        plan.mode,
        filtered=result.filtered,
        targets_left_out=result.targets_left_out,
        refused=len(result.refused),
    )


def run_candidates(store: Store, domain: Domain, plan: PoolPlan, execution: Execution = HERE) -> PoolCounts:
    """Run the whole stage, or return its stored result.

    Raises:
        AnswersPendingError: the LLM was asked by batch; call this again when the batch is over.
    """
    approaches = proposing(read_shortlist(store), plan.mode)
    with alone(store, STAGE, execution.progress):
        if store.exists(POOL_COUNTS) and is_done(store, STAGE, POOL_COUNTS, plan):
            return read_counts(store)
        rank_natural(store, approaches, execution)
        with_llm = [approach for approach in approaches if approach.kind is ApproachKind.LLM]
        errors = each_model(with_llm, partial(execution.decide, store, NATURAL, domain))
        if errors:
            raise next(iter(errors.values()))
        if plan.mode is PoolMode.BUDGET:
            return execution.step("choose candidates", choose_candidates, store, domain, plan, 1)
        return execution.step("build pools", make_pools, store, domain, plan)


def choose_candidates(store: Store, domain: Domain, plan: PoolPlan, batch: int) -> PoolCounts:
    """Choose the candidates of a batch in the mode budget; later batches after earlier ones are judged.

    Raises:
        NothingToAnnotateError: when the budget is used up, or too small to buy anything.
    """
    linker = _proposing_linker(read_shortlist(store)).retriever
    if choose_batch(store, domain, linker, plan.budget, batch, plan.batches) is None:
        msg = f"nothing is left to annotate in batch {batch} of run {store.key!r}: the budget is used up"
        raise NothingToAnnotateError(msg, "raise the budget in a new run")
    corpus = read_corpus_from(store, NATURAL)
    left_out = count_left_out(corpus, corpus.pairs, targets_of(store))
    counts = PoolCounts.of(store.read_records(POOLS, Pool), plan.mode, targets_left_out=left_out)
    is_done(store, STAGE, POOL_COUNTS, plan)
    store.write_record(POOL_COUNTS, counts)
    return counts


def plan_of(store: Store) -> PoolPlan | None:
    """Return the plan by which this stage built the run's pools; ``None`` if it did not."""
    claimed = store.manifest.get("inputs", {}).get(STAGE)
    return PoolPlan.model_validate(claimed) if claimed else None


def plan_by_budget(store: Store) -> PoolPlan | None:
    """Return the plan of a run whose candidates are chosen by budget; ``None`` in other modes."""
    plan = plan_of(store)
    return plan if plan and plan.mode is PoolMode.BUDGET else None


def batches_of(store: Store, wanted: int | None = None, *, begun: bool = False) -> int:
    """Return how many batches people judge: as many as there are candidates for, or the first ``wanted`` of them.

    ``begun``: people are at work on them. Such a run goes on with the batches that there are, even when it was begun
    with more, which earlier versions did not refuse.

    Raises:
        InputError: when the run has no candidates, or has not begun and has none for so many batches.
    """
    store.require(POOLS, STAGE)
    plan = plan_by_budget(store)
    there = plan.batches if plan else max(pool.batch for pool in store.read_records(POOLS, Pool))
    if wanted is not None and wanted > there and not begun:
        msg = f"run {store.key!r} has candidates for {counted(there, 'batch', 'batches')}, and {wanted} are asked for"
        raise InputError(msg, "ask for fewer batches, or make candidates for more in another run")
    return min(wanted or there, there)


def overlap_of(store: Store, domain: Domain, wanted: int | None = None) -> int:
    """Return how many people judge each task: as when annotation began, else as ``wanted``, else as the domain says.

    Raises:
        InputError: when annotation began with another number than is wanted.
    """
    begun = store.manifest.get("annotation", {}).get("overlap")
    if wanted and begun and wanted != begun:
        msg = f"the annotation of run {store.key!r} began with {counted(begun, 'annotator')} per task, not {wanted}"
        raise InputError(msg, f"go on with {begun}, or take another run key")
    return begun or wanted or domain.settings.overlap


def read_counts(store: Store) -> PoolCounts:
    """Return the stored counts."""
    return store.read_record(POOL_COUNTS, PoolCounts)

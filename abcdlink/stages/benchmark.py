"""Stage benchmark: retrievers, learned linkers and LLMs, scored on the synthetic corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Record, Refusal
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.evaluation.comparisons import Comparison, compare_one_with_many, compare_with_best
from abcdlink.evaluation.scores import PAPER_CUTOFFS, ApproachResult, macro_by_cutoff, score_ranking
from abcdlink.layout import BENCHMARK, CUTOFFS, GENERATION, SCORES, SHORTLIST, SYNTHETIC
from abcdlink.linking.fitted import Folds
from abcdlink.linking.learned import is_learned
from abcdlink.linking.records import Aim, Approach, current_name
from abcdlink.llm.profiles import is_same_model
from abcdlink.llm.records import Usage
from abcdlink.stages.decide import DecisionPart, read_decisions
from abcdlink.stages.execution import HERE, Execution, each_model
from abcdlink.stages.learn import learn_linker
from abcdlink.stages.once import alone, is_done
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.rank import read_rankings
from abcdlink.stages.score import Scored, divide, score_cutoffs, score_llm, score_rules
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd

STAGE = "benchmark"


class Benchmark(Record):
    """The outcome of the stage, as kept in ``benchmark.json``.

    ``left_out``: approaches of the plan that could not be scored, with the reason. ``against_best``:
    the approach with the highest mean F1 compared with every other. ``llm_against_retriever``: each
    approach with an LLM compared with its retriever at that one's best cutoff. ``usage``: approach ->
    what its questions cost; an approach that cuts scores by a rule asks none of its own (``Approach.asked``).
    ``undecided``: approaches whose model gave out, with the reason; running the stage again tries them again.
    ``own_pairs``: approaches whose model also wrote the synthetic pairs, which may flatter them.
    """

    pairs: int
    sources: int
    cutoffs: tuple[int, ...]
    approaches: tuple[ApproachResult, ...]
    usage: dict[str, Usage]
    left_out: tuple[Refusal, ...] = ()
    against_best: tuple[Comparison, ...] = ()
    llm_against_retriever: tuple[Comparison, ...] = ()
    undecided: tuple[Refusal, ...] = ()
    own_pairs: tuple[str, ...] = ()


def benchmark_done(store: Store, plan: BenchmarkPlan) -> bool:
    """Tell whether the run already holds what the plan asks for."""
    done = is_done(store, STAGE, BENCHMARK, plan.chosen())
    # What a model left open is tried again until approaches have been chosen.
    return done and (store.exists(SHORTLIST) or not read_benchmark(store).undecided)


def read_benchmark(store: Store) -> Benchmark:
    """Return the kept result; ``InputError`` when there is none yet."""
    store.require(BENCHMARK, STAGE)
    return store.read_record(BENCHMARK, Benchmark)


def read_scores(store: Store) -> pd.DataFrame:
    """Return the kept scores of each approach on each source; ``InputError`` when there are none yet."""
    store.require(SCORES, STAGE)
    table = store.read_table(SCORES)
    former = {name: current_name(name) for name in table["approach"].unique() if name != current_name(name)}
    return table.assign(approach=table["approach"].replace(former)) if former else table


def why_not_fitted(store: Store, plan: BenchmarkPlan) -> str:
    """Say why nothing can be fitted on the synthetic pairs; empty when it can."""
    try:
        divide(read_corpus_from(store, SYNTHETIC), plan.folds)
    except InputError as error:
        return error.problem
    return ""


def learned_linkers(store: Store, plan: BenchmarkPlan) -> tuple[str, ...]:
    """Return the learned linkers that can be fitted; the others are ``left_out`` of the result."""
    return () if why_not_fitted(store, plan) else plan.all_learned


def llm_approaches(store: Store, domain: Domain, plan: BenchmarkPlan) -> list[Approach]:
    """Return the approaches with an LLM; the rankings of retrievers and learned linkers must be there.

    Raises:
        InputError: when the LLM is to decide on candidates of a learned linker that cannot be fitted.
    """
    if plan.llm is None:
        return []
    retrievers = plan.llm.retrievers or (_best_ranker(store, plan),)
    missing = {name for name in retrievers if is_learned(name)} - set(learned_linkers(store, plan))
    if missing:
        msg = f"{min(missing)} cannot be fitted: {why_not_fitted(store, plan)}"
        raise InputError(msg, "let the LLM decide on the candidates of a retriever, or generate more pairs")
    return plan.llm.approaches(retrievers, plan.llm.cutoffs or (domain.settings.llm_candidates,))


def _best_ranker(store: Store, plan: BenchmarkPlan) -> str:
    """Return the retriever with the best mean of F1 over the cutoffs; of equals the one that the plan names first.

    This is the paper's choice ("Avg. F1"). A plan without fixed cutoffs takes the paper's cutoffs for it.
    """
    corpus, cutoffs = read_corpus_from(store, SYNTHETIC), plan.cutoffs or PAPER_CUTOFFS
    best: dict[str, float] = {}
    for name in plan.retrievers or plan.learned:
        frame = score_ranking(corpus, read_rankings(store, SYNTHETIC, name).table, cutoffs, plan.definition)
        best[name] = fmean(scores.f1 for scores in macro_by_cutoff(frame).values())
    return max(best, key=best.__getitem__)


def finish_benchmark(
    store: Store, plan: BenchmarkPlan, with_llm: Sequence[Approach], undecided: Sequence[Refusal] = ()
) -> Benchmark:
    """Score all approaches of a plan and keep the results; rankings and decisions must be there."""
    import pandas as pd

    corpus, reason = read_corpus_from(store, SYNTHETIC), why_not_fitted(store, plan)
    folds = None if reason else divide(corpus, plan.folds)
    decided = {a.asked.name: read_decisions(store, SYNTHETIC, a) for a in with_llm}
    scored = [
        *_score_rankings(store, corpus, plan, folds),
        *_score_llms(store, corpus, with_llm, decided, folds, plan.aim),
    ]
    table = pd.concat([one.table for one in scored], ignore_index=True)
    results = tuple(one.result for one in scored)
    benchmark = Benchmark(
        pairs=len(corpus.pairs),
        sources=corpus.source_count,
        cutoffs=plan.cutoffs,
        approaches=results,
        usage={name: part.usage for name, part in decided.items()},
        left_out=tuple(_left_out(plan, with_llm, reason)) if reason else (),
        against_best=tuple(compare_with_best(table)),
        llm_against_retriever=tuple(_llm_against_retriever(results, table)),
        undecided=tuple(undecided),
        own_pairs=tuple(_on_own_pairs(store, {a.name: decided[a.asked.name].model for a in with_llm})),
    )
    fitted = {one.result.approach.name: one.fitted.model_dump(mode="json") for one in scored if one.fitted}
    store.write_text(CUTOFFS, json.dumps(fitted, indent=2))
    store.write_table(SCORES, table)
    store.write_record(BENCHMARK, benchmark)
    return benchmark


def _on_own_pairs(store: Store, models: Mapping[str, str]) -> Iterator[str]:
    """Yield the approaches whose model wrote the synthetic pairs."""
    if store.exists(GENERATION):
        writer = str(json.loads(store.read_text(GENERATION)).get("model", ""))
        yield from (name for name, model in models.items() if is_same_model(model, writer))


def _score_rankings(store: Store, corpus: Corpus, plan: BenchmarkPlan, folds: Folds | None) -> Iterator[Scored]:
    for name in (*plan.retrievers, *(plan.learned if folds else ())):
        rankings = read_rankings(store, SYNTHETIC, name)
        yield from score_cutoffs(corpus, name, rankings, plan, folds)
        if folds:
            yield from score_rules(corpus, name, rankings, plan, folds)


def _score_llms(
    store: Store,
    corpus: Corpus,
    approaches: Sequence[Approach],
    decided: Mapping[str, DecisionPart],
    folds: Folds | None,
    aim: Aim,
) -> Iterator[Scored]:
    retrievers = {approach.retriever for approach in approaches if approach.retriever}
    costs = {name: read_rankings(store, SYNTHETIC, name).effort.cost for name in retrievers}
    for approach in approaches:
        if approach.rule and not folds:
            continue
        cost = costs.get(approach.retriever, 0.0)
        yield score_llm(corpus, approach, decided[approach.asked.name], cost, folds, aim)


def _left_out(plan: BenchmarkPlan, with_llm: Sequence[Approach], reason: str) -> Iterator[Refusal]:
    """Yield what could not be fitted."""
    names = [*plan.all_learned]
    names += [f"{retriever}@{rule}" for retriever in plan.retrievers for rule in plan.rules]
    names += [approach.name for approach in with_llm if approach.rule]
    for name in names:
        yield Refusal(where=name, reason=f"nothing could be fitted: {reason}")


def _llm_against_retriever(results: Sequence[ApproachResult], table: pd.DataFrame) -> Iterator[Comparison]:
    """Compare each approach with an LLM with its retriever at the cutoff with the best F1."""
    fixed = [r for r in results if isinstance(r.approach.cutoff, int) and r.approach.prompt_mode is None]
    best: dict[str, ApproachResult] = {}
    for result in sorted(fixed, key=lambda r: r.f1):
        best[result.approach.retriever] = result
    with_llm: dict[str, list[str]] = {}
    for result in results:
        if result.approach.prompt_mode is not None and result.approach.retriever in best:
            with_llm.setdefault(result.approach.retriever, []).append(result.approach.name)
    for retriever, names in with_llm.items():
        yield from compare_one_with_many(table, best[retriever].approach.name, names)


def run_benchmark(store: Store, domain: Domain, plan: BenchmarkPlan, execution: Execution = HERE) -> Benchmark:
    """Run the whole stage, or return its kept result.

    Raises:
        AnswersPendingError: the LLM was asked by batch; call this again when the batch is over.
    """
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    with alone(store, STAGE, execution.progress):
        if benchmark_done(store, plan):
            return read_benchmark(store)
        execution.rank(store, SYNTHETIC, plan.all_retrievers)
        for name in learned_linkers(store, plan):
            execution.step(f"learn {name}", learn_linker, store, name, plan.folds, execution.progress)
        approaches = execution.step("choose what the LLM decides on", llm_approaches, store, domain, plan)
        undecided = each_model(approaches, lambda some: execution.decide(store, SYNTHETIC, domain, some))
        given_up = {refusal.where for refusal in undecided}
        decided = [approach for approach in approaches if approach.name not in given_up]
        return execution.step("score", finish_benchmark, store, plan, decided, undecided)

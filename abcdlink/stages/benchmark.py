"""Stage benchmark: retrievers, learned linkers and LLMs, scored on a corpus of a run, usually the synthetic one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import Field

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Record, Refusal
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.evaluation.comparisons import Comparison, compare_one_with_many, compare_with_best
from abcdlink.evaluation.results import ApproachResult
from abcdlink.evaluation.scores import PAPER_CUTOFFS, macro_by_cutoff, score_ranking
from abcdlink.layout import BENCHMARK, CUTOFFS, GENERATION, SCORES, SHORTLIST, SYNTHETIC, benchmark_file
from abcdlink.linking.learners import is_learned
from abcdlink.linking.records import CASCADE, Approach, current_name
from abcdlink.llm.profiles import is_same_model
from abcdlink.llm.records import Usage
from abcdlink.stages.decide import Cascade, DecisionPart, read_decisions
from abcdlink.stages.execution import HERE, Execution, each_model
from abcdlink.stages.learn import learn_linker
from abcdlink.stages.once import alone, is_done
from abcdlink.stages.plan import BenchmarkPlan, read_sample, sample_sources
from abcdlink.stages.rank import read_rankings
from abcdlink.stages.score import Scored, folds_of, score_cutoffs, score_llm, score_rules
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd

STAGE = "benchmark"


class Benchmark(Record):
    """The result of the stage, as stored in ``benchmark.json``.

    ``left_out``: approaches of the plan that could not be scored, with the reason. ``against_best``:
    the approach with the highest mean F1 compared with every other. ``llm_against_retriever``: each
    approach with an LLM compared with its retriever at that one's best cutoff. ``usage``: approach ->
    what its questions cost; an approach that cuts scores by a rule asks no questions of its own (``Approach.asked``).
    ``undecided``: approaches whose model failed, with the reason; running the stage again retries them.
    ``cascades``: cascade -> what its larger model was spared. ``own_pairs``: approaches whose model also wrote the
    synthetic pairs, which may flatter them.
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
    cascades: dict[str, Cascade] = Field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about the scores, one sentence each: what is missing, and what may flatter."""
        told = [f"Left out: {one.line}." for one in self.left_out]
        told += [f"Not decided: {one.line}; then run the benchmark again." for one in self.undecided]
        if self.own_pairs:
            names = ", ".join(self.own_pairs)
            told.append(f"The model that wrote the synthetic pairs also links them here, which may flatter {names}.")
        told += [
            f"{name}: the larger model was asked about {one.passed_on_sources} of {one.sources} source sentences "
            f"({one.passed_on} of {one.candidates} candidates), in {one.usage.calls} calls."
            for name, one in self.cascades.items()
        ]
        return tuple(told)


def benchmark_done(store: Store, plan: BenchmarkPlan, corpus_name: str = SYNTHETIC) -> bool:
    """Tell whether the run already has what the plan asks for."""
    stage = STAGE if corpus_name == SYNTHETIC else f"{STAGE} {corpus_name}"
    done = is_done(store, stage, benchmark_file(corpus_name, BENCHMARK), plan.chosen())
    # What a model left open is retried until approaches have been chosen.
    chosen = corpus_name == SYNTHETIC and store.exists(SHORTLIST)
    return done and (chosen or not read_benchmark(store, corpus_name).undecided)


def read_benchmark(store: Store, corpus_name: str = SYNTHETIC) -> Benchmark:
    """Return the stored result; raises ``InputError`` if there is none yet."""
    name = benchmark_file(corpus_name, BENCHMARK)
    store.require(name, STAGE)
    return store.read_record(name, Benchmark)


def read_scores(store: Store) -> pd.DataFrame:
    """Return the stored scores of each approach on each source; raises ``InputError`` if there are none yet."""
    name = benchmark_file(SYNTHETIC, SCORES)
    store.require(name, STAGE)
    table = store.read_table(name, ("approach", "pair", "source"), ("precision", "recall", "f1"))
    former = {name: current_name(name) for name in table["approach"].unique() if name != current_name(name)}
    return table.assign(approach=table["approach"].replace(former)) if former else table


def why_not_fitted(store: Store, plan: BenchmarkPlan, corpus_name: str = SYNTHETIC) -> str:
    """Say why nothing can be fitted on the pairs; empty if it can."""
    try:
        folds_of(store, corpus_name, read_corpus_from(store, corpus_name), plan.folds)
    except InputError as error:
        return error.problem
    return ""


def learned_linkers(store: Store, plan: BenchmarkPlan, corpus_name: str = SYNTHETIC) -> tuple[str, ...]:
    """Return the learned linkers that can be fitted; the others are ``left_out`` of the result."""
    return () if why_not_fitted(store, plan, corpus_name) else plan.all_learned


def llm_approaches(
    store: Store, domain: Domain | None, plan: BenchmarkPlan, corpus_name: str = SYNTHETIC
) -> list[Approach]:
    """Return the approaches with an LLM; the rankings of retrievers and learned linkers must exist.

    Raises:
        InputError: when the LLM should decide on candidates of a learned linker that cannot be fitted.
    """
    if plan.llm is None or domain is None:
        return []
    retrievers = plan.llm.retrievers or (best_ranker(store, plan, [corpus_name]),)
    missing = {name for name in retrievers if is_learned(name)} - set(learned_linkers(store, plan, corpus_name))
    if missing:
        msg = f"{min(missing)} cannot be fitted: {why_not_fitted(store, plan, corpus_name)}"
        raise InputError(msg, "let the LLM decide on the candidates of a retriever, or generate more pairs")
    return plan.llm.approaches(retrievers, plan.llm.cutoffs or (domain.settings.llm_candidates,))


def best_ranker(store: Store, plan: BenchmarkPlan, corpora: Sequence[str]) -> str:
    """Return the retriever with the best mean F1 over cutoffs and corpora; on a tie, the one named first.

    This is the paper's choice ("Avg. F1"). A plan without fixed cutoffs uses the paper's.
    """
    cutoffs = plan.cutoffs or PAPER_CUTOFFS
    found: dict[str, list[float]] = {}
    for corpus_name in corpora:
        corpus = read_corpus_from(store, corpus_name)
        for name in plan.retrievers or plan.learned:
            frame = score_ranking(corpus, read_rankings(store, corpus_name, name).table, cutoffs, plan.definition)
            found.setdefault(name, []).append(fmean(scores.f1 for scores in macro_by_cutoff(frame).values()))
    return max(found, key=lambda name: fmean(found[name]))


def finish_benchmark(
    store: Store,
    plan: BenchmarkPlan,
    with_llm: Sequence[Approach],
    undecided: Sequence[Refusal] = (),
    corpus_name: str = SYNTHETIC,
) -> Benchmark:
    """Score all approaches of a plan and store the results; rankings and decisions must exist."""
    import pandas as pd

    reason = why_not_fitted(store, plan, corpus_name)
    scoring = _Scoring(store, corpus_name, plan, fits=not reason)
    decided = {a.asked.name: read_decisions(store, corpus_name, a) for a in with_llm}
    scored = [*scoring.rankings(), *scoring.llms(with_llm, decided)]
    table = pd.concat([one.table for one in scored], ignore_index=True)
    if scoring.sample and with_llm:
        places = zip(table["pair"], table["source"], strict=True)
        table["sampled"] = [scoring.sample.holds(pair, source) for pair, source in places]
    results = tuple(one.result for one in scored)
    benchmark = Benchmark(
        pairs=len(scoring.corpus.pairs),
        sources=scoring.corpus.source_count,
        cutoffs=plan.cutoffs,
        approaches=results,
        usage={name: part.usage for name, part in decided.items()},
        left_out=tuple(_left_out(plan, with_llm, reason)) if reason else (),
        against_best=tuple(compare_with_best(table)),
        llm_against_retriever=tuple(_llm_against_retriever(results, table)),
        undecided=tuple(undecided),
        cascades={name: part.cascade for name, part in decided.items() if part.cascade},
        own_pairs=tuple(_on_own_pairs(store, {a.name: decided[a.asked.name].model for a in with_llm}))
        if corpus_name == SYNTHETIC
        else (),
    )
    fitted = {one.result.approach.name: one.fitted.model_dump(mode="json") for one in scored if one.fitted}
    store.write_json(benchmark_file(corpus_name, CUTOFFS), fitted)
    store.write_table(benchmark_file(corpus_name, SCORES), table)
    store.write_record(benchmark_file(corpus_name, BENCHMARK), benchmark)
    return benchmark


def _on_own_pairs(store: Store, models: Mapping[str, str]) -> Iterator[str]:
    """Yield the approaches whose model wrote the synthetic pairs."""
    if store.exists(GENERATION):
        writer = str(store.read_json(GENERATION, dict[str, Any]).get("model", ""))
        for name, model in models.items():
            if any(is_same_model(one, writer) for one in model.split(CASCADE)):
                yield name


class _Scoring:
    """Scores rankings and LLM decisions on one corpus of a run.

    ``fits``: whether the pairs can be divided into folds, so that something can be fitted.
    """

    def __init__(self, store: Store, corpus_name: str, plan: BenchmarkPlan, *, fits: bool) -> None:
        self._store, self._name, self._plan = store, corpus_name, plan
        self.corpus = read_corpus_from(store, corpus_name)
        self._folds = folds_of(store, corpus_name, self.corpus, plan.folds) if fits else None
        self.sample = read_sample(store, corpus_name)

    def rankings(self) -> Iterator[Scored]:
        """Score retrievers and learned linkers."""
        for name in (*self._plan.retrievers, *(self._plan.learned if self._folds else ())):
            rankings = read_rankings(self._store, self._name, name)
            yield from score_cutoffs(self.corpus, name, rankings, self._plan, self._folds)
            if self._folds:
                yield from score_rules(self.corpus, name, rankings, self._plan, self._folds)

    def llms(self, approaches: Sequence[Approach], decided: Mapping[str, DecisionPart]) -> Iterator[Scored]:
        """Score approaches with an LLM."""
        retrievers = {approach.retriever for approach in approaches if approach.retriever}
        costs = {name: read_rankings(self._store, self._name, name).effort.cost for name in retrievers}
        for approach in approaches:
            if not approach.rule or self._folds:
                cost = costs.get(approach.retriever, 0.0)
                part = decided[approach.asked.name]
                yield score_llm(self.corpus, approach, part, cost, self._folds, self._plan.aim, self.sample)


def _left_out(plan: BenchmarkPlan, with_llm: Sequence[Approach], reason: str) -> Iterator[Refusal]:
    """Yield what could not be fitted, with the reason."""
    names = [*plan.all_learned]
    names += [f"{retriever}@{rule}" for retriever in plan.retrievers for rule in plan.rules]
    names += [approach.name for approach in with_llm if approach.rule]
    for name in names:
        yield Refusal(where=name, reason=f"nothing could be fitted: {reason}")


def _llm_against_retriever(results: Sequence[ApproachResult], table: pd.DataFrame) -> Iterator[Comparison]:
    """Compare each approach that uses an LLM with its retriever at that one's best cutoff."""
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


def run_benchmark(
    store: Store,
    domain: Domain | None,
    plan: BenchmarkPlan,
    execution: Execution = HERE,
    corpus_name: str = SYNTHETIC,
) -> Benchmark:
    """Run the whole stage on one corpus of the run, or return its stored result.

    Without a domain, no LLM is asked.

    Raises:
        AnswersPendingError: the LLM was asked by batch; call this again when the batch is over.
    """
    store.require(f"{corpus_name}/pairs.jsonl", "generate")
    with alone(store, f"{STAGE} {corpus_name}".replace("/", " "), execution.progress):
        if benchmark_done(store, plan, corpus_name):
            return read_benchmark(store, corpus_name)
        return compare_approaches(store, domain, plan, execution, corpus_name)


def compare_approaches(
    store: Store, domain: Domain | None, plan: BenchmarkPlan, execution: Execution, corpus_name: str
) -> Benchmark:
    """Rank, decide and score, except for what is already done. Errors as in ``run_benchmark``."""
    rank_for(store, plan, execution, corpus_name)
    approaches = execution.step("choose what the LLM decides on", llm_approaches, store, domain, plan, corpus_name)
    if plan.llm:
        sample_sources(store, corpus_name, read_corpus_from(store, corpus_name), plan.llm)
    errors = each_model(approaches, partial(execution.decide, store, corpus_name, domain)) if domain else {}
    decided = [approach for approach in approaches if approach.name not in errors]
    if errors and not decided:
        raise next(iter(errors.values()))
    undecided = [Refusal(where=name, reason=error.problem, hint=error.hint) for name, error in errors.items()]
    return execution.step("score", finish_benchmark, store, plan, decided, undecided, corpus_name)


def rank_for(store: Store, plan: BenchmarkPlan, execution: Execution, corpus_name: str) -> None:
    """Rank a corpus with every retriever and learned linker of a plan."""
    execution.rank(store, corpus_name, plan.all_retrievers)
    for name in learned_linkers(store, plan, corpus_name):
        execution.step(f"learn {name}", learn_linker, store, name, plan.folds, execution.progress, corpus_name)

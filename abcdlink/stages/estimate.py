"""What it would cost to ask an LLM, computed from the questions; none of them is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Record
from abcdlink.domain import Domain
from abcdlink.errors import AbcdlinkError, InputError
from abcdlink.layout import NATURAL, SYNTHETIC
from abcdlink.linking.learners import is_learned
from abcdlink.linking.records import Approach, ApproachKind, with_smaller
from abcdlink.llm.estimate import LLMEstimate, expected_cost, sum_of
from abcdlink.llm.profiles import DEFAULT
from abcdlink.llm.records import Question
from abcdlink.progress import Progress, silent
from abcdlink.stages.benchmark import llm_approaches
from abcdlink.stages.candidates import rank_natural
from abcdlink.stages.decide import llm_of, questions_left
from abcdlink.stages.execution import Here
from abcdlink.stages.learn import learn_linker
from abcdlink.stages.plan import BenchmarkPlan, retrievers_under, sample_sources
from abcdlink.stages.rank import Ranker, rank
from abcdlink.stages.shortlist import read_shortlist
from abcdlink.store import Store


class CostEstimate(Record):
    """What approaches still have to ask.

    ``approaches``: name -> estimate of its questions; approaches that cut the same answers by different
    rules count as one. ``models``: LLM profile -> estimate; a question of several approaches is paid once.
    ``total``: all questions. ``priceless``: profiles without prices, whose unknown cost is counted as 0.
    """

    approaches: dict[str, LLMEstimate]
    models: dict[str, LLMEstimate]
    total: LLMEstimate
    priceless: tuple[str, ...] = ()


def estimate_approaches(store: Store, corpus_name: str, domain: Domain, approaches: Sequence[Approach]) -> CostEstimate:
    """Estimate the remaining questions of approaches on a corpus of the run; rankings must exist."""
    asked = {one.name: one for one in with_smaller(approaches)}
    questions = {name: questions_left(store, corpus_name, domain, approach) for name, approach in asked.items()}
    llms = {approach.profile: llm_of(store, approach) for approach in asked.values()}
    by_model: dict[str, list[Question]] = {model: [] for model in llms}
    for name, some in questions.items():
        by_model[asked[name].profile] += some
    models = {model or DEFAULT: expected_cost(llms[model], some) for model, some in by_model.items()}
    return CostEstimate(
        approaches={name: expected_cost(llms[asked[name].profile], some) for name, some in questions.items()},
        models=models,
        total=sum_of(list(models.values())),
        priceless=tuple(model or DEFAULT for model, llm in llms.items() if not llm.settings.llm_has_prices),
    )


def rankings_missing(store: Store, corpus_name: str, retrievers: Iterable[str]) -> list[str]:
    """Return the retrievers that have not ranked a corpus of the run yet."""
    return [name for name in retrievers if Ranker(store, corpus_name, name).open_parts()]


def retrievers_for(plan: BenchmarkPlan) -> list[str]:
    """Return the retrievers that have to rank before it is known what a plan's LLM will be asked."""
    return list(dict.fromkeys(part for name in _offering(plan) for part in retrievers_under(name)))


def estimate_benchmark(store: Store, domain: Domain, plan: BenchmarkPlan, progress: Progress = silent) -> CostEstimate:
    """Estimate the LLM approaches of a benchmark plan; missing rankings are computed.

    Raises:
        InputError: when the run has no synthetic corpus, or a learned linker cannot be fitted on it.
    """
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    for retriever in retrievers_for(plan):
        rank(store, SYNTHETIC, retriever, progress)
    for name in filter(is_learned, _offering(plan)):
        learn_linker(store, name, plan.folds, progress)
    return estimate_approaches(store, SYNTHETIC, domain, llm_approaches(store, domain, plan))


def estimate_corpora(
    store: Store, domains: Mapping[str, Domain], plan: BenchmarkPlan, *, timed: bool = False
) -> CostEstimate:
    """Estimate the LLM approaches of a benchmark of several corpora of the run; the rankings must exist.

    ``timed``: whether to ask each model its first question, to measure how long it takes; the answer is kept.
    """
    found: dict[str, CostEstimate] = {}
    asked: set[str] = set()
    for name, domain in domains.items():
        if plan.llm:
            sample_sources(store, name, read_corpus_from(store, name), plan.llm)
        approaches = llm_approaches(store, domain, plan, name)
        for approach in approaches if timed else ():
            if approach.model not in asked and _answers_first(store, name, domain, approach):
                asked.add(approach.model)
        found[name] = estimate_approaches(store, name, domain, approaches)
    models = dict.fromkeys(model for one in found.values() for model in one.models)
    by_model = {
        model: _together([one.models[model] for one in found.values() if model in one.models]) for model in models
    }
    return CostEstimate(
        approaches={f"{name}: {a}": cost for name, one in found.items() for a, cost in one.approaches.items()},
        models=by_model,
        total=sum_of(list(by_model.values())),
        priceless=tuple(dict.fromkeys(model for one in found.values() for model in one.priceless)),
    )


def _answers_first(store: Store, corpus_name: str, domain: Domain, approach: Approach) -> bool:
    """Ask an approach's next question; returns whether there was one. A failed question is asked later."""
    llm = llm_of(store, approach)
    questions = questions_left(store, corpus_name, domain, approach)
    if not questions or llm.settings.llm_engine != "server":  # an engine is started for all questions together
        return False
    with suppress(AbcdlinkError):
        llm.check()
        llm.ask(questions[0])
    return True


def _together(estimates: Sequence[LLMEstimate]) -> LLMEstimate:
    """Add up the estimates of one model on several corpora; its speed is that measured where its answers are known."""
    known = [one for one in estimates if one.seconds is not None and one.calls]
    whole = sum_of(estimates)
    calls = sum(one.calls for one in known)
    seconds = whole.calls * sum(one.seconds or 0.0 for one in known) / calls if calls else None
    return whole.model_copy(update={"seconds": seconds})


def estimate_candidates(store: Store, domain: Domain, progress: Progress = silent) -> CostEstimate:
    """Estimate the shortlisted approaches on the natural pairs; missing rankings are computed.

    Raises:
        InputError: when the run has no shortlist, or none of the approaches on it asks an LLM.
    """
    shortlist = read_shortlist(store)
    approaches = [one for one in shortlist.approaches if one.kind is ApproachKind.LLM]
    if not approaches:
        names = " and ".join(approach.name for approach in shortlist.approaches)
        msg = f"the shortlist of run {store.key!r} has {names}: none of them asks an LLM"
        raise InputError(msg, "there is nothing to estimate")
    rank_natural(store, shortlist.approaches, Here(progress))
    return estimate_approaches(store, NATURAL, domain, approaches)


def _offering(plan: BenchmarkPlan) -> tuple[str, ...]:
    """Return the retrievers and learned linkers on whose candidates the LLM may be asked."""
    return (plan.llm.retrievers if plan.llm else ()) or plan.retrievers or plan.learned

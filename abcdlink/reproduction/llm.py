"""The paper's LLM tables: what an LLM adds to five base retrievers, how sure that is, and set-ups by prompt mode.

Everything is asked in the setting of the paper, about the source sentences with gold links, and kept in a run, so that
an interrupted one continues. The figures are compared only where the model is the paper's and no source was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain, find_domain
from abcdlink.evaluation.results import ApproachResult
from abcdlink.evaluation.scores import PAPER_CUTOFFS
from abcdlink.linking.records import Setup
from abcdlink.llm.profiles import DEFAULT, is_same_model, linkers, profile
from abcdlink.progress import Progress
from abcdlink.reproduction.records import PaperTable, Significance
from abcdlink.reproduction.retrieval import available
from abcdlink.stages.benchmark import Benchmark
from abcdlink.stages.benchmark_corpora import keep_corpus, prepare, run_benchmarks, shown
from abcdlink.stages.estimate import CostEstimate, estimate_corpora
from abcdlink.stages.execution import Here
from abcdlink.stages.plan import BenchmarkPlan, LLMPlan
from abcdlink.store import open_run

BASES = {
    "SFR": "sfr-mistral-released",
    "ms_marco_MiniLM": "ms-marco-minilm-l6-v2",
    "BM25": "bm25",
    "BGE-M3-sparse": "bge-m3-sparse",
    "Dragon+": "dragon-plus-released",
}
"""The paper's name of a base retriever in its table -> ours."""
PAPER_BASE = "Dragon+"
"""The base retriever of the tables on significance and on set-ups by mode."""
PAPER_MODEL = ("Qwen2.5-32B-Instruct-AWQ", "Qwen2.5-32B-Instruct", "qwen2.5-32b")
"""The model of the tables on base retrievers and on significance, under its usual names."""
BEST_MODE = 4
MODES = (1, 2, 3, 4)
SETUPS = (Setup.LISTWISE, Setup.PAIRWISE, Setup.LLM_ONLY)

At = Callable[[str, str, str], PaperTable]
"""Gives the place of a table, a data set and a remark."""


class LLMTablesPlan(NamedTuple):
    """What LLMs are asked for the reproduction.

    ``models``: profiles; empty: those with the role linkers whose endpoint is set. ``run``: prefix of the keys of the
    two runs that keep everything. ``sources``: at most this many source sentences of a data set, drawn at random.
    ``tell``: called with what is still to be asked for a run, and the run's key, before it is asked.
    """

    models: tuple[str, ...] = ()
    run: str = "reproduce"
    sources: int | None = None
    tell: Callable[[CostEstimate, str], None] = lambda _found, _run: None


DEFAULT_LLMS = LLMTablesPlan()


def chosen_models(llms: LLMTablesPlan) -> tuple[str, ...]:
    """Return the profiles to ask; none where no endpoint is set.

    Raises:
        InputError: when there is no such profile.
    """
    if llms.models:
        for name in llms.models:
            profile(name)
        return llms.models
    return tuple(name for name in linkers() if profile(name).llm_base_url)


NO_ENDPOINT = (
    "no LLM endpoint is set: set ABCDLINK_LLM_BASE_URL or profiles in abcdlink.toml, or name a profile with --llm "
    "(`default` without an endpoint is the embedded model, which links at chance)"
)


class LLMTables:
    """Runs the benchmarks of the LLM tables and compares their figures.

    ``corpora``: data set -> its pairs as the paper used them, and the remark on them.
    """

    def __init__(self, corpora: Mapping[str, tuple[Corpus, str]], llms: LLMTablesPlan, progress: Progress) -> None:
        self._corpora, self._llms, self._progress = corpora, llms, progress
        self.models = chosen_models(llms)
        found = {name: available(ours) for name, ours in BASES.items()}
        self.absent = {name: reason for name, reason in found.items() if isinstance(reason, str)}
        self._bases = {name: BASES[name] for name in found if name not in self.absent}

    @property
    def mode_base(self) -> str:
        """The base retriever of the set-ups by mode, as the paper calls it: Dragon+ where it is there."""
        return PAPER_BASE if PAPER_BASE in self._bases else next(iter(self._bases))

    def bases(self) -> dict[str, Benchmark]:
        """Let the models decide on the candidates of every base retriever, listwise with mode 4."""
        return self._run("bases", tuple(self._bases.values()), (Setup.LISTWISE,), (BEST_MODE,))

    def modes(self) -> dict[str, Benchmark]:
        """Let the models decide in every set-up and prompt mode, on the candidates of one base retriever."""
        return self._run("modes", (self._bases[self.mode_base],), SETUPS, MODES)

    def _run(
        self, name: str, retrievers: Sequence[str], setups: tuple[Setup, ...], modes: tuple[int, ...]
    ) -> dict[str, Benchmark]:
        llm = LLMPlan(
            models=self.models,
            retrievers=tuple(retrievers),
            setups=setups,
            prompt_modes=modes,
            linked_only=True,
            sources=self._llms.sources,
        )
        plan = BenchmarkPlan(retrievers=tuple(retrievers), learned=(), rules=(), cutoffs=PAPER_CUTOFFS, llm=llm)
        store = open_run(f"{self._llms.run}-{name}")
        domains: dict[str, Domain] = {}
        for dataset, (corpus, _) in self._corpora.items():
            kept = keep_corpus(store, corpus.model_copy(update={"name": dataset}), plan)
            domains[kept] = find_domain("news@paper" if dataset.startswith("NEWS") else "reviews@paper")
        execution = Here(self._progress)
        plan = prepare(store, domains, plan, execution)
        self._llms.tell(estimate_corpora(store, domains, plan, timed=True), store.key)
        overview = run_benchmarks(store, domains, plan, execution)
        datasets = dict(zip(map(shown, domains), self._corpora, strict=True))
        return {datasets[corpus]: one for corpus, one in overview.corpora.items()}

    def remark(self, dataset: str, model: str, result: ApproachResult) -> str:
        """Say what differs from the paper: pairs, model, sources asked about; empty: nothing."""
        name = profile(model).llm_model
        told = [self._corpora[dataset][1]]
        told.append("" if any(is_same_model(name, known) for known in PAPER_MODEL) else f"by {name}")
        if result.sampled_from > result.sources:
            told.append(f"{result.sources} of {result.sampled_from} sources")
        return ", ".join(filter(None, told))

    def compare(
        self,
        at: At,
        printed: Mapping[str, Mapping[str, tuple[float, float]]],
        significance: Mapping[str, Significance],
    ) -> None:
        """Run the benchmark of the base retrievers, and compare both tables on it."""
        for name, reason in self.absent.items():
            at("retriever_llm", "all", "").miss(name, reason)
        for dataset, one in self.bases().items():
            results = {result.approach.name: result for result in one.approaches}
            for model in self.models:
                for base, ours in self._bases.items():
                    with_llm = _with_llm(results.values(), ours, model, Setup.LISTWISE, BEST_MODE)
                    if with_llm is None:
                        reason = next((refusal.reason for refusal in one.undecided), "its model was not asked")
                        at("retriever_llm", dataset, "").miss(f"{base}+{model}", reason)
                        continue
                    place = at("retriever_llm", dataset, self.remark(dataset, model, with_llm))
                    alone = _best(results.values(), ours)
                    paper = printed.get(dataset, {}).get(base)
                    row = base if len(self.models) == 1 else f"{base}+{model}"
                    place.compare(row, "R, best F1", 100 * alone.f1, paper[0] if paper else None, 2)
                    place.compare(row, "R+LLM, F1", 100 * with_llm.f1_of_all, paper[1] if paper else None, 2)
                    theirs = significance.get(dataset) if base == PAPER_BASE else None
                    _compare_difference(at("significance", dataset, place.remark), row, with_llm, one, theirs)

    def compare_modes(self, at: At, printed: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
        """Run the benchmark of set-ups by prompt mode; ``printed``: data set -> set-up -> mode -> F1 in percent."""
        for dataset, one in self.modes().items():
            for model in self.models:
                for setup in SETUPS:
                    ours = "" if setup is Setup.LLM_ONLY else self._bases[self.mode_base]
                    for mode in MODES:
                        result = _with_llm(one.approaches, ours, model, setup, mode)
                        if result is None:
                            reason = next((refusal.reason for refusal in one.undecided), "its model was not asked")
                            at("setups_by_mode", dataset, "").miss(f"{model} {setup} mode {mode}", reason)
                            continue
                        paper = printed.get(dataset, {}).get(f"{model} {setup}", {}).get(str(mode))
                        place = at("setups_by_mode", dataset, self.remark(dataset, model, result))
                        base = f"{self.mode_base}+" if ours else ""
                        place.compare(f"{base}{model} {setup}", f"F1, mode {mode}", 100 * result.f1_of_all, paper, 2)


def _with_llm(
    results: Iterable[ApproachResult], retriever: str, model: str, setup: Setup, mode: int
) -> ApproachResult | None:
    """Return the result of one set-up on the candidates of a retriever (empty: LLM-only)."""
    wanted = (retriever, "" if model == DEFAULT else model, setup, mode)
    found = ((one, one.approach) for one in results)
    return next((one for one, a in found if (a.retriever, a.model, a.setup, a.prompt_mode) == wanted), None)


def _best(results: Iterable[ApproachResult], retriever: str) -> ApproachResult:
    """Return a retriever at its best cutoff."""
    own = [one for one in results if one.approach.retriever == retriever and not one.outcomes]
    return max(own, key=lambda one: one.f1)


def _compare_difference(
    place: PaperTable, row: str, with_llm: ApproachResult, one: Benchmark, printed: Significance | None
) -> None:
    """Compare how much an LLM adds to its retriever, with interval and p."""
    found = next(compared for compared in one.llm_against_retriever if compared.b == with_llm.approach.name)
    # The benchmark has retriever minus LLM; the paper prints LLM minus retriever.
    ours = (-found.difference.mean, -found.difference.high, -found.difference.low, found.difference.p)
    paper = (printed[2], *printed[3], float(printed[4].lstrip("<"))) if printed else (None,) * len(ours)
    for measure, value, theirs in zip(("R+LLM - R", "low", "high", "p"), ours, paper, strict=True):
        place.compare(row, measure, value, theirs, 3)

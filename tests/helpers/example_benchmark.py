"""The benchmark of the example run: scored by the real code on random rankings and answers."""

from __future__ import annotations

import random

import numpy as np

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Document, Refusal
from abcdlink.layout import BENCHMARK, SYNTHETIC, decision_part
from abcdlink.linking.decisions import top_k
from abcdlink.linking.records import Approach, ApproachKind, CutoffRule, Decision, HowToScore, Scoring, Setup, llm_grid
from abcdlink.llm.records import Outcome, Usage
from abcdlink.progress import Progress, silent
from abcdlink.retrieval import Retriever
from abcdlink.retrieval.base import rank_corpus
from abcdlink.stages.benchmark import finish_benchmark
from abcdlink.stages.decide import PART_SIZE, DecisionPart
from abcdlink.stages.once import parts_of
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.rank import RankingEffort, keep_rankings
from abcdlink.store import Store

OFFERED = 7
GRID = [
    *llm_grid(["hybrid"], [OFFERED], tuple(Setup), (1, 2, 3, 4)),
    *llm_grid(
        ["hybrid"],
        [OFFERED],
        [Setup.LISTWISE],
        [4],
        [HowToScore(scoring=Scoring.VOTES, samples=5, rule=rule) for rule in (None, CutoffRule.THRESHOLD)],
    ),
]
SHORTLISTED = (
    Approach(kind=ApproachKind.RETRIEVER, retriever="hybrid", cutoff=3),
    Approach(kind=ApproachKind.LLM, retriever="hybrid", cutoff=OFFERED, prompt_mode=4),
)
PLAN = BenchmarkPlan(learned=(), rules=(CutoffRule.THRESHOLD,), folds=3, llm=None)
SKILL = dict(zip(PLAN.retrievers, (0.8, 1.1, 1.6), strict=True))


class Noisy(Retriever):
    """Random scores; gold links get ``skill`` standard deviations more."""

    def __init__(self, name: str, corpus: Corpus) -> None:
        self.name = name
        self._links = {pair.source: pair.links or {} for pair in corpus.pairs}

    def prepare(self, documents: list[Document], progress: Progress = silent) -> None:
        """Nothing is needed."""

    def score(self, source: Document, target: Document) -> np.ndarray:
        """Return one row per source sentence."""
        chance = np.random.default_rng([*f"{self.name} {source.id}".encode()])
        scores = chance.normal(size=(len(source.sentences), len(target.sentences)))
        for sentence, targets in self._links[source.id].items():
            for linked in targets:
                scores[source.position[sentence], target.position[linked]] += SKILL[self.name]
        return scores


def _decide(corpus: Corpus, approach: Approach, offered: dict[str, dict[str, tuple[str, ...]]]) -> list[Decision]:
    """An LLM that does better in later prompt modes and fails now and then."""
    chooser = random.Random(approach.name)
    finds = 0.5 + 0.1 * (approach.prompt_mode or 0)
    failures = [Outcome.TRUNCATED, Outcome.MISSING_IDS, Outcome.FAILED]
    decisions = []
    for pair in corpus.pairs:
        for source in corpus.source_of(pair).sentences:
            gold = set((pair.links or {}).get(source.id, ()))
            among = offered[pair.id][source.id] if approach.retriever else tuple(corpus.target_of(pair).position)
            scores = {target: chooser.betavariate(2, 1 if target in gold else 5) for target in among}
            linked = tuple(t for t in among if chooser.random() < (finds if t in gold else 0.1))
            outcome = chooser.choice(failures) if chooser.random() < 0.08 else Outcome.OK
            voted = approach.scoring is Scoring.VOTES
            decisions.append(
                Decision(
                    approach=approach.name,
                    pair=pair.id,
                    source=source.id,
                    targets=tuple(t for t in among if scores[t] > 0.5) if voted else linked,
                    offered=among,
                    scores=scores if voted else {},
                    outcome=outcome,
                )
            )
    return decisions


def benchmark(store: Store) -> None:
    """Stages benchmark and shortlist."""
    corpus = read_corpus_from(store, SYNTHETIC)
    store.note("inputs", {**store.manifest["inputs"], "benchmark": PLAN.model_dump(mode="json")})
    for name in PLAN.retrievers:
        table = rank_corpus(corpus, Noisy(name, corpus))
        effort = RankingEffort(seconds=0.2, kept_seconds=0.0, truncated=3 * (name == "hybrid"), max_length=256)
        keep_rankings(store, SYNTHETIC, name, table, effort)
    offered = top_k(table, OFFERED)
    pairs_of_part = [{pair.id for pair in part} for part in parts_of(corpus.pairs, PART_SIZE)]
    for approach in {one.asked for one in GRID}:
        decisions = _decide(corpus, approach, offered)
        for number, ids in enumerate(pairs_of_part):
            own = tuple(decision for decision in decisions if decision.pair in ids)
            usage = Usage(
                calls=len(own),
                prompt_tokens=412 * len(own),
                cached_tokens=330 * len(own),
                completion_tokens=9 * len(own),
                seconds=1.3 * len(own),
                cost=0.00004 * len(own),
            )
            kept = DecisionPart(decisions=own, usage=usage, prompt_hash="0f1e2d3c4b5a", model="a-model")
            store.write_text(decision_part(SYNTHETIC, approach.name, number), kept.model_dump_json())
    result = finish_benchmark(store, PLAN, GRID)
    left_out = (Refusal(where="learned-logistic", reason="nothing could be fitted: 6 pairs are too few"),)
    store.write_text(BENCHMARK, result.model_copy(update={"left_out": left_out}).model_dump_json())
    first, second = (approach.model_dump(mode="json") for approach in SHORTLISTED)
    reasons = ["hybrid@3 has the best F1 of all retrievers."]
    store.write_json("shortlist.json", {"first": first, "second": second, "reasons": reasons})

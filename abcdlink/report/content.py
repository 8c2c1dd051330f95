"""What a report shows, gathered from a run's folder; what a run does not have yet is ``None`` or empty.

The report knows the files of a run, not the code that wrote them, so that any run can be shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote

from pydantic import BaseModel

from abcdlink.adjudicate import Adjudication
from abcdlink.coding import CodingSummary
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Refusal
from abcdlink.errors import InputError
from abcdlink.evaluation.comparisons import average_f1
from abcdlink.evaluation.results import ApproachResult
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.exhaustive import Recall
from abcdlink.export.dataset import judgments_needed
from abcdlink.going_on import WhatNow
from abcdlink.interannotator import Details, details
from abcdlink.interannotator.measures import Agreement, agreement
from abcdlink.judgments import Annotator, Judgment, Label, Skip, by_candidate
from abcdlink.layout import (
    ANNOTATORS,
    ANOMALIES,
    BENCHMARK,
    CODERS,
    CODES,
    GENERATION,
    JUDGMENTS,
    NATURAL,
    POOL_COUNTS,
    POOLS,
    RECALL,
    SHORTLIST,
    SYNTHETIC,
    VALIDATION,
    batch_file,
)
from abcdlink.linking.records import Approach, ApproachKind
from abcdlink.llm.records import Usage
from abcdlink.qualify import Applicant, applicants_of, qualified_of, ranked
from abcdlink.rate import RATERS, RATINGS, RatingSummary, ratings_of
from abcdlink.rate import summarise as summarise_ratings
from abcdlink.report.decided import Decisions, Round, decisions_in, lines_in, rounds_in
from abcdlink.report.findings import Findings, find, notable
from abcdlink.report.links import PAIRS_IN_A_FILE, KnownPair, known_pairs, of_batches
from abcdlink.settings import Settings
from abcdlink.stages.annotate import changed_of
from abcdlink.stages.benchmark import Benchmark, read_benchmark
from abcdlink.stages.budget import Choice, choices_of
from abcdlink.stages.candidates import PoolCounts
from abcdlink.stages.coding import coding_summary
from abcdlink.stages.gains import GAINS, Gains
from abcdlink.stages.generate import Generation
from abcdlink.stages.shortlist import is_quick
from abcdlink.store import Store
from abcdlink.validation import Validation
from abcdlink.whatnow import what_now

EMBEDDED_MODEL = Settings.model_fields["llm_model"].default


class DisputedCandidate(NamedTuple):
    """A candidate on which annotators differ, with both texts, and what was decided, if anything was."""

    source_text: str
    target_text: str
    source: str
    target: str
    method: str
    batch: int
    said: dict[str, Label]
    decision: Adjudication | None


@dataclass(frozen=True)
class Content:
    """Everything that a report says about one run.

    ``changes``: answers that were changed since, so that figures are out of date. ``pairs``: the first ones with their
    candidates, or why they cannot be shown.
    """

    key: str
    now: WhatNow
    manifest: dict[str, Any]
    natural: Corpus | None
    synthetic: Corpus | None
    generation: Generation | None
    validation: Validation | None
    benchmark: Benchmark | None
    shortlist: Shortlist | None
    pools: PoolCounts | None
    findings: Findings | None
    decided: dict[str, Usage]
    judgments: list[Judgment]
    annotators: list[Annotator]
    skips: list[Skip]
    anomalies: list[str]
    changes: list[str]
    applicants: list[Applicant]
    qualified: tuple[str, ...] | None
    ratings: list[RatingSummary]
    raters: list[Annotator]
    rounds: list[Round]
    pairs: list[KnownPair] | str
    recall: Recall | None
    choices: list[Choice]
    gains: Gains | None
    decisions: Decisions | None
    coding: CodingSummary | None
    coders: list[Annotator]

    @property
    def needed(self) -> int:
        """Judgments without which a candidate is in no figure."""
        return judgments_needed(self.manifest, self.judgments)

    @cached_property
    def agreement(self) -> Agreement | None:
        """Agreement over all judgments so far."""
        return agreement(self.judgments, self.needed) if self.judgments else None

    @cached_property
    def details(self) -> Details | None:
        """By document, over time, between batches, times and early stop, over all judgments so far."""
        return details(self.judgments, self.needed) if self.judgments else None

    @property
    def simulated(self) -> list[str]:
        """Pseudonyms of programs; their accounts, until their judgments are pulled."""
        pulled = [annotator.annotator for annotator in self.annotators if annotator.simulated]
        return pulled or self.manifest.get("simulated", {}).get("accounts", [])

    @property
    def embedded_llm(self) -> bool:
        """Whether the model that comes with abcdlink generated the synthetic pairs."""
        return self.generation is not None and self.generation.model == EMBEDDED_MODEL

    @property
    def skipped(self) -> tuple[str, ...]:
        """The stages that a quick try does without."""
        return ("generate", "validate", "benchmark") if is_quick(self.manifest) else ()

    @property
    def shortlisted(self) -> list[Approach]:
        """The approaches taken into annotation."""
        return list(self.shortlist.approaches) if self.shortlist else []

    @cached_property
    def results(self) -> list[ApproachResult]:
        """The benchmark's approaches, best F1 first; sources without an answer count as 0 in this order."""
        return _best_first(self.benchmark)

    @property
    def results_with_llm(self) -> list[ApproachResult]:
        """Those of the benchmark's approaches that ask an LLM, best F1 first."""
        return [result for result in self.results if result.approach.kind is ApproachKind.LLM]

    @property
    def average_f1(self) -> dict[str, float]:
        """Retriever or learned linker -> mean F1 over the cutoffs of the benchmark, if there are several."""
        if self.benchmark is None or len(self.benchmark.cutoffs) == 1:
            return {}
        return average_f1(self.results, self.benchmark.cutoffs)

    def usage_of(self, result: ApproachResult) -> Usage:
        """Return what an approach with an LLM asked in the benchmark; a rule cuts scores and asks nothing more."""
        return self.usage_of_benchmark.get(result.approach.asked.name, Usage())

    @cached_property
    def disagreements(self) -> dict[str, list[DisputedCandidate]]:
        """Pair -> candidates on which its annotators differ, in the order of the corpus."""
        if self.natural is None:
            return {}
        pairs = {pair.id: pair for pair in self.natural.pairs}
        decided = self.decisions.by_place if self.decisions else {}
        found: dict[str, list[DisputedCandidate]] = {}
        for (pair_id, source, target), group in by_candidate(self.judgments).items():
            said = {annotator: group[annotator].label for annotator in sorted(group)}
            if len(set(said.values())) > 1:
                pair, first = pairs[pair_id], next(iter(group.values()))
                texts = (
                    self.natural.source_of(pair).text_of(source),
                    self.natural.target_of(pair).text_of(target),
                )
                found.setdefault(pair_id, []).append(
                    DisputedCandidate(
                        *texts, source, target, first.method, first.batch, said, decided.get((pair_id, source, target))
                    )
                )
        return {pair_id: found[pair_id] for pair_id in pairs if pair_id in found}

    @property
    def refusals(self) -> dict[str, list[Refusal]]:
        """What was left out, by corpus."""
        corpora = {"natural pairs": self.natural, "synthetic pairs": self.synthetic}
        return {name: corpus.refused for name, corpus in corpora.items() if corpus is not None and corpus.refused}

    @property
    def usage_of_benchmark(self) -> dict[str, Usage]:
        """Approach with an LLM -> what its questions on the synthetic pairs cost."""
        return self.benchmark.usage if self.benchmark else {}

    @property
    def costs(self) -> dict[str, Usage]:
        """Stage or approach -> what its LLM calls cost."""
        costs = {"generate": self.generation.usage} if self.generation else {}
        if self.generation and self.generation.second_look:
            costs["second look"] = self.generation.second_look.usage
        costs |= {f"{name}, synthetic pairs": usage for name, usage in self.usage_of_benchmark.items()}
        costs |= {f"{name}, natural pairs": usage for name, usage in self.decided.items()}
        return costs


def gather(store: Store) -> Content:
    """Read everything that the run has, including judgments of batches that are not merged yet."""
    batches = sorted(
        {int(name.split("/")[1]) for name in store.folder.names("batches/") if name.endswith(f"/{JUDGMENTS}")}
    )

    benchmark = read_benchmark(store) if store.exists(BENCHMARK) else None
    shortlist = store.find_record(SHORTLIST, Shortlist)
    chosen = [approach.name for approach in shortlist.approaches] if shortlist else []
    anomalies = {batch: lines_in(store, batch_file(batch, ANOMALIES)) for batch in batches}
    changed = {batch: changed_of(store, batch) for batch in batches}
    judgments = of_batches(store, JUDGMENTS, Judgment)
    return Content(
        key=store.key,
        now=what_now(store),
        manifest=store.manifest,
        natural=_corpus(store, NATURAL),
        synthetic=_corpus(store, SYNTHETIC),
        generation=store.find_record(GENERATION, Generation),
        validation=store.find_record(VALIDATION, Validation),
        benchmark=benchmark,
        shortlist=shortlist,
        pools=store.find_record(POOL_COUNTS, PoolCounts),
        decided=_usage_of_decisions(store),
        judgments=judgments,
        annotators=store.find_records(ANNOTATORS, Annotator),
        skips=of_batches(store, "skips.jsonl", Skip),
        anomalies=[f"Batch {batch}: {line}" for batch, lines in anomalies.items() for line in lines],
        changes=[f"Batch {batch}: {line}" for batch, one in changed.items() if one for line in one.changes],
        applicants=ranked(applicants_of(store)),
        qualified=decision.annotators if (decision := qualified_of(store)) else None,
        ratings=summarise_ratings(ratings_of(store)) if store.exists(RATINGS) else [],
        raters=store.find_records(RATERS, Annotator),
        pairs=_pairs(store),
        rounds=rounds_in(store, sorted({judgment.batch for judgment in judgments})),
        choices=choices_of(store),
        gains=store.find_record(GAINS, Gains),
        recall=store.find_record(RECALL, Recall),
        decisions=decisions_in(store, judgments),
        coding=coding_summary(store) if store.exists(CODES) else None,
        coders=store.find_records(CODERS, Annotator),
        findings=find(store, notable(_best_first(benchmark), chosen), chosen) if benchmark else None,
    )


def _best_first(benchmark: Benchmark | None) -> list[ApproachResult]:
    return sorted(benchmark.approaches if benchmark else (), key=lambda result: -result.f1_of_all)


def _corpus(store: Store, name: str) -> Corpus | None:
    return read_corpus_from(store, name) if store.exists(f"{name}/pairs.jsonl") else None


def _usage_of_decisions(store: Store) -> dict[str, Usage]:
    """Return approach -> what its decisions on natural pairs cost, over all parts."""
    usage: dict[str, Usage] = {}
    for name in store.folder.names(f"decisions/{NATURAL}/"):
        approach = unquote(name.split("/")[2])
        usage[approach] = usage.get(approach, Usage()) + store.read_record(name, _Spent).usage
    return usage


def _pairs(store: Store) -> list[KnownPair] | str:
    """Return the first pairs with their candidates, or why they cannot be shown."""
    if not store.exists(POOLS):
        return []
    try:
        return list(islice(known_pairs(store), PAIRS_IN_A_FILE))
    except InputError as error:
        return error.problem


class _Spent(BaseModel):
    usage: Usage

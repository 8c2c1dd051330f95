"""Candidate pools: what annotators see for each source sentence: approaches' proposals and random distractors."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from abcdlink.corpus.counts import repeated_pairs
from abcdlink.corpus.records import Corpus, Document, Pair, Record, Refusal
from abcdlink.domain import PoolSizes, SentenceFilter, SourceFilter
from abcdlink.errors import InputError, counted
from abcdlink.judgments import BOTH, RANDOM, Candidate, Pool, opaque_id
from abcdlink.linking.records import Decision


class PoolMode(StrEnum):
    """What a pool is made for: to compare two approaches, or to find links."""

    COMPARISON = "comparison"
    """The first targets of each approach, the same number whatever it decides, and random distractors."""
    SINGLE = "single"
    """All that the first approach decides."""
    INTERSECTION = "intersection"
    """What both approaches decide."""
    UNION = "union"
    """What either approach decides."""
    BUDGET = "budget"
    """By the probabilities of a learned linker, over the whole corpus, as many as a budget buys."""

    @property
    def approaches(self) -> int:
        """How many approaches propose."""
        return 1 if self in {PoolMode.SINGLE, PoolMode.BUDGET} else 2

    @property
    def nothing(self) -> str:
        """Why a source sentence has no candidate, in words."""
        by = {PoolMode.SINGLE: "the approach", PoolMode.INTERSECTION: "both approaches"}
        return f"nothing proposed by {by.get(self, 'either approach')}"


class Next(StrEnum):
    """Which pairs are judged next."""

    RANDOM = "random"
    LINKS = "links"
    """Those in which the budget is expected to find most links."""
    UNCERTAIN = "uncertain"
    """Those about whose candidates the linker is least sure, so that it learns most."""


@dataclass(frozen=True)
class Proposals:
    """What one approach decided, and the label under which candidates of it alone are known."""

    label: str
    decisions: Sequence[Decision]


class PoolRules(Record):
    """What is shown to annotators.

    ``sizes``: how many targets of each approach, in a comparison. Elsewhere an approach's cutoff alone says
    how many it decides. ``targets``: what it leaves out is not a distractor; approaches have proposed without it.
    """

    mode: PoolMode = PoolMode.COMPARISON
    sizes: PoolSizes = PoolSizes()
    sources: SourceFilter = SourceFilter()
    targets: SentenceFilter = SentenceFilter()

    def check(self, proposals: Sequence[Proposals]) -> None:
        """Raise ``InputError`` if the number of approaches does not fit the mode, or labels are not distinct."""
        labels = [one.label for one in proposals]
        if len(labels) != self.mode.approaches:
            wanted = counted(self.mode.approaches, "approach", "approaches")
            msg = f"the mode {self.mode.value!r} needs {wanted}, not {len(labels)}"
            raise InputError(msg, "shortlist that many, or choose another mode")
        if len({*labels, BOTH, RANDOM}) != len(labels) + 2:
            msg = f"the labels {labels} are not all different, or are names that abcdlink uses itself"
            raise InputError(msg, f"give each approach its own label, other than {BOTH} and {RANDOM}")

    def methods(self, labels: Sequence[str], decided: Sequence[Sequence[str]]) -> dict[str, str]:
        """Return shown target -> method: the label of the approach that shows it, or ``both``.

        ``decided``: the targets that each approach decided, best first, none twice.
        """
        limits = (self.sizes.first, self.sizes.second) if self.mode is PoolMode.COMPARISON else (None, None)
        shown_by: defaultdict[str, list[str]] = defaultdict(list)
        for label, targets, limit in zip(labels, decided, limits, strict=False):
            for target in targets[:limit]:
                shown_by[target].append(label)
        methods = {target: found[0] if len(found) == 1 else BOTH for target, found in shown_by.items()}
        if self.mode is PoolMode.INTERSECTION:
            return {target: method for target, method in methods.items() if method == BOTH}
        return methods


class Distractors(Protocol):
    """Chooses the distractors of one source sentence; the same arguments give the same choice."""

    def __call__(self, pair: Pair, source: str, target: Document, decided: Collection[str]) -> Sequence[str]:
        """Return ids of target sentences.

        ``decided``: ids that an approach decided at any rank, shown or not, and those that are left out.
        """


def sampled(size: int, seed: int) -> Distractors:
    """Return a choice of ``size`` sentences at random; fewer when the document is short.

    A sentence that repeats the words of a decided one is as good a link as that, and is not chosen. Each
    source sentence has a generator of its own, seeded by its ids: other pairs do not change its distractors.
    """

    def choose(pair: Pair, source: str, target: Document, decided: Collection[str]) -> Sequence[str]:
        texts = {target.text_of(sentence).strip() for sentence in decided}
        rest = [sentence.id for sentence in target.sentences if sentence.text.strip() not in texts]
        chooser = random.Random(f"{seed}|{pair.id}|{source}")  # noqa: S311 - no secret
        return chooser.sample(rest, min(size, len(rest)))

    return choose


def given(picks: Mapping[tuple[str, str], Sequence[str]]) -> Distractors:
    """Return given distractors: (pair, source sentence) -> ids; none for a source that is not listed."""

    def choose(pair: Pair, source: str, target: Document, decided: Collection[str]) -> Sequence[str]:  # noqa: ARG001
        return picks.get((pair.id, source), ())

    return choose


def split_batches(pairs: Sequence[Pair], batches: int = 2) -> dict[str, int]:
    """Assign each pair to a batch, 1 to ``batches``: even, consecutive parts in the given order."""
    return {pair.id: 1 + index * batches // len(pairs) for index, pair in enumerate(pairs)}


NO_BATCH, REPEATS = "the pair is in no batch", "the pair repeats both texts of another"

Decided = dict[tuple[str, str], tuple[str, ...]]
"""(pair, source) -> decided target ids, best first, none twice."""


class PoolResult(Record):
    """The pools, and what was left out.

    ``filtered``: reason -> number of source sentences without a pool.
    ``targets_left_out``: reason -> number of target sentences that were no candidates.
    ``refused``: decisions and distractors on sentences or pairs that are not in the corpus.
    """

    pools: tuple[Pool, ...]
    filtered: dict[str, int]
    targets_left_out: dict[str, int]
    refused: tuple[Refusal, ...]


def build_pools(
    corpus: Corpus,
    proposals: Sequence[Proposals],
    rules: PoolRules,
    distractors: Distractors,
    run_key: str,
    batch_of: Mapping[str, int],
) -> PoolResult:
    """Build one pool for each source sentence for which something is proposed, or for all that the filter keeps.

    A pool holds what ``rules`` show of the proposals, and distractors, in the order of the target
    document. The same input gives the same pools in every process.

    Args:
        corpus: the documents and pairs that are annotated.
        proposals: of the first and the second approach; of one where the mode wants one.
        rules: what is shown of them, and of which source sentences.
        distractors: chooses target sentences beside them, see ``sampled`` and ``given``.
        run_key: makes the opaque task keys differ between runs.
        batch_of: pair id -> batch; pairs that it does not name are left out and counted.

    Raises:
        InputError: when the number of approaches does not fit the mode, or labels are not distinct.
    """
    rules.check(proposals)
    labels = [one.label for one in proposals]
    refused: list[Refusal] = []
    known = [_known(corpus, one.decisions, refused) for one in proposals]
    filtered: Counter[str] = Counter()
    pools: list[Pool] = []
    repeated = repeated_pairs(corpus)
    for pair in corpus.pairs:
        target = corpus.target_of(pair)
        no_pool = NO_BATCH if pair.id not in batch_of else REPEATS if pair.id in repeated else ""
        left_out = rules.targets.left_out_of(target)
        for source in corpus.source_of(pair).sentences:
            reason = no_pool or rules.sources.reason_to_leave_out(source.text)
            if reason:
                filtered[reason] += 1
                continue
            decided = [of_one.get((pair.id, source.id), ()) for of_one in known]
            methods = rules.methods(labels, decided)
            if methods or rules.sources.unproposed:
                taken = left_out.keys() | {name for targets in decided for name in targets}
                picked = distractors(pair, source.id, target, taken)
                where = f"distractor on pair {pair.id!r}, source {source.id!r}"
                methods = dict.fromkeys(_in(target, picked, where, refused), RANDOM) | methods
            if not methods:
                filtered[rules.mode.nothing] += 1
                continue
            pools.append(_pool(run_key, batch_of[pair.id], pair.id, source.id, target, methods))
    return PoolResult(
        pools=tuple(pools),
        filtered=dict(filtered),
        targets_left_out=count_left_out(corpus, corpus.pairs, rules.targets),
        refused=tuple(refused),
    )


def pools_of(
    corpus: Corpus, run_key: str, batch: int, methods: Mapping[tuple[str, str], Mapping[str, str]]
) -> list[Pool]:
    """Return the pools of candidates that are chosen already, in the order of the corpus.

    ``methods``: (pair, source) -> target -> what proposed it.
    """
    return [
        _pool(run_key, batch, pair.id, source.id, corpus.target_of(pair), methods[pair.id, source.id])
        for pair in corpus.pairs
        for source in corpus.source_of(pair).sentences
        if (pair.id, source.id) in methods
    ]


def _pool(run_key: str, batch: int, pair: str, source: str, target: Document, methods: Mapping[str, str]) -> Pool:
    """Return the pool of one source sentence, its candidates in the order of the target document."""
    candidates = tuple(Candidate(target=s.id, method=methods[s.id]) for s in target.sentences if s.id in methods)
    return Pool(key=task_key(run_key, pair, source), batch=batch, pair=pair, source=source, candidates=candidates)


def count_left_out(corpus: Corpus, pairs: Iterable[Pair], rules: SentenceFilter) -> dict[str, int]:
    """Return reason -> number of sentences left out of the pairs' target documents, most first."""
    documents = [corpus.documents[name] for name in dict.fromkeys(pair.target for pair in pairs)]
    counts = Counter(reason for document in documents for reason in rules.left_out_of(document).values())
    return dict(counts.most_common())


def task_key(run_key: str, pair: str, source: str) -> str:
    """Return the opaque, stable name of one source sentence's task: 16 hex digits."""
    return opaque_id(run_key, pair, source)


def _known(corpus: Corpus, decisions: Iterable[Decision], refused: list[Refusal]) -> Decided:
    """Return the decisions of one approach; what is not in the corpus goes to ``refused``."""
    pairs = {pair.id: pair for pair in corpus.pairs}
    known: Decided = {}
    for decision in decisions:
        pair = pairs.get(decision.pair)
        where = f"decision of {decision.approach} on pair {decision.pair!r}, source {decision.source!r}"
        if pair is None or decision.source not in corpus.source_of(pair).position:
            refused.append(Refusal(where=where, reason="the corpus has no such source sentence"))
            continue
        targets = _in(corpus.target_of(pair), decision.targets, where, refused)
        known[decision.pair, decision.source] = tuple(dict.fromkeys(targets))
    return known


def _in(target: Document, ids: Iterable[str], where: str, refused: list[Refusal]) -> list[str]:
    """Return the ids that are in the target document; the others go to ``refused``."""
    found = []
    for name in ids:
        if name in target.position:
            found.append(name)
        else:
            refused.append(Refusal(where=where, reason=f"the target document has no sentence {name!r}"))
    return found

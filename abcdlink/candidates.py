"""Candidate pools: what annotators are shown for each source sentence, and what they are not."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from abcdlink.corpus.records import Corpus, Document, Pair, Record, Refusal, Sentence
from abcdlink.domain import Domain, SourceFilter
from abcdlink.judgments import BOTH, RANDOM, Candidate, Pool
from abcdlink.linking.records import Decision

NOTHING_PROPOSED = "nothing proposed by either approach"
NO_BATCH = "the pair is in no batch"

Proposals = dict[tuple[str, str], tuple[str, ...]]
"""(pair, source) -> proposed target ids, best first."""


class PoolResult(Record):
    """The pools, and what was left out.

    ``filtered``: reason -> number of source sentences without a pool.
    ``refused``: decisions on sentences or pairs that the corpus does not hold.
    """

    pools: tuple[Pool, ...]
    filtered: dict[str, int]
    refused: tuple[Refusal, ...]

    @property
    def methods(self) -> dict[str, int]:
        """Method -> number of candidates over all pools."""
        return dict(Counter(candidate.method for pool in self.pools for candidate in pool.candidates))


def split_batches(pairs: Sequence[Pair], batches: int = 2) -> dict[str, int]:
    """Assign each pair to a batch, 1 to ``batches``: even, consecutive parts in the given order."""
    return {pair.id: 1 + index * batches // len(pairs) for index, pair in enumerate(pairs)}


def build_pools(
    corpus: Corpus,
    decisions: tuple[Sequence[Decision], Sequence[Decision]],
    labels: tuple[str, str],
    domain: Domain,
    run_key: str,
    seed: int,
    batch_of: Mapping[str, int],
) -> PoolResult:
    """Build one pool for each source sentence for which an approach proposed something.

    A pool is the union of the first approach's top ``pool.first`` and the second's top ``pool.second``
    targets, and ``pool.random`` distractors that neither approach decided at any rank, in the order of
    the target document. The same input gives the same pools in every process.

    Args:
        corpus: the documents and pairs that are annotated.
        decisions: what the first and the second approach decided.
        labels: methods under which candidates of only the first and only the second are known.
        domain: gives pool sizes and source filters.
        run_key: makes the opaque task keys differ between runs.
        seed: of the choice of distractors.
        batch_of: pair id -> batch; pairs that it does not name are left out and counted.
    """
    refused: list[Refusal] = []
    proposals = [_proposals(corpus, of_one, refused) for of_one in decisions]
    sizes = domain.settings.pool
    filtered: Counter[str] = Counter()
    pools: list[Pool] = []
    for pair in corpus.pairs:
        for source in corpus.source_of(pair).sentences:
            at = (pair.id, source.id)
            decided = [of_one.get(at, ()) for of_one in proposals]
            top = (decided[0][: sizes.first], decided[1][: sizes.second])
            reason = NO_BATCH if pair.id not in batch_of else _reason_to_leave_out(source, domain.settings.sources)
            if not reason and not any(top):
                reason = NOTHING_PROPOSED
            if reason:
                filtered[reason] += 1
                continue
            target = corpus.target_of(pair)
            methods = _methods(top, labels)
            distractors = _distractors(target, decided, sizes.random, f"{seed}|{pair.id}|{source.id}")
            methods.update(dict.fromkeys(distractors, RANDOM))
            pools.append(
                Pool(
                    key=task_key(run_key, pair.id, source.id),
                    batch=batch_of[pair.id],
                    pair=pair.id,
                    source=source.id,
                    candidates=tuple(
                        Candidate(target=s.id, method=methods[s.id]) for s in target.sentences if s.id in methods
                    ),
                )
            )
    return PoolResult(pools=tuple(pools), filtered=dict(filtered), refused=tuple(refused))


def task_key(run_key: str, pair: str, source: str) -> str:
    """Return the opaque, stable name of one source sentence's task: 16 hex digits."""
    return hashlib.sha256(f"{run_key}|{pair}|{source}".encode()).hexdigest()[:16]


def _proposals(corpus: Corpus, decisions: Sequence[Decision], refused: list[Refusal]) -> Proposals:
    """Return what one approach proposed; what the corpus does not hold goes to ``refused``."""
    pairs = {pair.id: pair for pair in corpus.pairs}
    known: Proposals = {}
    for decision in decisions:
        pair = pairs.get(decision.pair)
        where = f"decision of {decision.approach} on pair {decision.pair!r}, source {decision.source!r}"
        if pair is None or decision.source not in corpus.source_of(pair).position:
            refused.append(Refusal(where=where, reason="the corpus has no such source sentence"))
            continue
        positions = corpus.target_of(pair).position
        foreign = [target for target in decision.targets if target not in positions]
        refused += [
            Refusal(where=where, reason=f"the target document has no sentence {target!r}") for target in foreign
        ]
        known[decision.pair, decision.source] = tuple(t for t in decision.targets if t in positions)
    return known


def _reason_to_leave_out(source: Sentence, rules: SourceFilter) -> str:
    """Return why the domain does not show this source sentence to annotators; empty when it does."""
    if len(source.text.split()) < rules.min_words:
        return f"fewer than {rules.min_words} words"
    pattern = next((pattern for pattern in rules.exclude if re.search(pattern, source.text)), None)
    return f"matches the excluded pattern {pattern}" if pattern else ""


def _methods(top: tuple[Sequence[str], Sequence[str]], labels: tuple[str, str]) -> dict[str, str]:
    """Return proposed target -> its method: the label of the approach that shows it, or ``both``."""
    shown_by: defaultdict[str, list[str]] = defaultdict(list)
    for label, targets in zip(labels, top, strict=True):
        for target in targets:
            shown_by[target].append(label)
    return {target: found[0] if len(found) == 1 else BOTH for target, found in shown_by.items()}


def _distractors(target: Document, decided: Sequence[Sequence[str]], size: int, seed: str) -> list[str]:
    """Choose target sentences that neither approach decided; fewer than ``size`` when the document is short.

    A sentence that repeats the words of a decided one is as good a link as that, and is not chosen.
    """
    texts = {target.text_of(sentence).strip() for targets in decided for sentence in targets}
    rest = [sentence.id for sentence in target.sentences if sentence.text.strip() not in texts]
    return random.Random(seed).sample(rest, min(size, len(rest)))  # noqa: S311 - no secret

"""Building one pool for each source sentence from what approaches decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from abcdlink.candidates.modes import Distractors, PoolRules, Proposals
from abcdlink.corpus.records import Corpus, Document, Record, Refusal
from abcdlink.judgments import RANDOM, Candidate, Pool
from abcdlink.keys import opaque
from abcdlink.linking.records import Decision

NO_BATCH = "the pair is in no batch"

Decided = dict[tuple[str, str], tuple[str, ...]]
"""(pair, source) -> decided target ids, best first, none twice."""


class PoolResult(Record):
    """The pools, and what was left out.

    ``filtered``: reason -> number of source sentences without a pool.
    ``refused``: decisions and distractors on sentences or pairs that the corpus does not hold.
    """

    pools: tuple[Pool, ...]
    filtered: dict[str, int]
    refused: tuple[Refusal, ...]

    @property
    def methods(self) -> dict[str, int]:
        """Method -> number of candidates over all pools."""
        return dict(Counter(candidate.method for pool in self.pools for candidate in pool.candidates))


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
        InputError: when there are not as many approaches as the mode wants, or labels are not distinct.
    """
    rules.check(proposals)
    labels = [one.label for one in proposals]
    refused: list[Refusal] = []
    known = [_known(corpus, one.decisions, refused) for one in proposals]
    filtered: Counter[str] = Counter()
    pools: list[Pool] = []
    for pair in corpus.pairs:
        target = corpus.target_of(pair)
        for source in corpus.source_of(pair).sentences:
            reason = NO_BATCH if pair.id not in batch_of else rules.sources.reason_to_leave_out(source.text)
            if reason:
                filtered[reason] += 1
                continue
            decided = [of_one.get((pair.id, source.id), ()) for of_one in known]
            methods = rules.methods(labels, decided)
            if methods or rules.sources.unproposed:
                picked = distractors(pair, source.id, target, {name for targets in decided for name in targets})
                where = f"distractor on pair {pair.id!r}, source {source.id!r}"
                methods = dict.fromkeys(_in(target, picked, where, refused), RANDOM) | methods
            if not methods:
                filtered[rules.mode.nothing] += 1
                continue
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
    return opaque(run_key, pair, source)


def _known(corpus: Corpus, decisions: Iterable[Decision], refused: list[Refusal]) -> Decided:
    """Return what one approach decided; what the corpus does not hold goes to ``refused``."""
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
    """Return the ids that the target document holds; the others go to ``refused``."""
    found = []
    for name in ids:
        if name in target.position:
            found.append(name)
        else:
            refused.append(Refusal(where=where, reason=f"the target document has no sentence {name!r}"))
    return found

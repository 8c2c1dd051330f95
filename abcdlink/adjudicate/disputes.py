"""Which candidates annotators differ on, and which of them nobody has been asked to decide yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from abcdlink.judgments import Candidate, Judgment, Place, Pool, by_candidate
from abcdlink.keys import opaque
from abcdlink.layout import JUDGMENTS


def disputed(judgments: Sequence[Judgment], needed: int) -> dict[Place, dict[str, Judgment]]:
    """Return the candidates on which annotators differ, with the judgments by annotator.

    Args:
        judgments: of any batches.
        needed: judgments that a candidate needs; one with fewer has no label by any rule, so there is
            nothing to decide yet.
    """
    return {
        at: group
        for at, group in by_candidate(judgments).items()
        if len(group) >= needed and len({judgment.label for judgment in group.values()}) > 1
    }


def pools_to_decide(
    judgments: Sequence[Judgment],
    corpus: Corpus,
    run_key: str,
    needed: int,
    asked: Sequence[Pool] = (),
    but: Collection[Place] = (),
) -> list[Pool]:
    """Return the pools for an adjudicator: ``asked``, then one for each source with disputes that are not in them.

    What was asked once stays as it was. A pool's key is a hash of what it asks, so that the same disputes
    always give the same tasks.

    Args:
        judgments: of the batches so far.
        corpus: holds the pairs that were judged.
        run_key: name of the run.
        needed: judgments that a candidate needs.
        asked: pools of earlier calls.
        but: candidates that nobody is to be asked about.

    Raises:
        InputError: when a judgment is on a sentence that the corpus does not hold.
    """
    known = {(pool.pair, pool.source, candidate.target) for pool in asked for candidate in pool.candidates}
    found: dict[tuple[str, str], list[Judgment]] = {}
    for at, group in disputed(judgments, needed).items():
        if at not in known and at not in but:
            found.setdefault(at[:2], []).append(next(iter(group.values())))
    positions = {pair.id: corpus.target_of(pair).position for pair in corpus.pairs}
    new = [_pool(run_key, group, positions) for group in found.values()]
    return [*asked, *new]


def _pool(run_key: str, group: Sequence[Judgment], positions: Mapping[str, Mapping[str, int]]) -> Pool:
    first = group[0]
    at = positions.get(first.pair, {})
    lost = next((judgment.target for judgment in group if judgment.target not in at), None)
    if lost is not None:
        msg = f"{JUDGMENTS} judges pair {first.pair!r}, target {lost!r}, which the run's corpus does not hold"
        raise InputError(msg, "adjudicate with the corpus that was annotated")
    ordered = sorted(group, key=lambda judgment: at[judgment.target])
    return Pool(
        key=opaque(run_key, "adjudication", first.pair, first.source, *(judgment.target for judgment in ordered)),
        batch=first.batch,
        pair=first.pair,
        source=first.source,
        candidates=tuple(Candidate(target=judgment.target, method=judgment.method) for judgment in ordered),
    )

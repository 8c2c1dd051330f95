"""Recall, precision and F1 against exhaustively judged sources, as in the paper's tables of true recall.

Per source with gold links G and an approach's list L: recall = |L & G| / |G|, precision = |L & G| / |L|
(0 where L is empty), F1 = 2 |L & G| / (|L| + |G|); then the mean over sources.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from abcdlink.exhaustive.gold import ExhaustiveGold
from abcdlink.exhaustive.records import Over, RecallRow, Source, View
from abcdlink.judgments import BOTH
from abcdlink.linking.records import Decision
from abcdlink.statistics import RESAMPLES, MeanInterval, bootstrap_mean

Lists = Mapping[Source, Sequence[str]]
"""Source -> target sentences, best first; a source that could not be answered is not in it."""


def lists_of(decisions: Sequence[Decision], most: int | None = None) -> dict[Source, tuple[str, ...]]:
    """Return the decided targets of the answered sources, cut to the ``most`` best."""
    return {(one.pair, one.source): one.targets[:most] for one in decisions if one.outcome.answered}


def random_lists(targets: Mapping[Source, Sequence[str]], size: int, seed: int) -> dict[Source, tuple[str, ...]]:
    """Return so many targets of each source at random: what an approach that knows nothing finds.

    Args:
        targets: source -> the sentences of its target document.
        size: targets for each source; all, where there are fewer.
        seed: the same one gives the same targets, whatever other sources there are.
    """
    return {
        at: tuple(random.Random(f"{seed}|{at}").sample(list(known), min(size, len(known))))  # noqa: S311 - no secret
        for at, known in targets.items()
    }


def measure(
    gold: ExhaustiveGold,
    lists: Mapping[str, Lists],
    view: View,
    shared_by: tuple[str, str] | None = None,
    resamples: int = RESAMPLES,
) -> list[RecallRow]:
    """Measure approaches, and what two of them find in common, by both definitions of that mean.

    Args:
        gold: the judged sources.
        lists: approach -> its lists, cut as the view says.
        view: which lists these are.
        shared_by: the two approaches whose common targets are measured too.
        resamples: of the bootstrap over sources.

    Returns:
        A row for each approach, then, with ``shared_by``, one over all sources with gold (nothing in
        common counts 0) and one over those with a common target only.
    """
    rows = [_row(gold, name, of_one, view, Over.GOLD, resamples) for name, of_one in lists.items()]
    if shared_by:
        common = _common(*(lists[name] for name in shared_by))
        rows += [_row(gold, BOTH, common, view, over, resamples) for over in Over]
    return rows


def _common(first: Lists, second: Lists) -> dict[Source, tuple[str, ...]]:
    """Return the targets that are in both lists, of the sources that both could answer."""
    return {at: tuple(t for t in targets if t in second[at]) for at, targets in first.items() if at in second}


def _row(gold: ExhaustiveGold, name: str, lists: Lists, view: View, over: Over, resamples: int) -> RecallRow:
    answered = {at: set(lists[at]) - gold.unlabelled.get(at, frozenset()) for at in gold.links if at in lists}
    scored = [at for at in gold.with_gold if at in answered and (answered[at] or over is Over.GOLD)]
    without = [at for at in gold.without_gold if at in answered]
    scores = np.array([_scores(answered[at], gold.links[at]) for at in scored])
    recall, precision, f1 = (_mean(scores, column, resamples) for column in range(3))
    return RecallRow(
        approach=name,
        view=view,
        over=over,
        sources=len(scored),
        unanswered=sum(at not in answered for at in gold.with_gold),
        recall=recall,
        precision=precision,
        f1=f1,
        without_gold=len(without),
        false_links=sum(bool(answered[at]) for at in without) / len(without) if without else None,
    )


def _mean(scores: NDArray[np.float64], column: int, resamples: int) -> MeanInterval | None:
    return bootstrap_mean(scores[:, column], resamples) if len(scores) else None


def _scores(found: set[str], links: frozenset[str]) -> tuple[float, float, float]:
    """Return recall, precision and F1 of one source."""
    hits = len(found & links)
    return hits / len(links), hits / max(len(found), 1), 2 * hits / (len(found) + len(links))

"""A learned linker that goes on learning: from candidates that people judged, beside the pairs it was fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from abcdlink.judgments import Place
from abcdlink.linking.fitted import FittedOn, fold_numbers, make_folds
from abcdlink.linking.learned.features import Features
from abcdlink.linking.learned.linker import CALIBRATION_FOLDS, LearnedLinker
from abcdlink.linking.learned.own import own_linker
from abcdlink.linking.learned.training import Model, Training, balanced, fit_estimator, fit_line, gather
from abcdlink.progress import Progress, silent
from abcdlink.settings import get_settings

if TYPE_CHECKING:
    import pandas as pd

HALF = 60
"""So many links from people weigh as much as the pairs of before, whose weight is 1 / (1 + links / HALF)."""
FEWEST = 10
"""Links, and other candidates, without which nothing is learned."""
HEAVIEST = 10.0
"""Weight of a judged candidate in the model: 1 / chance, up to this. Calibration needs no such limit."""


class Said(NamedTuple):
    """What people said of a candidate.

    Attributes:
        place: the candidate.
        link: whether it is a link.
        chance: of having been judged: 1 for what was taken by probability, less for the audit's.
    """

    place: Place
    link: bool
    chance: float


class Known(NamedTuple):
    """A corpus with the rankings of the base retrievers on it."""

    corpus: Corpus
    rankings: Mapping[str, pd.DataFrame]


def refit(
    name: str, before: Known, judged: Known, said: Sequence[Said], seed: int = 0, progress: Progress = silent
) -> LearnedLinker:
    """Fit a linker on judged candidates and, with a weight that fades, on the gold links it was fitted on before.

    Its probabilities are calibrated on the judged candidates alone, each as many times as its chance says, by models
    that have not seen their pairs.

    Args:
        name: of the learned linker.
        before: pairs with gold links, such as the synthetic ones of a run.
        judged: the pairs that candidates were judged of, among others.
        said: the judged candidates; those that people could not agree on are left out by the caller.
        seed: of the model.
        progress: told of pairs.

    Raises:
        InputError: when the linker is somebody's own, or too little was judged.
    """
    from threadpoolctl import threadpool_limits

    if own_linker(name):
        msg = f"the linker {name!r} is not one of ours, and learns from gold links only"
        raise InputError(msg, "choose learned-boosting or learned-logistic")
    links = sum(one.link for one in said)
    if min(links, len(said) - links) < FEWEST:
        msg = f"{links} links and {len(said) - links} other candidates are too few to learn from"
        raise InputError(msg, f"have {FEWEST} of each judged")
    corpus = _judged_only(judged.corpus, said)
    # The statistics of words are those of the whole corpus, as when it is ranked.
    features = Features(name, judged.rankings, judged.corpus, position=False, progress=progress)
    rows, chance = _rows(features, corpus, said)
    fold_of = fold_numbers(make_folds(corpus, CALIBRATION_FOLDS), [pair.id for pair in corpus.pairs])[rows.pair]
    old = Features(name, before.rankings, before.corpus, position=False, progress=progress)
    base = balanced(gather(old, before.corpus, before.corpus.pairs, seed, progress), seed)
    old_weight, weight = np.full(len(base.linked), 1 / (1 + links / HALF)), np.minimum(1 / chance, HEAVIEST)

    def fitted(kept: NDArray[np.bool_]) -> Any:  # noqa: ANN401 - sklearn has no types
        new = rows.rows(kept)
        both = Training(*(np.concatenate([one, two]) for one, two in zip(base, new, strict=True)))
        return fit_estimator(name, both, seed, np.concatenate([old_weight, weight[kept]]))

    log_odds = np.empty(len(rows.linked))
    with threadpool_limits(get_settings().threads):
        for fold in np.unique(fold_of):
            here = fold_of == fold
            log_odds[here] = fitted(~here).decision_function(rows.features[here])
        estimator = fitted(np.ones(len(rows.linked), bool))
    model = Model(estimator, *fit_line(log_odds, rows.linked, 1 / chance))
    return LearnedLinker(name, _fitted_on(before.corpus, corpus), model, position=False)


def _judged_only(corpus: Corpus, said: Sequence[Said]) -> Corpus:
    """Return the pairs of which candidates were judged, with the links that people found as gold links."""
    found: dict[str, dict[str, list[str]]] = {one.place[0]: {} for one in said}
    for one in said:
        if one.link:
            pair, source, target = one.place
            found[pair].setdefault(source, []).append(target)
    pairs = [
        pair.model_copy(update={"links": {source: tuple(targets) for source, targets in found[pair.id].items()}})
        for pair in corpus.pairs
        if pair.id in found
    ]
    return corpus.model_copy(update={"pairs": pairs})


def _rows(features: Features, corpus: Corpus, said: Sequence[Said]) -> tuple[Training, NDArray[np.float64]]:
    """Return the rows of the judged candidates, and their chances."""
    of_pair: dict[str, list[Said]] = {}
    for one in said:
        of_pair.setdefault(one.place[0], []).append(one)
    parts, chances, start = [], [], 0
    for index, pair in enumerate(corpus.pairs):
        source, target = corpus.source_of(pair), corpus.target_of(pair)
        here = of_pair[pair.id]
        places = np.array([(source.position[one.place[1]], target.position[one.place[2]]) for one in here])
        rows = features.of(pair)[places[:, 0] * len(target.sentences) + places[:, 1]]
        linked = np.array([one.link for one in here])
        parts.append(Training(rows, linked, places[:, 0] + start, np.full(len(here), index)))
        chances += [one.chance for one in here]
        start += len(source.sentences)
    return Training(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))), np.array(chances)


def _fitted_on(before: Corpus, judged: Corpus) -> FittedOn:
    first, second = FittedOn.of(before), FittedOn.of(judged)
    return FittedOn(
        corpus=f"{before.name} and judgments of {judged.name}",
        sources=first.sources + second.sources,
        pairs=tuple(sorted({*first.pairs, *second.pairs})),
    )

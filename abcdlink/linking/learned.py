"""Learned linkers: rank target sentences by the probability of a link, learned from gold links and from judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.judgments import Place
from abcdlink.linking.features import Features
from abcdlink.linking.fitted import FittedOn, Folds, fold_numbers, make_folds
from abcdlink.linking.learners import FittedLinker, ScoredDocuments, ScoreMatrices, own_linker
from abcdlink.linking.training import FittedModel, Training, balanced, fit_estimator, fit_line, fit_model, gather
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import rank_pairs
from abcdlink.settings import get_settings

if TYPE_CHECKING:
    import pandas as pd


CALIBRATION_FOLDS = 3
CELLS = 100_000
"""Pairs of sentences per prediction call."""

BaseRankings = Mapping[str, "pd.DataFrame"]
"""Base retriever -> its rankings; those of ``base_retrievers`` are needed, others are ignored."""


class LearnedLinker:
    """A model learned from the gold links of all source sentences, including those without links.

    Its score is the probability that a target is linked. For most sentences of real documents, no target has a high
    one. It refuses to rank the pairs in ``fitted_on``, that it learned from.
    """

    def __init__(self, name: str, fitted_on: FittedOn, model: FittedModel) -> None:
        self.name, self.fitted_on, self.model = name, fitted_on, model

    def rank(
        self, rankings: BaseRankings, corpus: Corpus, pairs: Sequence[Pair] | None = None, progress: Progress = silent
    ) -> pd.DataFrame:
        """Rank all target sentences for every source sentence of some pairs, or all pairs if ``None``.

        Returns:
            A table as returned by ``rank_corpus``; ties keep document order.

        Raises:
            InputError: when it learned from the texts of one of these pairs, under any id, or
                rankings are missing.
        """
        pairs = corpus.pairs if pairs is None else pairs
        self.fitted_on.refuse(corpus, [pair.id for pair in pairs], f"the linker {self.name!r}")
        features = Features(self.name, rankings, corpus, progress)
        return rank_pairs(corpus, ScoredDocuments(self.name, _predict(self, features, corpus, pairs, progress)), pairs)


def learn(
    name: str, rankings: BaseRankings, corpus: Corpus, progress: Progress = silent
) -> LearnedLinker | FittedLinker:
    """Learn from the annotated pairs of a corpus; the same pairs always give the same linker.

    Raises:
        InputError: when rankings are missing, or the corpus has too few links or groups of pairs.
    """
    own = own_linker(name)
    if own:
        return FittedLinker.learn(name, own, rankings, corpus)
    fitted_on, folds = FittedOn.of(corpus), make_folds(corpus, CALIBRATION_FOLDS)
    training = gather(Features(name, rankings, corpus, progress), corpus, progress)
    fold_of = fold_numbers(folds, [pair.id for pair in corpus.pairs])
    return LearnedLinker(name, fitted_on, fit_model(name, training, fold_of[training.pair]))


def out_of_fold(
    name: str, rankings: BaseRankings, corpus: Corpus, folds: Folds, progress: Progress = silent
) -> pd.DataFrame:
    """Rank each pair of a corpus by a linker learned, and calibrated, on the other folds.

    The other folds also serve for calibration, so that pairs that the folds keep together are never on both sides of
    anything fitted. ``folds``: at least three folds of the pairs, see ``make_folds``.

    Returns:
        A table as returned by ``rank_corpus``.

    Raises:
        InputError: when rankings are missing, there are fewer than three folds, a fold has no links,
            or two folds contain the same texts.
    """
    fold_of = fold_numbers(folds, [pair.id for pair in corpus.pairs])
    numbers = np.unique(fold_of)
    if len(numbers) < CALIBRATION_FOLDS:
        msg = f"too few folds ({len(numbers)}) to learn and calibrate {name!r}"
        raise InputError(msg, f"use at least {CALIBRATION_FOLDS} folds")
    scores: ScoreMatrices = {}
    own = own_linker(name)
    if not own:
        features = Features(name, rankings, corpus, progress)
        training = gather(features, corpus, progress)
    for fold in numbers:
        others, here = _divided(corpus, fold_of != fold), _divided(corpus, fold_of == fold)
        if own:
            scores |= FittedLinker.learn(name, own, rankings, others).scores(rankings, here, here.pairs, progress)
            continue
        fitted_on = FittedOn.of(others)
        fitted_on.refuse(here, [pair.id for pair in here.pairs], f"the linker {name!r} of another fold")
        rows = training.rows((fold_of != fold)[training.pair])
        # Renumbered and joined into at most three folds, since each means another fit.
        few = np.unique(fold_of[rows.pair], return_inverse=True)[1] % CALIBRATION_FOLDS
        linker = LearnedLinker(name, fitted_on, fit_model(name, rows, few))
        scores |= _predict(linker, features, corpus, here.pairs, progress)
    return rank_pairs(corpus, ScoredDocuments(name, scores), corpus.pairs)


def _predict(
    linker: LearnedLinker, features: Features, corpus: Corpus, pairs: Sequence[Pair], progress: Progress
) -> ScoreMatrices:
    """Return the probabilities of links, many pairs at a time, since each prediction call costs about a millisecond."""
    from threadpoolctl import threadpool_limits

    scores: ScoreMatrices = {}
    waiting: list[tuple[Pair, NDArray[np.float32]]] = []
    for place, pair in enumerate(progress(pairs, f"rank ({linker.name})", len(pairs)), start=1):
        waiting.append((pair, features.of(pair)))
        if place < len(pairs) and sum(len(values) for _, values in waiting) < CELLS:
            continue
        with threadpool_limits(get_settings().threads):
            probabilities = linker.model.probabilities(np.concatenate([values for _, values in waiting]))
        ends = np.cumsum([len(values) for _, values in waiting])
        for (asked, _), part in zip(waiting, np.split(probabilities, ends[:-1]), strict=True):
            shape = len(corpus.source_of(asked).sentences), len(corpus.target_of(asked).sentences)
            scores[asked.source, asked.target] = part.reshape(shape)
        waiting = []
    return scores


def _divided(corpus: Corpus, wanted: NDArray[np.bool_]) -> Corpus:
    return corpus.model_copy(update={"pairs": [corpus.pairs[place] for place in np.flatnonzero(wanted).tolist()]})


HALF = 60
"""Number of links from people that weigh as much as the earlier pairs, whose weight is 1 / (1 + links / HALF)."""
FEWEST = 10
"""Minimum number of links, and of other candidates, to learn from."""
HEAVIEST = 10.0
"""Weight of a judged candidate in the model: 1 / chance, up to this. Calibration needs no such limit."""


class JudgedCandidate(NamedTuple):
    """People's judgment of a candidate.

    ``chance``: probability of having been judged: 1 if chosen by probability, less in the audit.
    """

    place: Place
    link: bool
    chance: float


class RankedCorpus(NamedTuple):
    """A corpus with the rankings of the base retrievers on it."""

    corpus: Corpus
    rankings: Mapping[str, pd.DataFrame]


def refit(name: str, before: RankedCorpus, judged: RankedCorpus, said: Sequence[JudgedCandidate]) -> LearnedLinker:
    """Fit a linker on judged candidates and, with decreasing weight, on the gold links it was first fitted on.

    Its probabilities are calibrated only on the judged candidates, weighted by 1 / chance, with models
    that have not seen their pairs. ``before``: pairs with gold links, such as a run's synthetic ones. ``said``:
    the judged candidates, without those on which people disagree. Raises ``InputError`` when the linker is
    a third-party one, or too little was judged.
    """
    from threadpoolctl import threadpool_limits

    if own_linker(name):
        msg = f"the linker {name!r} is not a built-in one and learns only from gold links"
        raise InputError(msg, "choose learned-boosting or learned-logistic")
    links = sum(one.link for one in said)
    if min(links, len(said) - links) < FEWEST:
        msg = f"{links} links and {len(said) - links} other candidates are too few to learn from"
        raise InputError(msg, f"have at least {FEWEST} of each judged")
    corpus = _judged_only(judged.corpus, said)
    # Word statistics are those of the whole corpus, as in ranking.
    features = Features(name, judged.rankings, judged.corpus)
    rows, chance = _rows(features, corpus, said)
    fold_of = fold_numbers(make_folds(corpus, CALIBRATION_FOLDS), [pair.id for pair in corpus.pairs])[rows.pair]
    old = Features(name, before.rankings, before.corpus)
    base = balanced(gather(old, before.corpus, silent))
    old_weight, weight = np.full(len(base.linked), 1 / (1 + links / HALF)), np.minimum(1 / chance, HEAVIEST)

    def fitted(kept: NDArray[np.bool_]) -> Any:  # noqa: ANN401 - sklearn has no types
        new = rows.rows(kept)
        both = Training(*(np.concatenate([one, two]) for one, two in zip(base, new, strict=True)))
        return fit_estimator(name, both, np.concatenate([old_weight, weight[kept]]))

    log_odds = np.empty(len(rows.linked))
    with threadpool_limits(get_settings().threads):
        for fold in np.unique(fold_of):
            here = fold_of == fold
            log_odds[here] = fitted(~here).decision_function(rows.features[here])
        estimator = fitted(np.ones(len(rows.linked), bool))
    model = FittedModel(estimator, *fit_line(log_odds, rows.linked, 1 / chance))
    first, second = FittedOn.of(before.corpus), FittedOn.of(corpus)
    fitted_on = FittedOn(
        corpus=f"{before.corpus.name} and judgments of {corpus.name}",
        sources=first.sources + second.sources,
        pairs=tuple(sorted({*first.pairs, *second.pairs})),
    )
    return LearnedLinker(name, fitted_on, model)


def _judged_only(corpus: Corpus, said: Sequence[JudgedCandidate]) -> Corpus:
    """Return the pairs with judged candidates, with the links that people found as gold links."""
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


def _rows(features: Features, corpus: Corpus, said: Sequence[JudgedCandidate]) -> tuple[Training, NDArray[np.float64]]:
    """Return the rows of the judged candidates, and their chances."""
    of_pair: dict[str, list[JudgedCandidate]] = {}
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

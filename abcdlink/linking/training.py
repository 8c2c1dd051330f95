"""The rows that learned linkers are trained on, and their models."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.gold import linked_cells
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.linking.features import Features
from abcdlink.linking.learners import read_name
from abcdlink.progress import Progress
from abcdlink.settings import get_settings

SEED = 0
"""Random seed of the models and of the choice of sources: the same pairs give the same linker."""
MOST_ROWS = 300_000
"""If a corpus has more pairs of sentences, training uses a random share of the source sentences."""

BOOSTING = {"max_iter": 150, "learning_rate": 0.06, "max_leaf_nodes": 15, "max_features": 0.3, "max_bins": 63}
"""Small trees, each on a third of the features: what was best and quick on NEWS-ECB+ by cross-validation."""


class Training(NamedTuple):
    """Two sentences per row: all targets of some source sentences.

    ``features`` has shape (rows, features), the others (rows,). ``linked``: whether the row is a gold link; ``source``:
    number of its source sentence; ``pair``: index of the pair in the corpus.
    """

    features: NDArray[np.float32]
    linked: NDArray[np.bool_]
    source: NDArray[np.int64]
    pair: NDArray[np.int64]

    def rows(self, keep: NDArray[Any]) -> Training:
        """Return some rows, by mask or index."""
        return Training(*(values[keep] for values in self))


def gather(features: Features, corpus: Corpus, progress: Progress) -> Training:
    """Collect the rows of all source sentences in a corpus's annotated pairs.

    In real documents, most sources have no links, and the model has to learn to leave them alone. Raises
    ``InputError`` when there are no links, or only links.
    """
    known = [pair for pair in corpus.pairs if pair.links is not None]
    cells = sum(len(corpus.source_of(one).sentences) * len(corpus.target_of(one).sentences) for one in known)
    share = min(1.0, MOST_ROWS / max(cells, 1))
    chooser = np.random.default_rng(SEED)
    parts, start = [], 0
    for index, pair in enumerate(progress(corpus.pairs, "gather features")):
        sources = len(corpus.source_of(pair).sentences)
        # Drawn for every pair, so that one pair's links do not change the draw for another.
        drawn = chooser.random(sources) < share
        if pair.links is not None and drawn.any():
            parts.append(_of_pair(features, corpus, pair, index, drawn, start))
        start += sources
    if not any(part.linked.any() for part in parts) or all(part.linked.all() for part in parts):
        linked = any(part.linked.any() for part in parts)
        what = "links every target of its source sentences" if linked else "has no links"
        msg = f"the corpus {corpus.name!r} {what}, so no linker can be learned from it"
        raise InputError(msg, "use pairs with gold links and with target sentences that are not linked")
    return Training(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _of_pair(
    features: Features, corpus: Corpus, pair: Pair, index: int, drawn: NDArray[np.bool_], start: int
) -> Training:
    linked = linked_cells(corpus, pair)
    keep = np.repeat(drawn, linked.shape[1])
    numbers = np.repeat(np.arange(len(drawn)) + start, linked.shape[1])[keep]
    return Training(features.of(pair)[keep], linked.ravel()[keep], numbers, np.full(len(numbers), index))


class FittedModel(NamedTuple):
    """A fitted scikit-learn model, and the line that turns its log-odds into probabilities.

    The model was fitted on as many sources without links as with links, the line on all of them: so
    the model learns from rare links, but its probabilities fit the corpus.
    """

    estimator: Any
    slope: float
    intercept: float

    def probabilities(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the probability of a link for each row of features."""
        from scipy.special import expit

        p: NDArray[np.float64] = expit(self.slope * self.estimator.decision_function(features) + self.intercept)
        return p


def fit_model(name: str, training: Training, folds: NDArray[np.int64]) -> FittedModel:
    """Fit a model, and calibrate it on predictions by models of the same kind for folds that they have not seen.

    ``folds``: folds of the rows, for calibration; shape (rows,). Raises ``InputError`` when the rows outside a fold are
    all links, or none of them is.
    """
    from threadpoolctl import threadpool_limits

    parts = np.unique(folds)
    if any(len(np.unique(training.linked[folds != fold])) == 1 for fold in parts):
        msg = f"there are too few pairs to calibrate {name!r}: without one fold, all targets or none are links"
        raise InputError(msg, "use more pairs")
    said = np.empty(len(training.linked))
    # On a busy machine the threads of boosting wait for each other: a fit of 0.2 s took 80 s with two of them.
    with threadpool_limits(get_settings().threads):
        for fold in parts:
            here = folds == fold
            model = fit_estimator(name, balanced(training.rows(~here)))
            said[here] = model.decision_function(training.features[here])
        slope, intercept = fit_line(said, training.linked)
        return FittedModel(fit_estimator(name, balanced(training)), slope, intercept)


def fit_line(
    log_odds: NDArray[np.float64], linked: NDArray[np.bool_], weight: NDArray[np.float64] | None = None
) -> tuple[float, float]:
    """Return slope and intercept of a logistic regression on one number.

    Platt's calibration ("Probabilistic Outputs for Support Vector Machines", 1999).
    """
    from sklearn.linear_model import LogisticRegression

    line = LogisticRegression(C=1e6, max_iter=1000).fit(log_odds[:, None], linked, sample_weight=weight)
    return float(line.coef_[0, 0]), float(line.intercept_[0])


def balanced(training: Training) -> Training:
    """Return the rows of all sources with links and of at most as many others, chosen at random."""
    linked = np.unique(training.source[training.linked])
    without = np.setdiff1d(training.source, linked)
    some = np.random.default_rng(SEED).permutation(without)[: len(linked)]
    return training.rows(np.isin(training.source, np.concatenate([linked, some])))


def fit_estimator(name: str, training: Training, weight: NDArray[np.float64] | None = None) -> Any:  # noqa: ANN401 - sklearn has no types
    """Fit the model of a learned linker; ``weight``: weight of each row, all equal if ``None``."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), _estimator(name, len(training.linked)))
    weights = {} if weight is None else {f"{model.steps[-1][0]}__sample_weight": weight}
    return model.fit(training.features, training.linked, **weights)


def _estimator(name: str, rows: int) -> Any:  # noqa: ANN401 - sklearn has no types
    if read_name(name).learner == "learned-logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=0.1, max_iter=1000)
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        **BOOSTING,
        min_samples_leaf=min(100, max(5, rows // 200)),  # smaller leaves where there are few rows
        l2_regularization=10.0,
        early_stopping=False,
        random_state=SEED,
    )

"""The rows that learned linkers are trained on, and their models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.linking.learned.features import Features
from abcdlink.linking.learned.names import read_name
from abcdlink.progress import Progress
from abcdlink.settings import get_settings


class Training(NamedTuple):
    """Two sentences a row, of the sources with links.

    Attributes:
        features: shape (rows, features).
        linked: whether the row is a gold link, shape (rows,).
        pair: index of the pair in the list that the rows were gathered from, shape (rows,).
    """

    features: NDArray[np.float32]
    linked: NDArray[np.bool_]
    pair: NDArray[np.int64]

    def of_pairs(self, wanted: NDArray[np.bool_]) -> Training:
        """Return the rows of some pairs; ``wanted`` has one value for each pair."""
        keep = wanted[self.pair]
        return Training(self.features[keep], self.linked[keep], self.pair[keep])


def gather(features: Features, corpus: Corpus, pairs: Sequence[Pair], progress: Progress) -> Training:
    """Gather the rows of the sources with links of some pairs.

    Sources without links are left out: the probability that is learned is that of a link given that
    the source has any, which is what decides between targets and what cutoffs by expected F1 need.

    Raises:
        InputError: when there is no link, or nothing but links.
    """
    parts = [
        _of_pair(features, corpus, pair, index)
        for index, pair in enumerate(progress(pairs, "gather features", len(pairs)))
        if pair.sources_with_links
    ]
    if not parts or all(part.linked.all() for part in parts):
        what = "links nothing" if not parts else "links every target of its sources with links"
        msg = f"the corpus {corpus.name!r} {what}, so that no linker can be learned from it"
        raise InputError(msg, "learn from pairs with gold links and other target sentences")
    return Training(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _of_pair(features: Features, corpus: Corpus, pair: Pair, index: int) -> Training:
    source, target = corpus.source_of(pair), corpus.target_of(pair)
    linked = np.zeros((len(source.sentences), len(target.sentences)), bool)
    for sentence, targets in pair.sources_with_links.items():
        linked[source.position[sentence], [target.position[one] for one in targets]] = True
    keep = np.flatnonzero(np.repeat(linked.any(axis=1), linked.shape[1]))
    return Training(features.of(pair)[keep], linked.ravel()[keep], np.full(len(keep), index))


def fit_model(name: str, training: Training, folds: NDArray[np.int64], seed: int) -> Any:  # noqa: ANN401 - sklearn has no types
    """Return a fitted scikit-learn pipeline that gives calibrated probabilities of a link.

    Calibration is Platt's: a logistic regression on what the model says of folds that it has not seen;
    then the model is fitted on all rows.

    Args:
        name: of the learned linker.
        training: the rows.
        folds: of the rows, for calibration; shape (rows,).
        seed: of the model.

    Raises:
        InputError: when the rows outside of a fold are all links, or none is.
    """
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    splits = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds)]
    if any(len(np.unique(training.linked[outside])) == 1 for outside, _ in splits):
        msg = f"the pairs are too few to calibrate {name!r}: without one part of them, all targets or none are links"
        raise InputError(msg, "learn from more pairs")
    estimator = _estimator(name, len(training.linked), seed)
    calibrated = CalibratedClassifierCV(estimator, method="sigmoid", cv=splits, ensemble=False)
    model = make_pipeline(StandardScaler(), calibrated)
    # On a busy machine the threads of boosting wait for each other: a fit of 0.2 s took 80 s with two of them.
    with threadpool_limits(get_settings().threads):
        model.fit(training.features, training.linked)
    # The splits are as long as the rows: they would be most of a saved linker.
    return model.set_params(calibratedclassifiercv__cv=None)


def _estimator(name: str, rows: int, seed: int) -> Any:  # noqa: ANN401 - sklearn has no types
    if read_name(name).learner == "learned-logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=0.1, max_iter=1000)
    from sklearn.ensemble import HistGradientBoostingClassifier

    # Small trees, each on a third of the features: what was best and quick on NEWS-ECB+ by cross-validation,
    # with smaller leaves where there are few rows.
    return HistGradientBoostingClassifier(
        max_iter=150,
        learning_rate=0.06,
        max_leaf_nodes=15,
        min_samples_leaf=min(100, max(5, rows // 200)),
        l2_regularization=10.0,
        max_features=0.3,
        max_bins=63,
        early_stopping=False,
        random_state=seed,
    )

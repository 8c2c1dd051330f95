"""What the ratings say, by criterion: synthetic against natural documents, and how far raters agree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

from abcdlink.corpus.records import PairKind, Record
from abcdlink.rate.documents import HIGHEST, LOWEST, Rating

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KINDS = (PairKind.SYNTHETIC, PairKind.NATURAL)
RESAMPLES = 1_000
ONE_RATER = "undefined (no document was rated by two)"
ONE_VALUE = "undefined (one value only)"

Rated = tuple[PairKind, str]
"""Kind and pair of a rated document."""


class Mean(Record):
    """The mean rating of documents of one kind; each rating counts, and ``interval`` (95 %) resamples documents."""

    mean: float
    interval: tuple[float, float]
    ratings: int
    documents: int


class RatingSummary(Record):
    """What was said by one criterion.

    ``means``: kind of document -> mean rating. ``kappa``: Cohen's kappa with quadratic weights (Cohen 1968), the
    mean over pairs of raters; ``None`` where it is undefined, then ``note`` says why. ``observed``: share of
    documents to which two raters gave the same value. ``alpha``: Krippendorff's alpha for ordinal values (Krippendorff
    2011) by the package ``krippendorff``, over all raters and documents, with its 95 % interval (documents resampled).
    ``histogram``: kind of document -> how often each value was given, the lowest first.
    """

    criterion: str
    means: dict[PairKind, Mean]
    histogram: dict[PairKind, tuple[int, ...]]
    kappa: float | None = None
    alpha: float | None = None
    alpha_interval: tuple[float, float] | None = None
    observed: float | None = None
    note: str = ""


def summarise(ratings: Sequence[Rating]) -> list[RatingSummary]:
    """Summarise ratings, one summary a criterion in the order in which they first come."""
    by_criterion: defaultdict[str, list[Rating]] = defaultdict(list)
    for rating in ratings:
        by_criterion[rating.criterion].append(rating)
    return [
        RatingSummary(criterion=criterion, means=_means(group), histogram=_histogram(group), **_agreement(group))
        for criterion, group in by_criterion.items()
    ]


def _means(ratings: Iterable[Rating]) -> dict[PairKind, Mean]:
    from abcdlink.statistics import bootstrap_mean

    by_kind: defaultdict[PairKind, list[Rating]] = defaultdict(list)
    for rating in ratings:
        by_kind[rating.kind].append(rating)
    means = {}
    for kind in (kind for kind in KINDS if kind in by_kind):
        group = by_kind[kind]
        pairs = [rating.pair for rating in group]
        found = bootstrap_mean([float(rating.value) for rating in group], groups=pairs)
        means[kind] = Mean(
            mean=found.mean, interval=(found.low, found.high), ratings=len(group), documents=len(set(pairs))
        )
    return means


def _agreement(ratings: Iterable[Rating]) -> dict[str, Any]:
    """Return the fields of ``RatingSummary`` on agreement."""
    by_rater: defaultdict[str, dict[Rated, int]] = defaultdict(dict)
    for rating in ratings:
        by_rater[rating.annotator][rating.kind, rating.pair] = rating.value
    couples = [
        both
        for first, second in combinations(by_rater.values(), 2)
        if (both := [(first[rated], second[rated]) for rated in first if rated in second])
    ]
    if not couples:
        return {"note": ONE_RATER}
    observed = fmean(fmean(a == b for a, b in both) for both in couples)
    kappas = [_weighted_kappa(both) for both in couples if len({value for pair in both for value in pair}) > 1]
    if not kappas:
        return {"observed": observed, "note": ONE_VALUE}
    alpha, interval = _alpha(list(by_rater.values()))
    return {"observed": observed, "kappa": fmean(kappas), "alpha": alpha, "alpha_interval": interval}


def _histogram(ratings: Iterable[Rating]) -> dict[PairKind, tuple[int, ...]]:
    counts: defaultdict[PairKind, Counter[int]] = defaultdict(Counter)
    for rating in ratings:
        counts[rating.kind][rating.value] += 1
    values = range(LOWEST, HIGHEST + 1)
    return {kind: tuple(counts[kind][value] for value in values) for kind in KINDS if kind in counts}


def _alpha(by_rater: Sequence[Mapping[Rated, int]]) -> tuple[float | None, tuple[float, float] | None]:
    """Return Krippendorff's alpha for ordinal values and its interval; ``None`` where only one value was given."""
    import numpy as np

    documents = list(dict.fromkeys(rated for values in by_rater for rated in values))
    counts = np.zeros((len(documents), HIGHEST - LOWEST + 1), int)
    for values in by_rater:
        for rated, value in values.items():
            counts[documents.index(rated), value - LOWEST] += 1
    draws = np.random.default_rng(0).integers(0, len(documents), (RESAMPLES, len(documents)))
    drawn = [found for draw in draws if (found := _alpha_of(counts[draw])) is not None]
    interval = tuple(map(float, np.percentile(drawn, (2.5, 97.5)))) if drawn else None
    return _alpha_of(counts), interval  # type: ignore[return-value]


def _alpha_of(counts: NDArray[np.int64]) -> float | None:
    from krippendorff import alpha

    twice = counts[counts.sum(axis=1) > 1]
    if (twice.sum(axis=0) > 0).sum() < 2:  # noqa: PLR2004
        return None
    return float(alpha(value_counts=twice, level_of_measurement="ordinal"))


def _weighted_kappa(values: Sequence[tuple[int, int]]) -> float:
    """Return Cohen's kappa with quadratic weights of two raters, by scikit-learn; two values occur at least."""
    from sklearn.metrics import cohen_kappa_score

    first, second = zip(*values, strict=True)
    return float(cohen_kappa_score(first, second, labels=range(LOWEST, HIGHEST + 1), weights="quadratic"))


def rows_of(summaries: Iterable[RatingSummary]) -> list[Mapping[str, object]]:
    """Return the summaries as rows of a table: one a criterion and kind of document."""
    return [
        {
            "criterion": one.criterion,
            "documents": kind.value,
            "mean": round(mean.mean, 2),
            "95 % interval": f"{mean.interval[0]:.2f} to {mean.interval[1]:.2f}",
            "rated": mean.documents,
            "ratings": mean.ratings,
            "weighted kappa": one.note if one.kappa is None else round(one.kappa, 2),
            "alpha (ordinal)": None if one.alpha is None else round(one.alpha, 2),
            "alpha, 95 % interval": "{:.2f} to {:.2f}".format(*one.alpha_interval) if one.alpha_interval else None,
            "given 1 to 5 times": " ".join(map(str, one.histogram[kind])),
            "same value": None if one.observed is None else f"{one.observed:.0%}",
        }
        for one in summaries
        for kind, mean in one.means.items()
    ]

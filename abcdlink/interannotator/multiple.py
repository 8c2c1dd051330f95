"""Agreement of more than two annotators: Fleiss' kappa and Krippendorff's alpha for nominal labels.

Both are computed from counts of shape (candidates, labels): how often each label was given. All that
enters the formulas is a sum over candidates, so a bootstrap over sources adds up rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from abcdlink.interannotator.bootstrap import interval, resampled
from abcdlink.interannotator.groups import Group, source_of
from abcdlink.interannotator.records import ONE_ANNOTATOR, ONE_LABEL, Estimate, MultipleMeasures
from abcdlink.judgments import Label

if TYPE_CHECKING:
    from abcdlink.interannotator.bootstrap import Counts, Floats


def fleiss_kappa(counts: Counts) -> float:
    """Return Fleiss' kappa; NaN where only one label occurs.

    Source: Fleiss (1971), Measuring nominal scale agreement among many raters, Psychological Bulletin 76.
    kappa = (P - P_e) / (1 - P_e); P is the mean over candidates of the share of pairs of judgments that
    agree, P_e the sum of squares of the labels' shares.

    Args:
        counts: shape (candidates, labels); the same number (two or more) of judgments on each candidate.
    """
    return float(_fleiss_of_sums(_fleiss_terms(counts).sum(axis=0)))


def krippendorff_alpha(counts: Counts) -> float:
    """Return Krippendorff's alpha for nominal labels; judgments may be missing. NaN where only one label occurs.

    Source: Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    alpha = 1 - D_o / D_e over candidates with two or more judgments; a candidate with m judgments adds
    its pairs of unlike labels, weighted by 1 / (m - 1), to the observed disagreement.

    Args:
        counts: shape (candidates, labels); candidates with fewer than two judgments are left out.
    """
    return float(_alpha_of_sums(_alpha_terms(counts).sum(axis=0)))


def multiple(groups: Sequence[Group]) -> MultipleMeasures:
    """Measure the agreement of any number of annotators, with 95 % bootstrap intervals over sources.

    Fleiss' kappa asks for the same number of judgments on each candidate: it is computed over those
    with the most frequent number. Krippendorff's alpha takes all with two or more.
    """
    shared = [group for group in groups if len(group) > 1]
    sizes = Counter(map(len, shared))
    size = max(sizes, key=lambda one: (sizes[one], one), default=0)
    same = [group for group in shared if len(group) == size]
    return MultipleMeasures(
        fleiss=_estimate(same, _fleiss_terms, _fleiss_of_sums),
        fleiss_judged=len(same),
        fleiss_judgments=size,
        krippendorff=_estimate(shared, _alpha_terms, _alpha_of_sums),
        krippendorff_judged=len(shared),
    )


def _estimate(
    groups: Sequence[Group], terms: Callable[[Counts], Floats], of_sums: Callable[[Floats], Floats]
) -> Estimate:
    import numpy as np

    if not groups:
        return Estimate(note=ONE_ANNOTATOR)
    said = [[judgment.label is Label.LINK for judgment in group.values()] for group in groups]
    links = np.array([sum(labels) for labels in said], dtype=np.int64)
    by_candidate = terms(np.stack([links, np.array([len(labels) for labels in said]) - links], axis=1))
    place: dict[tuple[str, str], int] = {}
    rows = [place.setdefault(source_of(group), len(place)) for group in groups]
    by_source = np.zeros((len(place), by_candidate.shape[1]))
    np.add.at(by_source, rows, by_candidate)
    value = float(of_sums(by_source.sum(axis=0)))
    if np.isnan(value):
        return Estimate(note=ONE_LABEL)
    values = np.concatenate([of_sums(sums) for sums in resampled(by_source)])
    return Estimate(value=value, interval=interval(values))


def _fleiss_terms(counts: Counts) -> Floats:
    """Return for each candidate: share of agreeing pairs of judgments, 1, judgments by label."""
    import numpy as np

    given = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (given * (given - 1))
    return np.column_stack([agreeing, np.ones(len(counts)), counts]).astype(np.float64)


def _fleiss_of_sums(sums: Floats) -> Floats:
    import numpy as np

    by_label = sums[..., 2:]
    chance = (by_label**2).sum(axis=-1) / by_label.sum(axis=-1) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = (sums[..., 0] / sums[..., 1] - chance) / (1 - chance)
    # With one label the numerator may be off zero by rounding: only 0 / 0 says that kappa is undefined.
    return np.where((by_label > 0).sum(axis=-1) > 1, result, np.nan)


def _alpha_terms(counts: Counts) -> Floats:
    """Return for each candidate with two or more judgments: weighted unlike pairs, judgments by label."""
    import numpy as np

    shared = counts[counts.sum(axis=1) > 1]
    given = shared.sum(axis=1)
    unlike = (given**2 - (shared**2).sum(axis=1)) / (given - 1)
    return np.column_stack([unlike, shared]).astype(np.float64)


def _alpha_of_sums(sums: Floats) -> Floats:
    import numpy as np

    by_label = sums[..., 1:]
    total = by_label.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = 1 - (total - 1) * sums[..., 0] / (total**2 - (by_label**2).sum(axis=-1))
    return np.where((by_label > 0).sum(axis=-1) > 1, result, np.nan)

"""Agreement of any number of annotators: Fleiss' kappa and Krippendorff's alpha.

Both are computed from counts of shape (candidates, labels): how often each label was given. All that enters the
formulas is a sum over candidates, so a bootstrap over sources adds up rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.interannotator.groups import Group, source_of
from abcdlink.judgments import Label
from abcdlink.statistics import Counts, Floats, interval, resampled

ONE_LABEL = "undefined (one label only)"
ONE_ANNOTATOR = "undefined (no candidate was judged by two annotators)"
LACKING = "undefined (no candidate has as many judgments as were asked for)"

Interval = tuple[float, float]


class AgreementEstimate(Record):
    """One figure with its 95 % bootstrap interval; ``None`` where it is undefined, for the reason in ``note``."""

    value: float | None = None
    interval: Interval | None = None
    note: str = ""


class MultipleMeasures(Record):
    """Agreement of more than two annotators on candidates."""

    fleiss: AgreementEstimate = Field(description="Fleiss' kappa")
    fleiss_judged: int = Field(description="candidates in it: those with the most frequent number of judgments")
    fleiss_judgments: int = Field(description="judgments on each of these")
    krippendorff: AgreementEstimate = Field(description="Krippendorff's alpha for nominal labels")
    krippendorff_judged: int = Field(description="candidates in it: those with two or more judgments")


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
        fleiss=fleiss_estimate(_link_counts(same), [*map(source_of, same)]),
        fleiss_judged=len(same),
        fleiss_judgments=size,
        krippendorff=alpha_estimate(_link_counts(shared), [*map(source_of, shared)]),
        krippendorff_judged=len(shared),
    )


def fleiss_estimate(counts: Sequence[Sequence[int]], sources: Sequence[tuple[str, str]]) -> AgreementEstimate:
    """Return Fleiss' kappa with its 95 % bootstrap interval over sources.

    Source: Fleiss (1971), Measuring nominal scale agreement among many raters, Psychological Bulletin 76.
    kappa = (P - P_e) / (1 - P_e); P is the mean over units of the share of pairs of judgments that agree, P_e the sum
    of squares of the labels' shares. ``counts``: how often each label was given to each unit, the same number (two or
    more) in all; ``sources``: pair and source sentence of each.
    """
    return _estimate(np.array(counts, dtype=np.int64), sources, _fleiss_terms, _fleiss_of_sums)


def alpha_estimate(counts: Sequence[Sequence[int]], sources: Sequence[tuple[str, str]]) -> AgreementEstimate:
    """Return Krippendorff's alpha for nominal labels of any number, with its 95 % bootstrap interval over sources.

    Source: Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    alpha = 1 - D_o / D_e over units with two or more judgments; a unit with m judgments adds its pairs of unlike
    labels, weighted by 1 / (m - 1), to the observed disagreement. ``counts``: how often each label was given to each
    unit; those with fewer than two are left out. ``sources``: pair and source sentence of each.
    """
    shared = [number for number, given in enumerate(counts) if sum(given) > 1]
    taken = np.array([counts[number] for number in shared], dtype=np.int64)
    return _estimate(taken, [sources[number] for number in shared], _alpha_terms, _alpha_of_sums)


def _link_counts(groups: Sequence[Group]) -> list[tuple[int, int]]:
    """Return for each candidate how often Link and No Link were said of it."""
    links = [sum(judgment.label is Label.LINK for judgment in group.values()) for group in groups]
    return [(said, len(group) - said) for said, group in zip(links, groups, strict=True)]


def _estimate(
    counts: Counts,
    sources: Sequence[tuple[str, str]],
    terms: Callable[[Counts], Floats],
    of_sums: Callable[[Floats], Floats],
) -> AgreementEstimate:
    if not len(counts):
        return AgreementEstimate(note=ONE_ANNOTATOR)
    by_candidate = terms(counts)
    place: dict[tuple[str, str], int] = {}
    rows = [place.setdefault(source, len(place)) for source in sources]
    by_source = np.zeros((len(place), by_candidate.shape[1]))
    np.add.at(by_source, rows, by_candidate)
    value = float(of_sums(by_source.sum(axis=0)))
    if np.isnan(value):
        return AgreementEstimate(note=ONE_LABEL)
    values = np.concatenate([of_sums(sums) for sums in resampled(by_source)])
    return AgreementEstimate(value=value, interval=interval(values))


def _fleiss_terms(counts: Counts) -> Floats:
    """Return for each candidate: share of agreeing pairs of judgments, 1, judgments by label."""
    given = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (given * (given - 1))
    return np.column_stack([agreeing, np.ones(len(counts)), counts]).astype(np.float64)


def _fleiss_of_sums(sums: Floats) -> Floats:
    by_label = sums[..., 2:]
    chance = (by_label**2).sum(axis=-1) / by_label.sum(axis=-1) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = (sums[..., 0] / sums[..., 1] - chance) / (1 - chance)
    # With one label the numerator may be off zero by rounding: only 0 / 0 says that kappa is undefined.
    return np.where((by_label > 0).sum(axis=-1) > 1, result, np.nan)


def _alpha_terms(counts: Counts) -> Floats:
    """Return for each candidate: weighted unlike pairs, judgments by label."""
    given = counts.sum(axis=1)
    unlike = (given**2 - (counts**2).sum(axis=1)) / (given - 1)
    return np.column_stack([unlike, counts]).astype(np.float64)


def _alpha_of_sums(sums: Floats) -> Floats:
    by_label = sums[..., 1:]
    total = by_label.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = 1 - (total - 1) * sums[..., 0] / (total**2 - (by_label**2).sum(axis=-1))
    return np.where((by_label > 0).sum(axis=-1) > 1, result, np.nan)

"""Agreement of annotators: the records, and the measures for two and for more annotators.

A table counts candidates by what a pair of annotators said:
``[both Link, only the first, only the second, neither]``.

Fleiss' kappa and Krippendorff's alpha are computed from counts of shape (candidates, labels): how often each label was
given. All that enters the formulas is a sum over candidates, so a bootstrap over sources adds up rows.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.interannotator.groups import Group, source_of, tables_of
from abcdlink.judgments import Label
from abcdlink.statistics import RESAMPLES, interval, resampled

if TYPE_CHECKING:
    from abcdlink.statistics import Counts, Floats


T = TypeVar("T")

ONE_LABEL = "undefined (one label only)"
ONE_ANNOTATOR = "undefined (no candidate was judged by two annotators)"

Interval = tuple[float, float]


class Estimate(Record):
    """One figure with its 95 % bootstrap interval; ``None`` where it is undefined, for the reason in ``note``."""

    value: float | None = None
    interval: Interval | None = None
    note: str = ""


class Measures(Record):
    """Agreement on a set of candidates. Fractions of 1; ``None`` where a measure is undefined.

    With more than two annotators every measure is the mean over pairs of annotators.
    """

    judged: int = Field(description="candidates with all required judgments")
    observed: float | None = Field(None, description="share of candidates on which two annotators say the same")
    observed_interval: Interval | None = Field(None, description="95 % bootstrap interval over sources")
    kappa: float | None = Field(None, description="Cohen's kappa")
    interval: Interval | None = Field(None, description="95 % bootstrap interval of kappa over sources")
    ac1: float | None = Field(None, description="Gwet's AC1, which does not collapse under skewed labels")
    ac1_interval: Interval | None = Field(None, description="95 % bootstrap interval over sources")
    prevalence: float | None = Field(None, description="share of Link among all judgments")
    note: str = Field("", description="why a measure is undefined, or how it was made")


class MultipleMeasures(Record):
    """Agreement of more than two annotators on candidates."""

    fleiss: Estimate = Field(description="Fleiss' kappa")
    fleiss_judged: int = Field(description="candidates in it: those with the most frequent number of judgments")
    fleiss_judgments: int = Field(description="judgments on each of these")
    krippendorff: Estimate = Field(description="Krippendorff's alpha for nominal labels")
    krippendorff_judged: int = Field(description="candidates in it: those with two or more judgments")


class Values(NamedTuple):
    """The three measures of many tables, one value each; NaN where undefined."""

    kappa: Floats
    observed: Floats
    ac1: Floats


def cohen_kappa(table: Counts) -> float:
    """Return Cohen's kappa (1960) of one table with both labels in it, by scikit-learn."""
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score([1, 1, 0, 0], [1, 0, 1, 0], sample_weight=table))


def mean_kappa(answers: Iterable[Sequence[tuple[T, T]]], **how: Any) -> float | None:  # noqa: ANN401 - as scikit-learn takes it
    """Return the mean of Cohen's kappa over pairs of people; ``None``: no two of them used two labels.

    Args:
        answers: for each pair of people, what both said of one thing after the other.
        how: ``labels`` and ``weights`` of ``cohen_kappa_score``.
    """
    from sklearn.metrics import cohen_kappa_score

    usable = [both for both in answers if len({said for pair in both for said in pair}) > 1]
    values = [float(cohen_kappa_score(*zip(*both, strict=True), **how)) for both in usable]
    return sum(values) / len(values) if values else None


def gwet_ac1(tables: Floats | Counts) -> Floats:
    """Return Gwet's AC1 (2008) of tables of shape (..., 4).

    AC1 = (p_o - p_e) / (1 - p_e) with p_e = 2 q (1 - q), where q is the mean share of Link.
    """
    link = (2 * tables[..., 0] + tables[..., 1] + tables[..., 2]) / (2 * tables.sum(axis=-1))
    chance = 2 * link * (1 - link)
    ac1: Floats = (observed_agreement(tables) - chance) / (1 - chance)
    return ac1


def observed_agreement(tables: Floats | Counts) -> Floats:
    """Return the share of candidates with the same label twice, for tables of shape (..., 4)."""
    share: Floats = (tables[..., 0] + tables[..., 3]) / tables.sum(axis=-1)
    return share


def kappas(tables: Floats | Counts) -> Floats:
    """Return Cohen's kappa of many tables (..., 4) at once; NaN where only one label occurs.

    The same as ``cohen_kappa``, which cannot take the 10,000 tables of a bootstrap.
    """
    import numpy as np

    total = tables.sum(axis=-1)
    first = (tables[..., 0] + tables[..., 1]) / total
    second = (tables[..., 0] + tables[..., 2]) / total
    chance = first * second + (1 - first) * (1 - second)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = (observed_agreement(tables) - chance) / (1 - chance)
    return result


def mean_values(tables: Floats | Counts) -> Values:
    """Return the measures of sets of tables, shape (sets, pairs of annotators, 4), as means over the pairs.

    AC1 is left undefined where kappa is: with one label only there is nothing to agree on by chance.
    """
    import numpy as np

    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.filterwarnings("ignore", "Mean of empty slice")
        kappa = kappas(tables)
        ac1 = np.where(np.isnan(kappa), np.nan, gwet_ac1(tables))
        return Values(*(np.nanmean(one, axis=1) for one in (kappa, observed_agreement(tables), ac1)))


def resampled_values(by_source: Counts, seed: int = 0, resamples: int = RESAMPLES) -> Values:
    """Return the measures of each resample of source sentences.

    Candidates of one source are judged together and are not independent, so whole sources are drawn.

    Args:
        by_source: tables of shape (sources, pairs of annotators, 4).
        seed: of the resampling.
        resamples: how often to resample.
    """
    import numpy as np

    chunks = [mean_values(tables) for tables in resampled(by_source, seed, resamples)]
    return Values(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


def kappa_interval(by_source: Counts, resamples: int = RESAMPLES) -> tuple[float, float] | None:
    """Return the 95 % interval of the mean kappa, by bootstrap over sources; see ``resampled_values``.

    Returns:
        ``None`` when no resample has a defined kappa.
    """
    return interval(resampled_values(by_source, resamples=resamples).kappa)


def measures_of(groups: Sequence[Group], resamples: int = RESAMPLES) -> Measures:
    """Measure the agreement on candidates; see ``Measures`` for more than two annotators."""
    labels = [judgment.label is Label.LINK for group in groups for judgment in group.values()]
    prevalence = sum(labels) / len(labels) if labels else None
    by_source = tables_of(groups)
    tables = by_source.sum(axis=0)
    if not len(tables):
        return Measures(judged=len(groups), prevalence=prevalence, note=ONE_ANNOTATOR)
    observed = float(observed_agreement(tables).mean())
    values = resampled_values(by_source, resamples=resamples)
    # Chance correction needs both labels in a table: with one label there is nothing to agree by chance on.
    usable = [table for table in tables if 0 < 2 * table[0] + table[1] + table[2] < 2 * table.sum()]
    known = Measures(
        judged=len(groups), observed=observed, observed_interval=interval(values.observed), prevalence=prevalence
    )
    if not usable:
        return known.model_copy(update={"note": ONE_LABEL})
    return known.model_copy(
        update={
            "kappa": sum(map(cohen_kappa, usable)) / len(usable),
            "interval": interval(values.kappa),
            "ac1": sum(float(gwet_ac1(table)) for table in usable) / len(usable),
            "ac1_interval": interval(values.ac1),
            "note": f"mean over {len(usable)} pairs of annotators" if len(tables) > 1 else "",
        }
    )


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


def fleiss_estimate(counts: Sequence[Sequence[int]], sources: Sequence[tuple[str, str]]) -> Estimate:
    """Return Fleiss' kappa with its 95 % bootstrap interval over sources.

    Source: Fleiss (1971), Measuring nominal scale agreement among many raters, Psychological Bulletin 76.
    kappa = (P - P_e) / (1 - P_e); P is the mean over units of the share of pairs of judgments that agree, P_e the sum
    of squares of the labels' shares.

    Args:
        counts: for each unit, how often each label was given to it: the same number (two or more) in all.
        sources: for each unit, pair and source sentence.
    """
    import numpy as np

    return _estimate(np.array(counts, dtype=np.int64), sources, _fleiss_terms, _fleiss_of_sums)


def alpha_estimate(counts: Sequence[Sequence[int]], sources: Sequence[tuple[str, str]]) -> Estimate:
    """Return Krippendorff's alpha for nominal labels of any number, with its 95 % bootstrap interval over sources.

    Source: Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    alpha = 1 - D_o / D_e over units with two or more judgments; a unit with m judgments adds its pairs of unlike
    labels, weighted by 1 / (m - 1), to the observed disagreement.

    Args:
        counts: for each unit, how often each label was given to it; units with fewer than two are left out.
        sources: for each unit, pair and source sentence.
    """
    import numpy as np

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
) -> Estimate:
    import numpy as np

    if not len(counts):
        return Estimate(note=ONE_ANNOTATOR)
    by_candidate = terms(counts)
    place: dict[tuple[str, str], int] = {}
    rows = [place.setdefault(source, len(place)) for source in sources]
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
    """Return for each candidate: weighted unlike pairs, judgments by label."""
    import numpy as np

    given = counts.sum(axis=1)
    unlike = (given**2 - (counts**2).sum(axis=1)) / (given - 1)
    return np.column_stack([unlike, counts]).astype(np.float64)


def _alpha_of_sums(sums: Floats) -> Floats:
    import numpy as np

    by_label = sums[..., 1:]
    total = by_label.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = 1 - (total - 1) * sums[..., 0] / (total**2 - (by_label**2).sum(axis=-1))
    return np.where((by_label > 0).sum(axis=-1) > 1, result, np.nan)

"""How far annotators agree, and how many of each method's candidates they accept.

A table counts candidates by what a pair of annotators said:
``[both Link, only the first, only the second, neither]``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from pydantic import Field, model_validator

from abcdlink.corpus.records import Record, with_new_names
from abcdlink.errors import counted
from abcdlink.interannotator.acceptance import Acceptance, acceptance_of, aggregates_of, links_by_annotator
from abcdlink.interannotator.groups import Group, by_annotator_pair, by_key, first, grouped, tables_of
from abcdlink.interannotator.multiple import LACKING, ONE_ANNOTATOR, ONE_LABEL, Interval, MultipleMeasures, multiple
from abcdlink.judgments import BOTH, RANDOM, Judgment, Label
from abcdlink.layout import AGREEMENT, JUDGMENTS, batch_file
from abcdlink.statistics import Counts, Floats, interval, resampled
from abcdlink.store import Store

T = TypeVar("T")

UNEVEN = 2
"""From how many times as many shared candidates a reader is told that pairs of annotators weigh the same."""


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

    @property
    def row(self) -> dict[str, object]:
        """The measures as a row of a table, in fractions of 1."""
        return {
            "judged": self.judged,
            "kappa": self.note if self.kappa is None else f"{self.kappa:.4f}",
            "95 % interval": span(self.interval),
            "raw agreement": "" if self.observed is None else f"{self.observed:.3f}",
            "its 95 % interval": span(self.observed_interval),
            "AC1": "" if self.ac1 is None else f"{self.ac1:.3f}",
            "AC1, 95 % interval": span(self.ac1_interval),
            "prevalence": "" if self.prevalence is None else f"{self.prevalence:.3f}",
        }


def span(interval: Interval | None) -> str:
    """Return an interval in words; empty where there is none."""
    return "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"


class MeasureValues(NamedTuple):
    """The three measures of many tables, one value each; NaN where undefined."""

    kappa: Floats
    observed: Floats
    ac1: Floats


@lru_cache(maxsize=4096)
def cohen_kappa(table: tuple[int, ...]) -> float:
    """Return Cohen's kappa (1960) of one table with both labels in it, by scikit-learn.

    Kept, since a report, a card and a status have the same tables, and scikit-learn checks its arguments at length.
    """
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score([1, 1, 0, 0], [1, 0, 1, 0], sample_weight=table))


def mean_kappa(answers: Iterable[Sequence[tuple[T, T]]], **how: Any) -> float | None:  # noqa: ANN401 - as scikit-learn takes it
    """Return the mean of Cohen's kappa over pairs of people; ``None``: no two of them used two labels.

    ``answers``: for each pair of people, what both said of one thing after the other; ``how``: more for scikit-learn.
    """
    from sklearn.metrics import cohen_kappa_score

    usable = [both for both in answers if len({said for pair in both for said in pair}) > 1]
    values = [float(cohen_kappa_score(*zip(*both, strict=True), **how)) for both in usable]
    return sum(values) / len(values) if values else None


def _cells(tables: Floats | Counts) -> Sequence[Floats | Counts]:
    """Return the four cells of each table; adding these up is several times as fast as a sum over the last axis."""
    return tuple(np.moveaxis(tables, -1, 0))


def gwet_ac1(tables: Floats | Counts) -> Floats:
    """Return Gwet's AC1 (2008) of tables of shape (..., 4).

    AC1 = (p_o - p_e) / (1 - p_e) with p_e = 2 q (1 - q), where q is the mean share of Link.
    """
    both, first, second, neither = _cells(tables)
    link = (2 * both + first + second) / (2 * (both + first + second + neither))
    chance = 2 * link * (1 - link)
    ac1: Floats = (observed_agreement(tables) - chance) / (1 - chance)
    return ac1


def observed_agreement(tables: Floats | Counts) -> Floats:
    """Return the share of candidates with the same label twice, for tables of shape (..., 4)."""
    both, first, second, neither = _cells(tables)
    share: Floats = (both + neither) / (both + first + second + neither)
    return share


def kappas(tables: Floats | Counts) -> Floats:
    """Return Cohen's kappa of many tables (..., 4) at once; NaN where only one label occurs.

    The same as ``cohen_kappa``, which cannot take the 10,000 tables of a bootstrap.
    """
    both, first, second, neither = _cells(tables)
    total = both + first + second + neither
    link_by_first, link_by_second = (both + first) / total, (both + second) / total
    chance = link_by_first * link_by_second + (1 - link_by_first) * (1 - link_by_second)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = (observed_agreement(tables) - chance) / (1 - chance)
    return result


def mean_values(tables: Floats | Counts) -> MeasureValues:
    """Return the measures of sets of tables, shape (sets, pairs of annotators, 4), as means over the pairs.

    AC1 is left undefined where kappa is: with one label only there is nothing to agree on by chance.
    """
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.filterwarnings("ignore", "Mean of empty slice")
        kappa = kappas(tables)
        ac1 = np.where(np.isnan(kappa), np.nan, gwet_ac1(tables))
        return MeasureValues(*(np.nanmean(one, axis=1) for one in (kappa, observed_agreement(tables), ac1)))


def resampled_values(by_source: Counts, seed: int = 0, resamples: int | None = None) -> MeasureValues:
    """Return the measures of each resample of source sentences, from tables (sources, pairs of annotators, 4).

    Candidates of one source are judged together and are not independent, so whole sources are drawn.
    """
    chunks = [mean_values(tables) for tables in resampled(by_source, seed, resamples)]
    return MeasureValues(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


def kappa_interval(by_source: Counts) -> tuple[float, float] | None:
    """Return the 95 % interval of the mean kappa, by bootstrap over sources; ``None``: no resample has a kappa."""
    return interval(resampled_values(by_source).kappa)


def measures_of(groups: Sequence[Group], resamples: int | None = None) -> Measures:
    """Measure the agreement on candidates; see ``Measures`` for more than two annotators."""
    labels = [judgment.label is Label.LINK for group in groups for judgment in group.values()]
    prevalence = sum(labels) / len(labels) if labels else None
    by_source = tables_of(groups)
    tables = by_source.sum(axis=0)
    if not len(tables):
        return Measures(judged=len(groups), prevalence=prevalence, note=ONE_ANNOTATOR)
    value, drawn = mean_values(tables[None]), resampled_values(by_source, resamples=resamples)
    known = Measures(
        judged=len(groups),
        observed=float(value.observed[0]),
        observed_interval=interval(drawn.observed),
        prevalence=prevalence,
    )
    # Chance correction needs both labels in a table: with one label there is nothing to agree by chance on.
    usable = [tuple(table) for table in tables.tolist() if 0 < 2 * table[0] + table[1] + table[2] < 2 * sum(table)]
    if not usable:
        return known.model_copy(update={"note": ONE_LABEL})
    return known.model_copy(
        update={
            "kappa": sum(map(cohen_kappa, usable)) / len(usable),
            "interval": interval(drawn.kappa),
            "ac1": float(value.ac1[0]),
            "ac1_interval": interval(drawn.ac1),
            "note": _pairs_told([sum(table) for table in usable]) if len(tables) > 1 else "",
        }
    )


def _pairs_told(sizes: Sequence[int]) -> str:
    """Say over how many pairs of annotators a mean is. ``sizes``: the candidates that each of them shares."""
    told, least, most = f"mean over {counted(len(sizes), 'pair')} of annotators", min(sizes), max(sizes)
    return told if most < UNEVEN * least else f"{told}, of equal weight though they share {least} to {most} candidates"


class Agreement(Measures):
    """Agreement on all judgments given, and by method, batch and pair of annotators.

    ``incomplete``: candidates with fewer judgments than asked for; they are in no other figure.
    ``annotator_pairs``: the two pseudonyms, joined by "and" -> agreement on the candidates that both judged.
    ``multiple``: where there are more than two annotators. ``aggregates``: what an approach proposes alone or with the
    other, and the union of both -> its acceptance; empty unless candidates come from two approaches. ``links``:
    method -> annotator -> how many of the candidates they call a link.
    """

    annotators: tuple[str, ...]
    incomplete: int
    acceptance: dict[str, Acceptance]
    aggregates: dict[str, Acceptance] = Field({})
    links: dict[str, dict[str, int]] = Field({})
    methods: dict[str, Measures]
    batches: dict[int, Measures]
    annotator_pairs: dict[str, Measures] = Field({})
    multiple: MultipleMeasures | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_name(cls, data: Any) -> Any:  # noqa: ANN401 - whatever is to be validated
        return with_new_names(data, couples="annotator_pairs")


def keep_agreement(store: Store, batch: int, overlap: int) -> Agreement:
    """Compute the agreement of a pulled batch from its judgments and write it."""
    result = agreement(store.read_records(batch_file(batch, JUDGMENTS), Judgment), overlap)
    store.write_record(batch_file(batch, AGREEMENT), result)
    return result


def agreement(judgments: Sequence[Judgment], overlap: int | None = None) -> Agreement:
    """Summarise judgments; of several by one annotator on one candidate the last stands.

    Candidates with fewer than ``overlap`` judgments (default ``required_judgments``) are counted and left out.
    """
    complete, incomplete = grouped(judgments, overlap)
    methods = by_key(complete, [first(group).method for group in complete])
    batches = by_key(complete, [first(group).batch for group in complete])
    ordered = sorted(methods, key=lambda method: [BOTH, RANDOM].index(method) if method in (BOTH, RANDOM) else -1)
    annotators = tuple(sorted({judgment.annotator for judgment in judgments}))
    overall = measures_of(complete)
    if incomplete and not complete:
        overall = overall.model_copy(update={"note": LACKING})
    return Agreement(
        **overall.model_dump(),
        annotators=annotators,
        incomplete=incomplete,
        acceptance={method: acceptance_of(methods[method]) for method in ordered},
        aggregates=aggregates_of(methods),
        links={method: links_by_annotator(methods[method], annotators) for method in ordered},
        methods={method: measures_of(methods[method]) for method in ordered},
        batches={batch: measures_of(batches[batch]) for batch in sorted(batches)},
        annotator_pairs={
            " and ".join(annotators): overall if part == complete else measures_of(part)
            for annotators, part in by_annotator_pair(complete).items()
        },
        multiple=multiple(complete) if len(annotators) > 2 else None,  # noqa: PLR2004 - kappa is made for two
    )

"""How far annotators agree, and how many of each method's candidates they accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from abcdlink.corpus.records import Record, with_new_names
from abcdlink.errors import InputError
from abcdlink.interannotator.groups import (
    Group,
    accepted,
    by_annotator_pair,
    by_key,
    first,
    grouped,
    source_of,
    tables_of,
)
from abcdlink.interannotator.measures import (
    Interval,
    Measures,
    MultipleMeasures,
    measures_of,
    multiple,
    resampled_values,
)
from abcdlink.interannotator.over_time import (
    BatchParts,
    Curve,
    Difference,
    Unit,
    batch_differences,
    by_position,
    learning_curve,
)
from abcdlink.interannotator.times import Times, times_of
from abcdlink.judgments import BOTH, RANDOM, Judgment, Label
from abcdlink.statistics import interval, resampled

if TYPE_CHECKING:
    from abcdlink.statistics import Counts


class Acceptance(Record):
    """How many of one method's candidates all annotators call Link; ``interval``: 95 %, Wilson."""

    accepted: int
    candidates: int
    rate: float
    interval: Interval


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


def agreement(judgments: Sequence[Judgment], overlap: int | None = None) -> Agreement:
    """Summarise judgments. Candidates with fewer than ``overlap`` judgments are counted and left out.

    Args:
        judgments: of any batches; of several by one annotator on one candidate the last stands.
        overlap: judgments that a candidate needs; default ``required_judgments``.
    """
    complete, incomplete = grouped(judgments, overlap)
    methods = by_key(complete, [first(group).method for group in complete])
    batches = by_key(complete, [first(group).batch for group in complete])
    ordered = sorted(methods, key=lambda method: [BOTH, RANDOM].index(method) if method in (BOTH, RANDOM) else -1)
    annotators = tuple(sorted({judgment.annotator for judgment in judgments}))
    overall = measures_of(complete)
    return Agreement(
        **overall.model_dump(),
        annotators=annotators,
        incomplete=incomplete,
        acceptance={method: _acceptance(methods[method]) for method in ordered},
        aggregates=_aggregates(methods),
        links={method: _links_by_annotator(methods[method], annotators) for method in ordered},
        methods={method: measures_of(methods[method]) for method in ordered},
        batches={batch: measures_of(batches[batch]) for batch in sorted(batches)},
        annotator_pairs={
            " and ".join(annotators): overall if part == complete else measures_of(part)
            for annotators, part in by_annotator_pair(complete).items()
        },
        multiple=multiple(complete) if len(annotators) > 2 else None,  # noqa: PLR2004 - kappa is made for two
    )


UNION = "union"
"""All that either approach proposes."""


def _aggregates(methods: Mapping[str, Sequence[Group]]) -> dict[str, Acceptance]:
    """Return the acceptance of all that each of two approaches proposes, and of what either does."""
    own = [method for method in methods if method not in (BOTH, RANDOM)]
    if len(own) != 2:  # noqa: PLR2004 - two are compared
        return {}
    shared = list(methods.get(BOTH, ()))
    found = {f"{method} with {BOTH}": [*methods[method], *shared] for method in own}
    found[UNION] = [*methods[own[0]], *methods[own[1]], *shared]
    return {name: _acceptance(groups) for name, groups in found.items()}


def _links_by_annotator(groups: Sequence[Group], annotators: Sequence[str]) -> dict[str, int]:
    said = [name for group in groups for name, judgment in group.items() if judgment.label is Label.LINK]
    return {annotator: said.count(annotator) for annotator in annotators}


def _acceptance(groups: Sequence[Group]) -> Acceptance:
    """Count the accepted candidates; interval by Wilson (1927), which is never empty at 0 or 1."""
    from scipy.stats import binomtest

    hits = sum(map(accepted, groups))
    wilson = binomtest(hits, len(groups)).proportion_ci(method="wilson")
    return Acceptance(
        accepted=hits,
        candidates=len(groups),
        rate=hits / len(groups),
        interval=(float(wilson.low), float(wilson.high)),
    )


KAPPA = "kappa"
FEWEST_PAIRS = 5
ROUNDING = 1e-9
ASSUMPTION = "further pairs are like those judged, so the width falls as 1 / sqrt(pairs)"


class PairsNeeded(Record):
    """How many more pairs give a 95 % interval of a width; ``None``, with the reason in ``note``, if unknown.

    ``interval`` and ``interval_width``: now, by bootstrap over ``pairs`` (``judged`` candidates in them).
    """

    measure: str = Field(description="kappa, or the method whose acceptance rate it is")
    width: float = Field(description="wanted width of the interval: its upper minus its lower end")
    pairs: int
    judged: int
    value: float | None = None
    interval: Interval | None = None
    interval_width: float | None = None
    more: int | None = None
    note: str = ""
    assumption: str = ASSUMPTION

    @property
    def words(self) -> str:
        """The estimate in a sentence."""
        what = self.measure if self.measure == KAPPA else f"acceptance of {self.measure}"
        if self.more is None or self.interval_width is None:
            return f"{what}: no estimate for {self.pairs} pairs: {self.note}."
        now = f"the interval over {self.pairs} pairs is {self.interval_width:.2f} wide"
        if not self.more:
            return f"{what}: {now}, which is enough for {self.width:g}."
        return f"{what}: {now}; for {self.width:g} about {self.more:,} more pairs are needed."


def pairs_needed(
    judgments: Sequence[Judgment],
    width: float,
    measure: str = KAPPA,
    overlap: int | None = None,
    seed: int = 0,
) -> PairsNeeded:
    """Estimate how many more pairs a 95 % interval of kappa, or of a method's acceptance rate, needs.

    Args:
        judgments: so far.
        width: wanted width of the interval, in fractions of 1: 0.1 is 0.05 to both sides.
        measure: ``kappa``, or the name of a method.
        overlap: judgments that a candidate needs, as for ``agreement``.
        seed: of the bootstrap over pairs.

    Raises:
        InputError: when the width is not between 0 and 2.
    """
    if not 0 < width <= 2:  # noqa: PLR2004 - kappa runs from -1 to 1
        msg = f"an interval cannot be {width:g} wide"
        raise InputError(msg, "give a width above 0 and at most 2, such as 0.1")
    groups = grouped(judgments, overlap).complete
    if measure != KAPPA:
        groups = [group for group in groups if first(group).method == measure]
    pairs = len({source_of(group)[0] for group in groups})
    known = PairsNeeded(measure=measure, width=width, pairs=pairs, judged=len(groups))
    if pairs < FEWEST_PAIRS:
        return known.model_copy(update={"note": f"at least {FEWEST_PAIRS} judged pairs are needed for an estimate"})
    return _of_kappa(known, groups, seed) if measure == KAPPA else _of_acceptance(known, groups, seed)


def _of_kappa(known: PairsNeeded, groups: Sequence[Group], seed: int) -> PairsNeeded:
    now = measures_of(groups, resamples=1)
    if now.kappa is None:
        return known.model_copy(update={"note": f"kappa is {now.note}"})
    return _extrapolated(known, now.kappa, interval(resampled_values(tables_of(groups, "pair"), seed).kappa))


def _of_acceptance(known: PairsNeeded, groups: Sequence[Group], seed: int) -> PairsNeeded:
    import numpy as np

    counts = _counts_by_pair(groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = np.concatenate([sums[:, 0] / sums[:, 1] for sums in resampled(counts, seed)])
    accepted_all, candidates = counts.sum(axis=0)
    return _extrapolated(known, float(accepted_all / candidates), interval(rates))


def _counts_by_pair(groups: Sequence[Group]) -> Counts:
    """Return accepted candidates and all candidates of each pair, shape (pairs, 2)."""
    import numpy as np

    counts: dict[str, list[int]] = {}
    for group in groups:
        row = counts.setdefault(source_of(group)[0], [0, 0])
        row[0] += accepted(group)
        row[1] += 1
    return np.array(list(counts.values()), dtype=np.int64)


def _extrapolated(known: PairsNeeded, value: float, now: Interval | None) -> PairsNeeded:
    known = known.model_copy(update={"value": value, "interval": now})
    if now is None or now[1] - now[0] < ROUNDING:
        return known.model_copy(update={"note": "all pairs gave the same figure, so their spread is unknown"})
    now_width = now[1] - now[0]
    needed = ceil(known.pairs * (now_width / known.width) ** 2 - ROUNDING)
    return known.model_copy(update={"interval_width": now_width, "more": max(0, needed - known.pairs)})


WIDTH = 0.1
"""Default width of an interval that is considered narrow enough: 0.05 to either side."""

RESAMPLES_OF_DOCUMENT = 2_000
"""Fewer than over all judgments, since there are many documents."""

FEW_PAIRS = 4
"""With fewer pairs the learning curve goes by tasks."""


class Details(Record):
    """What supplements an ``Agreement``.

    ``documents``: pair -> its measures. ``differences``: each batch against the one before.
    ``needed``: more pairs for intervals of kappa and of each method's acceptance rate.
    """

    documents: dict[str, Measures]
    curve: Curve
    positions: tuple[BatchParts, ...]
    differences: tuple[Difference, ...]
    times: Times
    needed: tuple[PairsNeeded, ...]


def details(judgments: Sequence[Judgment], overlap: int | None = None, width: float = WIDTH) -> Details:
    """Measure what ``agreement`` leaves out; a second for a thousand candidates, twenty for 28,000.

    Args:
        judgments: of any batches.
        overlap: judgments that a candidate needs, as for ``agreement``.
        width: of the intervals for which more pairs are estimated.

    Raises:
        InputError: when the width is not between 0 and 2.
    """
    documents = by_document(judgments, overlap)
    unit = Unit.TASK if len(documents) < FEW_PAIRS else Unit.PAIR
    methods = dict.fromkeys(judgment.method for judgment in judgments)
    return Details(
        documents=documents,
        curve=learning_curve(judgments, unit, overlap),
        positions=by_position(judgments, overlap=overlap),
        differences=batch_differences(judgments, overlap),
        times=times_of(judgments, overlap),
        needed=tuple(pairs_needed(judgments, width, measure, overlap) for measure in (KAPPA, *methods)),
    )


def by_document(judgments: Sequence[Judgment], overlap: int | None = None) -> dict[str, Measures]:
    """Return pair -> agreement on its candidates, in the order of appearance."""
    groups = grouped(judgments, overlap).complete
    parts = by_key(groups, [source_of(group)[0] for group in groups])
    return {pair: measures_of(part, RESAMPLES_OF_DOCUMENT) for pair, part in parts.items()}

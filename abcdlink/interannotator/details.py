"""All that takes longer than the summary: by document, over time, by place in a batch, between batches, early stop."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.corpus.records import Record
from abcdlink.interannotator.curve import Curve, Unit, learning_curve
from abcdlink.interannotator.differences import Difference, batch_differences
from abcdlink.interannotator.groups import by_key, grouped, source_of
from abcdlink.interannotator.positions import BatchParts, by_position
from abcdlink.interannotator.records import Measures
from abcdlink.interannotator.stopping import KAPPA, PairsNeeded, pairs_needed
from abcdlink.interannotator.summary import measures
from abcdlink.interannotator.times import Times, times_of
from abcdlink.judgments import Judgment

WIDTH = 0.1
"""Width of an interval that is taken for enough, unless another is asked for: 0.05 to both sides."""

RESAMPLES = 2_000
"""For each of many documents."""

FEW_PAIRS = 4
"""With fewer pairs the learning curve goes by tasks."""


class Details(Record):
    """What stands beside an ``Agreement``.

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
    return {pair: measures(part, RESAMPLES) for pair, part in parts.items()}

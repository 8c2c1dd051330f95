"""What the command ``agreement`` prints beside kappa and acceptance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from abcdlink.cli.output import out, print_rows

if TYPE_CHECKING:
    from abcdlink.interannotator import Details
    from abcdlink.interannotator.multiple import AgreementEstimate, MultipleMeasures
    from abcdlink.interannotator.over_time import BatchParts, Difference


def multiple_lines(all_of_them: MultipleMeasures) -> list[str]:
    """Return the measures of more than two annotators, one line each."""
    fleiss, alpha = _estimate(all_of_them.fleiss), _estimate(all_of_them.krippendorff)
    size = all_of_them.fleiss_judgments
    return [
        f"Fleiss' kappa: {fleiss} ({all_of_them.fleiss_judged} candidates, {size} judgments each)",
        f"Krippendorff's alpha: {alpha} ({all_of_them.krippendorff_judged} candidates)",
    ]


def print_details(found: Details, *, tables: bool) -> None:
    """Print differences, times and early stop in sentences; with ``tables`` also by document and over time."""
    if tables:
        print_rows("By pair", [{"pair": pair, **one.row} for pair, one in found.documents.items()])
        steps = [{f"{found.curve.unit}s done": point.done, **point.measures.row} for point in found.curve.points]
        order = "order of submission" if found.curve.by_time else "order of appearance"
        print_rows(f"Learning curve, {order}", steps)
        print_rows("Parts of each batch", list(_parts(found)))
    for line in details_lines(found):
        out.print(line, soft_wrap=True, markup=False, highlight=False)


def details_lines(found: Details) -> list[str]:
    """Return sentences on how batches and their parts differ, the time taken, and how many more pairs are needed."""
    changes = [("", one) for one in found.differences]
    changes += [(_batch_of(one), one.change) for one in found.positions if one.change]
    lines = [difference_line(name, one) for name, one in changes]
    lines += found.times.words
    lines += [
        f"Outliers of {one.annotator}: {len(one.outliers)} of {one.tasks} times; {found.times.rule}."
        for one in found.times.annotators
        if one.outliers
    ]
    # Where all estimates fail for the same reason, give it once.
    needed = {one.note or one.measure: one for one in reversed(found.needed)}
    return [*lines, *(one.words for one in reversed(needed.values()))]


def difference_line(name: str, one: Difference) -> str:
    """Return a sentence on one difference in kappa, and on whether chance alone could explain it."""
    change = f"{name}{one.after} minus {one.before}: kappa {_estimate(one.kappa, signed=True)}"
    judged = f"{one.after_judged} and {one.before_judged} candidates"
    if one.kappa.interval is None:
        return f"{change}; {judged}."
    low, high = one.kappa.interval
    verdict = "chance alone could explain it" if low <= 0 <= high else "more than chance"
    return f"{change}; {verdict}; {judged}."


def _batch_of(one: BatchParts) -> str:
    order = "" if one.by_time else " (in order of appearance, as submission times are missing)"
    return f"batch {one.batch}{order}, "


def _parts(found: Details) -> Iterator[dict[str, object]]:
    for batch in found.positions:
        for number, part in enumerate(batch.parts, start=1):
            yield {
                "part": f"batch {batch.batch}, {number} of {len(batch.parts)}",
                "tasks": part.tasks,
                "seconds a task": "" if part.seconds is None else f"{part.seconds:.0f}",
                "timed": part.timed,
                **part.measures.row,
            }


def _estimate(one: AgreementEstimate, *, signed: bool = False) -> str:
    if one.value is None:
        return one.note
    sign = "+" if signed else ""
    ends = " to ".join(f"{end:{sign}.3f}" for end in one.interval or ())
    return f"{one.value:{sign}.4f}" + (f" ({ends})" if ends else "")

"""Pictures of a benchmark: F1 and recall by cutoff, F1 of LLMs by prompt mode, and how reliable probabilities are.

F1 counts unanswered sources as wrong, so that failing does not raise a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, product
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from markupsafe import Markup

from abcdlink.evaluation.results import ApproachResult, Calibration
from abcdlink.linking.records import Approach, ApproachKind, Scoring
from abcdlink.llm.profiles import DEFAULT
from abcdlink.report.pictures import SERIES, SOFT, legend, picture
from abcdlink.report.pictures.of_llms import llm_pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ("o", "s", "^", "D", "v", "P")
LINES = ("-", ":", "-.")
"""Line styles; when all colours are used, they are used again with the next style."""
LEVELS = ((0, (6, 3)), (0, (2, 2)), (0, (9, 2, 2, 2)))
"""Dash patterns of the levels."""
LONG_NAME = 24
"""Letters; beside a longer name there is no room for another in the legend."""
FEWEST = 10
"""Pairs of sentences in a point of the picture of reliability."""
MODES = (1, 2, 3, 4)


class Series(NamedTuple):
    """One line of a picture: place on the axis -> value; ``alone``: a single point rather than a line."""

    name: str
    values: Mapping[int, float]
    alone: bool = False


class Level(NamedTuple):
    """A value that does not depend on what the axis shows."""

    name: str
    value: float


def benchmark_pictures(results: Sequence[ApproachResult]) -> dict[str, Markup]:
    """Return title -> picture of everything that can be drawn for a benchmark's approaches, given best first."""
    pictures = {}
    if f1 := cutoff_series(results, "f1_of_all"):
        pictures["F1 by cutoff"] = by_cutoff("F1", f1)
        pictures["Recall by cutoff"] = by_cutoff("Recall", cutoff_series(results, "recall"))
    if by_mode := prompt_mode_series(results):
        pictures["F1 by prompt mode"] = by_prompt_mode(by_mode, levels_without_llm(results))
    if calibrations := calibrations_of(results):
        pictures["Reliability"] = reliability(calibrations)
    return pictures | llm_pictures(results)


def calibrations_of(results: Sequence[ApproachResult]) -> dict[str, Calibration]:
    """Return name -> calibration of what gives probabilities; approaches that cut the same probabilities are one."""
    found: dict[str, Calibration] = {}
    for result in results:
        if result.calibration and result.calibration not in found.values():
            alike = result.approach.kind is ApproachKind.LEARNED
            found[result.approach.retriever if alike else result.approach.name] = result.calibration
    return found


def reliability(calibrations: Mapping[str, Calibration]) -> Markup:
    """Draw the share of links by probability: a perfect line is on the diagonal."""
    named = [Series(name, {}) for name in calibrations]
    told = "; ".join(f"{name}: error {one.error:.2f}" for name, one in calibrations.items())
    with picture(_height(named), f"Share of links by probability. {told}.") as (axes, parts):
        axes.plot([0, 1], [0, 1], color=SOFT, linewidth=1.6, linestyle=LEVELS[0])
        for (name, one), look in zip(calibrations.items(), _looks(), strict=False):
            bins = [part for part in one.bins if part.candidates >= FEWEST]
            axes.plot(
                [part.expected / part.candidates for part in bins],
                [part.links / part.candidates for part in bins],
                label=name,
                **look,
            )
        axes.set_xlabel("probability of a link")
        axes.set_xlim(0, 1)
        _finish(axes, named, 1.0)
    return parts[0]


def cutoff_series(results: Sequence[ApproachResult], measure: Literal["f1_of_all", "recall"]) -> list[Series]:
    """Return one measure of a benchmark by cutoff: retrievers and learned linkers, then LLMs.

    Of the approaches with an LLM that decide on the same candidates only the one with the best F1 is
    shown. Approaches cut by a rule, and LLM-only, have no place on this axis; the table has them.
    """
    lines: dict[str, dict[int, float]] = {}
    points: dict[tuple[str, int], Series] = {}
    for result in results:
        approach, value = result.approach, getattr(result, measure)
        if not isinstance(approach.cutoff, int):
            continue
        if approach.kind is ApproachKind.LLM:
            point = Series(approach.name, {approach.cutoff: value}, alone=True)
            points.setdefault((approach.retriever, approach.cutoff), point)
        else:
            lines.setdefault(approach.retriever, {})[approach.cutoff] = value
    return [Series(name, values) for name, values in sorted(lines.items())] + list(points.values())


def by_cutoff(measure: str, lines: Sequence[Series]) -> Markup:
    """Draw one measure (``F1``, ``Recall``) by cutoff, a line for what ranks, a point for an approach with an LLM."""
    cutoffs = sorted({cutoff for one in lines for cutoff in one.values})
    place = {cutoff: index for index, cutoff in enumerate(cutoffs)}
    with picture(_height(lines), f"{measure} by cutoff. {_told(lines)}.") as (axes, parts):
        for one, look in zip(lines, _looks(), strict=False):
            points = sorted(one.values.items())
            star = {"marker": "*", "markersize": 13, "linewidth": 0} if one.alone else {}
            places = [place[cutoff] for cutoff, _ in points]
            axes.plot(places, [value for _, value in points], label=one.name, **{**look, **star})
        axes.set_xticks(range(len(cutoffs)), [str(cutoff) for cutoff in cutoffs])
        axes.set_xlabel("cutoff k")
        _finish(axes, lines, max(max(one.values.values()) for one in lines))
    return parts[0]


def prompt_mode_series(results: Sequence[ApproachResult]) -> list[Series]:
    """Return F1 by prompt mode: a line for each set-up and scoring, and each model and offer where there are several.

    Empty when the benchmark has fewer than two approaches with an LLM: there is nothing to compare.
    """
    with_llm = [result for result in results if result.approach.prompt_mode is not None]
    if len(with_llm) < 2:  # noqa: PLR2004 - two are the fewest that can be compared
        return []
    offers = {(a.retriever, a.cutoff) for a in (result.approach for result in with_llm) if a.retriever}
    models = {result.approach.model for result in with_llm}
    lines: dict[str, dict[int, float]] = {}
    for result in with_llm:
        approach = result.approach
        name = _line_name(approach, with_offer=len(offers) > 1, with_model=len(models) > 1)
        lines.setdefault(name, {})[approach.prompt_mode or 0] = result.f1_of_all
    return [Series(name, values) for name, values in sorted(lines.items())]


def levels_without_llm(results: Sequence[ApproachResult]) -> list[Level]:
    """Return the best F1, at any fixed cutoff, of each retriever or learned linker whose candidates an LLM decides on.

    Where only LLM-only was scored, it is the best of all of them.
    """
    fixed = [r for r in results if r.approach.kind is not ApproachKind.LLM and isinstance(r.approach.cutoff, int)]
    best: dict[str, ApproachResult] = {}
    for result in sorted(fixed, key=lambda one: one.f1_of_all):
        best[result.approach.retriever] = result
    under = {result.approach.retriever for result in results if result.approach.kind is ApproachKind.LLM} - {""}
    shown = [one for name, one in best.items() if name in under] or list(best.values())[-1:]
    return [Level(f"{one.approach.name}, no LLM", one.f1_of_all) for one in shown]


def by_prompt_mode(lines: Sequence[Series], levels: Sequence[Level]) -> Markup:
    """Draw F1 by prompt mode, and dashed levels for approaches without an LLM."""
    told = "; ".join([_told(lines), *(f"{level.name}: {level.value:.2f}" for level in levels)])
    with picture(_height([*lines, *levels]), f"F1 by prompt mode. {told}.") as (axes, parts):
        for one, look in zip(lines, _looks(), strict=False):
            modes = sorted(one.values)
            axes.plot(modes, [one.values[mode] for mode in modes], label=one.name, **look)
        for place, level in enumerate(levels):
            axes.axhline(level.value, label=level.name, color=SOFT, linewidth=1.6, linestyle=LEVELS[place % 3])
        axes.set_xticks(MODES)
        axes.set_xlim(MODES[0] - 0.2, MODES[-1] + 0.2)
        axes.set_xlabel("prompt mode")
        _finish(axes, [*lines, *levels], max(*(max(one.values.values()) for one in lines), *(v for _, v in levels), 0))
    return parts[0]


def _line_name(approach: Approach, *, with_offer: bool, with_model: bool) -> str:
    scoring = {Scoring.VOTES: f", {approach.samples} votes", Scoring.PROBABILITY: ", probability"}
    rule = f" cut by {approach.rule}" if approach.rule else ""
    offer = f"{approach.retriever}@{approach.cutoff} " if with_offer and approach.retriever else ""
    model = f"{approach.model or DEFAULT} " if with_model else ""
    return f"{offer}{model}{approach.setup}{scoring.get(approach.scoring, '')}{rule}"


def _looks() -> Iterator[dict[str, Any]]:
    """Yield the look of one line after the other; no two of the first 18 are the same."""
    for line, (colour, marker) in cycle(product(LINES, zip(SERIES, MARKERS, strict=True))):
        look = {"color": colour, "marker": marker, "linestyle": line}
        yield {**look, "markersize": 6, "linewidth": 2, "clip_on": False}


def _columns(named: Sequence[Series | Level]) -> int:
    return 1 if max(len(one.name) for one in named) > LONG_NAME else 2


def _height(named: Sequence[Series | Level]) -> float:
    """Return the height in inches of a picture with a legend of these names."""
    return 2.6 + 0.2 * ceil(len(named) / _columns(named))


def _finish(axes: Axes, named: Sequence[Series | Level], highest: float) -> None:
    """Give the value axis its range and the picture its legend."""
    axes.set_ylim(0, min(1.0, ceil(5 * highest + 0.01) / 5))
    axes.grid(axis="y")
    legend(axes, _columns(named))


def _told(lines: Sequence[Series]) -> str:
    return "; ".join(f"{s.name}: " + ", ".join(f"{v:.2f} at {k}" for k, v in sorted(s.values.items())) for s in lines)

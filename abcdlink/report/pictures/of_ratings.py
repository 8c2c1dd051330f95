"""Pictures of ratings: how often each value was given, by criterion and kind of document."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from abcdlink.rate import HIGHEST, LOWEST, RatingSummary
from abcdlink.report.pictures.drawing import SERIES, picture


def rating_histograms(summaries: Sequence[RatingSummary]) -> dict[str, Markup]:
    """Draw a histogram for each criterion, kinds of documents side by side, in shares of their own ratings."""
    return {one.criterion: _histogram(one) for one in summaries}


def _histogram(one: RatingSummary) -> Markup:
    values = range(LOWEST, HIGHEST + 1)
    told = "; ".join(
        f"{kind}: " + ", ".join(f"{count} times {value}" for value, count in zip(values, counts, strict=True))
        for kind, counts in one.histogram.items()
    )
    parts: list[Markup] = []
    width = 0.8 / len(one.histogram)
    with picture(2.2, f"Ratings by {one.criterion}. {told}.", parts) as axes:
        for number, (kind, counts) in enumerate(one.histogram.items()):
            places = [value - 0.4 + width * (number + 0.5) for value in values]
            shares = [count / sum(counts) for count in counts]
            axes.bar(places, shares, width=width * 0.92, color=SERIES[number], label=kind.value)
            for place, share, count in zip(places, shares, counts, strict=True):
                axes.text(place, share + 0.01, str(count), ha="center", fontsize=9)
        axes.set_xticks(list(values))
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_ylim(0, 1.12 * max(count / sum(counts) for counts in one.histogram.values() for count in counts))
        axes.get_figure().legend(loc="outside lower center", ncol=len(one.histogram), frameon=False)  # type: ignore[union-attr]
    return parts[0]

"""Pictures of documents: how generated ones compare with natural ones, and how people rated them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from statistics import median, quantiles

from markupsafe import Markup

from abcdlink.corpus.counts import CorpusCounts
from abcdlink.rate import HIGHEST, LOWEST, RatingSummary
from abcdlink.report.pictures.drawing import INK, SERIES, picture
from abcdlink.report.pictures.of_agreement import name_rows
from abcdlink.validation import MEASURES, Validation


def _shares_of(one: CorpusCounts) -> dict[str, float]:
    """Return the shares that are drawn, by what they are of."""
    return {
        "source sentences\nwith links": one.linked_source_share or 0,
        "target sentences\nwith links": one.linked_target_share or 0,
        "links in clusters": one.clusters.percent / 100,
    }


def validation_pictures(validation: Validation) -> dict[str, Markup]:
    """Draw each measure of style as a distribution over the documents of each corpus, and shares of links as bars."""
    found = {}
    for name, title in MEASURES.items():
        values = {corpus: defined for corpus, style in validation.styles.items() if (defined := style.defined(name))}
        if values:
            found[title] = _distributions(title, values)
    linked = {name: counts for name, counts in validation.counts.items() if counts.links}
    if linked:
        found["links"] = _shares(linked)
    return found


def _distributions(title: str, values: Mapping[str, list[float]]) -> Markup:
    """Draw a row for each corpus: every document as a dot, the median, and the box of the middle half."""
    told = "; ".join(
        f"{name}: median {median(found):.2f}, from {min(found):.2f} to {max(found):.2f}, {len(found)} documents"
        for name, found in values.items()
    )
    parts: list[Markup] = []
    with picture(0.75 + 0.55 * len(values), f"{title} by corpus. {told}.", parts) as axes:
        axes.use_sticky_edges = False  # or the box hides what is left of it
        for row, ((_, found), colour) in enumerate(zip(values.items(), cycle(SERIES), strict=False)):
            # Spread evenly over the height of the row, in an order that has nothing to do with the value.
            heights = [row - 0.28 + 0.56 * ((number * 7) % 11) / 10 for number in range(len(found))]
            axes.scatter(found, heights, s=9, color=colour, alpha=0.45, linewidths=0)
            if len(found) > 1:
                low, _, high = quantiles(found, n=4, method="inclusive")
                axes.barh(row, high - low, left=low, height=0.62, facecolor="none", edgecolor=INK, linewidth=1.2)
            axes.plot([median(found)] * 2, [row - 0.31, row + 0.31], color=INK, linewidth=2.2)
        name_rows(axes, [f"{name}\n({len(found)})" for name, found in values.items()])
        axes.set_xlabel(title)
    return parts[0]


def _shares(counts: Mapping[str, CorpusCounts]) -> Markup:
    shares = {name: _shares_of(one) for name, one in counts.items()}
    told = "; ".join(
        f"{name}: {', '.join(f'{title} {value:.0%}' for title, value in found.items())}"
        for name, found in shares.items()
    ).replace("\n", " ")
    titles = list(next(iter(shares.values())))
    parts: list[Markup] = []
    height = 0.8 / len(counts)
    with picture(0.9 + 0.3 * len(titles) * (1 + len(counts)), f"Shares of sentences and links. {told}.", parts) as axes:
        for number, ((name, found), colour) in enumerate(zip(shares.items(), cycle(SERIES), strict=False)):
            for row, value in enumerate(found.values()):
                place = row - 0.4 + height * (number + 0.5)
                axes.barh(place, value, height=height * 0.9, color=colour, label=name if row == 0 else None)
                axes.text(value + 0.01, place, f"{value:.0%}", va="center")
        name_rows(axes, titles)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
        axes.get_figure().legend(loc="outside lower center", ncol=len(counts), frameon=False)  # type: ignore[union-attr]
    return parts[0]


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

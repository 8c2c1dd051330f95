"""Pictures of what people said about candidates and documents, and of how synthetic documents compare."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from math import nan
from statistics import median, quantiles

from markupsafe import Markup

from abcdlink.corpus.counts import CorpusCounts
from abcdlink.interannotator.acceptance import Acceptance
from abcdlink.interannotator.measures import Measures
from abcdlink.judgments import RANDOM
from abcdlink.rate import HIGHEST, LOWEST, RatingSummary
from abcdlink.report.pictures import INK, LINE, SERIES, SOFT, legend, name_rows, percent_axis, picture
from abcdlink.validation import MEASURES, Validation


def acceptance_bars(acceptance: Mapping[str, Acceptance], title: str = "Acceptance rate by method") -> Markup:
    """Draw the acceptance rate of each method, or of several combined, with its 95 % interval."""
    told = "; ".join(
        f"{method}: {one.accepted} of {one.candidates}, {one.rate:.0%} "
        f"(interval {one.interval[0]:.0%} to {one.interval[1]:.0%})"
        for method, one in acceptance.items()
    )
    with picture(0.5 + 0.42 * len(acceptance), f"{title}. {told}.") as (axes, parts):
        for row, ((method, one), colour) in enumerate(zip(acceptance.items(), cycle(SERIES), strict=False)):
            axes.barh(row, one.rate, height=0.56, color=SOFT if method == RANDOM else colour)
            axes.plot(one.interval, [row, row], color=INK, linewidth=1.6, marker="|", markersize=9)
            axes.text(1.04, row, f"{one.rate:.0%}  ({one.accepted}/{one.candidates})", va="center")
        name_rows(axes, list(acceptance))
        percent_axis(axes)
    return parts[0]


def links_by_annotator(links: Mapping[str, Mapping[str, int]]) -> Markup:
    """Draw how many candidates of each method each annotator calls a link."""
    annotators = list(dict.fromkeys(name for said in links.values() for name in said))
    told = "; ".join(f"{method}: " + ", ".join(f"{n} {c}" for n, c in said.items()) for method, said in links.items())
    height = 0.8 / max(len(annotators), 1)
    most = max((count for said in links.values() for count in said.values()), default=0) or 1
    with picture(1 + 0.62 * len(links), f"Labelled links by method and annotator. {told}.") as (axes, parts):
        for number, (annotator, colour) in enumerate(zip(annotators, cycle(SERIES), strict=False)):
            rows = [row + height * (number - (len(annotators) - 1) / 2) for row in range(len(links))]
            counts = [said.get(annotator, 0) for said in links.values()]
            axes.barh(rows, counts, height=0.9 * height, color=colour, label=annotator)
            for row, count in zip(rows, counts, strict=True):
                axes.text(count + 0.01 * most, row, str(count), va="center")
        name_rows(axes, list(links))
        axes.set_xlim(0, 1.1 * most)
        axes.set_xlabel("candidates called a link")
        legend(axes)
    return parts[0]


def agreement_by_document(documents: Mapping[str, Measures]) -> Markup:
    """Draw kappa and raw agreement of each document (pair), in the order in which they were judged."""
    from matplotlib.ticker import MaxNLocator

    kappas, observed = ([getattr(one, what) for one in documents.values()] for what in ("kappa", "observed"))
    told = "; ".join(f"{number}: {_kappa_in_words(one)}" for number, one in enumerate(documents.values(), start=1))
    places = range(1, len(documents) + 1)
    with picture(3.0, f"Agreement over documents: kappa. {told}.") as (axes, parts):
        axes.axhline(0, color=LINE, linewidth=1.4)
        for values, colour, line, name in ((kappas, SERIES[0], "-", "kappa"), (observed, SERIES[1], ":", "agreement")):
            drawn = [nan if value is None else value for value in values]
            axes.plot(places, drawn, color=colour, linestyle=line, linewidth=1.8, marker="o", markersize=5, label=name)
        axes.set_xlabel("documents, as judged")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(min(0, *(value for value in kappas if value is not None), 0) - 0.02, 1.02)
        axes.grid(axis="y")
        legend(axes)
    return parts[0]


def kappa_intervals(rows: Mapping[str, Measures]) -> Markup:
    """Draw kappa with its 95 % interval for each row (all, a batch); says where it is undefined."""
    told = "; ".join(f"{name}: {_kappa_in_words(one)}" for name, one in rows.items())
    lows = [one.interval[0] if one.interval else one.kappa or 0 for one in rows.values()]
    with picture(0.8 + 0.4 * len(rows), f"Kappa by batch. {told}.") as (axes, parts):
        axes.axvline(0, color=LINE, linewidth=1.4)
        for row, (one, colour) in enumerate(zip(rows.values(), cycle(SERIES), strict=False)):
            if one.kappa is None:
                axes.text(0.03, row, one.note, va="center", color=SOFT)
                continue
            if one.interval:
                axes.plot(one.interval, [row, row], color=colour, linewidth=3, solid_capstyle="round")
            axes.plot([one.kappa], [row], color=colour, marker="o", markersize=9)
            axes.text(1.04, row, f"{one.kappa:.2f}  (n = {one.judged})", va="center")
        name_rows(axes, list(rows))
        axes.set_xlim(min(0, *lows) - 0.02, 1)
        axes.set_xlabel("kappa (0: chance, 1: full agreement)")
    return parts[0]


def _kappa_in_words(one: Measures) -> str:
    if one.kappa is None:
        return one.note
    interval = f" (interval {one.interval[0]:.2f} to {one.interval[1]:.2f})" if one.interval else ""
    return f"{one.kappa:.2f}{interval} over {one.judged} candidates"


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
    with picture(0.75 + 0.55 * len(values), f"{title} by corpus. {told}.") as (axes, parts):
        axes.use_sticky_edges = False  # otherwise the box hides what is left of it
        for row, ((_, found), colour) in enumerate(zip(values.items(), cycle(SERIES), strict=False)):
            # Spread evenly over the height of the row, in an order unrelated to the value.
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
    height = 0.8 / len(counts)
    size = 0.9 + 0.3 * len(titles) * (1 + len(counts))
    with picture(size, f"Shares of sentences and links. {told}.") as (axes, parts):
        for number, ((name, found), colour) in enumerate(zip(shares.items(), cycle(SERIES), strict=False)):
            for row, value in enumerate(found.values()):
                place = row - 0.4 + height * (number + 0.5)
                axes.barh(place, value, height=height * 0.9, color=colour, label=name if row == 0 else None)
                axes.text(value + 0.01, place, f"{value:.0%}", va="center")
        name_rows(axes, titles)
        percent_axis(axes)
        legend(axes, len(counts))
    return parts[0]


def rating_histogram(one: RatingSummary) -> Markup:
    """Draw the ratings by one criterion, kinds of documents side by side, in shares of their own ratings."""
    values = range(LOWEST, HIGHEST + 1)
    told = "; ".join(
        f"{kind}: " + ", ".join(f"{count} times {value}" for value, count in zip(values, counts, strict=True))
        for kind, counts in one.histogram.items()
    )
    width = 0.8 / len(one.histogram)
    with picture(2.2, f"Ratings by {one.criterion}. {told}.") as (axes, parts):
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
        legend(axes, len(one.histogram))
    return parts[0]

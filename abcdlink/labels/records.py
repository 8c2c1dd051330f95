"""The plan and the results so far of labelling a corpus."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from abcdlink.corpus.records import Record, Refusal
from abcdlink.labels.parts import Histogram, LabelSampling, PartCounts


class LabelPlan(Record):
    """How the labelling of one corpus is divided; stored in the run, so that it can be continued.

    ``digest``: of the corpus's files; ``model``: SHA-256 of the linker's file; ``parts``: first and last pair (not
    included) of each part, by their numbers in the corpus.
    """

    corpus: str
    digest: str
    linker: str
    model: str
    sampling: LabelSampling
    parts: tuple[tuple[int, int], ...]


class PartResult(Record):
    """The results and the effort of one part. ``rows``: kept in its table of ``size`` bytes."""

    counts: PartCounts
    rows: int
    size: int
    seconds: float


class Drift(Record):
    """How the linker's probabilities here differ from those on the synthetic pairs it was fitted on, out of fold.

    ``distance``: largest difference between the cumulative distributions of the sources' best probabilities
    (Kolmogorov-Smirnov), 0 to 1. The others: on the synthetic pairs, and here.
    """

    distance: float
    links_per_source: tuple[float, float]
    sources_with_likely_link: tuple[float, float] = Field(
        description="share of the sources whose best target has a probability of at least one half"
    )

    @classmethod
    def between(cls, fitted: Histogram, here: Histogram) -> Drift:
        """Compare two histograms, both with sources."""
        both = [np.array(one.best) / sum(one.best) for one in (fitted, here)]
        distance = np.abs(np.cumsum(both[0]) - np.cumsum(both[1])).max()
        half = len(fitted.best) // 2
        return cls(
            distance=float(distance),
            links_per_source=(
                fitted.expected_links / sum(fitted.best),
                here.expected_links / sum(here.best),
            ),
            sources_with_likely_link=(float(both[0][half:].sum()), float(both[1][half:].sum())),
        )

    @property
    def words(self) -> str:
        """Say it in a sentence."""
        fitted, here = self.links_per_source
        return (
            f"Links expected for each source: {here:.2f} here, {fitted:.2f} on the pairs the linker was fitted on "
            f"(distance of the distributions: {self.distance:.2f})."
        )


class Labels(Record):
    """The results so far of labelling a corpus.

    All expectations come from the linker's own probabilities, which an audit by people checks. ``parts``: finished
    parts, and all. ``rows``: kept in the tables, whose ``size`` is in bytes. ``expected_links``: sum of the
    probabilities. ``threshold``: the lowest probability above which the mean probability is the wanted precision;
    ``None``: no threshold reaches it. ``links``: pairs of sentences from the threshold up. ``refused``: pairs and
    documents that were left out; the files of the parts name all of them, with the reasons. ``seconds``: what the
    finished parts took. ``drift``: against the pairs that the linker was fitted on; ``None`` when the run has no
    rankings of these.
    """

    run: str
    name: str
    corpus: str
    linker: str
    fitted_on: str
    parts: tuple[int, int]
    pairs: int
    sources: int
    candidates: int
    rows: int
    expected_links: float
    expected_below_floor: float
    precision: float
    threshold: float | None
    links: int
    expected_precision: float | None
    expected_recall: float | None
    refused: int
    examples: tuple[Refusal, ...]
    seconds: float
    size: int
    pairs_to_go: int
    drift: Drift | None

    @property
    def complete(self) -> bool:
        """Whether all parts are finished."""
        return self.parts[0] == self.parts[1]

    @property
    def counted(self) -> list[tuple[str, str]]:
        """What was counted, in words."""
        rows = [
            ("pairs labelled", f"{self.pairs:,}"),
            ("source sentences", f"{self.sources:,}"),
            ("candidates (pairs of sentences)", f"{self.candidates:,}"),
            ("expected links", f"{self.expected_links:,.0f}"),
        ]
        if self.threshold is not None:
            rows.append((f"links from probability {self.threshold:.3f} up", f"{self.links:,}"))
        return [*rows, ("refused pairs and documents", f"{self.refused:,}")] if self.refused else rows

    @property
    def text(self) -> str:
        """``lines`` as one text."""
        return " ".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """What to know about these labels, in sentences."""
        lines = []
        if not self.complete:
            lines.append(f"{self.parts[0]} of {self.parts[1]} parts are finished; {self.pairs_to_go:,} pairs remain.")
            if self.seconds_to_go is not None and self.size_in_the_end is not None:
                speed, whole = self.pairs / self.seconds, self.size_in_the_end / 1e6
                lines.append(
                    f"At {speed:,.3g} pairs per second, that takes {self.seconds_to_go / 60:,.1f} more minutes. "
                    f"The tables will have {whole:,.1f} MB in all."
                )
        if self.threshold is None:
            lines.append(f"No threshold reaches an expected precision of {self.precision:.0%}.")
        elif self.expected_precision is not None and self.expected_recall is not None:
            lines.append(
                f"Expected of the links: precision {self.expected_precision:.1%}, recall {self.expected_recall:.1%}, "
                "by the linker's own probabilities. Have a sample judged to check: "
                f"`abcdlink labels audit {self.run} {self.name}`."
            )
        if self.drift:
            lines.append(self.drift.words)
        return lines

    @property
    def seconds_to_go(self) -> float | None:
        """Expected seconds of the unfinished parts, by what a pair took so far; ``None``: none is finished."""
        return self.seconds / self.pairs * self.pairs_to_go if self.pairs else None

    @property
    def size_in_the_end(self) -> float | None:
        """Expected bytes of all tables; ``None``: no part is finished."""
        return self.size / self.pairs * (self.pairs + self.pairs_to_go) if self.pairs else None

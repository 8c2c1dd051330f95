"""What comes out of a reproduction, and what collects it."""

from __future__ import annotations

from abcdlink.corpus.records import Record


class Figure(Record):
    """One figure of the paper and ours, both in the paper's unit.

    ``ours`` has full precision. ``paper``: ``None`` where the paper's figure is not at hand. ``difference``: ours,
    rounded to the paper's ``decimals``, minus the paper's; ``None`` where there is nothing to compare with, or ours is
    of other data, which ``remark`` then tells.
    """

    table: str
    dataset: str
    row: str
    measure: str
    ours: float
    paper: float | None
    decimals: int
    difference: float | None
    remark: str = ""


class Missing(Record):
    """Something of the paper that was not computed, and why."""

    table: str
    dataset: str
    what: str
    reason: str


class Reproduction(Record):
    """All figures that could be computed and all that could not, with what to know about them."""

    figures: tuple[Figure, ...]
    missing: tuple[Missing, ...]
    notes: tuple[str, ...]

    @property
    def compared(self) -> tuple[Figure, ...]:
        """The figures that are of the paper's own data."""
        return tuple(figure for figure in self.figures if figure.difference is not None)

    @property
    def equal(self) -> int:
        """How many compared figures are the paper's to its last printed digit."""
        return sum(figure.difference == 0 for figure in self.compared)


class Place:
    """Collects the figures of one table on one data set, and what is missing there.

    Args:
        figures: list that figures are added to.
        missing: list that missing things are added to.
        table: the table, as it is called in the file of the paper's figures.
        dataset: the data set, as the paper calls it.
        remark: why ours is of other data than the paper's; empty where it is of the same.
    """

    def __init__(
        self, figures: list[Figure], missing: list[Missing], table: str, dataset: str, remark: str = ""
    ) -> None:
        self._figures, self._missing = figures, missing
        self.table, self.dataset, self.remark = table, dataset, remark

    def compare(self, row: str, measure: str, ours: float, paper: float | None, decimals: int) -> None:
        """Add a figure; ``paper``: ``None`` where the paper's is not at hand."""
        difference: float | None = None
        if paper is not None and not self.remark:
            # Adding zero turns -0.0 into 0.0.
            difference = round(round(ours, decimals) - paper, decimals) + 0.0
        self._figures.append(
            Figure(
                table=self.table,
                dataset=self.dataset,
                row=row,
                measure=measure,
                ours=ours,
                paper=paper,
                decimals=decimals,
                difference=difference,
                remark=self.remark,
            )
        )

    def miss(self, what: str, reason: str) -> None:
        """Add something that could not be computed."""
        self._missing.append(Missing(table=self.table, dataset=self.dataset, what=what, reason=reason))

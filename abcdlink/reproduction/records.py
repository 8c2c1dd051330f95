"""The paper's printed figures, which are data and not part of this program, and what a reproduction makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from abcdlink.corpus.formats.files import read_json_object
from abcdlink.corpus.records import Record
from abcdlink.errors import InputError, fault_in

PAPER_FILE = "paper_tables.json"

Triple = tuple[float, float, float]


def _without_columns(table: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Drop the entry that names the columns of a table; the others are data sets."""
    return {key: value for key, value in table.items() if key != "columns"} if isinstance(table, dict) else table


ClusterRow = tuple[float, float, float, float, float]
"""Pairs, links, percent of the links that are in clusters, mean and largest size of a cluster."""

Significance = tuple[float, float, float, tuple[float, float], str]
"""F1 of the retriever and of it with the LLM, their difference, its interval (fractions of 1), and p as printed."""

RecallTable = Annotated[dict[str, dict[str, Triple]], BeforeValidator(_without_columns)]
"""Data set -> row -> (recall, precision, F1), in fractions of 1."""

ClusterTable = Annotated[dict[str, ClusterRow], BeforeValidator(_without_columns)]


class PaperTables(BaseModel):
    """The paper's tables by data set.

    ``retrieval``: retriever -> cutoff -> (precision, recall, F1) in percent. ``acceptance``: percent.
    ``retriever_llm``: base retriever -> (its best F1, F1 with the LLM) in percent. ``setups_by_mode``: model and
    set-up (``qwen listwise``) -> prompt mode -> F1 in percent.
    Other tables are allowed; they are in ``other``.
    """

    model_config = ConfigDict(extra="allow")

    retrieval: dict[str, dict[str, dict[int, Triple]]] = {}
    dataset_stats: dict[str, dict[str, float]] = {}
    acceptance: dict[str, dict[str, float]] = {}
    kappa: dict[str, dict[str, float]] = {}
    true_recall: RecallTable = {}
    true_recall_pool: RecallTable = {}
    link_clusters: ClusterTable = {}
    retriever_llm: dict[str, dict[str, tuple[float, float]]] = {}
    significance: dict[str, Significance] = {}
    setups_by_mode: dict[str, dict[str, dict[str, float]]] = {}

    @property
    def other(self) -> list[str]:
        """Names of tables that this program does not compute."""
        return [name for name, value in (self.model_extra or {}).items() if isinstance(value, dict)]


def read_paper_tables(folder: Path) -> PaperTables:
    """Read the figures from a folder of data.

    Raises:
        InputError: when the file is missing, or has no table or one that cannot be read.
    """
    path = folder / PAPER_FILE
    if not path.is_file():
        msg = f"{path} does not exist"
        raise InputError(msg, "give the folder with the paper's figures and, beside them, the data sets")
    try:
        tables = PaperTables.model_validate(read_json_object(path))
    except ValidationError as error:
        msg = f"{path} does not fit: {fault_in(error)}"
        raise InputError(msg, "see abcdlink/reproduction/records.py for its content") from None
    if not tables.model_fields_set & PaperTables.model_fields.keys():
        msg = f"{path} has none of the tables {', '.join(PaperTables.model_fields)}"
        raise InputError(msg, "see abcdlink/reproduction/records.py for its content")
    return tables


class Figure(Record):
    """One figure of the paper and ours, both in the paper's unit.

    ``ours`` has full precision. ``paper``: ``None`` where the paper's figure is not at hand. ``difference``: ours,
    rounded to the paper's ``decimals``, minus the paper's; ``None`` where there is nothing to compare with, or ours is
    of other data, as ``remark`` then says.
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
        """The figures on the paper's own data."""
        return tuple(figure for figure in self.figures if figure.difference is not None)

    @property
    def equal(self) -> int:
        """How many compared figures equal the paper's to the last printed digit."""
        return sum(figure.difference == 0 for figure in self.compared)


class PaperTable:
    """Collects the figures of one table on one data set, and what is missing there.

    ``table``, ``dataset``: as the paper calls them. ``remark``: why ours is of other data; empty where it is not.
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

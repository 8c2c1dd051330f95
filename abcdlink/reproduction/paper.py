"""Reads the paper's printed figures, which are data and not part of this program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from abcdlink.corpus.formats.files import read_json_object
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
        InputError: when the file is missing, or holds no table or one that cannot be read.
    """
    path = folder / PAPER_FILE
    if not path.is_file():
        msg = f"{path} does not exist"
        raise InputError(msg, "give the folder with the paper's figures and, beside them, the data sets")
    try:
        tables = PaperTables.model_validate(read_json_object(path))
    except ValidationError as error:
        msg = f"{path} does not fit: {fault_in(error)}"
        raise InputError(msg, "see abcdlink/reproduction/paper.py for its content") from None
    if not tables.model_fields_set & PaperTables.model_fields.keys():
        msg = f"{path} has none of the tables {', '.join(PaperTables.model_fields)}"
        raise InputError(msg, "see abcdlink/reproduction/paper.py for its content")
    return tables

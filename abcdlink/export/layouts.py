"""In which layouts a data set can be written."""

from __future__ import annotations

from enum import StrEnum


class ExportFormat(StrEnum):
    """A layout of the data set; its files lie below ``dataset/`` in the run."""

    JSONL = "jsonl"
    """``links.jsonl``: one ``LabelledCandidate`` a line."""
    PARQUET = "parquet"
    """``links.parquet``: the same as a table."""
    CSV = "csv"
    """``annotations.csv``: the columns of the released REVIEWS-HE table."""
    ABCD_LINK = "abcd-link"
    """``abcd-link/``: ``docs.json`` and ``dataset_links.json`` as in the released corpora, links only."""
    HUGGINGFACE = "huggingface"
    """``huggingface/``: Parquet files and a data card, as ``datasets.load_dataset`` takes them."""
    UIMA = "uima"
    """``uima/``: one UIMA CAS XMI per pair and their type system, which INCEpTION opens."""
    BRAT = "brat"
    """``brat/``: one text with standoff annotations per pair."""

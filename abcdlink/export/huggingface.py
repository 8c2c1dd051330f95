"""A Hugging Face data set folder: Parquet files and a data card; ``datasets.load_dataset(folder)`` loads it."""

from __future__ import annotations

from abcdlink.export.card import card
from abcdlink.export.dataset import Dataset, Files
from abcdlink.export.parquet import as_parquet, links_table, sentences_table

FOLDER = "huggingface"


def files(dataset: Dataset) -> Files:
    """Return ``README.md``, the judged candidates and the sentences of their documents.

    Raises:
        InputError: when the run's domain, whose guidelines the card shows, is not found.
    """
    return Files(
        {
            f"{FOLDER}/data/links.parquet": as_parquet(links_table(dataset.candidates)),
            f"{FOLDER}/data/sentences.parquet": as_parquet(sentences_table(dataset)),
            f"{FOLDER}/README.md": card(dataset).encode(),
        }
    )

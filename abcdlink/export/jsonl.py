"""JSON Lines: one ``LabelledCandidate`` a line."""

from __future__ import annotations

from abcdlink.export.dataset import Dataset, Files


def files(dataset: Dataset) -> Files:
    """Return ``links.jsonl``."""
    text = "".join(candidate.model_dump_json() + "\n" for candidate in dataset.candidates)
    return Files({"links.jsonl": text.encode()})

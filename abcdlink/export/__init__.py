"""The labelled data set of a run, in the layouts that other programs read: one module per layout."""

from abcdlink.export.candidates import LabelledCandidate, labelled_candidates
from abcdlink.export.layouts import ExportFormat
from abcdlink.export.write import Exported, export_dataset
from abcdlink.judgments import LabelRule, Provenance

__all__ = [
    "ExportFormat",
    "Exported",
    "LabelRule",
    "LabelledCandidate",
    "Provenance",
    "export_dataset",
    "labelled_candidates",
]

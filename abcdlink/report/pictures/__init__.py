"""Pictures of a report."""

from abcdlink.report.pictures.drawing import as_file, as_image
from abcdlink.report.pictures.of_agreement import (
    acceptance_bars,
    agreement_by_document,
    kappa_intervals,
    links_by_annotator,
)
from abcdlink.report.pictures.of_benchmark import benchmark_pictures
from abcdlink.report.pictures.of_documents import rating_histograms, validation_pictures
from abcdlink.report.pictures.of_llms import quality_against_cost
from abcdlink.report.pictures.over_time import pictures_over_time, yield_curve

__all__ = [
    "acceptance_bars",
    "agreement_by_document",
    "as_file",
    "as_image",
    "benchmark_pictures",
    "kappa_intervals",
    "links_by_annotator",
    "pictures_over_time",
    "quality_against_cost",
    "rating_histograms",
    "validation_pictures",
    "yield_curve",
]

"""How far annotators agree, and how many of each method's candidates they accept."""

from abcdlink.interannotator.details import Details, PairsNeeded, by_document, details, pairs_needed
from abcdlink.interannotator.groups import required_judgments
from abcdlink.interannotator.measures import Acceptance, Agreement, Estimate, Measures, fleiss_kappa, krippendorff_alpha
from abcdlink.interannotator.over_time import (
    BatchParts,
    Curve,
    Difference,
    Point,
    Unit,
    batch_differences,
    by_position,
    difference,
    learning_curve,
)
from abcdlink.interannotator.reading import JudgmentFile, read_judgment_file, read_judgments
from abcdlink.interannotator.summary import agreement
from abcdlink.interannotator.times import Times, times_of

__all__ = [
    "Acceptance",
    "Agreement",
    "BatchParts",
    "Curve",
    "Details",
    "Difference",
    "Estimate",
    "JudgmentFile",
    "Measures",
    "PairsNeeded",
    "Point",
    "Times",
    "Unit",
    "agreement",
    "batch_differences",
    "by_document",
    "by_position",
    "details",
    "difference",
    "fleiss_kappa",
    "krippendorff_alpha",
    "learning_curve",
    "pairs_needed",
    "read_judgment_file",
    "read_judgments",
    "required_judgments",
    "times_of",
]

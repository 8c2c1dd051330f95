"""How far annotators agree, and how many of each method's candidates they accept."""

from abcdlink.agreement.curve import Curve, Point, Unit, learning_curve
from abcdlink.agreement.details import Details, by_document, details
from abcdlink.agreement.differences import Difference, batch_differences, difference
from abcdlink.agreement.groups import required_judgments
from abcdlink.agreement.multiple import fleiss_kappa, krippendorff_alpha
from abcdlink.agreement.positions import BatchParts, by_position
from abcdlink.agreement.reading import JudgmentFile, read_judgment_file, read_judgments
from abcdlink.agreement.records import Acceptance, Agreement, Estimate, Measures
from abcdlink.agreement.stopping import PairsNeeded, pairs_needed
from abcdlink.agreement.summary import agreement
from abcdlink.agreement.times import Times, times_of

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

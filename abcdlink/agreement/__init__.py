"""How far annotators agree, and how many of each method's candidates they accept."""

from abcdlink.agreement.reading import JudgmentFile, read_judgment_file, read_judgments
from abcdlink.agreement.records import Acceptance, Agreement, Measures
from abcdlink.agreement.summary import agreement, required_judgments

__all__ = [
    "Acceptance",
    "Agreement",
    "JudgmentFile",
    "Measures",
    "agreement",
    "read_judgment_file",
    "read_judgments",
    "required_judgments",
]

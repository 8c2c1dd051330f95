"""Whether a synthetic corpus looks like natural documents: style, links, and what is out of bounds."""

from abcdlink.validation.compare import StyleDifference, Validation, validate
from abcdlink.validation.style import MEASURES, Style, style_of

__all__ = ["MEASURES", "Style", "StyleDifference", "Validation", "style_of", "validate"]

"""Real servers, one of each for the whole test session."""

from __future__ import annotations

import sys

from tests.integration.label_studio_server import ROOT, label_studio
from tests.integration.stack import stack

# The fake LLM of the unit tests finds its own parts there.
sys.path.append(str(ROOT / "tests" / "unit"))

__all__ = ["label_studio", "stack"]

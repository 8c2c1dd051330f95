"""Real servers, one of each for the whole test session."""

from __future__ import annotations

from tests.integration.label_studio_server import label_studio

__all__ = ["label_studio"]

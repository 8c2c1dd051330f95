"""Tests, one folder per tier; shared code is in ``helpers``."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The repository."""

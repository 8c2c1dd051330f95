"""The look that the pages of all kinds of projects share."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

STYLE = Path(__file__).with_name("style.css")

STYLE_TAG = "<Style>"
"""Every label config has this element, for what only its own page needs."""


@cache
def with_style(label_config: str) -> str:
    """Return a label config (XML) with the rules of ``style.css`` before those of its own ``<Style>``."""
    rules = escape(STYLE.read_text(encoding="utf-8"))
    return label_config.replace(STYLE_TAG, f"{STYLE_TAG}\n{rules}", 1)

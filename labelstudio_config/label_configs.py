"""Label configs: the page of each kind of project (its ``config.xml``), and the look that all of them share."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

STYLE = Path(__file__).with_name("style.css")

STYLE_TAG = "<Style>"
"""Every label config has this element, for what only its own page needs."""


@cache
def label_config(kind: str) -> str:
    """Return the label config (XML) of a kind of project, by its folder: what people see and decide."""
    return Path(__file__).with_name(kind).joinpath("config.xml").read_text(encoding="utf-8")


@cache
def with_style(page: str) -> str:
    """Return a label config (XML) with the rules of ``style.css`` before those of its own ``<Style>``."""
    rules = escape(STYLE.read_text(encoding="utf-8"))
    return page.replace(STYLE_TAG, f"{STYLE_TAG}\n{rules}", 1)

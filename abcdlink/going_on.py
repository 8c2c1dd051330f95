"""What is going on in a run, in lines that people read: as text and as Markdown."""

from __future__ import annotations

from datetime import datetime

from abcdlink.corpus.records import Record
from abcdlink.waiting import WaitsFor


class Line(Record):
    """One sentence without its full stop; ``link``: what to open or send; ``command``: what to type."""

    text: str
    link: str = ""
    command: str = ""

    def plain(self) -> str:
        """Return it as text."""
        return f"{self.text}: {self.link or self.command}" if self.link or self.command else f"{self.text}."

    def markdown(self) -> str:
        """Return it as Markdown."""
        if self.link:
            return f"{self.text}: <{self.link}>"
        return f"{self.text}: `{self.command}`" if self.command else f"{self.text}."


class Item(Record):
    """One thing that is going on in a run: what, how far and for whom, and what to do next."""

    flow: str
    kind: WaitsFor
    headline: str
    lines: tuple[Line, ...] = ()


class WhatNow(Record):
    """Where a run is. ``since``: when that began."""

    run: str
    items: tuple[Item, ...]
    since: datetime | None = None

    @property
    def headline(self) -> str:
        """All that is going on, in one line."""
        return "; ".join(item.headline for item in self.items)

    def plain(self) -> list[str]:
        """Return all lines as text; those of an item are indented."""
        return [
            line for item in self.items for line in (f"{item.headline}.", *(f"  {one.plain()}" for one in item.lines))
        ]

    def markdown(self) -> str:
        """Return it as Markdown."""
        parts = [f"# What now: {self.run}"]
        for item in self.items:
            parts += [f"**{item.headline}.**", "\n".join(f"- {line.markdown()}" for line in item.lines)]
        return "\n\n".join(filter(None, parts))

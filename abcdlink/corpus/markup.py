"""Texts with HTML in them: tags go, blocks become paragraphs, rows of tables become lines, entities are decoded."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

from abcdlink.languages import END

ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
"""An HTML entity with its semicolon; without one, ``?a=1&copy=2`` would turn into a copyright sign."""

MARKUP = re.compile(r"<(?:/p|/div|/li|/h[1-6]|/td|/body|br\s*/?)>", re.IGNORECASE)
"""What tells that a text is HTML."""
BLOCKS = re.compile(
    r"article|blockquote|br|d[dlt]|details|div|figcaption|h[1-6]|header|footer|li|p|section|summary|t[dhr]"
)
TAGS = re.compile(
    r"a|abbr|acronym|aside|b|base|big|body|button|caption|center|cite|code|col|colgroup|del|dfn|em|figure|font|form|frame|hr"
    r"|html|i|iframe|img|input|ins|kbd|label|link|main|mark|meta|nav|noscript|ol|option|picture|pre|q|s|samp|select|small"
    r"|source|span|strike|strong|sub|sup|svg|table|tbody|textarea|tfoot|thead|time|title|tt|u|ul|var|video|wbr|\w+:\w+"
)
"""Tags besides blocks: what else stands in angle brackets, such as ``<host>`` or ``<ada@example.org>``, is text."""
CELLS = frozenset(("td", "th"))
HIDDEN = frozenset(("script", "style", "head"))
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def without_tags(text: str) -> str:
    """Return the text of an HTML page or a piece of one: blocks become paragraphs; scripts and styles go."""
    reader = _Page()
    reader.feed(text)
    reader.close()
    return "".join(reader.parts)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[str] = []
        self._hidden = 0
        self._cells: list[tuple[str, int]] = []
        """Of the row that is open: ``td`` or ``th`` of each cell, and where in ``parts`` it begins."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - as it is called
        if self._is_text(tag):
            self.handle_data(self.get_starttag_text() or "")
            return
        self._hidden = 0 if tag == "body" else self._hidden + (tag in HIDDEN)
        self._break(tag)
        if tag in {"table", "tr"}:
            self._cells = []
        elif tag in CELLS:
            self._cells.append((tag, len(self.parts)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag != "br":  # one break, however it is written
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._is_text(tag):
            self.handle_data(f"</{tag}>")
            return
        self._hidden = max(0, self._hidden - (tag in HIDDEN))
        if tag == "tr":
            self._end_row()
        self._break(tag)

    def _end_row(self) -> None:
        """Make one line of a row without sentences of two words or more in its cells; others stay paragraphs."""
        starts = [start for _, start in self._cells]
        ends = [*starts[1:], len(self.parts)]
        cells = ["".join(self.parts[start:end]).strip() for start, end in zip(starts, ends, strict=False)]
        cells = [cell for cell in cells if cell]
        if len(cells) > 1 and not any("\n" in cell or (" " in cell and END.search(cell)) for cell in cells):
            bar = "||" if all(tag == "th" for tag, _ in self._cells) else "|"
            self.parts[starts[0] :] = [f"{bar} {f' {bar} '.join(cells)} {bar}"]
        self._cells = []

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")

    def _is_text(self, tag: str) -> bool:
        return not (TAGS.fullmatch(tag) or tag in HIDDEN or BLOCKS.fullmatch(tag))

    def _break(self, tag: str) -> None:
        if BLOCKS.fullmatch(tag):
            self.parts.append("\n" if tag == "br" else "\n\n")


def decode_entities(text: str) -> str:
    """Replace the HTML entities in a text once, so that ``&amp;lt;`` becomes ``&lt;``; unknown ones stay."""
    return ENTITY.sub(lambda match: html.unescape(match.group()), text)

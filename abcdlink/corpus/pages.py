"""What stands on the pages of a text besides the text: numbers, running heads and feet, tables of contents."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from abcdlink.corpus.lines import PAGE, TABLE_OF_CONTENTS, Lines
from abcdlink.languages import END, begins_small

NUMBERED_PAGE = re.compile(
    r"^\W{0,3}(?:page|p\.|seite|s\.|p[áa]gina|blz\.?|sida|side|strona)\s*\d{1,5}(?:\s*(?:of|von|de|sur|di|van|av|/)\s*\d{1,5})?\W{0,3}$"
    r"|^[-–—]\s*\d{1,5}\s*[-–—]$",  # noqa: RUF001 - dashes around a page number
    re.IGNORECASE,
)
RUNNING = re.compile(r"^(?P<first>\d{1,5})(?:\s{2,}|\t)(?P<text>\S.*)$|^(?P<left>\S.*?)(?:\s{2,}|\t)(?P<last>\d{1,5})$")
SIDES = 2
BARE_NUMBER = re.compile(r"^\d{1,5}$")
FIRST_NUMBER, LAST_NUMBER = (
    re.compile(r"(\d{1,5})\b"),
    re.compile(r"\b(\d{1,5})(?:\s?(?:/|\b[a-z]{1,3}\b)\s?\d{1,5})?\W*$"),
)
ROMAN = re.compile(r"[ivxl]{1,6}")
MOST_SPACES = 2
DEEPEST_HEAD = 3
"""Lines of a running head or foot."""
DOTS, CONTENTS = "....", re.compile(r"(?:\.\s?){4,}\s*(?:\d{1,4}|[ivxl]{1,6})$")
INDENTED = 8
"""Blanks before a number from which it is set apart from the text."""


def remove_heads(lines: Lines) -> None:
    """Remove numbers, heads and feet of pages, and tables of contents."""
    heads: dict[str, list[tuple[int, int]]] = {}
    """Text of a head -> its lines, each with the number of its page."""
    for number, raw in list(lines.left()):
        line = raw.strip()
        if NUMBERED_PAGE.match(line):
            lines.remove(number, PAGE)
        elif DOTS in line.replace(" ", "") and CONTENTS.search(line):
            lines.remove(number, TABLE_OF_CONTENTS)
        elif BARE_NUMBER.match(line) and _stands_alone(lines, number):
            heads.setdefault("", []).append((number, int(line)))
        elif head := RUNNING.match(line):
            name = (head["text"] or head["left"]).casefold()
            heads.setdefault(name, []).append((number, int(head["first"] or head["last"])))
    for found in heads.values():
        if _count_pages(found):
            for number, _ in found:
                lines.remove(number, PAGE)
    for depth in range(DEEPEST_HEAD if lines.page_starts else 0):
        _edges(lines, depth)


def _edges(lines: Lines, depth: int) -> None:
    """Remove first and last lines of pages that another page begins or ends with, but for the number of the page.

    ``depth``: lines at the edges that may be gone; what is behind these, and what ends a sentence, may also be text
    that is alike by chance, and goes only where it is on most pages.
    """
    starts = sorted(lines.page_starts)
    tops, feet = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    left = [(number, line, bisect_right(starts, number)) for number, line in lines.left()]
    for (before, last, page), (number, first, following) in pairwise(left):
        if page != following:
            for key in _without_number(last, page):
                feet[key].append(before)
            for key in _without_number(first, following):
                tops[key].append(number)
    if left:
        number, last, page = left[-1]
        for key in _without_number(last, page):
            feet[key].append(number)
    most = 1 + len(starts) // 2
    for numbers in (*tops.values(), *feet.values()):
        may_be_text = depth or END.search(lines.texts[numbers[0]].rstrip())
        least = max(3, most) if may_be_text else 2
        for number in numbers if len(numbers) >= least else ():
            lines.remove(number, PAGE)


def _without_number(line: str, page: int) -> Iterator[str]:
    """Yield what a head has in common with those of other pages: all of it, or all but a number that goes up."""
    text = line.strip().casefold()
    if begins_small(line.strip()) and text.count(" ") > MOST_SPACES:  # a sentence that goes on
        return
    yield text
    for found in filter(None, (FIRST_NUMBER.match(text), LAST_NUMBER.search(text))):
        yield f"{text[: found.start()]}#{int(found[1]) - page}{text[found.end() :]}"
    if ROMAN.fullmatch(text):
        yield "#"


def _count_pages(found: list[tuple[int, int]]) -> bool:
    """Tell whether numbers go up by one, or by two where the other side of a sheet has another head."""
    return len(found) > 1 and all(0 < later - page <= SIDES for (_, page), (_, later) in pairwise(found))


def _stands_alone(lines: Lines, number: int) -> bool:
    around = (lines.texts[other] for other in (number - 1, number + 1) if 0 <= other < len(lines.texts))
    indent = len(lines.texts[number]) - len(lines.texts[number].lstrip())
    return indent >= INDENTED or number in lines.page_starts or not any(text.strip() for text in around)

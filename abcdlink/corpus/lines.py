"""The lines of a plain text, what is removed from them and why, and what is left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from abcdlink.languages import END, begins_small

PAGE, CODE, QUOTED, SIGNATURE, HEADER = "page number or running head", "code", "quoted mail", "signature", "mail header"
TRACE, CUE, STAMP, RULE = "stack trace or log", "cue of a subtitle", "time stamp", "rule"
FRONT, PICTURE, HEAD, AGAIN = "front matter", "picture", "head of a table", "repeats the line before"
TABLE_OF_CONTENTS = "table of contents"

LINE = re.compile("\r\n|[\r\n\f\u2028\u2029]")
TAG = re.compile(r"</?(?:v|c|i|b|u|ruby|rt|lang)(?:[.\s][^>]*)?>|<(?:\d+:)?\d\d:\d\d\.\d{3}>")


class Rest(NamedTuple):
    """A text without its leftovers, and these: number of the line from 1, text, reason."""

    text: str
    removed: list[tuple[int, str, str]]


class Lines:
    """The lines of a text, and what is removed from them."""

    def __init__(self, text: str) -> None:
        self.whole = text
        self.texts = LINE.split(text)
        ends = [match.group() for match in LINE.finditer(text)]
        self.page_starts = {number + 1 for number, end in enumerate(ends) if end == "\f"}
        self.has_cues = False
        self.gone: dict[int, str] = {}
        self.cut: dict[int, tuple[str, str, str]] = {}
        """Line -> its beginning that goes, why, and what stands there instead."""

    def remove(self, number: int, why: str) -> None:
        """Remove a line, unless it is blank or gone."""
        if self.texts[number].strip():
            self.gone.setdefault(number, why)

    def left(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are there and not blank."""
        return ((n, line) for n, line in enumerate(self.texts) if n not in self.gone and line.strip())

    def rest(self) -> Rest:
        """Return what is left, and what was removed."""
        kept = [number for number, _ in self.left()]
        if not kept or not (self.gone or self.cut):
            return Rest(self.whole, [])
        made = [self.shown(kept[0])]
        for before, after in pairwise(kept):
            if number_of_breaks := self._breaks(before, after):
                made.append("\n" * number_of_breaks)
            made.append(self.shown(after))
        removed = [(number + 1, self.texts[number], why) for number, why in self.gone.items()]
        begun = {number: cut for number, cut in self.cut.items() if cut[0] and number not in self.gone}
        removed += [(number + 1, cut, why) for number, (cut, why, _) in begun.items()]
        return Rest("".join(made), sorted(removed))

    def shown(self, number: int) -> str:
        """Return what is left of a line."""
        cut, _, instead = self.cut.get(number, ("", "", ""))
        text = self.texts[number][len(cut) :]
        return instead + (TAG.sub("", text) if self.has_cues else text)

    def _breaks(self, before: int, after: int) -> int:
        """Return 1 where a line only goes on, 2 where a paragraph begins."""
        between = {self.gone.get(number, "") for number in range(before + 1, after)}
        _, why, instead = self.cut.get(after, ("", "", ""))
        if why == STAMP or instead:  # somebody else speaks
            return 2
        if CUE in between:
            return 1
        if PAGE in between:  # a sentence that goes on after the end of a page
            goes_on = begins_small(self.texts[after].lstrip()) and not END.search(self.texts[before].rstrip())
            return 1 if goes_on else 2
        return 2 if between else 1

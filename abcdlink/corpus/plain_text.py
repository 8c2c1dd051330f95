"""Turns plain text into documents: entities are decoded, leftovers removed, wrapped lines joined, sentences cut."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import islice, pairwise

from abcdlink.characters import without_hidden
from abcdlink.corpus.leftovers import LinePattern, without_leftovers
from abcdlink.corpus.lines import LINE
from abcdlink.corpus.marks import BULLETS, ROW, UNSPACED
from abcdlink.corpus.markup import COMMENT, MARKUP, decode_entities, without_tags
from abcdlink.corpus.records import NOTED, Document, Note, RemovedLine, Tally
from abcdlink.corpus.segmentation import Segmenter
from abcdlink.errors import InputError
from abcdlink.languages import END, begins_small

BULLET = re.compile(rf"(?:[–—*·‣{BULLETS}-]|\(?(?:\d{{1,3}}|[A-Za-z])[.)])\s")  # noqa: RUF001 - dashes that open list items
LATEX = re.compile(r"^[ \t]*\\(?:documentclass|begin\{document\})", re.MULTILINE)
MOST_LISTED = 100_000
"""Removed lines that are listed; of more, only the number is known."""
SUSPENDED = re.compile(r"(?:and|or|und|oder|bzw\.|sowie|et|ou|en|of|y|o|e|och|og|eller)\s")
"""A word behind a hyphen that stands for the end of a later word: ``Schul- und Hochschulwesen``."""
DIVIDED = re.compile(rf"([^\W\d_]+)-[ \t]*(?:{LINE.pattern})\s*([^\W\d_]+)")
HYPHENATED = 3
"""Words divided at line ends from which a text is set with hyphenation."""
LONGEST_WRAPPED = 150
"""Characters of a line above which nobody wrapped it: it is a paragraph."""
RAGGED = 0.85
"""A line counts as full when the next word would not fit into this share of the longest line."""


class LineEnds(StrEnum):
    """What the end of a line means: ``keep`` ends a sentence, ``join`` only wraps it, ``auto`` looks at the text."""

    AUTO = "auto"
    JOIN = "join"
    KEEP = "keep"


class PlainText:
    """Reads whole texts as documents and counts what it changed in them.

    Args:
        segmenter: cuts the text into sentences; the end of a line is always one for it.
        lines: what the end of a line means; a blank line, a bullet and an indented line always begin a new paragraph.
        entities: whether HTML tags go, and entities (``&mdash;``) become the characters that they stand for.
        remove: lines to remove besides page numbers, quoted mail, code and the like; ``None``: no line is removed.
    """

    def __init__(
        self,
        segmenter: Segmenter,
        lines: LineEnds = LineEnds.AUTO,
        *,
        entities: bool = True,
        remove: Sequence[LinePattern] | None = (),
    ) -> None:
        self.segmenter, self.lines, self.entities = segmenter, lines, entities
        self.remove = remove
        self.removed: list[RemovedLine] = []
        """The removed lines, at most ``MOST_LISTED`` of them."""
        self._counts: Counter[str] = Counter()
        self._joined, self._kept, self._decoded, self._tagged, self._hidden = (Tally() for _ in range(5))
        # In a table of pairs, rows one after the other repeat a target, which is to be read and counted once.
        self._read = lru_cache(maxsize=16)(self._document)

    def document(
        self, document_id: str, text: str, *, is_linked: bool = False, meta: dict[str, str] | None = None
    ) -> Document:
        """Return the text as a document with the sentence ids 0, 1, 2 ...; ``InputError`` when it is blank or LaTeX.

        ``is_linked``: links name its sentences by these ids, so that ``auto`` joins no lines and none is removed.
        """
        document = self._read(document_id, text, is_linked)
        return document.model_copy(update={"meta": meta}) if meta else document

    def _document(self, document_id: str, text: str, is_linked: bool) -> Document:
        if LATEX.search(text):
            msg = "it is LaTeX, with commands among the words"
            raise InputError(msg, "turn it into plain text, e.g. with `pandoc -f latex -t plain FILE -o NEW.txt`")
        if self.entities and not is_linked and (MARKUP.search(text) or COMMENT.search(text)):
            self._tagged.add(document_id)
            text = without_tags(text) if MARKUP.search(text) else COMMENT.sub("", text)
        if self.entities:
            decoded = decode_entities(text)
            if decoded != text:
                self._decoded.add(document_id)
            text = decoded
        if self.remove is not None and not is_linked:
            text = self._without_leftovers(document_id, text, self.remove)
        joined = join_lines(text, LineEnds.KEEP if is_linked and self.lines is LineEnds.AUTO else self.lines)
        if joined != text:
            self._joined.add(document_id)
        elif any(len(paragraph) > 1 for paragraph in _paragraphs(text)):
            self._kept.add(document_id)
        seen = without_hidden(joined)
        if seen != joined:
            self._hidden.add(document_id)
        return self.segmenter.document(document_id, seen)

    def _without_leftovers(self, document_id: str, text: str, remove: Sequence[LinePattern]) -> str:
        text, removed = without_leftovers(text, remove)
        self._counts.update(why for _, _, why in removed)
        room = MOST_LISTED - len(self.removed)
        self.removed += [
            RemovedLine(document=document_id, line=line, text=gone, why=why) for line, gone, why in removed[:room]
        ]
        return text

    def notes(self) -> list[Note]:
        """Say what was removed, and in how many documents entities were decoded and lines joined or kept."""
        found = {
            "Documents with HTML tags, which were removed": self._tagged,
            "Documents with HTML entities, which were decoded": self._decoded,
            "Documents with characters that nobody sees, which were removed": self._hidden,
            "Documents with wrapped lines, which were joined within paragraphs": self._joined,
            "Documents in which the end of a line ends a sentence": self._kept,
        }
        notes = [tally.note(what) for what, tally in found.items() if tally.count]
        for why, count in self._counts.most_common():
            places = (
                f"{one.document}, line {one.line}: {one.text.strip()[:60]}" for one in self.removed if one.why == why
            )
            examples = tuple(islice(places, NOTED))
            notes.append(Note(what=f"Lines removed ({why})", count=count, examples=examples))
        return notes


def join_lines(text: str, lines: LineEnds = LineEnds.AUTO) -> str:
    r"""Join the lines of each paragraph where they are only wrapped; paragraphs then end with ``\n``.

    ``auto`` joins when at least as many lines break off in the middle of a sentence as end with one; a line that is
    a whole paragraph counts among the latter.
    A line that breaks off has no final punctuation and is followed by a lower-case letter, in a line that would not
    have fitted onto it; in scripts without case, by any letter that would not have. In a text whose lines are joined,
    a short line without final punctuation stays apart: it is a headline or a byline. Only white space changes, and
    the hyphens of words that were divided at the end of a line.
    """
    if lines is LineEnds.KEEP or not LINE.search(text):
        return text
    paragraphs = list(_paragraphs(text))
    if lines is LineEnds.AUTO and not _is_wrapped(paragraphs):
        return text
    words = _Words(text)
    return "\n".join(
        line for paragraph in paragraphs for line in _joined(paragraph, words, always=lines is LineEnds.JOIN)
    )


class _Words:
    """The words of a text, by which one that is divided at the end of a line is told from one with a hyphen."""

    def __init__(self, text: str) -> None:
        divided = len(DIVIDED.findall(text))
        whole = DIVIDED.sub(" ", text) if divided else ""
        self._words = {word.casefold() for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", whole)}
        self._is_hyphenated = divided >= HYPHENATED

    def is_one(self, text: str, following: str) -> bool:
        """Tell whether the hyphen at the end of a line was put there when the text was set."""
        start, end = re.search(r"[^\W\d_]+(?=-$)", text), re.match(r"[^\W\d_]+", following)
        if not start or not end:
            return False
        first, last = start[0].casefold(), end[0].casefold()
        if f"{first}-{last}" in self._words:
            return False
        return first + last in self._words or (self._is_hyphenated and not {first, last} <= self._words)


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Yield the stripped lines of each paragraph; a blank line, a bullet, a row or a deeper indentation begins one."""
    paragraph: list[str] = []
    indent, in_item = 0, False
    for raw in LINE.split(text):
        line = raw.strip()
        depth = len(raw) - len(raw.lstrip())
        bullet = BULLET.match(line) is not None
        row = ROW.fullmatch(line) or (paragraph and ROW.fullmatch(paragraph[-1]))
        divided = bool(paragraph) and paragraph[-1].endswith("-") and begins_small(line)
        if paragraph and (not line or bullet or row or (depth > indent and not in_item and not divided)):
            yield paragraph
            paragraph = []
        if line:
            if not paragraph:
                in_item = bullet
            paragraph.append(line)
            indent = depth
    if paragraph:
        yield paragraph


def _is_wrapped(paragraphs: list[list[str]]) -> bool:
    broken = broken_caseless = ended = 0
    lengths = sorted(len(line) for paragraph in paragraphs for line in paragraph)
    usual = lengths[len(lengths) * 9 // 10] if lengths else 0
    for paragraph in paragraphs:
        width = max(map(len, paragraph))
        ended += len(paragraph[-1]) > LONGEST_WRAPPED and END.search(paragraph[-1]) is not None
        for line, following in pairwise(paragraph):
            if END.search(line):
                ended += 1
            elif begins_small(following):
                # Nobody breaks what fits on a line: such lines are a list.
                broken += len(line) + len(following) > RAGGED * usual
            elif following[0].isalpha() and not following[0].isupper():
                broken_caseless += _is_full(line, following, width)
    # One full line is no evidence: the longest line of a paragraph is always full.
    broken += broken_caseless if broken_caseless > 1 else 0
    return broken > 0 and broken >= ended


def _joined(paragraph: list[str], words: _Words, *, always: bool) -> Iterator[str]:
    width = max(map(len, paragraph))
    text = last = paragraph[0]
    for line in paragraph[1:]:
        in_brackets = last.count("(") > last.count(")")
        if always or in_brackets or begins_small(line) or _is_full(last, line, width):
            text = _glued(text, line, words)
        else:
            yield text
            text = line
        last = line
    yield text


def _is_full(line: str, following: str, width: int) -> bool:
    """Tell whether the first word of the next line would not have fitted onto this one."""
    first = 1 if UNSPACED.match(following) else 1 + len(following.split(maxsplit=1)[0])
    return len(line) + first > RAGGED * width


def _glued(text: str, line: str, words: _Words) -> str:
    if text.endswith("\u00ad"):  # a soft hyphen is there for the wrapping alone
        return text[:-1] + line
    divided = text.endswith("-") and not text.endswith(" -") and begins_small(line) and not SUSPENDED.match(line)
    if divided and words.is_one(text, line):
        return text[:-1] + line
    unspaced = UNSPACED.match(text[-1]) and UNSPACED.match(line)
    return text + ("" if divided or unspaced else " ") + line

"""Cuts text into sentences: by a trained spaCy model where one is installed, else by the rules of ``sentencex``."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING

import regex

from abcdlink.corpus import marks
from abcdlink.corpus.lines import LINE
from abcdlink.corpus.records import Document, Sentence
from abcdlink.errors import InputError
from abcdlink.languages import begins_small, require, spacy

if TYPE_CHECKING:
    from spacy.language import Language

MODELS = {"en": ("en_core_web_md", "en_core_web_sm")}
"""Trained models by language, best first."""

RULES = "rules"
"""Name of the segmenter that needs no trained model."""

LINE_ENDS = re.compile(f"(?:{LINE.pattern})+")
LEAST_SMALL = 2
"""Sentences of a text that begin with a small letter, from which their writer may not mind capitals."""

Split = Callable[[str], Iterable[str]]
"""Cuts one line into pieces that together are the line."""


class Segmenter:
    """Cuts text into sentences; a line end always ends a sentence.

    Args:
        name: what does the work: the name of a spaCy model, or ``rules``.
        split: cuts one line.
        max_length: the most characters of one line that it can read.
        language: an ISO code, where the language has rules of its own.
    """

    def __init__(self, name: str, split: Split, max_length: int = 0, language: str = "") -> None:
        self.name, self._goes_on = name, marks.GOES_ON_IN.get(language)
        self._ends = (
            marks.ANSWERED,
            marks.MEASURED,
            marks.TRAILED,
            marks.SMILED,
            marks.ANNOTATED,
            marks.COUNTED,
            marks.ITEM_ENDS,
            marks.DOTTED_ENDS,
            marks.MARK_ALONE,
            marks.SHOUTED,
            marks.WORDS_IN.get(language),
        )
        self.documents_cut = 0
        """How many texts it has made documents of."""
        self._split, self._max_length = split, max_length

    def split(self, text: str) -> list[str]:
        """Return the sentences in order, without white space around them; blank text gives none.

        Raises:
            InputError: when one line is longer than the model can read.
        """
        lines = [line.strip() for line in LINE_ENDS.split(text)]
        longest = max(map(len, lines))
        if self._max_length and longest > self._max_length:
            msg = f"one line has {longest} characters, more than the {self._max_length} that {self.name} can read"
            raise InputError(msg, "add line breaks between paragraphs")
        careless = _is_careless(text)
        cut = (_sentences(self._pieces(line), self._goes_on, careless or _is_careless(line)) for line in lines if line)
        return list(chain.from_iterable(cut))

    def _pieces(self, line: str) -> Iterator[str]:
        if marks.ROW.fullmatch(line):
            yield line
            return
        mark = marks.UNCUT.match(line)
        if mark:
            yield mark[0]
            line = line[mark.end() :]
        seen = marks.GERSHAYIM.sub("\u05f4", line)
        cuts = [0, *accumulate(map(len, self._split(seen)))]
        found = (match for pattern in self._ends if pattern for match in pattern.finditer(seen))
        missed = {one.end() for one in found if not _is_quoted(seen[cuts[bisect(cuts, one.start()) - 1] : one.start()])}
        yield from (line[start:end] for start, end in pairwise(sorted({*cuts, *missed})))

    def document(self, document_id: str, text: str) -> Document:
        """Cut a text into a document whose sentence ids are 0, 1, 2 ...; ``InputError`` when it is blank."""
        self.documents_cut += 1
        sentences = (Sentence(id=str(index), text=sentence) for index, sentence in enumerate(self.split(text)))
        return Document(id=document_id, sentences=tuple(sentences))


@lru_cache
def get_segmenter(language: str = "en") -> Segmenter:
    """Return the best segmenter that is installed for a language, given as an ISO code.

    Raises:
        InputError: when the language is not known.
    """
    import sentencex

    require(language)
    for model in MODELS.get(language, ()):
        if find_spec(model) is not None:
            # The parser sets sentence starts; the rest of the model would only cost time.
            pipeline = spacy().load(model, exclude=["tagger", "attribute_ruler", "lemmatizer", "ner"])
            return Segmenter(model, partial(_by_model, pipeline), pipeline.max_length, language)
    return Segmenter(RULES, partial(sentencex.segment, language), language=language)


def _by_model(pipeline: Language, line: str) -> Iterator[str]:
    for sentence in pipeline(line).sents:
        yield sentence.text_with_ws


def _is_quoted(before: str) -> bool:
    """Tell whether a quotation is open at the end of a text: quotations that open a sentence stay whole."""
    if "„" in before:
        return before.rfind("„") > before.rfind("“")
    opened = any(before.rfind(one) > before.rfind(other) for one, other in ("“”", "«»", "「」", "『』"))
    return opened or before.count('"') % 2 == 1


def _is_careless(text: str) -> bool:
    """Tell whether most sentences of a text, or of what one person wrote in a line of it, begin small."""
    begun = marks.BEGUN.findall(text)
    small = sum(map(str.islower, begun))
    return small >= LEAST_SMALL and 2 * small > len(begun) + len(marks.CAPITAL_LINE.findall(text))


def _sentences(pieces: Iterable[str], goes_on: re.Pattern[str] | None, careless: bool) -> Iterator[str]:
    """Join the pieces that one sentence was wrongly cut into, and cut what holds two."""
    text = ""
    for piece in pieces:
        if text and not text[-1].isspace() and (tail := marks.TAIL.match(piece)):
            text, piece = text + tail[0], piece[tail.end() :]  # noqa: PLW2901 - the rest of the piece
        if text.strip() and (behind := marks.REACTION.match(piece) or marks.REFERENCE.match(piece)):
            text, piece = text + behind[0], piece[behind.end() :]  # noqa: PLW2901 - the rest of the piece
        if text and _is_boundary(text, piece, goes_on, careless):
            yield from _apart(text)
            text = ""
        text += piece
    yield from _apart(text)


def _is_boundary(text: str, following: str, goes_on: re.Pattern[str] | None, careless: bool) -> bool:
    before, after = text.strip(), following.strip()
    if not before or not after:
        return False
    touching = (
        text == text.rstrip()
        and following == following.lstrip()
        and marks.TOUCHING.search(before)
        and not marks.MAY_TOUCH.match(after)
    )
    aside = begins_small(after[1:].lstrip())
    dashed = marks.DASH.match(after) and (aside or marks.DATELINE.match(before) or marks.QUOTED.search(before))
    named = marks.TITLE.search(before) or marks.INITIAL.search(before)
    titled = (named and regex.match(r"\p{Lu}", after)) or (
        goes_on and goes_on.search(before) and regex.match(r"\p{Lu}|\d", after)
    )
    shortened = marks.NEVER_LAST.search(before) or marks.NEVER_LAST_ELSEWHERE.search(before)
    numbered = marks.BEFORE_NUMBERS.search(before) and re.match(r"(?:No\. )?[\W_]*\d", after)
    # (1) one. (2) two. (3) three.
    marked = marks.LIST_MARK.match(before) or marks.UNCUT.fullmatch(before)
    listed = marked or marks.LABELLED.match(before) or (marks.MARKED_PART.match(after) and marks.MARKED.search(before))
    spoken = marks.SPEAKER.match(after) and marks.QUOTED.search(before)
    halved = marks.DOUBLED.search(before) and marks.DOUBLED.match(after.split(" ")[0])
    wordless = after.startswith(("|", "= ")) or not re.search(r"\w", after)
    goes_on_small = marks.GOES_ON.match(after) and not (
        (careless and marks.ENDED.search(before))
        or marks.NEXT_ITEM.match(after)
        or marks.DOTTED_ENDS.search(f"{before} {after}")
    )
    abbreviated = titled or shortened or numbered
    return not (touching or goes_on_small or dashed or abbreviated or listed or spoken or halved or wordless)


def _apart(text: str) -> Iterator[str]:
    for part in (
        part for stage in marks.STAGED.sub(r"\1\n", text.strip()).split("\n") for part in marks.WITHIN.split(stage)
    ):
        rest = part
        if aside := marks.ASIDE.match(part):
            yield aside[1]
            rest = part[aside.end() :]
        yield from filter(None, marks.MISSED.split(rest))

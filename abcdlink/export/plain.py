"""A pair as one plain text with the place of every sentence, for formats that annotate a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from abcdlink.corpus.records import Corpus, Document
from abcdlink.export.candidates import LabelledCandidate
from abcdlink.export.dataset import JudgedPair
from abcdlink.judgments import Provenance

PLACEHOLDER = "\N{REPLACEMENT CHARACTER}"
NOTHING_VISIBLE = "no visible character in it: shown as U+FFFD"
INVISIBLE = "\N{ZERO WIDTH SPACE}\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NO-BREAK SPACE}"
SLUG = re.compile(r"[^A-Za-z0-9._-]+")
SLUG_LENGTH = 60


class Side:
    """The two sides of a pair, as annotations name them."""

    SOURCE = "source"
    TARGET = "target"


class Place(NamedTuple):
    """Where a sentence stands in the text: code points from ``begin`` to before ``end``."""

    begin: int
    end: int


@dataclass
class Cleaner:
    """Replaces characters that a format cannot hold, one for one, so that places in the text stay.

    ``changes``: reason -> how many texts were changed.
    """

    forbidden: re.Pattern[str]
    replacement: str
    reason: str
    changes: Counter[str] = field(default_factory=Counter)

    def __call__(self, text: str) -> str:
        """Return the text as the format can hold it."""
        cleaned, count = self.forbidden.subn(self.replacement, text)
        self.changes[self.reason] += count > 0
        return cleaned

    def visible(self, text: str) -> str:
        """Return the cleaned text, or U+FFFD where it has nothing that could be marked."""
        cleaned = self(text)
        if cleaned.strip().strip(INVISIBLE).strip():
            return cleaned
        self.changes[NOTHING_VISIBLE] += 1
        return PLACEHOLDER


@dataclass(frozen=True)
class PairText:
    """Both documents of a pair, one sentence below the other, an empty line between the documents.

    ``places``: (side, sentence id) -> where the sentence stands, without white space around it.
    """

    text: str
    places: dict[tuple[str, str], Place]


def lay_out(judged: JudgedPair, corpus: Corpus, clean: Callable[[str], str]) -> PairText:
    """Put the documents of a pair into one text.

    Args:
        judged: the pair.
        corpus: holds its documents.
        clean: makes a sentence fit for the format.
    """
    parts: list[str] = []
    places: dict[tuple[str, str], Place] = {}
    length = 0
    sides = (
        (Side.SOURCE, corpus.source_of(judged.pair), "\n\n"),
        (Side.TARGET, corpus.target_of(judged.pair), "\n"),
    )
    for side, document, end in sides:
        for text, sentence_id, last in _sentences(document, clean):
            begin = length + len(text) - len(text.lstrip())
            places[side, sentence_id] = Place(begin, begin + len(text.strip()))
            parts += [text, end if last else "\n"]
            length += len(text) + len(parts[-1])
    return PairText("".join(parts), places)


def _sentences(document: Document, clean: Callable[[str], str]) -> list[tuple[str, str, bool]]:
    last = len(document.sentences) - 1
    return [(clean(s.text), s.id, index == last) for index, s in enumerate(document.sentences)]


def judged_sentences(candidates: list[LabelledCandidate]) -> dict[tuple[str, str], str]:
    """Return (side, sentence id) -> document of every sentence that was judged: sources, and their candidates."""
    sources = {(Side.SOURCE, candidate.source): candidate.source_document for candidate in candidates}
    return sources | {(Side.TARGET, candidate.target): candidate.target_document for candidate in candidates}


def said(candidate: LabelledCandidate) -> str:
    """Return the judgments on a candidate, and who decided where its label is a decision, as one line."""
    opinions = [f"{annotator}: {label}" for annotator, label in candidate.judgments.items()]
    if candidate.provenance is Provenance.ADJUDICATED:
        opinions.append(f"decided by {candidate.adjudicator}: {candidate.adjudication}")
    return "; ".join(opinions)


def file_stem(judged: JudgedPair) -> str:
    """Return a file name without its ending: ids of pairs can be anything, so only their harmless part is used."""
    slug = SLUG.sub("_", judged.pair.id).strip("._-")[:SLUG_LENGTH]
    return f"{judged.number:04d}-{slug}" if slug else f"{judged.number:04d}"

"""Shows a corpus before anything is made of it: how its texts were cut, what annotators would and would not see."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from abcdlink.corpus.records import Corpus, Document, Sentence
from abcdlink.domain import Domain
from abcdlink.languages import language_name, word_count

if TYPE_CHECKING:
    from jinja2 import Template

PREVIEW = "preview.html"
"""Name of the file beside the corpus."""

MOST_PAIRS, MOST_LINES = 60, 6000
"""So many pairs, and about so many sentences, are shown side by side; the counts are of all."""

MOST_LISTED = 20
"""So many refusals are listed, and so many examples of each remark."""

SECONDS_PER_CANDIDATE = 8
"""Assumed time of one annotator for one candidate. The report of a run shows what it really took."""

REPEATED_IN = 3
"""A sentence that so many documents have word for word is boilerplate."""

LONGEST = 80
"""Words of a sentence above which a boundary may be missing."""

OPEN, CLOSED = "([{", ")]}"
ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:(?![ap]\.m\.)(?:[^\W\d_]\.){1,4}|[^\W\d_aeiouyAEIOUY]{2,4}\.|[\d.,]+\s?[a-z]{2,4}\.)$"
)
"""Before a full stop: an initial, initials (not a.m.), a short word without a vowel, a number with a short unit."""

NO_SPACE = re.compile(r"[^\W\d_]{2}[.!?][^\W\d_a-z][a-z]|[。！？][^\s」』”）》。！？]")  # noqa: RUF001 - Chinese marks
LETTER = re.compile(r"[^\W\d_]")


@dataclass
class Line:
    """One sentence as it is shown; ``left_out`` and ``doubt`` are reasons, empty where there is none."""

    sentence: Sentence
    left_out: str
    doubt: str


@dataclass
class PairView:
    """The two documents of a pair, line by line."""

    name: str
    source: str
    target: str
    sources: list[Line]
    targets: list[Line]


@dataclass
class Preview:
    """What is shown of a corpus.

    ``left_out``: reason -> number of source sentences that annotators would not be asked about;
    ``doubts``: reason -> examples of sentences whose boundaries look wrong, of all documents;
    ``tasks``: source sentences that annotators could be asked about; fewer where no approach proposes anything.
    """

    corpus: Corpus
    domain: Domain
    language: str
    segmentation: str
    pairs: list[PairView]
    sentences: int = 0
    tasks: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    doubts: dict[str, list[str]] = field(default_factory=dict)

    @property
    def language_name(self) -> str:
        """English name of the language."""
        return language_name(self.language)

    @property
    def hours(self) -> float:
        """Hours that one annotator would need for all tasks, at ``SECONDS_PER_CANDIDATE``."""
        pool = self.domain.settings.pool
        return self.tasks * (pool.first + pool.second + pool.random) * SECONDS_PER_CANDIDATE / 3600

    @property
    def time(self) -> str:
        """The same in words."""
        minutes = round(60 * self.hours)
        return "a minute" if minutes <= 1 else f"{minutes} minutes" if self.hours < 1 else f"{self.hours:.1f} hours"


def preview(corpus: Corpus, domain: Domain, language: str, segmentation: str) -> Preview:
    """Look through a corpus with the eyes of a domain.

    Args:
        corpus: the corpus as imported.
        domain: says which source sentences annotators are not asked about.
        language: ISO code of the texts.
        segmentation: name of the segmenter that cut plain text.
    """
    repeated = _repeated(corpus)
    lines = {name: list(_lines(document, domain, repeated)) for name, document in corpus.documents.items()}
    view = Preview(corpus, domain, language, segmentation, [], sentences=sum(map(len, lines.values())))
    for document in lines.values():
        for line in document:
            if line.doubt:
                view.doubts.setdefault(line.doubt, []).append(line.sentence.text)
    shown = 0
    for pair in corpus.pairs:
        sources = lines[pair.source]
        view.left_out.update(line.left_out for line in sources if line.left_out)
        view.tasks += sum(not line.left_out for line in sources)
        if len(view.pairs) < MOST_PAIRS and shown < MOST_LINES:
            shown += len(sources) + len(lines[pair.target])
            view.pairs.append(PairView(pair.id, pair.source, pair.target, sources, lines[pair.target]))
    return view


def render(view: Preview) -> str:
    """Return the preview as one HTML file without scripts; every text of the corpus is escaped."""
    return _template().render(view=view, corpus=view.corpus, most=MOST_LISTED, seconds=SECONDS_PER_CANDIDATE)


@lru_cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("abcdlink.preview", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("preview.html.j2")


def doubt_about(text: str, following: str = "") -> str:
    """Return why the boundaries of a sentence look wrong; empty when they look right.

    Args:
        text: the sentence.
        following: the sentence behind it; empty when there is none.
    """
    bare = text.strip()
    first = bare[:1]
    if not LETTER.search(bare):
        return "has no letters"
    if first.islower() or first in ",;:)]}" or (first in ".!?" and not bare.startswith("...")):
        return "begins in the middle of a sentence"
    if any(bare.count(one) != bare.count(other) for one, other in zip(OPEN, CLOSED, strict=True)):
        return "opens or closes a bracket without its counterpart"
    if following and ABBREVIATION.search(bare):
        return "ends with what may be an abbreviation"
    if NO_SPACE.search(bare):
        return "may hold two sentences"
    return f"has more than {LONGEST} words" if word_count(bare) > LONGEST else ""


def _lines(document: Document, domain: Domain, repeated: Counter[str]) -> Iterator[Line]:
    for index, sentence in enumerate(document.sentences):
        following = document.sentences[index + 1].text if index + 1 < len(document.sentences) else ""
        left_out = domain.settings.sources.reason_to_leave_out(sentence.text)
        doubt = doubt_about(sentence.text, following)
        if not doubt and not left_out and repeated[_key(sentence.text)] >= REPEATED_IN:
            doubt = f"is in {REPEATED_IN} or more documents word for word"
        yield Line(sentence, left_out, doubt)


def _repeated(corpus: Corpus) -> Counter[str]:
    """Return sentence -> number of documents that have it."""
    counts: Counter[str] = Counter()
    for document in corpus.documents.values():
        counts.update({_key(text) for text in document.texts})
    return counts


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()

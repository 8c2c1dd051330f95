"""Shows a corpus before it is used: how its texts were cut, and what annotators would and would not see."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from textwrap import shorten
from typing import TYPE_CHECKING, TypeVar

from abcdlink.corpus.counts import key_of, repeated_sentences
from abcdlink.corpus.io import write_corpus
from abcdlink.corpus.records import Corpus, Document, Sentence
from abcdlink.corpus.shelf import Shelf
from abcdlink.domain import Domain, SentenceFilter
from abcdlink.folders import open_folder
from abcdlink.judgments import SECONDS_A_CANDIDATE
from abcdlink.languages import begins_small, language_name, word_count
from abcdlink.templates import html_environment

if TYPE_CHECKING:
    from jinja2 import Template

T = TypeVar("T")

PREVIEW = "preview.html"
"""Name of the file beside the corpus."""

MOST_PAIRS, MOST_LINES = 60, 6000
"""At most this many pairs or documents are shown, and about this many sentences."""

MOST_LOOKED_AT = 2000
"""At most this many documents and pairs are read through; of a larger corpus, evenly spaced ones."""

MOST_LISTED = 20
"""Refusals to list."""

REPEATED_IN = 3
"""A sentence that this many documents repeat word for word is boilerplate."""

LONGEST = 80
"""Words of a sentence above which a boundary may be missing."""

OPEN, CLOSED = "([{", ")]}"
CONSONANT = "[b-df-hj-np-tv-xzçčďđķļłńňñřśşšťźżžβγδζθκλμνξπρσςτφχψбвгґджзйклмнпрстфхцчшщ]"  # noqa: RUF001
ABBREVIATION = re.compile(
    rf"(?:^|[\s(])(?:(?![ap]\.m\.|(?<=\d\s)\w\.$)(?:[^\W\d_]\.){{1,4}}|(?![A-Z]{{2}})(?i:{CONSONANT}{{2,4}})\."
    rf"|[\d.,]+\s?(?:{CONSONANT}{{2,4}}|mins?|secs?|mi|oz)\.)$"
)
"""Before a full stop: an initial, initials (not a.m., nor the h of 18 h), a short word without a vowel and not all
in capitals, a number with a short unit."""

ITEM = re.compile(r"^\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4}|h[1-6])[.)]\s+(?=\S)|(?<!\S)[:;]-?[()](?!\S)")
"""The mark of a list item or a heading (``h3.``), or a smiley made of characters, whose bracket needs no other."""
NO_SPACE = re.compile(r"[^\W\d_]{2}[.!?][^\W\d_a-z][a-z]|[。！？][^\s」』”’）》。！？]")  # noqa: RUF001 - Chinese marks
QUOTATION = re.compile("「[^」]*」|『[^』]*』|“[^”]*”")
"""What somebody says stays whole, with all its sentences."""
LETTER = re.compile(r"[^\W\d_]")


@dataclass
class ShownSentence:
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
    sources: list[ShownSentence]
    targets: list[ShownSentence]


@dataclass
class Doubt:
    """How many sentences a doubt applies to, and the first of them."""

    why: str
    example: str
    count: int = 0

    def excerpt(self, length: int) -> str:
        """Return the part of the example that the doubt is about: its beginning, or its end."""
        text = " ".join(self.example.split())
        if len(text) > length and self.why.startswith("ends"):
            return f"… {text[2 - length :]}"
        return shorten(text, length, placeholder=" …")


@dataclass
class Preview:
    """What is shown of a corpus.

    ``pairs``, ``documents``: the first pairs, or the first documents where there are no pairs; ``left_out``: reason ->
    number of source sentences that annotators would not be asked about; ``targets_left_out``: the same for target
    sentences, which would not be candidates; ``tasks``: source sentences that annotators could be asked about, fewer
    where no approach proposes anything; all are estimated from ``counted_pairs`` where these are not all. ``doubts``:
    reason -> sentences whose boundaries look wrong, among ``looked_at`` documents.
    """

    corpus: Corpus
    domain: Domain
    language: str
    segmentation: str
    sentences: int = 0
    pairs: list[PairView] = field(default_factory=list)
    documents: dict[str, list[ShownSentence]] = field(default_factory=dict)
    tasks: int = 0
    counted_pairs: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    targets_left_out: Counter[str] = field(default_factory=Counter)
    looked_at: int = 0
    doubts: dict[str, Doubt] = field(default_factory=dict)

    @property
    def doubtful(self) -> int:
        """Sentences whose boundaries look wrong."""
        return sum(doubt.count for doubt in self.doubts.values())

    @property
    def language_name(self) -> str:
        """English name of the language."""
        return language_name(self.language)

    @property
    def hours(self) -> float:
        """Hours that one annotator would need for all tasks, at ``SECONDS_A_CANDIDATE``."""
        pool = self.domain.settings.pool
        return self.tasks * (pool.first + pool.second + pool.random) * SECONDS_A_CANDIDATE / 3600

    @property
    def time(self) -> str:
        """The same in words."""
        minutes = round(60 * self.hours)
        return "a minute" if minutes <= 1 else f"{minutes} minutes" if self.hours < 1 else f"{self.hours:.1f} hours"


def preview(corpus: Corpus, domain: Domain, language: str, segmentation: str) -> Preview:
    """Look through a corpus with the filters of a domain; ``segmentation``: what cut its plain text."""
    documents = corpus.documents
    sentences = (
        documents.sentences if isinstance(documents, Shelf) else sum(len(d.sentences) for d in documents.values())
    )
    view = Preview(corpus, domain, language, segmentation, sentences=sentences)
    looked_at = _some(documents)
    repeated = repeated_sentences(documents[name] for name in looked_at)
    for name in looked_at:
        for line in _lines(documents[name], domain.settings.sources, repeated):
            if line.doubt:
                view.doubts.setdefault(line.doubt, Doubt(line.doubt, line.sentence.text)).count += 1
    view.looked_at = len(looked_at)
    _count_tasks(view)
    _show(view, repeated)
    return view


def _some(items: Collection[T]) -> list[T]:
    """Return all items, or ``MOST_LOOKED_AT`` evenly spaced ones."""
    step = max(1.0, len(items) / MOST_LOOKED_AT)
    wanted = {int(number * step) for number in range(min(len(items), MOST_LOOKED_AT))}
    return [item for number, item in enumerate(items) if number in wanted]


def _count_tasks(view: Preview) -> None:
    pairs = _some(view.corpus.pairs)
    settings, sources, targets = view.domain.settings, Counter[str](), Counter[str]()
    tasks = 0
    for pair in pairs:
        reasons = [settings.sources.reason_to_leave_out(text) for text in view.corpus.source_of(pair).texts]
        sources.update(filter(None, reasons))
        tasks += reasons.count("")
    for name in {pair.target for pair in pairs}:
        targets.update(settings.targets.left_out_of(view.corpus.documents[name]).values())
    factor = len(view.corpus.pairs) / max(len(pairs), 1)
    view.counted_pairs, view.tasks = len(pairs), round(tasks * factor)
    view.left_out, view.targets_left_out = (
        Counter({reason: round(count * factor) for reason, count in counts.items()}) for counts in (sources, targets)
    )


def _show(view: Preview, repeated: Counter[int]) -> None:
    """Fill in the first pairs, or the first documents where there are none."""
    corpus, settings, shown = view.corpus, view.domain.settings, 0
    for pair in corpus.pairs[:MOST_PAIRS]:
        source = list(_lines(corpus.source_of(pair), settings.sources, repeated))
        target = list(_lines(corpus.target_of(pair), settings.targets, repeated))
        view.pairs.append(PairView(pair.id, pair.source, pair.target, source, target))
        shown += len(source) + len(target)
        if shown >= MOST_LINES:
            return
    for name in islice(corpus.documents, 0 if corpus.pairs else MOST_PAIRS):
        view.documents[name] = list(_lines(corpus.documents[name], settings.sources, repeated))
        shown += len(view.documents[name])
        if shown >= MOST_LINES:
            return


def write_preview(view: Preview, folder: str) -> None:
    """Write the preview beside its corpus, in a local folder or below an ``s3://`` prefix."""
    open_folder(folder).write(PREVIEW, render(view).encode())


def write_derived(corpus: Corpus, out: str, origin: dict[str, object], domain: Domain) -> None:
    """Write a corpus that was made from another one, with its origin and a preview."""
    language, segmentation = (str(origin.get(name, "")) for name in ("language", "segmentation"))
    write_preview(preview(corpus, domain, language or domain.settings.language, segmentation), out)
    write_corpus(corpus, out, origin)


def render(view: Preview) -> str:
    """Return the preview as one HTML file without scripts; every text of the corpus is escaped."""
    return _template().render(view=view, corpus=view.corpus, most=MOST_LISTED, seconds=round(SECONDS_A_CANDIDATE))


@lru_cache
def _template() -> Template:
    return html_environment("abcdlink.preview", ".").get_template("preview.html.j2")


def doubt_about(text: str, following: str = "", before: str = "") -> str:
    """Return why the boundaries of a sentence look wrong, seen beside its neighbours; empty when they look right.

    The sentence before may be a greeting that ends with a comma.
    """
    bare = text.strip()
    item = ITEM.sub("", bare)
    first = item[:1]
    if not LETTER.search(bare):
        return "has no letters"
    if (
        (begins_small(item) and not ITEM.match(bare) and not before.rstrip().endswith(","))
        or first in ",;:)]}"
        or (first in ".!?" and not item.startswith("..."))
    ):
        return "begins in the middle of a sentence"
    if any(item.count(one) != item.count(other) for one, other in zip(OPEN, CLOSED, strict=True)):
        return "has an unmatched bracket"
    if following and not ITEM.match(following) and ABBREVIATION.search(bare):
        return "ends with what may be an abbreviation"
    if NO_SPACE.search(QUOTATION.sub("", bare)):
        return "may contain two sentences"
    return f"has more than {LONGEST} words" if word_count(bare) > LONGEST else ""


def _lines(document: Document, rules: SentenceFilter, repeated: Counter[int]) -> Iterator[ShownSentence]:
    for index, sentence in enumerate(document.sentences):
        following = document.sentences[index + 1].text if index + 1 < len(document.sentences) else ""
        left_out = rules.reason_to_leave_out(sentence.text)
        before = document.sentences[index - 1].text if index else ""
        doubt = doubt_about(sentence.text, following, before)
        if not doubt and not left_out and repeated[key_of(sentence.text)] >= REPEATED_IN:
            doubt = f"occurs word for word in {REPEATED_IN} or more documents"
        yield ShownSentence(sentence, left_out, doubt)

"""What every kind of work for people has: what is asked, how texts are shown, how answers are read, what is kept.

Each kind is one module beside the XML of its page (the label config). All pages share the look of ``style.css``.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any, ClassVar, NamedTuple
from xml.sax.saxutils import escape

import regex
from pydantic import Field

from abcdlink.corpus.records import Document, Record
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.judgments import Annotator, Judgment, Skip
from abcdlink.layout import ANNOTATIONS, ANOMALIES
from abcdlink.store import Store
from labelstudio_config.client import CLOSED, TO_DO
from labelstudio_config.snapshot import Snapshot

TITLE_LIMIT = 50 - max(len(TO_DO), len(CLOSED)) - len(" · A")
"""Longest title, in characters: Label Studio takes 50, with what it begins with, and what tells annotators' own
projects apart."""

MOST_ANNOTATORS = len(ascii_uppercase)
"""Annotators who can have projects of their own with the same tasks."""

STYLE = Path(__file__).parents[1] / "style.css"

STYLE_TAG = "<Style>"
"""Every label config has this element, for what only its own page needs."""


class Project(Record):
    """What a project of Label Studio is made with.

    ``label_config``: XML; the look that all pages share is added to it. ``instruction``: HTML that
    annotators see first. ``overlap``: annotators who judge each task. ``hidden``: fields of the task
    data that the list of tasks does not show.
    """

    title: str = Field(max_length=TITLE_LIMIT + len(" · A"))
    description: str
    label_config: str
    instruction: str
    overlap: int = Field(ge=1)
    hidden: tuple[str, ...] = ()


class Asked(NamedTuple):
    """What people are asked: a project and its tasks, key -> data, in the order in which people get them.

    ``needed``: people whom a task waits for, where more may do it; ``None``: all who may. ``projects``: in how
    many projects the same tasks are; each annotator has their own where there is more than one.
    """

    project: Project
    tasks: dict[str, dict[str, Any]]
    needed: int | None = None
    projects: int = 1


class Page(Record, ABC):
    """One kind of work for people in one run. ``grows``: tasks may be added after the first push."""

    grows: ClassVar[bool] = False

    @property
    @abstractmethod
    def slug(self) -> str:
        """Names the project within the run."""

    @abstractmethod
    def ask(self, store: Store, domain: Domain) -> Asked:
        """Return what people are asked; no tasks: nothing."""

    @abstractmethod
    def is_pulled(self, store: Store) -> bool:
        """Tell whether the answers were read and kept."""

    @abstractmethod
    def keep(self, store: Store, snapshot: Snapshot) -> None:
        """Read the answers from what counts in Label Studio, and keep them; the file that tells so comes last."""

    def keep_unasked(self, store: Store) -> None:
        """Keep that nobody was asked.

        Raises:
            InputError: when this kind of work always asks somebody.
        """
        msg = f"{self.slug} of run {store.key!r} is not in Label Studio"
        raise InputError(msg, "start the flow again: it pushes the tasks first")

    @abstractmethod
    def counts(self, store: Store) -> dict[str, Any]:
        """Return how much was read."""


class Pull(Record):
    """What every pull has.

    ``annotators``: all people of the run so far who have this role (annotators, applicants, raters,
    adjudicators), under their pseudonyms. ``anomalies``: one sentence for each thing that was left out or
    looks wrong. ``raw``: the tasks with all their annotations as Label Studio has them, without the documents.
    """

    annotators: list[Annotator]
    anomalies: list[str]
    raw: list[dict[str, Any]]


class JudgmentsPull(Pull):
    """What people judged: Link or No Link, or that they skipped a task."""

    judgments: list[Judgment]
    skips: list[Skip]


def keep_pull(store: Store, folder: str, pull: Pull) -> None:
    """Write what looks wrong and all that Label Studio has into a folder of the run."""
    # On one line: Python writes indented JSON ten times slower, and nobody reads this by eye.
    store.write_text(f"{folder}/{ANNOTATIONS}", json.dumps(pull.raw, ensure_ascii=False))
    store.write_json(f"{folder}/{ANOMALIES}", pull.anomalies)


@cache
def label_config(kind: str) -> str:
    """Return the label config (XML) of a kind of work: what people see and decide."""
    return Path(__file__).with_name(f"{kind}.xml").read_text(encoding="utf-8")


@cache
def with_style(page: str) -> str:
    """Return a label config (XML) with the rules of ``style.css`` before those of its own ``<Style>``."""
    rules = escape(STYLE.read_text(encoding="utf-8"))
    return page.replace(STYLE_TAG, f"{STYLE_TAG}\n{rules}", 1)


def title_of(run_key: str, what: str) -> str:
    """Return a project's title, e.g. of ``batch 1``; a long run key is cut and made unique by its hash."""
    title = f"{run_key} · {what}"
    if len(title) <= TITLE_LIMIT:
        return title
    ending = f"~{hashlib.sha256(run_key.encode()).hexdigest()[:8]} · {what}"
    return run_key[: TITLE_LIMIT - len(ending)] + ending


def own_title(title: str, number: int) -> str:
    """Return the title of one annotator's own project; they are numbered from 0."""
    return f"{title} · {ascii_uppercase[number]}"


CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Control characters that a database or a browser cannot take."""

SEEN = regex.compile(r"[^\s\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]")
"""A character that leaves something on the page: no space, zero-width character, soft hyphen, blank Braille pattern."""

EMPTY = "(empty sentence)"


def shown(text: str) -> str:
    """Return a sentence as people see it: without outer white space and control characters, never invisible."""
    clean = CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).strip()
    return clean if SEEN.search(clean) else EMPTY


def text_html(text: str) -> str:
    """Return text as HTML inside a line: escaped, in the direction of its own script."""
    return f'<span dir="auto">{html.escape(shown(text))}</span>'


def document_html(document: Document, marks: dict[str, str]) -> str:
    """Return a document as HTML, one paragraph a sentence, every text escaped.

    Args:
        document: what is shown.
        marks: sentence id -> what stands before the marked sentence (a number, or nothing). The
            browser opens the document at the first mark.
    """
    scroll = ' style="scroll-initial-target: nearest"'
    paragraphs = []
    for sentence in document.sentences:
        text = html.escape(shown(sentence.text))
        if sentence.id in marks:
            name = html.escape(marks[sentence.id])
            number = f'<button type="button" tabindex="-1" id="mark-{name}">{name}</button> ' if name else ""
            text, scroll = f"<mark{scroll}>{number}{text}</mark>", ""
        paragraphs.append(f'<p dir="auto">{text}</p>')
    return "".join(paragraphs)


def jumps_html(marks: Collection[str]) -> str:
    """Return a line to click at: each name scrolls the document to the mark that begins with it.

    A link into the page would make Label Studio leave the task. The label of a button focuses it
    instead, and the browser scrolls to what it focuses. Keys that decide work on: Label Studio
    listens for them unless the focus is where one writes.
    """
    return "Go to " + " ".join(f'<label for="mark-{name}">{name}</label>' for name in map(html.escape, marks))


def guidelines_html(text: str) -> str:
    """Return guidelines (Markdown) as HTML; HTML inside them shows as text."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return f'<div class="xd-guide" dir="auto">{body}</div>'

"""What every kind of work for people has: what is asked, how texts are shown, and how answers are read and stored.

Each kind is one module beside the XML of its page (the label config). All pages share ``style.css``.
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

from abcdlink.characters import in_order
from abcdlink.corpus.records import Document, Record
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.judgments import Annotator, Judgment, Skip
from abcdlink.layout import ANNOTATIONS, ANOMALIES
from abcdlink.store import Store
from labelstudio_config.client import CLOSED, TO_DO
from labelstudio_config.snapshot import Snapshot

TITLE_LIMIT = 50 - max(len(TO_DO), len(CLOSED)) - len(" · A")
"""Longest title, in characters: Label Studio allows 50, including the prefix and the letter of an annotator's own
project."""

MOST_ANNOTATORS = len(ascii_uppercase)
"""Most annotators who can each have their own project with the same tasks."""

STYLE = Path(__file__).parents[1] / "style.css"

NO_KEY = "f19"
"""Key of a choice that should have none: no keyboard has it. Without a key, Label Studio would give letters to the
first choices, and a slip of the finger would tick one that is out of sight."""

STYLE_TAG = "<Style>"
"""Every label config has this element, with the rules that only its page needs."""


class Project(Record):
    """What a Label Studio project is created with.

    ``label_config``: XML, to which the shared style is added. ``instruction``: HTML that
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
    """What people are asked: a project and its tasks, key -> data, in the order in which people see them.

    ``needed``: people that a task waits for, if more may do it; ``None``: all who may. ``projects``: in how
    many projects the same tasks are; if there are several, each annotator has their own.
    """

    project: Project
    tasks: dict[str, dict[str, Any]]
    needed: int | None = None
    projects: int = 1


class Page(Record, ABC):
    """One kind of work for people in one run. ``grows``: tasks may be added after the first push."""

    grows: ClassVar[bool] = False
    last: ClassVar[str] = ""
    """The file that is written last, when the answers have been read and stored."""

    @property
    @abstractmethod
    def slug(self) -> str:
        """Name of the project within the run."""

    @abstractmethod
    def ask(self, store: Store, domain: Domain) -> Asked:
        """Return what people are asked; without tasks, they are asked nothing."""

    def is_pulled(self, store: Store) -> bool:
        """Tell whether the answers have been read and stored."""
        return store.exists(self.last)

    @abstractmethod
    def keep(self, store: Store, snapshot: Snapshot) -> None:
        """Read the answers that count in Label Studio and store them; the file that marks them as pulled comes last."""

    def keep_unasked(self, store: Store) -> None:
        """Record that nobody was asked; raises ``InputError`` when this kind of work always asks somebody."""
        msg = f"{self.slug} of run {store.key!r} is not in Label Studio"
        raise InputError(msg, "start the flow again; it pushes the tasks first")


def project_of(kind: str, title: str, description: str, text: str, overlap: int, hidden: tuple[str, ...]) -> Project:
    """Return the project of a kind of work; ``text``: Markdown that its annotators see first."""
    page, instruction = label_config(kind), guidelines_html(text)
    return Project(
        title=title, description=description, label_config=page, instruction=instruction, overlap=overlap, hidden=hidden
    )


class Pull(Record):
    """What every pull has.

    ``annotators``: all people of the run so far who have this role (annotators, applicants, raters,
    adjudicators), under their pseudonyms. ``anomalies``: one sentence for each thing that was left out or
    looks wrong.
    """

    annotators: list[Annotator]
    anomalies: list[str]


class JudgmentsPull(Pull):
    """What people judged: Link or No Link, and the tasks that they skipped."""

    judgments: list[Judgment]
    skips: list[Skip]


def keep_pull(store: Store, folder: str, pull: Pull, snapshot: Snapshot) -> None:
    """Write the anomalies, and everything that Label Studio has, into a folder of the run."""
    # On one line: Python writes indented JSON ten times slower, and nobody reads this file.
    store.write_text(f"{folder}/{ANNOTATIONS}", json.dumps(snapshot.raw, ensure_ascii=False))
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
    """Return a project's title, e.g. of ``batch 1``; a long run key is shortened and made unique by its hash."""
    title = f"{run_key} · {what}"
    if len(title) <= TITLE_LIMIT:
        return title
    ending = f"~{hashlib.sha256(run_key.encode()).hexdigest()[:8]} · {what}"
    return run_key[: TITLE_LIMIT - len(ending)] + ending


def own_title(title: str, number: int) -> str:
    """Return the title of one annotator's own project; they are numbered from 0."""
    return f"{title} · {ascii_uppercase[number]}"


CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202d\u202e]")
"""Control characters that a database or a browser cannot handle, or that turn around what people see."""

SEEN = regex.compile(r"[^\s\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]")
"""A visible character: not a space, zero-width character, soft hyphen or blank Braille pattern."""

EMPTY = "(empty sentence)"


def shown(text: str) -> str:
    """Return a sentence as people see it: without outer blanks and control characters, in order, never invisible."""
    clean = CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).strip()
    return in_order(clean) if SEEN.search(clean) else EMPTY


def text_html(text: str) -> str:
    """Return text as HTML inside a line: escaped, in the direction of its own script."""
    return f'<span dir="auto">{html.escape(shown(text))}</span>'


def document_html(document: Document, marks: dict[str, str]) -> str:
    """Return a document as HTML, one paragraph per sentence, every text escaped.

    ``marks``: sentence id -> what precedes the highlighted sentence (a number, or nothing). The browser opens the
    document at the first mark.
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
    """Return a line of links: each name scrolls the document to the highlight that begins with it.

    A link into the page would make Label Studio leave the task. The label of a button focuses it
    instead, and the browser scrolls to what it focuses. The decision keys still work: Label Studio
    listens for them unless the focus is in a text field.
    """
    return "Go to " + " ".join(f'<label for="mark-{name}">{name}</label>' for name in map(html.escape, marks))


def guidelines_html(text: str) -> str:
    """Return guidelines (Markdown) as HTML; HTML inside them is shown as text."""
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    parts = markdown.parse(text)
    for part in parts:
        if part.children and in_order(part.content) != part.content:  # begins with the name of a button, perhaps
            part.children.insert(0, Token("text", "", 0, content=in_order(part.content)[0]))
    body = markdown.renderer.render(parts, markdown.options, {})
    return f'<div class="xd-guide" dir="auto">{body}</div>'

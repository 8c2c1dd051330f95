"""Texts of documents as HTML that Label Studio shows: escaped, marked, never empty."""

from __future__ import annotations

import html
import re
from collections.abc import Collection

import regex

from abcdlink.corpus.records import Document

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

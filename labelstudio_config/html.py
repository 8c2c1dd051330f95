"""Texts of documents as HTML that Label Studio shows: escaped, marked, never empty."""

from __future__ import annotations

import html
import re

from abcdlink.corpus.records import Document

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Control characters that a database or a browser cannot take."""

EMPTY = "(empty sentence)"


def shown(text: str) -> str:
    """Return a sentence as people see it: without outer white space and control characters, never empty."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).strip() or EMPTY


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
            number = f"<b>{html.escape(marks[sentence.id])}</b> " if marks[sentence.id] else ""
            text, scroll = f"<mark{scroll}>{number}{text}</mark>", ""
        paragraphs.append(f"<p>{text}</p>")
    return "".join(paragraphs)


def guidelines_html(text: str) -> str:
    """Return guidelines (Markdown) as HTML; HTML inside them shows as text."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return f'<div class="xd-guide">{body}</div>'

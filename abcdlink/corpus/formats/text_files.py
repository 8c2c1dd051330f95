"""The text of files that hold one document each: plain text, HTML, Word and PDF."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from abcdlink.corpus.formats.files import LITTER, open_file, read_bytes, read_text
from abcdlink.corpus.markup import without_tags
from abcdlink.errors import InputError, first_line
from abcdlink.languages import script_of

PAGE_BREAK, HYPHEN = "\f", "\ufffe"
AS_TYPED = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
"""Letters that a PDF sets as one sign; nobody who types a word would find it."""
AS_TYPED |= {0xF0A7: "\u25aa", 0xF0B7: "\u2022"}
"""Bullets of Word's own fonts, which no other font has."""
RIGHT_TO_LEFT = ("Arabic", "Hebrew")
NO_CONTENTS = "p[style-name^='toc '] => !"
"""Leaves out the lines of a table of contents."""
NOTE_MARKS = re.compile(
    r'<sup><a href="#(?:foot|end)note-\d+"[^>]*>\[\d+\]</a></sup>|<a href="#(?:foot|end)note-ref-\d+">↑</a>'
)
"""Marks in the text that lead to a note, and the arrows back; the notes themselves stay, at the end."""

COUNTS, PAGE = "cleaning.json", "removed.html"
"""What `abcdlink clean` writes beside the texts; the page, which is for people, is not a document."""


def text_files(folder: Path) -> tuple[dict[str, Path], list[Path]]:
    """Return the documents in a folder and its subfolders, and the files that repeat one with another ending.

    A document is named by its path below the folder without its ending. Where a name has several files, the first by
    the order of ``READERS`` counts. An ``.md`` file is a document only where there are no others.
    """
    there = sorted(folder.rglob("*")) if folder.is_dir() else []
    page = folder / PAGE if (folder / COUNTS).exists() else None
    found = [path for path in there if ending(path.name) and not path.name.startswith(LITTER) and path != page]
    found = [path for path in found if ending(path.name) != MARKDOWN] or found
    names = {path: without_ending(path.relative_to(folder).as_posix()) for path in found}
    first: dict[str, Path] = {}
    for path in sorted(found, key=lambda path: list(READERS).index(ending(path.name))):
        first.setdefault(names[path], path)
    documents = {name: path for path, name in names.items() if first[name] == path}
    return documents, [path for path, name in names.items() if first[name] != path]


def ending(name: str) -> str:
    """Return the ending of a file name, in small letters, if such a file holds a document; else ``""``."""
    found = Path(name).suffix.casefold()
    return found if found in READERS else ""


def without_ending(name: str) -> str:
    """Return the name of a file without the ending that says it holds a document."""
    return name[: len(name) - len(ending(name))]


def read_document(path: Path) -> str:
    """Return the text of a file; in that of a PDF a form feed ends each page.

    Raises:
        InputError: when it cannot be read, or has no text.
    """
    return READERS[ending(path.name)](path)


def pages_without_text(path: Path, text: str) -> Iterator[str]:
    """Yield where a PDF has pages without text: they are blank, or pictures of text that was scanned."""
    pages = text.split(PAGE_BREAK) if ending(path.name) == PDF else ()
    return (f"{path}, page {number}" for number, page in enumerate(pages, start=1) if not page)


def _html(path: Path) -> str:
    return without_tags(read_text(path))


def _word(path: Path) -> str:
    """Read a Word file: tracked insertions count; deletions, comments, headers, footers, tables of contents do not."""
    import mammoth  # type: ignore[import-untyped]

    with open_file(path) as file:
        try:
            page = mammoth.convert_to_html(file, style_map=NO_CONTENTS, convert_image=lambda _: []).value
        except Exception as error:  # noqa: BLE001 - it raises whatever a damaged archive and XML lead to
            msg = f"{path} cannot be read as a Word file: {first_line(error)}"
            hint = "open it in Word and save it as .docx, without a password"
            raise InputError(msg, hint) from None
    return html.unescape(without_tags(NOTE_MARKS.sub("", page)))


def _pdf(path: Path) -> str:
    import pypdfium2  # type: ignore[import-untyped]

    try:
        with pypdfium2.PdfDocument(read_bytes(path)) as document:
            pages = [_page_text(page.get_textpage().get_text_range()) for page in document]
    except pypdfium2.PdfiumError as error:
        msg = f"{path} cannot be read as a PDF: {first_line(error)}"
        raise InputError(msg, "open it and print it to a new PDF, without a password") from None
    if not any(pages):
        msg = f"{path} has no text, only pictures"
        raise InputError(msg, "recognise its text first, for example with `ocrmypdf FILE NEW.pdf`")
    if script_of(" ".join(pages)) in RIGHT_TO_LEFT:
        msg = f"{path} is in a script that runs from right to left, and a PDF does not keep the order of its letters"
        raise InputError(msg, "give the Word file, or the text")
    return PAGE_BREAK.join(pages)


def _page_text(text: str) -> str:
    """Return the text of a page with its lines as they are set; PDFium joins them where one ends with a hyphen."""
    return text.replace(HYPHEN, "-\n").replace("\r\n", "\n").translate(AS_TYPED).strip()


TEXT, MARKDOWN, PDF = ".txt", ".md", ".pdf"
PLAIN = (TEXT, MARKDOWN)
READERS: dict[str, Callable[[Path], str]] = {
    TEXT: read_text,
    ".docx": _word,
    ".html": _html,
    ".htm": _html,
    PDF: _pdf,
    MARKDOWN: read_text,
}
"""Readers by ending."""

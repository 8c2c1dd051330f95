"""A folder of plain text as a corpus whose sentences are lines, so that it can be cleaned before sentences are cut."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from abcdlink.cleaning import Removed
from abcdlink.corpus.formats.files import read_text
from abcdlink.corpus.formats.text import PAIRS_FILE, text_files
from abcdlink.corpus.io import DOCUMENTS
from abcdlink.corpus.leftovers import LinePattern, without_leftovers
from abcdlink.corpus.lines import LINE
from abcdlink.corpus.records import Corpus, Document, Refusal, Sentence
from abcdlink.errors import InputError
from abcdlink.folders import Folder, open_folder


def is_text_folder(folder: str) -> bool:
    """Tell whether a local folder has text files and no corpus."""
    path = Path(folder)
    return not folder.startswith("s3://") and not (path / DOCUMENTS).exists() and bool(text_files(path)[1])


def read_lines(folder: str) -> Corpus:
    """Read each text file as a document, named by its path, whose sentences are the lines that are not blank.

    The id of a line is its number in the file, from 1. Files that cannot be read are refused.
    """
    path, documents, refused = Path(folder), {}, []
    for file in text_files(path)[1]:
        name = file.relative_to(path).as_posix()
        try:
            lines = [(number, line) for number, (line, _) in enumerate(_lines(read_text(file)), 1) if line.strip()]
            sentences = tuple(Sentence(id=str(number), text=line) for number, line in lines)
            documents[name] = Document(id=name, sentences=sentences)
        except InputError as error:
            refused.append(Refusal(where=str(file), reason=error.problem, hint=error.hint))
    if not documents:
        msg = f"{folder} has no text file that can be used"
        raise InputError(msg, f"the first: {refused[0].line}" if refused else "check the path")
    return Corpus(name=path.resolve().name, documents=documents, pairs=[], refused=refused)


def leftovers(folder: str, corpus: Corpus, further: Sequence[LinePattern]) -> dict[str, list[Removed]]:
    """Return the whole lines that an import would remove, by document."""
    removed: dict[str, list[Removed]] = {}
    for name, document in corpus.documents.items():
        text = "".join(line + end for line, end in _lines(read_text(Path(folder) / name)))
        for line, cut, why in without_leftovers(text, further).removed:
            sentence = document.sentences[document.position[str(line)]]
            if sentence.text == cut:
                at = document.position[sentence.id]
                removed.setdefault(name, []).append(Removed(document=name, position=at, sentence=sentence, by=why))
    return removed


def write_lines(source: str, out: str, removed: Sequence[Removed]) -> None:
    """Write a copy of the text files without the removed lines, and of the table of pairs."""
    path, folder = Path(source), open_folder(out)
    gone = _by_document(removed)
    texts = text_files(path)[1]
    for file in [*texts, *(other for other in path.iterdir() if other.name.casefold() == PAIRS_FILE)]:
        name = file.relative_to(path).as_posix()
        if name in gone:
            lines = _lines(read_text(file))
            kept = [line + end for number, (line, end) in enumerate(lines, 1) if number not in gone[name]]
            folder.write(name, "".join(kept).encode())
        else:
            folder.write(name, file.read_bytes())


def put_back(folder: Folder, removed: Sequence[Removed]) -> None:
    """Put removed lines back where they were; a file that has them all at their places has them back already."""
    for name, back in _by_document(removed).items():
        lines = [line + end for line, end in _lines(folder.read(name).decode())]
        if all(number <= len(lines) and lines[number - 1] == f"{text}\n" for number, text in back.items()):
            continue
        for number in sorted(back):
            lines.insert(number - 1, f"{back[number]}\n")
        folder.write(name, "".join(lines).encode())


def _by_document(removed: Sequence[Removed]) -> dict[str, dict[int, str]]:
    """Return document -> number of a removed line -> the line."""
    found: dict[str, dict[int, str]] = {}
    for one in removed:
        found.setdefault(one.document, {})[int(one.sentence.id)] = one.sentence.text
    return found


def _lines(text: str) -> list[tuple[str, str]]:
    """Return each line of a text with its end; those of Windows and old Macs become Unix ends."""
    pieces = re.split(f"({LINE.pattern})", text.replace("\r\n", "\n").replace("\r", "\n"))
    return list(zip(pieces[::2], [*pieces[1::2], ""], strict=True))

"""A folder of plain text as a corpus whose sentences are lines, so that it can be cleaned before sentences are cut."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from abcdlink.cleaning import Removed
from abcdlink.corpus.formats.text import PAIRS_FILES
from abcdlink.corpus.formats.text_files import PLAIN, TEXT, ending, read_document, text_files
from abcdlink.corpus.io import DOCUMENTS
from abcdlink.corpus.leftovers import LinePattern, without_leftovers
from abcdlink.corpus.lines import LINE
from abcdlink.corpus.records import Corpus, Document, Refusal, Sentence
from abcdlink.errors import InputError
from abcdlink.folders import Folder, open_folder
from abcdlink.progress import Progress, silent


def is_text_folder(folder: str) -> bool:
    """Tell whether a local folder has text files and no corpus."""
    path = Path(folder)
    return not folder.startswith("s3://") and not (path / DOCUMENTS).exists() and bool(text_files(path)[0])


class TextFolder:
    """The documents of a folder, each read once.

    ``corpus`` has them named by their files, with the lines that are not blank as their sentences: the id of a line is
    its number in the text, from 1. Files that cannot be read are refused.
    """

    def __init__(self, folder: str, progress: Progress = silent) -> None:
        self._path, self._lines = Path(folder), dict[str, list[tuple[str, str]]]()
        self._files, documents, refused = _files(self._path), {}, []
        for name, file in progress(self._files.items(), f"reading {folder}", len(self._files)):
            try:
                lines = _lines(read_document(file))
                kept = [
                    Sentence(id=str(number), text=line) for number, (line, _) in enumerate(lines, 1) if line.strip()
                ]
                documents[name] = Document(id=name, sentences=tuple(kept))
                self._lines[name] = lines
            except InputError as error:
                refused.append(Refusal(where=str(file), reason=error.problem, hint=error.hint))
        if not documents:
            msg = f"{folder} has no text file that can be used"
            raise InputError(msg, f"the first: {refused[0].line}" if refused else "check the path")
        self.corpus = Corpus(name=self._path.resolve().name, documents=documents, pairs=[], refused=refused)

    def leftovers(self, further: Sequence[LinePattern]) -> dict[str, list[Removed]]:
        """Return the whole lines that an import would remove, by document."""
        removed: dict[str, list[Removed]] = {}
        for name, document in self.corpus.documents.items():
            text = "".join(line + end for line, end in self._lines[name])
            for line, cut, why in without_leftovers(text, further).removed:
                at = document.position[str(line)]
                if document.sentences[at].text == cut:
                    one = Removed(document=name, position=at, sentence=document.sentences[at], by=why)
                    removed.setdefault(name, []).append(one)
        return removed

    def write(self, out: str, removed: Sequence[Removed]) -> None:
        """Write a copy of the documents without the removed lines, as plain text, and of the table of pairs.

        A file that cannot be read is copied as it is: an import names it.
        """
        folder, gone = open_folder(out), _by_document(removed)
        for name, file in self._files.items():
            if name in self._lines and (name in gone or not _is_plain(file)):
                lines, cut = self._lines[name], gone.get(name, ())
                kept = [line + end for number, (line, end) in enumerate(lines, 1) if number not in cut]
                folder.write(name, "".join(kept).encode())
            else:
                folder.write(file.relative_to(self._path).as_posix(), file.read_bytes())
        for table in (other for other in self._path.iterdir() if other.name.casefold() in PAIRS_FILES):
            folder.write(table.name, table.read_bytes())


def put_back(folder: Folder, removed: Sequence[Removed]) -> None:
    """Put removed lines back where they were; a file that has them all at their places has them back already."""
    for name, back in _by_document(removed).items():
        lines = [line + end for line, end in _lines(folder.read(name).decode())]
        if all(number <= len(lines) and lines[number - 1] == f"{text}\n" for number, text in back.items()):
            continue
        for number in sorted(back):
            lines.insert(number - 1, f"{back[number]}\n")
        folder.write(name, "".join(lines).encode())


def _files(folder: Path) -> dict[str, Path]:
    """Return the documents of a folder by the names of the files with their lines."""
    documents, _ = text_files(folder)
    return {name + (ending(file.name) if _is_plain(file) else TEXT): file for name, file in documents.items()}


def _is_plain(file: Path) -> bool:
    return ending(file.name) in PLAIN


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

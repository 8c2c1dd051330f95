"""New data dropped into a folder or an ``s3://`` prefix: what is new and whole is taken once, as one corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import IO

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.counts import remarks
from abcdlink.corpus.leftovers import LinePattern
from abcdlink.corpus.plain_text import PlainText
from abcdlink.corpus.segmentation import Segmenter, get_segmenter
from abcdlink.drops.ledger import (
    DropResult,
    Entry,
    Known,
    Quarantined,
    State,
    Taken,
    WaitingFile,
    accounts,
    open_ledger,
    read_known,
    read_ledger,
    settle,
)
from abcdlink.drops.reading import FilePart, Fingerprint, fingerprint, lines, uncompressed
from abcdlink.drops.sources import WHOLE_SECONDS, DropFile, LocalSource, Source, open_source
from abcdlink.folders import Folder

__all__ = [
    "DropResult",
    "LocalSource",
    "State",
    "accounts",
    "open_ledger",
    "open_source",
    "read_ledger",
    "settle",
    "take",
    "waiting",
]

SUFFIX, ZIPPED = ".jsonl", ".jsonl.gz"
UPLOADING = (".part", ".partial", ".filepart", ".crdownload", ".tmp")
"""Endings under which programs write before they rename."""

CHANGING = "it changed while it was being read"

LIMIT = 1000
"""Lines read in one take, which bounds the memory it needs."""


def take(
    source: Source, ledger: Folder, segmenter: Segmenter, limit: int = LIMIT, remove: Sequence[LinePattern] = ()
) -> DropResult:
    """Read new, whole files, at most ``limit`` lines of them; nothing is changed anywhere.

    The same bytes under two names are taken once, and so is the same pair, whatever the file. New content under a known
    name is a new version: a document or pair whose id had other content before gets ``@<version>`` behind its id.
    A file that cannot be read waits, and the others go on. From plain text, ``remove`` and the usual leftovers go.

    Raises:
        InputError: when the source folder is missing.
        ServiceError: when S3 does not answer.
    """
    return _Take(source, ledger, PlainText(segmenter, remove=remove), limit).run()


def waiting(source: Source, ledger: Folder) -> list[WaitingFile]:
    """Return the files that are not taken yet, each with the reason."""
    look = _Take(source, ledger, PlainText(get_segmenter()), 0)
    for file in source.files():
        if not look.is_done(file):
            look.keeping_waiting(file, look.entry_of)
    return look.result.waiting


class _Take:
    def __init__(self, source: Source, ledger: Folder, texts: PlainText, limit: int) -> None:
        self.source, self.ledger, self.texts, self.left = source, ledger, texts, limit
        self.entries = read_ledger(ledger)
        self.finished = {entry.digest for entry in self.entries.values() if entry.state is not State.TAKING}
        self.builder = CorpusBuilder("drops")
        self.result = DropResult(self.builder.build())

    def run(self) -> DropResult:
        for file in self.source.files():
            if self.is_done(file):
                continue
            if self.left <= 0:
                self.result.more = True
                break
            self.keeping_waiting(file, self._take)
        self.builder.note(*self.texts.notes())
        self.result.corpus = corpus = self.builder.build()
        corpus.notes.extend(remarks(corpus))
        return self.result

    @cached_property
    def known(self) -> Known:
        """What all files held that were taken before, in all their versions."""
        return read_known(
            self.ledger, {one for entry in self.entries.values() for one in (*entry.history, entry.digest)}
        )

    def keeping_waiting(self, file: DropFile, do: Callable[[DropFile], object]) -> None:
        """Do something with a file, or note that it waits as it cannot be read."""
        try:
            do(file)
        except OSError as error:
            self._wait(file, f"it cannot be read: {error.strerror or error}")

    def _take(self, file: DropFile) -> None:
        if entry := self.entry_of(file):
            self._read(file, entry)

    def is_done(self, file: DropFile) -> bool:
        """Tell whether there is nothing new in a file."""
        entry = self.entries.get(file.name)
        return entry is not None and entry.stamp == file.stamp and entry.state is not State.TAKING

    def _wait(self, file: DropFile, reason: str) -> None:
        self.result.waiting.append(WaitingFile(name=file.name, reason=reason))

    def entry_of(self, file: DropFile) -> Entry | None:
        """Return the entry of a file that is to be read, a new one when its content is new."""
        before = self.entries.get(file.name)
        if before and before.stamp == file.stamp:
            return before
        if reason := _unfinished(file):
            self._wait(file, reason)
            return None
        with self.source.open(file.name) as stream:
            found = fingerprint(stream)
        if self.source.stamp(file.name) != file.stamp:
            self._wait(file, CHANGING)
            return None
        if file.name.endswith(SUFFIX) and not (found.ended or file.whole or found.refused):
            minutes = f"{WHOLE_SECONDS // 60:.0f} minutes after its last change"
            self._wait(file, f"its last line does not end yet; it is read when it does, or {minutes}")
            return None
        entry = self._new_entry(file, found, before)
        if entry.state is State.TAKING:
            return entry
        self.result.entries.append(entry)
        return None

    def _new_entry(self, file: DropFile, found: Fingerprint, before: Entry | None) -> Entry:
        if before and before.digest == found.digest:
            return before.model_copy(update={"stamp": file.stamp})
        history = (*before.history, before.digest) if before else ()
        entry = Entry(name=file.name, stamp=file.stamp, digest=found.digest, history=history, gzip=found.gzip)
        if found.digest in self.finished:
            return entry.model_copy(update={"state": State.DUPLICATE})
        if reason := found.refused or ("" if file.name.endswith((SUFFIX, ZIPPED)) else f"it is not a {SUFFIX} file"):
            self.finished.add(found.digest)
            hint = "drop JSON Lines in UTF-8, one pair a line, as they are or compressed with gzip"
            self.result.quarantined.append(
                Quarantined(name=file.name, digest=found.digest, offset=0, length=file.size, reason=reason, hint=hint)
            )
            return entry.model_copy(update={"state": State.QUARANTINED})
        return entry

    def _read(self, file: DropFile, entry: Entry) -> None:
        """Continue where the entry stopped; what is read counts only if the file has not changed meanwhile."""
        part = FilePart(entry, read_known(self.ledger, entry.history), self.known)
        complete = True
        with ExitStack() as opened:
            stream: IO[bytes] = opened.enter_context(self.source.open(file.name, 0 if entry.gzip else entry.offset))
            if entry.gzip:
                stream = opened.enter_context(uncompressed(stream, entry.offset))
            for line in lines(stream, entry.offset, entry.lines):
                if self.left <= 0:
                    complete = False
                    break
                part.add(line, self.texts)
                self.left -= 1
        if self.source.stamp(file.name) == file.stamp:
            self._keep(part, complete=complete)
        else:
            self._wait(file, CHANGING)

    def _keep(self, part: FilePart, *, complete: bool) -> None:
        entry = part.entry
        for number, (source, target, pair) in part.pairs:
            self.builder.add_whole_pair(f"{self.source.where(entry.name)}, line {number}", source, target, pair)
        if complete:
            self.finished.add(entry.digest)
        done = {
            "offset": part.offset,
            "lines": part.lines,
            "pairs": entry.pairs + len(part.pairs),
            "bad_lines": entry.bad_lines + len(part.bad),
            "state": State.TAKEN if complete else State.TAKING,
        }
        self.result.entries.append(entry.model_copy(update=done))
        self.result.known[entry.digest, entry.offset] = part.found
        self.result.quarantined.extend(part.bad)
        self.result.more |= not complete
        self.result.taken.append(
            Taken(
                name=entry.name,
                digest=entry.digest,
                version=entry.version,
                pairs=len(part.pairs),
                unchanged=part.unchanged,
                bad_lines=len(part.bad),
                complete=complete,
            )
        )


def _unfinished(file: DropFile) -> str:
    """Say why a file cannot be complete yet, before it is read; empty when it may be."""
    if file.name.endswith(UPLOADING):
        return "its name is that of an upload in progress"
    if not file.settled:
        return "it was changed just now"
    return "" if file.size else "it is empty"

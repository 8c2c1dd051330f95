"""Reads a drop file line by line, whatever its size: new pairs, pairs that are known already, bad lines."""

from __future__ import annotations

import codecs
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import GzipFile
from io import BufferedReader
from typing import IO, NamedTuple, cast

from pydantic import ValidationError

from abcdlink.corpus.formats.jsonl import DropLine
from abcdlink.corpus.plain_text import PlainText
from abcdlink.corpus.records import Document, Pair, Record
from abcdlink.drops.ledger import Entry, Known, Quarantined, add_hash
from abcdlink.errors import SAVE_AS_UTF8, InputError, fault_in

CHUNK = 1 << 20
MAX_LINE = 16 << 20
"""Bytes of the longest line that is read; a longer one is not a pair of documents but another format."""

GZIP = b"\x1f\x8b"
ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\xff\xfe": "in UTF-16",
    b"\xfe\xff": "in UTF-16",
}
"""How files begin that hold no lines of UTF-8."""

LONGEST_MARK = max(map(len, ARCHIVES))

EXCERPT = 40
"""Bytes shown before and after a bad byte."""


AS_WANTED = (
    'write {"pair": id, "source": {"id": ..., "text": ...}, "target": {"id": ..., "text": ...}}, and facts about a '
    'document into its "meta": {"topic": "tides"}'
)


class BadLineError(InputError):
    """A line that cannot be used: ``offset`` bytes from the line's start, with the bytes around it."""

    def __init__(self, problem: str, hint: str, offset: int = 0, excerpt: str = "") -> None:
        super().__init__(problem, hint)
        self.offset, self.excerpt = offset, excerpt


class FileLine(NamedTuple):
    """A line with its end: ``data`` is cut off after ``MAX_LINE`` bytes, ``length`` is not; ``number``: from 1."""

    number: int
    offset: int
    data: bytes
    length: int


class Fingerprint(NamedTuple):
    """What is known of a file after one pass over its bytes.

    ``digest``: SHA-256 of the bytes; ``ended``: whether the last line has its end; ``gzip``: whether the content is
    compressed with gzip; ``refused``: why no line of it can be read, else empty.
    """

    digest: str
    ended: bool
    gzip: bool
    refused: str


class _Hashed:
    """Passes a stream through and hashes it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest, self.start = file, hashlib.sha256(), b""

    def read(self, size: int = CHUNK) -> bytes:
        data = self.file.read(size)
        self.start = self.start or data[:LONGEST_MARK]
        self.digest.update(data)
        return data


def fingerprint(file: BufferedReader) -> Fingerprint:
    r"""Read a stream once and say what is in it.

    Raises:
        OSError: when the file cannot be read, or is compressed with gzip and cut or broken.
    """
    hashed = _Hashed(file)
    compressed = file.peek(len(GZIP)).startswith(GZIP)
    content = GzipFile(fileobj=cast("BufferedReader", hashed), mode="rb") if compressed else hashed
    last, size, nuls = b"", 0, 0
    with _gzip_errors():
        while chunk := content.read(CHUNK):
            last, size, nuls = chunk[-1:], size + len(chunk), nuls + chunk.count(0)
    archive = next((name for mark, name in ARCHIVES.items() if hashed.start.startswith(mark)), "")
    refused = f"it is {archive}" if archive else "it is in UTF-16" if nuls * 10 > size else ""
    return Fingerprint(hashed.digest.hexdigest(), last == b"\n", compressed, refused)


@contextmanager
def uncompressed(file: IO[bytes], offset: int) -> Iterator[IO[bytes]]:
    """Read gzip data from a byte offset in what they hold."""
    with _gzip_errors(), GzipFile(fileobj=file, mode="rb") as stream:
        stream.seek(offset)
        yield cast("IO[bytes]", stream)


@contextmanager
def _gzip_errors() -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error):
        msg = "its gzip data is truncated or corrupt"
        raise OSError(msg) from None


def lines(file: IO[bytes], offset: int, before: int) -> Iterator[FileLine]:
    r"""Yield the lines of a stream that begins at ``offset``, ``before`` which there are lines; ``\n`` ends a line."""
    while data := file.readline(MAX_LINE):
        length, part = len(data), data
        while part and not part.endswith(b"\n"):
            part = file.readline(CHUNK)
            length += len(part)
        before += 1
        yield FileLine(before, offset, data, length)
        offset += length


def parse(line: FileLine) -> DropLine | None:
    """Read one line; a blank one is ``None``.

    Raises:
        BadLineError: when it is too long, not UTF-8, not JSON or not a pair.
    """
    if line.length > len(line.data):
        msg = f"the line is longer than {MAX_LINE} bytes"
        raise BadLineError(msg, "write one pair a line, each line ended by \\n")
    mark = len(codecs.BOM_UTF8) if line.offset == 0 and line.data.startswith(codecs.BOM_UTF8) else 0
    try:
        text = line.data[mark:].decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        start = error.start + mark
        msg = f"byte 0x{line.data[start]:02x} is not UTF-8"
        raise BadLineError(msg, SAVE_AS_UTF8, start, _excerpt(line.data, start)) from None
    try:
        return DropLine.model_validate_json(text) if text.strip() else None
    except ValidationError as error:
        raise BadLineError(fault_in(error), AS_WANTED, excerpt=_excerpt(line.data, 0)) from None
    except InputError as error:
        raise BadLineError(error.problem, error.hint, excerpt=_excerpt(line.data, 0)) from None


def _excerpt(data: bytes, around: int) -> str:
    return data[max(0, around - EXCERPT) : around + EXCERPT].decode(errors="backslashreplace")


class FilePart:
    """Collects the lines of one file that are read in one take.

    ``before``: what earlier versions of it held; ``taken``: what all files held that were taken before.
    """

    def __init__(self, entry: Entry, before: Known, taken: Known) -> None:
        self.entry, self.before, self.taken = entry, before, taken
        self.offset, self.lines = entry.offset, entry.lines
        self.pairs: list[tuple[int, tuple[Document, Document, Pair]]] = []
        self.bad: list[Quarantined] = []
        self.unchanged = 0
        self.found = Known()

    def add(self, line: FileLine, texts: PlainText) -> None:
        """Add a line: as a pair, as one that is known, or to the quarantine."""
        self.offset, self.lines = line.offset + line.length, line.number
        try:
            if drop := parse(line):
                content = _hash(drop)
                if content in self.taken.pairs.get(drop.pair, "").split():
                    self.unchanged += 1
                else:
                    self.pairs.append((line.number, self._renamed(drop).records(texts)))
                self._remember(drop, content)
        except InputError as error:
            bad = error if isinstance(error, BadLineError) else BadLineError(error.problem, error.hint)
            self.bad.append(
                Quarantined(
                    name=self.entry.name,
                    digest=self.entry.digest,
                    offset=line.offset + bad.offset,
                    length=line.length,
                    reason=bad.problem,
                    hint=bad.hint,
                    line=line.number,
                    excerpt=bad.excerpt,
                )
            )

    def _remember(self, drop: DropLine, content: str) -> None:
        for document in (drop.source, drop.target):
            add_hash(self.found.documents, document.id, _hash(document))
        add_hash(self.found.pairs, drop.pair, content)

    def _renamed(self, drop: DropLine) -> DropLine:
        """Give ids that held other content in an earlier version the number of this version."""
        documents = {
            side: document.model_copy(update={"id": self._name(document.id, document, self.before.documents)})
            for side, document in (("source", drop.source), ("target", drop.target))
        }
        return drop.model_copy(update={"pair": self._name(drop.pair, drop, self.before.pairs), **documents})

    def _name(self, item: str, content: Record, before: dict[str, str]) -> str:
        return item if item not in before or _hash(content) in before[item].split() else f"{item}@{self.entry.version}"


def _hash(line: Record) -> str:
    return hashlib.sha256(line.model_dump_json().encode()).hexdigest()

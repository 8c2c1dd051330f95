"""Where data drops come from: a local folder or an ``s3://`` prefix, read as streams."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.folders import S3Folder, s3_errors

QUIET_SECONDS = 2.0
"""A local file that changed less than this ago may still be written to."""

BUFFER = 1 << 20
"""Bytes asked of S3 at once."""


class DropFile(Record):
    """A file that somebody dropped.

    ``name``: relative to the source; ``size`` in bytes; ``stamp``: another one means that the content may
    have changed; ``settled``: false while somebody may still be writing.
    """

    name: str
    size: int
    stamp: str
    settled: bool = True


class Source(Protocol):
    """A place that is watched for new files. Nothing in it is ever changed, moved or deleted."""

    def files(self) -> list[DropFile]:
        """Return all files by name; hidden ones are left out."""

    def stamp(self, name: str) -> str:
        """Return the stamp of one file as it is now; ``FileNotFoundError`` when it is gone."""

    def open(self, name: str, offset: int = 0) -> AbstractContextManager[IO[bytes]]:
        """Open one file as a stream from a byte offset, which must lie before its end."""

    def where(self, name: str = "") -> str:
        """Return a path or address that a person can open."""


class LocalSource:
    """A folder of this machine with its subfolders.

    Args:
        root: the folder.
        quiet: seconds without a change after which a file counts as written.
    """

    def __init__(self, root: Path, quiet: float = QUIET_SECONDS) -> None:
        self.root, self.quiet = root, quiet

    def files(self) -> list[DropFile]:
        """Return all files by name; ``InputError`` when the folder is not there."""
        if not self.root.is_dir():
            msg = f"the drop folder {self.root} is not there"
            raise InputError(msg, "create it or set ABCDLINK_DROPS_SOURCE")
        found = []
        for path in self.root.rglob("*"):
            # A file may vanish between being listed and being looked at, as uploads are renamed.
            with suppress(FileNotFoundError):
                if path.is_file():
                    found.append(self._file(path))
        return sorted(filter(_visible, found), key=lambda file: file.name)

    def _file(self, path: Path) -> DropFile:
        status = path.stat()
        # A name that is no UTF-8 is shown with escapes; opening it then fails and the file waits.
        name = path.relative_to(self.root).as_posix().encode(errors="surrogateescape").decode(errors="backslashreplace")
        settled = time.time() - status.st_mtime >= self.quiet
        return DropFile(name=name, size=status.st_size, stamp=_local_stamp(path), settled=settled)

    def stamp(self, name: str) -> str:
        """Return size and time of the last change."""
        return _local_stamp(self.root / name)

    @contextmanager
    def open(self, name: str, offset: int = 0) -> Iterator[IO[bytes]]:
        """Open one file as a stream."""
        with (self.root / name).open("rb") as file:
            file.seek(offset)
            yield file

    def where(self, name: str = "") -> str:
        """Return the absolute path."""
        return str((self.root / name).resolve())


class S3Source:
    """A prefix of an S3 bucket; ``ServiceError`` from every method when S3 does not answer."""

    def __init__(self, url: str) -> None:
        self.folder = S3Folder(url)

    def files(self) -> list[DropFile]:
        """Return all objects by name. S3 shows an object only when it is whole, so all are settled."""
        found = (DropFile(name=name, size=item["Size"], stamp=_s3_stamp(item)) for name, item in self.folder.objects())
        return list(filter(_visible, found))

    def stamp(self, name: str) -> str:
        """Return the object's ETag and time of change (an ETag alone is no content hash)."""
        with s3_errors(self.where(name)):
            return _s3_stamp(self.folder.client.head_object(Bucket=self.folder.bucket, Key=self.folder.key(name)))

    @contextmanager
    def open(self, name: str, offset: int = 0) -> Iterator[IO[bytes]]:
        """Open one object as a stream; errors while it is read are S3's as well."""
        key = {"Bucket": self.folder.bucket, "Key": self.folder.key(name)}
        with s3_errors(self.where(name)):
            body = self.folder.client.get_object(**key, Range=f"bytes={offset}-")["Body"]
            with io.BufferedReader(body, buffer_size=BUFFER) as stream:
                yield stream

    def where(self, name: str = "") -> str:
        """Return the ``s3://`` address."""
        return self.folder.where(name)


def open_source(source: str) -> Source:
    """Open a local folder or an ``s3://`` prefix; ``InputError`` when none is given."""
    if not source:
        msg = "no source of data drops is set"
        raise InputError(msg, "set ABCDLINK_DROPS_SOURCE to a folder or an s3:// prefix")
    return S3Source(source) if source.startswith("s3://") else LocalSource(Path(source))


def _visible(file: DropFile) -> bool:
    return not any(part.startswith(".") for part in file.name.split("/"))


def _local_stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def _s3_stamp(item: dict[str, Any]) -> str:
    return f"{item['ETag']}-{item['LastModified'].timestamp()}"

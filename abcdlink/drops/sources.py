"""Where data drops come from: a local folder or an ``s3://`` prefix, read as streams."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.folders import S3Folder, s3_errors

QUIET_SECONDS = 2.0
"""A local file that changed less than this ago may still be written to."""

WHOLE_SECONDS = 600.0
"""A local file that has not changed for this long is whole, even when its last line has no end."""

BUFFER = 1 << 20
"""Bytes asked of S3 at once."""


OBJECT_STATUS = frozenset({400, 403, 405, 412, 416, 451})
"""Answers of S3 to a request for one object that may concern this object alone."""

ALL_REFUSED = frozenset(
    {"ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "RequestTimeTooSkewed", "RequestTimeout"}
    | {"SignatureDoesNotMatch", "TokenRefreshRequired"}
)
"""Codes of S3 with such an answer that concern all requests."""


class DropFile(Record):
    """A file that somebody dropped.

    ``name``: relative to the source; ``size`` in bytes; ``stamp``: another one means that the content may
    have changed; ``settled``: false while somebody may still be writing; ``whole``: nobody will add to it, so
    that its last line may have no end.
    """

    name: str
    size: int
    stamp: str
    settled: bool = True
    whole: bool = False


class LocalSource:
    """A folder with its subfolders; a file counts as written after ``quiet`` seconds without a change."""

    def __init__(self, root: Path, quiet: float = QUIET_SECONDS) -> None:
        self.root, self.quiet = root, quiet

    def files(self) -> list[DropFile]:
        """Return all files by name, hidden ones left out; ``InputError`` when the folder is not there."""
        if not self.root.is_dir():
            msg = f"the drop folder {self.root} does not exist"
            raise InputError(msg, "create it or set ABCDLINK_DROPS_SOURCE")
        found: list[DropFile] = []

        def closed(error: OSError) -> None:
            # A subfolder that cannot be listed stands for its files: opening it fails, and so it waits.
            found.append(DropFile(name=Path(error.filename).relative_to(self.root).as_posix(), size=1, stamp=""))

        for folder, _, names in os.walk(self.root, onerror=closed):
            for path in (Path(folder, name) for name in names):
                # A file may vanish between being listed and being looked at, as uploads are renamed.
                with suppress(FileNotFoundError):
                    if path.is_file():
                        found.append(self._file(path))
        return sorted(filter(_visible, found), key=lambda file: file.name)

    def _file(self, path: Path) -> DropFile:
        status = path.stat()
        # A name that is not UTF-8 is shown with escapes; opening it then fails, and the file waits.
        name = path.relative_to(self.root).as_posix().encode(errors="surrogateescape").decode(errors="backslashreplace")
        age = time.time() - status.st_mtime
        return DropFile(
            name=name,
            size=status.st_size,
            stamp=_local_stamp(path),
            settled=age >= self.quiet,
            whole=age >= max(WHOLE_SECONDS, self.quiet),
        )

    def stamp(self, name: str) -> str:
        """Return size and time of the last change; ``FileNotFoundError`` when the file is gone."""
        return _local_stamp(self.root / name)

    @contextmanager
    def open(self, name: str, offset: int = 0) -> Iterator[BufferedReader]:
        """Open one file as a stream from a byte offset before its end."""
        with (self.root / name).open("rb") as file:
            file.seek(offset)
            yield file

    def where(self, name: str = "") -> str:
        """Return the absolute path."""
        return str((self.root / name).resolve())


class S3Source:
    """A prefix of an S3 bucket.

    Raises:
        ServiceError: from every method, when S3 does not answer or takes none of our requests.
        PermissionError: when S3 refuses one object, e.g. because it is archived or our key may not read it.
    """

    def __init__(self, url: str) -> None:
        self.folder = S3Folder(url)

    def files(self) -> list[DropFile]:
        """Return all objects by name. S3 shows an object only when it is whole."""
        found = (
            DropFile(name=name, size=item["Size"], stamp=_s3_stamp(item), whole=True)
            for name, item in self.folder.objects()
        )
        return list(filter(_visible, found))

    def stamp(self, name: str) -> str:
        """Return the object's ETag and time of change (an ETag alone does not identify the content)."""
        with _object_errors(self.where(name)):
            return _s3_stamp(self.folder.client.head_object(Bucket=self.folder.bucket, Key=self.folder.key(name)))

    @contextmanager
    def open(self, name: str, offset: int = 0) -> Iterator[BufferedReader]:
        """Open one object as a stream; errors while it is read are S3's as well."""
        key = {"Bucket": self.folder.bucket, "Key": self.folder.key(name)}
        with _object_errors(self.where(name)):
            body = self.folder.client.get_object(**key, Range=f"bytes={offset}-")["Body"]
            with BufferedReader(body, buffer_size=BUFFER) as stream:
                yield stream

    def where(self, name: str = "") -> str:
        """Return the ``s3://`` address."""
        return self.folder.where(name)


Source = LocalSource | S3Source
"""A place that is watched for new files. Nothing in it is ever changed, moved or deleted."""


def open_source(source: str) -> Source:
    """Open a local folder or an ``s3://`` prefix; ``InputError`` when none is given."""
    if not source:
        msg = "no source of data drops is set"
        raise InputError(msg, "set ABCDLINK_DROPS_SOURCE to a folder or an s3:// prefix")
    return S3Source(source) if source.startswith("s3://") else LocalSource(Path(source))


@contextmanager
def _object_errors(where: str) -> Iterator[None]:
    """Turn S3's refusal of one object into ``PermissionError``; other errors as ``s3_errors`` does."""
    from botocore.exceptions import ClientError

    with s3_errors(where):
        try:
            yield
        except ClientError as error:
            answer = error.response.get("Error", {})
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            if status not in OBJECT_STATUS or answer.get("Code") in ALL_REFUSED:
                raise
            reason = answer.get("Message") or answer.get("Code") or status
            msg = f"S3 refuses it: {reason}"
            raise PermissionError(msg) from None


def _visible(file: DropFile) -> bool:
    return not any(part.startswith(".") for part in file.name.split("/"))


def _local_stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def _s3_stamp(item: dict[str, Any]) -> str:
    return f"{item['ETag']}-{item['LastModified'].timestamp()}"

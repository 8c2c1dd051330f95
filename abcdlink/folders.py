"""Folders, local or on S3: bytes under names, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import urlsplit

from abcdlink.errors import InputError, ServiceError
from abcdlink.settings import get_settings

IN_MEMORY = 8 << 20
"""Bytes of an object for S3 that are collected in memory before they go to a temporary file."""


class Folder(Protocol):
    """Bytes under relative names. A write is atomic: a reader sees the old or the new content."""

    def read(self, name: str) -> bytes:
        """Return the content; ``FileNotFoundError`` when there is none."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open the content for reading piece by piece, where it may be too big for memory; errors as ``read``."""

    def write(self, name: str, data: bytes | Iterable[bytes]) -> None:
        """Write the content, or its pieces, atomically."""

    def remove(self, name: str) -> None:
        """Remove the name and its content; nothing happens when it is not there."""

    def exists(self, name: str) -> bool:
        """Tell whether the name holds content."""

    def names(self, prefix: str = "") -> list[str]:
        """Return all names that start with ``prefix``, sorted."""

    def folders(self) -> list[str]:
        """Return the names of the folders directly below this one, sorted."""

    def where(self, name: str = "") -> str:
        """Return a path or address that a person can open."""


def write_atomically(path: Path, data: bytes | Iterable[bytes], mode: int | None = None) -> None:
    """Write a local file under a temporary name and rename it, so that it is never half-written.

    ``data``: the content or its pieces. ``mode``: permission bits of the file; ``None`` leaves the usual ones.

    Raises:
        InputError: when it cannot be written (disk full, read-only, no permission); what was there stays.
        OSError: as raised while the pieces were made.
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    not_made: list[OSError] = []

    def pieces() -> Iterator[bytes]:
        try:
            yield from [data] if isinstance(data, bytes) else data
        except OSError as error:
            not_made.append(error)
            raise

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The kernel applies the umask here; reading it would mean changing it for all threads.
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode)
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):  # on a read-only disk it was never there
            temporary.unlink(missing_ok=True)
        if not_made:  # the content could not be made, and the error says why
            raise
        file_in_the_way = next((str(parent) for parent in path.parents if os.path.isfile(parent)), "")  # noqa: PTH113 - raises nothing
        reason = f"{file_in_the_way} is a file" if file_in_the_way else error.strerror or error
        msg = f"cannot write {path}: {reason}"
        hint = "check the path, its permissions and the free space, then run the same command again"
        raise InputError(msg, hint) from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class LocalFolder:
    """A folder of this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, name: str) -> bytes:
        """Return the content; ``FileNotFoundError`` when there is none, ``InputError`` when it cannot be read."""
        with self.open(name) as file:
            return file.read()

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open the file; errors as ``read``."""
        try:
            file = (self.root / name).open("rb")
        except FileNotFoundError:
            raise
        except OSError as error:
            msg = f"cannot read {self.where(name)}: {error.strerror}"
            raise InputError(msg, "check the path and its permissions") from None
        with file:
            yield file

    def write(self, name: str, data: bytes | Iterable[bytes]) -> None:
        """Write to a temporary name, then rename; ``InputError`` when the folder cannot be written to."""
        write_atomically((self.root / name).resolve(), data)

    def remove(self, name: str) -> None:
        """Remove the file; ``InputError`` when the folder does not allow it."""
        try:
            (self.root / name).unlink(missing_ok=True)
        except OSError as error:
            msg = f"cannot remove {self.where(name)}: {error.strerror}"
            raise InputError(msg, "check the path and its permissions") from None

    def exists(self, name: str) -> bool:
        """Tell whether the file is there."""
        return (self.root / name).is_file()

    def names(self, prefix: str = "") -> list[str]:
        """Return all file names below the folder that start with ``prefix``, sorted."""
        if not self.root.is_dir():
            return []
        found = (p.relative_to(self.root).as_posix() for p in self.root.rglob("*") if p.is_file())
        return sorted(name for name in found if name.startswith(prefix) and not Path(name).name.startswith("."))

    def folders(self) -> list[str]:
        """Return the names of the folders directly below this one, sorted."""
        if not self.root.is_dir():
            return []
        try:
            with os.scandir(self.root) as entries:  # asks the disk about no single folder, as a run is opened often
                return sorted(entry.name for entry in entries if entry.is_dir())
        except OSError as error:
            msg = f"cannot read {self.where()}: {error.strerror}"
            raise InputError(msg, "check the path and its permissions") from None

    def where(self, name: str = "") -> str:
        """Return the absolute path."""
        return os.path.abspath(self.root / name)  # noqa: PTH100 - resolve() asks the disk about every folder above


class S3Folder:
    """A prefix of an S3 bucket; S3 writes objects atomically.

    Raises:
        InputError: when the address names no bucket.
        ServiceError: from every method, when S3 does not answer or refuses.
    """

    def __init__(self, url: str) -> None:
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        if not bucket:
            msg = f"{url!r} names no bucket"
            raise InputError(msg, "write s3://BUCKET/PREFIX")
        self.bucket, self.prefix = bucket, prefix.strip("/")
        with s3_errors(url):
            self.client = s3_client()

    def key(self, name: str) -> str:
        """Return the object key of a name below the prefix."""
        return f"{self.prefix}/{name}" if self.prefix else name

    def read(self, name: str) -> bytes:
        """Return the object's content; ``FileNotFoundError`` when there is none."""
        with s3_errors(self.where(name)):
            return bytes(self.client.get_object(Bucket=self.bucket, Key=self.key(name))["Body"].read())

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Download the object to a temporary file and open that."""
        from boto3.s3.transfer import TransferConfig

        with tempfile.TemporaryFile() as file:
            with s3_errors(self.where(name)):
                twice = TransferConfig(num_download_attempts=2)  # of requests that are tried again themselves
                self.client.download_fileobj(self.bucket, self.key(name), file, Config=twice)
            file.seek(0)
            yield file

    def write(self, name: str, data: bytes | Iterable[bytes]) -> None:
        """Put the object; pieces are collected in a temporary file first, as S3 needs to know the size."""
        with s3_errors(self.where(name)):
            if isinstance(data, bytes):
                self.client.put_object(Bucket=self.bucket, Key=self.key(name), Body=data)
                return
            with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as file:
                file.writelines(data)
                file.seek(0)
                self.client.upload_fileobj(file, self.bucket, self.key(name))

    def remove(self, name: str) -> None:
        """Delete the object."""
        with s3_errors(self.where(name)):
            self.client.delete_object(Bucket=self.bucket, Key=self.key(name))

    def exists(self, name: str) -> bool:
        """Tell whether the object is there."""
        try:
            with s3_errors(self.where(name)):
                self.client.head_object(Bucket=self.bucket, Key=self.key(name))
        except FileNotFoundError:
            return False
        return True

    def names(self, prefix: str = "") -> list[str]:
        """Return all object names below the prefix that start with ``prefix``, sorted."""
        return [name for name, _ in self.objects(prefix)]

    def objects(self, prefix: str = "") -> list[tuple[str, dict[str, Any]]]:
        """Return (name, S3's listing entry: Size in bytes, ETag, LastModified) sorted by name.

        Keys that end in a slash are the folder marks of graphical clients and are left out.
        """
        start = len(self.key(""))
        with s3_errors(self.where(prefix)):
            pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.key(prefix))
            found = [(item["Key"][start:], item) for page in pages for item in page.get("Contents", [])]
        return sorted(((name, item) for name, item in found if name and not name.endswith("/")), key=itemgetter(0))

    def folders(self) -> list[str]:
        """Return the names of the folders directly below the prefix, sorted."""
        start = len(self.key(""))
        with s3_errors(self.where()):
            paginator = self.client.get_paginator("list_objects_v2")
            pages = paginator.paginate(Bucket=self.bucket, Prefix=self.key(""), Delimiter="/")
            found = [one["Prefix"][start:].strip("/") for page in pages for one in page.get("CommonPrefixes", [])]
        return sorted(filter(None, found))

    def where(self, name: str = "") -> str:
        """Return the ``s3://`` address."""
        return f"s3://{self.bucket}/{self.key(name)}"


def s3_client() -> Any:  # noqa: ANN401 - boto3 builds its client classes at run time
    """Return a boto3 S3 client for ``ABCDLINK_S3_ENDPOINT_URL`` or AWS."""
    from boto3.session import Session
    from botocore.config import Config

    # With boto3's own limits, a server that does not answer is noticed after five minutes. AWS_MAX_ATTEMPTS counts.
    patience = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard"})
    # A session of its own: boto3's shared one keeps the first credentials and is not safe between threads.
    return Session().client("s3", endpoint_url=get_settings().s3_endpoint_url or None, config=patience)


@contextmanager
def s3_errors(where: str) -> Iterator[None]:
    """Turn S3's errors into ``FileNotFoundError`` (no such object) or ``ServiceError`` (all else)."""
    from botocore import exceptions
    from s3transfer.exceptions import RetriesExceededError

    try:
        try:
            yield
        except RetriesExceededError as error:  # of a download, which is tried again from its beginning
            raise error.last_exception from None
    except exceptions.ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in {"NoSuchKey", "404"}:
            raise FileNotFoundError(where) from None
        msg = f"S3 refuses {where}: {error.response.get('Error', {}).get('Message') or code}"
        hint = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, what they permit, and the bucket's name"
        raise ServiceError(msg, "create the bucket, or correct its name" if code == "NoSuchBucket" else hint) from None
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError):
        msg = f"S3 cannot be used for {where}: there are no AWS credentials"
        hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment (not in .env), or write"
        raise ServiceError(msg, f"{hint} ~/.aws/credentials; then `abcdlink down` and `abcdlink up`") from None
    except (
        exceptions.EndpointConnectionError,
        exceptions.ConnectTimeoutError,
        exceptions.ReadTimeoutError,
        exceptions.ConnectionClosedError,
    ) as error:
        address = urlsplit(str(error.kwargs["endpoint_url"]))
        msg = f"S3 cannot be used for {where}: no server answers at {address.scheme}://{address.netloc}"
        raise ServiceError(msg, "check that server, the network and ABCDLINK_S3_ENDPOINT_URL") from None
    except (exceptions.BotoCoreError, ConnectionError, TimeoutError) as error:
        msg = f"S3 cannot be used for {where}: {error}"
        raise ServiceError(msg, "check AWS credentials, the network and ABCDLINK_S3_ENDPOINT_URL") from None


def open_folder(root: str) -> Folder:
    """Open a local folder or an ``s3://`` prefix; ``InputError`` for any other address."""
    if root.startswith("s3://"):
        return S3Folder(root)
    if "://" in root:
        msg = f"{root!r} is not a folder"
        raise InputError(msg, "give a folder on this machine, or an address such as s3://BUCKET/PREFIX")
    return LocalFolder(Path(root))

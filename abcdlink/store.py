"""A run's folder, local or on S3: everything that a run keeps, written whole or not at all."""

from __future__ import annotations

import io
import json
import os
import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from filelock import FileLock
from pydantic import BaseModel, ValidationError

from abcdlink.errors import InputError, ServiceError
from abcdlink.settings import get_settings

if TYPE_CHECKING:
    import pandas as pd

R = TypeVar("R", bound=BaseModel)

MANIFEST = "manifest.json"
RUN_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class Folder(Protocol):
    """Bytes under relative names. A write is atomic: a reader sees the old or the new content."""

    def read(self, name: str) -> bytes:
        """Return the content; ``FileNotFoundError`` when there is none."""

    def write(self, name: str, data: bytes) -> None:
        """Put the content in place whole."""

    def exists(self, name: str) -> bool:
        """Tell whether the name holds content."""

    def names(self, prefix: str = "") -> list[str]:
        """Return all names that start with ``prefix``, sorted."""

    def where(self, name: str = "") -> str:
        """Return a path or address that a person can open."""


def write_atomically(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a local file under a temporary name and rename it, so that it is never half there.

    ``mode``: permission bits of the file; ``None`` leaves the usual ones.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        # The kernel applies the umask here; reading it would mean to change it for all threads.
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class LocalFolder:
    """A folder of this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, name: str) -> bytes:
        """Return the content; ``FileNotFoundError`` when there is none, ``InputError`` when it cannot be read."""
        try:
            return (self.root / name).read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            msg = f"cannot read {self.where(name)}: {error.strerror}"
            raise InputError(msg, "check the path and its permissions") from None

    def write(self, name: str, data: bytes) -> None:
        """Write to a temporary name, then rename; ``InputError`` when the folder cannot be written to."""
        try:
            write_atomically(self.root / name, data)
        except OSError as error:
            msg = f"cannot write {self.where(name)}: {error.strerror}"
            raise InputError(msg, "check the path, its permissions and the free space") from None

    def exists(self, name: str) -> bool:
        """Tell whether the file is there."""
        return (self.root / name).is_file()

    def names(self, prefix: str = "") -> list[str]:
        """Return all file names below the folder that start with ``prefix``, sorted."""
        if not self.root.is_dir():
            return []
        found = (p.relative_to(self.root).as_posix() for p in self.root.rglob("*") if p.is_file())
        return sorted(name for name in found if name.startswith(prefix) and not Path(name).name.startswith("."))

    def where(self, name: str = "") -> str:
        """Return the absolute path."""
        return str((self.root / name).resolve())


class S3Folder:
    """A prefix of an S3 bucket; S3 puts an object in place whole by itself.

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
        self.client = s3_client()

    def key(self, name: str) -> str:
        """Return the object key of a name below the prefix."""
        return f"{self.prefix}/{name}" if self.prefix else name

    def read(self, name: str) -> bytes:
        """Return the object's content; ``FileNotFoundError`` when there is none."""
        with s3_errors(self.where(name)):
            return bytes(self.client.get_object(Bucket=self.bucket, Key=self.key(name))["Body"].read())

    def write(self, name: str, data: bytes) -> None:
        """Put the object."""
        with s3_errors(self.where(name)):
            self.client.put_object(Bucket=self.bucket, Key=self.key(name), Body=data)

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

    def where(self, name: str = "") -> str:
        """Return the ``s3://`` address."""
        return f"s3://{self.bucket}/{self.key(name)}"


def s3_client() -> Any:  # noqa: ANN401 - boto3 builds its client classes at run time
    """Return a boto3 S3 client for ``ABCDLINK_S3_ENDPOINT_URL`` or AWS."""
    from boto3.session import Session

    # A session of its own: boto3's shared one keeps the first credentials and is not safe between threads.
    return Session().client("s3", endpoint_url=get_settings().s3_endpoint_url or None)


@contextmanager
def s3_errors(where: str) -> Iterator[None]:
    """Turn S3's errors into ``FileNotFoundError`` (no such object) or ``ServiceError`` (all else)."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in {"NoSuchKey", "404"}:
            raise FileNotFoundError(where) from None
        msg = f"S3 refuses {where}: {error.response.get('Error', {}).get('Message') or code}"
        raise ServiceError(msg, "check the bucket's name and the permissions of your credentials") from None
    except BotoCoreError as error:
        msg = f"S3 cannot be used for {where}: {error}"
        raise ServiceError(msg, "check AWS credentials, the network and ABCDLINK_S3_ENDPOINT_URL") from None


class Store:
    """Typed reading and writing in one run's folder.

    Args:
        folder: where the bytes lie.
        key: the run key, the name of one whole bootstrap.
    """

    def __init__(self, folder: Folder, key: str) -> None:
        self.folder, self.key = folder, key

    def exists(self, name: str) -> bool:
        """Tell whether the run holds this file."""
        return self.folder.exists(name)

    def where(self, name: str = "") -> str:
        """Return a path or address that a person can open."""
        return self.folder.where(name)

    def require(self, name: str, made_by: str) -> None:
        """Raise ``InputError`` naming the stage that makes the file, when it is not there yet."""
        if not self.exists(name):
            msg = f"run {self.key!r} has no {name} yet ({self.where(name)})"
            raise InputError(msg, f"run the stage {made_by!r} first")

    def write_text(self, name: str, text: str) -> None:
        """Write a UTF-8 text."""
        self.folder.write(name, text.encode())

    def read_text(self, name: str) -> str:
        """Read a UTF-8 text; ``InputError`` when it is none."""
        return decode(self.folder.read(name), self.where(name))

    def write_json(self, name: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
        """Write a JSON value."""
        self.write_text(name, json.dumps(value, ensure_ascii=False, indent=2) + "\n")

    def read_json(self, name: str) -> Any:  # noqa: ANN401 - any JSON value
        """Read a JSON value; ``InputError`` names the place that is not JSON."""
        try:
            return json.loads(self.read_text(name))
        except json.JSONDecodeError as error:
            msg = f"{self.where(name)} is not JSON: {error}"
            raise InputError(msg, "mend the file at that place, or remove it and run the stage that makes it") from None

    def write_records(self, name: str, records: Iterable[BaseModel]) -> None:
        """Write records as JSON Lines."""
        self.write_text(name, "".join(record.model_dump_json() + "\n" for record in records))

    def read_records(self, name: str, kind: type[R]) -> list[R]:
        """Read records from JSON Lines; ``InputError`` names the file and line that do not fit."""
        return parse_records(self.folder.read(name), kind, self.where(name))

    def write_table(self, name: str, table: pd.DataFrame) -> None:
        """Write a table as Parquet."""
        buffer = io.BytesIO()
        table.to_parquet(buffer, index=False)
        self.folder.write(name, buffer.getvalue())

    def read_table(self, name: str) -> pd.DataFrame:
        """Read a Parquet table."""
        import pandas as pd

        return pd.read_parquet(io.BytesIO(self.folder.read(name)))

    @property
    def manifest(self) -> dict[str, Any]:
        """What the run is made of: settings, versions, prompt hashes, counts, costs, by section."""
        return self.read_json(MANIFEST) if self.exists(MANIFEST) else {}

    def note(self, section: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
        """Put one section into the manifest; other sections stay as they are."""
        lock = get_settings().home.resolve() / "locks" / f"{self.key}.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock):
            self.write_json(MANIFEST, {**self.manifest, section: value})


def decode(data: bytes, where: str) -> str:
    """Decode UTF-8, with or without a byte order mark; ``InputError`` names the first byte that is none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The codec counts from behind the byte order mark.
        start = error.start + len(data) - len(error.object)
        line = data.count(b"\n", 0, start) + 1
        msg = f"{where} is not UTF-8: byte {start} (line {line}) is 0x{data[start]:02x}"
        raise InputError(msg, "save the file as UTF-8") from None


def parse_records(data: bytes, kind: type[R], where: str) -> list[R]:
    r"""Parse JSON Lines; ``InputError`` names ``where`` and the line that does not fit.

    Lines end at ``\n`` only: other line separators occur inside sentences.
    """
    records = []
    for number, line in enumerate(decode(data, where).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(kind.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            msg = f"{where}, line {number}: {field or 'line'}: {first['msg']}"
            raise InputError(msg, f"mend the line so that it is a {kind.__name__} record") from None
        except InputError as error:
            msg = f"{where}, line {number}: {error.problem}"
            raise InputError(msg, error.mend) from None
    return records


def open_folder(root: str) -> Folder:
    """Open a local folder or an ``s3://`` prefix."""
    return S3Folder(root) if root.startswith("s3://") else LocalFolder(Path(root))


def open_run(key: str, root: str | None = None) -> Store:
    """Open the folder of a run below ``root`` (default: where the settings say).

    Raises:
        InputError: when the run key cannot be a folder name.
    """
    if not RUN_KEY.fullmatch(key):
        msg = f"{key!r} cannot be a run key"
        raise InputError(msg, "use up to 80 letters, digits, '.', '_' and '-', beginning with a letter or digit")
    return Store(open_folder(f"{(root or get_settings().runs_root).rstrip('/')}/{key}"), key)


def existing_run(key: str, root: str | None = None) -> Store:
    """Open the folder of a run that has been begun.

    Raises:
        InputError: when there is none; says where it was looked for.
    """
    store = open_run(key, root)
    if not store.exists(MANIFEST):
        msg = f"there is no run {key!r} in {store.where()}"
        raise InputError(msg, "look at the run key, or begin a run with `abcdlink run bootstrap`")
    return store

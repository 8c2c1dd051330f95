"""A run's folder: typed reading and writing of everything that a run keeps."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from abcdlink.errors import InputError, fault_in, first_line
from abcdlink.folders import Folder, open_folder
from abcdlink.languages import ENGLISH
from abcdlink.layout import is_result
from abcdlink.locks import lock_of
from abcdlink.run_keys import RUN_KEY, require_run_key
from abcdlink.settings import get_settings
from abcdlink.utf8_lines import decode, each_record

if TYPE_CHECKING:
    import pandas as pd

R = TypeVar("R", bound=BaseModel)

BY_PEOPLE = ("adjudicate", "annotate", "boundaries", "coding", "exhaustive", "qualify", "rate")
"""Stages that are commands of their own, with ``start``."""
MANIFEST = "manifest.json"


class Store:
    """Typed reading and writing in one run's folder.

    Args:
        folder: where the bytes are.
        key: the run key, the name of one whole bootstrap.
        sealed: whether the SHA-256 of each result is kept, and a file that was changed by hand refused.
    """

    def __init__(self, folder: Folder, key: str, *, sealed: bool = False) -> None:
        self.folder, self.key, self._sealed = folder, key, sealed

    def exists(self, name: str) -> bool:
        """Tell whether the run has this file."""
        return self.folder.exists(name)

    def where(self, name: str = "") -> str:
        """Return a path or address that a person can open."""
        return self.folder.where(name)

    def require(self, name: str, made_by: str) -> None:
        """Raise ``InputError`` naming the stage that makes the file, when it is not there yet."""
        if not self.exists(name):
            msg = f"run {self.key!r} has no {name} yet ({self.where(name)})"
            how = f" with `abcdlink {made_by} start {self.key}`" if made_by in BY_PEOPLE else ""
            hint = f"run the stage {made_by!r} first{how}, or wait until it is over: see `abcdlink status {self.key}`"
            raise InputError(msg, hint)

    def write_text(self, name: str, text: str) -> None:
        """Write a UTF-8 text."""
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a file as it is."""
        self._write(name, (data,), hashlib.sha256(data))

    def read_text(self, name: str) -> str:
        """Read a text; ``InputError`` when it is not UTF-8."""
        return decode(self.folder.read(name), self.where(name))

    def write_json(self, name: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
        """Write a JSON value."""
        self.write_text(name, json.dumps(value, ensure_ascii=False, indent=2) + "\n")

    def read_json(self, name: str, kind: Any = Any) -> Any:  # noqa: ANN401 - any JSON value
        """Read a JSON value of this type.

        Raises:
            InputError: when it does not fit, or the file is not as the run wrote it.
        """
        data = self.folder.read(name)
        text = decode(data, self.where(name))
        try:
            value = _adapter(kind).validate_json(text)
        except ValidationError as error:
            msg = f"{self.where(name)}: {fault_in(error)}"
            raise InputError(msg, "fix the file, or remove it and run the stage that makes it") from None
        except InputError as error:
            msg = f"{self.where(name)}: {error.problem}"
            raise InputError(msg, error.hint) from None
        self._check(name, hashlib.sha256(data))
        return value

    def write_record(self, name: str, record: BaseModel, indent: int | None = 2) -> None:
        """Write one record as JSON; ``indent``: ``None`` for one line."""
        self.write_text(name, record.model_dump_json(indent=indent))

    def read_record(self, name: str, kind: type[R]) -> R:
        """Read one record; errors as ``read_json``."""
        record: R = self.read_json(name, kind)
        return record

    def find_record(self, name: str, kind: type[R]) -> R | None:
        """Read one record; ``None`` when the run does not have the file."""
        return self.read_record(name, kind) if self.exists(name) else None

    def write_records(self, name: str, records: Iterable[BaseModel]) -> None:
        """Write records as JSON Lines, one after the other: they need not fit into memory."""
        digest = hashlib.sha256()
        self._write(name, _through(digest, (f"{record.model_dump_json()}\n".encode() for record in records)), digest)

    def _write(self, name: str, data: Iterable[bytes], digest: hashlib._Hash) -> None:
        if not self._is_sealed(name):
            self.folder.write(name, data)
            return
        # While the file is written there is no seal, so that a kill leaves none that does not match.
        self.folder.remove(_seal_of(name))
        self.folder.write(name, data)
        self.folder.write(_seal_of(name), digest.hexdigest().encode())

    def _is_sealed(self, name: str) -> bool:
        return self._sealed and (name.endswith((".jsonl", ".parquet")) or is_result(name))

    def read_records(self, name: str, kind: type[R]) -> list[R]:
        """Read records from JSON Lines.

        Raises:
            InputError: when a line does not fit (it is named), or the file is not as the run wrote it.
        """
        return list(self.each_record(name, kind))

    def each_record(self, name: str, kind: type[R]) -> Iterator[R]:
        """Read records one after the other; errors as ``read_records``, that of a changed file after the last one."""
        digest = hashlib.sha256()
        with self.folder.open(name) as file:
            yield from each_record(_through(digest, file), kind, self.where(name))
        self._check(name, digest)

    def _check(self, name: str, digest: hashlib._Hash) -> None:
        """Raise ``InputError`` when a file with this SHA-256 is not as the run wrote it."""
        if self._seal(name) not in {None, digest.hexdigest()}:
            msg = f"{self.where(name)} was changed after the run wrote it"
            raise InputError(msg, f"restore the file, or keep the change with `abcdlink accept {self.key} {name}`")

    def _seal(self, name: str) -> str | None:
        """Return the SHA-256 with which a file was written; ``None``: not known."""
        if not self._is_sealed(name):
            return None
        try:
            return self.folder.read(_seal_of(name)).decode()
        except FileNotFoundError:
            return None

    def changed(self) -> list[str]:
        """Return the names of the results that are not as the run wrote them."""
        sealed = [name.removeprefix(SEALS).removesuffix(SEAL) for name in self.folder.names(SEALS)]
        return [name for name in sealed if self.exists(name) and self._seal(name) != self._digest(name)]

    def accept(self, name: str) -> None:
        """Accept a result as it is now, changed on purpose, and note that in the manifest."""
        self.folder.write(_seal_of(name), self._digest(name).encode())
        accepted = self.manifest.get(ACCEPTED, [])
        self.note(ACCEPTED, [*accepted, {"file": name, "at": datetime.now(UTC).isoformat(timespec="seconds")}])

    def _digest(self, name: str) -> str:
        with self.folder.open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type] # any binary file

    def find_records(self, name: str, kind: type[R]) -> list[R]:
        """Read records from JSON Lines; none when the run does not have the file."""
        return self.read_records(name, kind) if self.exists(name) else []

    def write_table(self, name: str, table: pd.DataFrame) -> int:
        """Write a table as Parquet and return how many bytes that took."""
        data = table.to_parquet(index=False)
        self.write_bytes(name, data)
        return len(data)

    def read_table(self, name: str, texts: Sequence[str] = (), numbers: Sequence[str] = ()) -> pd.DataFrame:
        """Read a Parquet table that must have these columns of text and of numbers.

        Raises:
            InputError: when it does not fit, or the file is not as the run wrote it.
        """
        import pandas as pd
        from pandas.api.types import is_numeric_dtype

        data = self.folder.read(name)
        fault = ""
        try:
            table = pd.read_parquet(io.BytesIO(data))
        except (OSError, ValueError, TypeError, KeyError) as error:  # what pyarrow raises are subclasses
            fault = f"is not a whole Parquet file: {first_line(error)}"
        else:
            for column in (*texts, *numbers):
                if column not in table:
                    fault = f"has no column {column!r}"
                elif is_numeric_dtype(table[column].dtype) != (column in numbers) or table[column].hasnans:
                    fault = f"has other values than {'numbers' if column in numbers else 'text'} in {column!r}"
        if fault:
            msg = f"{self.where(name)} {fault}"
            raise InputError(msg, "remove it and run the stage that makes it")
        self._check(name, hashlib.sha256(data))
        return table

    @property
    def manifest(self) -> dict[str, Any]:
        """What the run is made of: settings, versions, prompt hashes, counts, costs, by section."""
        try:
            return dict(self.read_json(MANIFEST, dict[str, Any])) if self.exists(MANIFEST) else {}
        except InputError as error:
            raise InputError(error.problem, "restore the file from a copy, or use another run key") from None

    @property
    def language(self) -> str:
        """Language of the run's corpus; that of its domain where no corpus says it, English where neither does."""
        about = self.manifest
        said = (about.get(section, {}).get("language") for section in ("corpus", "targets", "domain"))
        return next(filter(None, said), ENGLISH)

    def language_of(self, corpus: str) -> str:
        """Language of one corpus of the run: what is noted of it in the section ``corpora``, else ``language``."""
        return self.manifest.get("corpora", {}).get(corpus, {}).get("language") or self.language

    def note(self, section: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
        """Put one section into the manifest; other sections stay as they are."""
        with lock_of(self.key):
            self.write_json(MANIFEST, {**self.manifest, section: value})

    def note_in(self, section: str, name: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
        """Put one entry into a section of the manifest; entries that others add at the same time are not lost."""
        with lock_of(self.key):
            manifest = self.manifest
            self.write_json(MANIFEST, {**manifest, section: {**manifest.get(section, {}), name: value}})

    def take_back(self, section: str, name: str) -> None:
        """Remove one entry of a section of the manifest."""
        with lock_of(self.key):
            manifest = self.manifest
            rest = {key: value for key, value in manifest[section].items() if key != name}
            self.write_json(MANIFEST, {**manifest, section: rest})


SEALS, SEAL = "seals/", ".sha256"
ACCEPTED = "accepted"
"""Section of the manifest: files that were changed by hand on purpose, and when."""

_adapter = cache(TypeAdapter[Any])


def _seal_of(name: str) -> str:
    return f"{SEALS}{name}{SEAL}"


def _through(digest: hashlib._Hash, lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        digest.update(line)
        yield line


def open_run(key: str, root: str | None = None) -> Store:
    """Open the folder of a run below ``root`` (default: where the settings say).

    Raises:
        InputError: when the run key cannot be a folder name, or would be that of another run on some disks.
    """
    place = (root or get_settings().runs_root).rstrip("/")
    # S3 tells capital letters apart, and asking what is there costs a request each time.
    require_run_key(key, there=[] if place.startswith("s3://") else open_folder(place).folders())
    return Store(open_folder(f"{place}/{key}"), key, sealed=True)


def all_runs() -> list[Store]:
    """Return every run that was begun, by key."""
    place = get_settings().runs_root.rstrip("/")
    names = [name for name in open_folder(place).folders() if RUN_KEY.fullmatch(name)]
    stores = [Store(open_folder(f"{place}/{name}"), name, sealed=True) for name in names]
    return [store for store in stores if store.exists(MANIFEST)]


def existing_run(key: str) -> Store:
    """Open the folder of a run that has been begun.

    Raises:
        InputError: when there is none; says where it was looked for.
    """
    store = open_run(key)
    if not store.exists(MANIFEST):
        msg = f"there is no run {key!r} in {store.where().rstrip('/').removesuffix(f'/{key}')}"
        hint = "check the run key (a run just started is there within seconds), or start one with `abcdlink start`"
        raise InputError(msg, hint)
    return store

"""What was sent to a batch API, written down so that no process sends it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.folders import write_atomically
from abcdlink.llm.records import Form, Usage


class Item(Record):
    """One question of a batch: what its answer is kept under, which question it is, and how it is judged.

    ``key``: of the answer in the cache, also the line's ``custom_id``. ``question``: of the question,
    in whatever form it is asked.
    """

    key: str
    question: str
    form: Form
    json_schema: dict[str, Any]


class Batch(Record):
    """One batch.

    ``server``: its address. ``id``: what the server calls it; empty while that is not known, so that
    it may or may not have been sent. ``status``: as the server last said. ``size``: its questions.
    ``ended``: whether its answers have been read; the rest says what came of it.
    """

    name: str
    server: str
    size: int
    account: str
    most: tuple[int, float]
    id: str = ""
    status: str = "submitting"
    ended: bool = False
    answered: int = 0
    reasons: dict[str, int] = Field({})
    usage: Usage = Usage()


class BatchStore:
    """A folder with three files a batch: its record, its questions, and the lines that are sent.

    Args:
        root: the folder.
        server: address of the server whose batches are looked at.
    """

    def __init__(self, root: Path, server: str) -> None:
        self.root, self._server = root, server
        root.mkdir(parents=True, exist_ok=True)

    def batches(self) -> list[Batch]:
        """Return all batches of the server."""
        found = (Batch.model_validate_json(path.read_bytes()) for path in sorted(self.root.glob("*.json")))
        return [batch for batch in found if batch.server == self._server]

    def read(self, name: str) -> Batch:
        """Return one batch.

        Raises:
            InputError: there is none of this name.
        """
        try:
            return Batch.model_validate_json((self.root / f"{name}.json").read_bytes())
        except FileNotFoundError:
            msg = f"there is no batch {name!r} in {self.root}"
            raise InputError(msg, "collect it on the machine, and with the home folder, that submitted it") from None

    def add(self, batch: Batch, items: Sequence[Item], lines: Sequence[str]) -> None:
        """Write a batch down before it is sent."""
        self._lines(batch).write_text("\n".join(lines) + "\n", encoding="utf-8")
        self._items(batch).write_text("".join(f"{item.model_dump_json()}\n" for item in items), encoding="utf-8")
        self.write(batch)  # last: a batch with a record is whole

    def write(self, batch: Batch) -> None:
        """Write down how far a batch is; the questions of one that has ended are not needed any more."""
        write_atomically(self.root / f"{batch.name}.json", batch.model_dump_json(indent=2).encode())
        if batch.id:
            self._lines(batch).unlink(missing_ok=True)
        if batch.ended:
            self._items(batch).unlink(missing_ok=True)

    def forget(self, batch: Batch) -> None:
        """Take away a batch that was never sent."""
        (self.root / f"{batch.name}.json").unlink(missing_ok=True)
        self._lines(batch).unlink(missing_ok=True)
        self._items(batch).unlink(missing_ok=True)

    def lines(self, batch: Batch) -> bytes:
        """Return what is sent."""
        return self._lines(batch).read_bytes()

    def items(self, batch: Batch) -> Iterator[Item]:
        """Yield the questions of a batch that has not ended."""
        with self._items(batch).open(encoding="utf-8") as file:
            yield from map(Item.model_validate_json, file)

    def _lines(self, batch: Batch) -> Path:
        return self.root / f"{batch.name}.lines.jsonl"

    def _items(self, batch: Batch) -> Path:
        return self.root / f"{batch.name}.items.jsonl"

"""Records of what was sent to a Batch API, so that no process sends it again, and the answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.folders import write_atomically
from abcdlink.llm.budget import usage_of
from abcdlink.llm.client import LLM
from abcdlink.llm.errors import error_within
from abcdlink.llm.records import Answer, Form, Outcome, Usage
from abcdlink.llm.reply import answer_of, reply_of

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import Batch as Job

PRICE = 0.5
"""Share of the usual price."""


class BatchItem(Record):
    """One question of a batch: its cache key, its content, and how its answer is judged.

    ``key``: of the answer in the cache, also the line's ``custom_id``. ``question``: of the question,
    in whatever form it is asked.
    """

    key: str
    question: str
    form: Form
    json_schema: dict[str, Any]


class Batch(Record):
    """One batch.

    ``server``: its address. ``id``: the server's id for it; empty while that is unknown, so that
    it may or may not have been sent. ``status``: as the server last said. ``size``: its questions.
    ``ended``: whether its answers have been read; the other fields record the results.
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
    """A folder with three files per batch: its record, its questions, and the lines to send.

    ``server``: address of the server whose batches are read.
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
            InputError: there is none with this name.
        """
        try:
            return Batch.model_validate_json((self.root / f"{name}.json").read_bytes())
        except FileNotFoundError:
            msg = f"there is no batch {name!r} in {self.root}"
            raise InputError(msg, "collect it on the machine, and with the home folder, that submitted it") from None

    def add(self, batch: Batch, items: Sequence[BatchItem], lines: Sequence[str]) -> None:
        """Record a batch before it is sent."""
        self._lines(batch).write_text("\n".join(lines) + "\n", encoding="utf-8")
        self._items(batch).write_text("".join(f"{item.model_dump_json()}\n" for item in items), encoding="utf-8")
        self.write(batch)  # last: the record marks the batch as complete

    def write(self, batch: Batch) -> None:
        """Record how far a batch is; the questions of one that has ended are no longer needed."""
        write_atomically(self.root / f"{batch.name}.json", batch.model_dump_json(indent=2).encode())
        if batch.id:
            self._lines(batch).unlink(missing_ok=True)
        if batch.ended:
            self._items(batch).unlink(missing_ok=True)

    def forget(self, batch: Batch) -> None:
        """Remove a batch that was never sent."""
        for path in ((self.root / f"{batch.name}.json"), self._lines(batch), self._items(batch)):
            path.unlink(missing_ok=True)

    def lines(self, batch: Batch) -> bytes:
        """Return the lines to send."""
        return self._lines(batch).read_bytes()

    def items(self, batch: Batch) -> Iterator[BatchItem]:
        """Yield the questions of a batch that has not ended."""
        with self._items(batch).open(encoding="utf-8") as file:
            yield from map(BatchItem.model_validate_json, file)

    def _lines(self, batch: Batch) -> Path:
        return self.root / f"{batch.name}.lines.jsonl"

    def _items(self, batch: Batch) -> Path:
        return self.root / f"{batch.name}.items.jsonl"


class Results(NamedTuple):
    """Final answers by cache key, why the other questions have none, and what was paid in total."""

    answers: dict[str, Answer]
    reasons: dict[str, int]
    usage: Usage


def read_results(llm: LLM, client: OpenAI, items: Iterable[BatchItem], job: Job) -> Results:
    """Read the files of a batch that is over.

    A truncated answer is not final: the question is asked again with a larger limit. ``items``: the batch's questions;
    ``job``: the batch as the server reports it.
    """
    asked = {item.key: item for item in items}
    found: dict[str, Answer | str] = {}
    for line in _lines(client, job):
        item = asked.get(str(line.get("custom_id")))
        if item is not None:
            found[item.key] = _answer(llm, item, line)
    paid = {key: answer for key, answer in found.items() if isinstance(answer, Answer)}
    final = {key: answer for key, answer in paid.items() if answer.outcome is not Outcome.TRUNCATED}
    reasons = Counter(answer for answer in found.values() if isinstance(answer, str))
    reasons += Counter({Outcome.TRUNCATED.value: len(paid) - len(final), _why(job): len(asked) - len(found)})
    return Results(final, dict(reasons), sum((answer.usage for answer in paid.values()), Usage()))


def _lines(client: OpenAI, job: Job) -> Iterator[dict[str, Any]]:
    """Yield the lines of the files with errors and with answers."""
    for file in (job.error_file_id, job.output_file_id):
        for line in client.files.content(file).content.split(b"\n") if file else ():
            try:
                read = json.loads(line)
            except ValueError:
                continue
            if isinstance(read, dict):
                yield read


def _answer(llm: LLM, item: BatchItem, line: dict[str, Any]) -> Answer | str:
    """Return the answer in a line, or why there is none."""
    hide = llm.endpoint.secrets.hide
    response = line.get("response")
    body = response.get("body") if isinstance(response, dict) else None
    error = line.get("error") or error_within(body)
    if not isinstance(response, dict) or response.get("status_code") != HTTPStatus.OK or error:
        error = error or (body.get("error") if isinstance(body, dict) else None)
        said = error if isinstance(error, dict) else {"message": error}
        status = response.get("status_code") if isinstance(response, dict) else "no response"
        return hide(str(said.get("code") or said.get("message") or status))
    usage = usage_of(body.get("usage") if isinstance(body, dict) else None, 0.0, llm.settings, PRICE)
    try:
        return answer_of(reply_of(body, usage, hide), item.json_schema, item.form)
    except ValueError as fault:
        return hide(str(fault))


def _why(job: Job) -> str:
    """Return why a finished batch left questions without a line."""
    errors = (job.errors.data if job.errors else None) or []
    return str(errors[0].code or errors[0].message) if errors else job.status

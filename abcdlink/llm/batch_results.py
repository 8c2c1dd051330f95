"""What came of the questions of a batch that is over."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from abcdlink.llm.accounting import usage_of
from abcdlink.llm.batch_files import Item
from abcdlink.llm.errors import error_within
from abcdlink.llm.records import Answer, Outcome, Usage
from abcdlink.llm.reply import answer_of, reply_of

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import Batch as Job

    from abcdlink.llm.client import LLM

PRICE = 0.5
"""Share of the usual price."""


class Results(NamedTuple):
    """Final answers by the key of the cache, why the other questions have none, and what was paid for all."""

    answers: dict[str, Answer]
    reasons: dict[str, int]
    usage: Usage


def read_results(llm: LLM, client: OpenAI, items: Iterable[Item], job: Job) -> Results:
    """Read the files of a batch that is over.

    A truncated answer is not final: whoever needs it asks again with more room.

    Args:
        llm: gives the prices, and hides its key.
        client: reads the files.
        items: the questions of the batch.
        job: the batch as the server sees it.
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


def _answer(llm: LLM, item: Item, line: dict[str, Any]) -> Answer | str:
    """Return the answer of a line, or why it holds none."""
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
    """Return why a batch that is over left questions without a line."""
    errors = (job.errors.data if job.errors else None) or []
    return str(errors[0].code or errors[0].message) if errors else job.status

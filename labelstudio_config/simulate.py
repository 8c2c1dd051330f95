"""Annotators that are programs, for demonstrations and tests: real accounts, real submissions.

They say what they are by their address, ``simulated-N@simulated.invalid``. They see what a person
sees: the source sentence and the candidates of their next task, neither gold links nor methods.
"""

from __future__ import annotations

import hashlib
import hmac
import random
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import httpx

from abcdlink.corpus.records import Record
from abcdlink.errors import ServiceError
from abcdlink.judgments import Label
from labelstudio_config.accounts import log_in, sign_up
from labelstudio_config.client import NOT_FOUND, Client, connect
from labelstudio_config.projects import require_project
from labelstudio_config.snapshot import SIMULATED_DOMAIN

STRICT, LENIENT = 0.22, 0.12
"""Word overlap from which the strictest and the most lenient annotator say Link."""

NOISE = 0.06
"""Standard deviation of the error that an annotator makes in the word overlap."""

READING_SPEED = 4.0
"""Words a second; gives the time that a simulated annotator says it spent on a task."""

FAILURES = 10
"""Calls of one annotator that the server may fail before the annotator gives up."""

WORD = re.compile(r"\w+")
SHORT = 3
"""Words up to this length say little and are left out; numbers stay."""


class SimulationResult(Record):
    """What simulated annotators did: account -> number of tasks it submitted."""

    project_id: int
    submitted: dict[str, int]


def simulated_account(number: int) -> str:
    """Return the e-mail address of simulated annotator ``number``, from 1."""
    return f"simulated-{number}{SIMULATED_DOMAIN}"


def overlap(source: str, candidate: str) -> float:
    """Return how much of the shorter sentence's content words the other one has, from 0 to 1."""
    one, other = _content(source), _content(candidate)
    return len(one & other) / max(1, min(len(one), len(other)))


def _content(text: str) -> set[str]:
    words = WORD.findall(text.lower())
    return {word[:6] for word in words if len(word) > SHORT or word.isdecimal()}


def judge(source: str, candidates: Sequence[str], threshold: float, noise: float, rng: random.Random) -> list[Label]:
    """Say Link where the word overlap, seen with an error, reaches the threshold."""
    seen = [overlap(source, candidate) + rng.gauss(0, noise) for candidate in candidates]
    return [Label.LINK if value >= threshold else Label.NO_LINK for value in seen]


def strictness(number: int, accounts: int, batch: int) -> tuple[float, float]:
    """Return the threshold and the noise of one annotator.

    Annotator 1 is the strictest, the last the most lenient. After the first batch they have had
    feedback: all come half as near to the middle, and err half as much.
    """
    place = (number - 1) / max(1, accounts - 1)
    threshold = STRICT + (LENIENT - STRICT) * place
    if batch == 1:
        return threshold, NOISE
    return (threshold + (STRICT + LENIENT) / 2) / 2, NOISE / 2


def simulate_annotators(
    url: str, token: str, run_key: str, batch: int, accounts: int = 2, seed: int = 13
) -> SimulationResult:
    """Let simulated annotators work through a batch, all at the same time, until none is offered a task.

    Args:
        url: address of Label Studio.
        token: token of an account that may invite others; the accounts' passwords are made from it.
        run_key: name of the run.
        batch: number of the batch.
        accounts: how many annotators.
        seed: makes their mistakes; the same seed gives the same labels.

    Raises:
        ServiceError: when the batch was not pushed, or Label Studio does not do its part.
    """
    client = connect(url, token)
    project = require_project(client, run_key, batch)
    names = [simulated_account(number) for number in range(1, accounts + 1)]

    def work(number: int, session: httpx.Client) -> int:
        threshold, noise = strictness(number, accounts, batch)
        return _annotate(session, project, threshold, noise, f"{seed}|{names[number - 1]}")

    with ExitStack() as stack, ThreadPoolExecutor(max_workers=accounts) as people:
        # One after the other: two sign-ups at the same moment can block each other in SQLite.
        sessions = [stack.enter_context(closing(_enter(client, token, name))) for name in names]
        counts = list(people.map(work, range(1, accounts + 1), sessions))
    return SimulationResult(project_id=project, submitted=dict(zip(names, counts, strict=True)))


def _enter(client: Client, token: str, account: str) -> httpx.Client:
    """Log in, after signing up when the account is new. The password follows from the token."""
    password = hmac.new(token.encode(), account.encode(), hashlib.sha256).hexdigest()[:32]
    if account in client.accounts().values():
        return log_in(client.url, account, password)
    return sign_up(client.invitation(), account, password)


def _annotate(session: httpx.Client, project: int, threshold: float, noise: float, seed: str) -> int:
    """Take the next task and submit it, until there is none; return how many were submitted.

    When a call fails, the next task is asked for again: it is the same one unless it was stored.
    """
    done, failures = 0, 0
    while True:
        try:
            task = _next_task(session, project)
            if task is None:
                return done
            _submit(session, project, task, threshold, noise, seed)
            done += 1
        except httpx.HTTPError as error:
            failures += 1
            if failures == FAILURES:
                msg = f"Label Studio failed a simulated annotator {FAILURES} times, last: {error}"
                raise ServiceError(msg, "look into its log, mend what it says and simulate again") from None
            time.sleep(0.1 * failures)


def _next_task(session: httpx.Client, project: int) -> dict[str, Any] | None:
    """Ask for the next task as the page does that people label from: in the order of the tasks."""
    address = f"/api/dm/actions?id=next_task&project={project}"
    answer = session.post(address, json={"ordering": ["tasks:id"]})
    if answer.status_code == NOT_FOUND:
        return None
    task: dict[str, Any] = answer.raise_for_status().json()
    return task


def _submit(
    session: httpx.Client, project: int, task: dict[str, Any], threshold: float, noise: float, seed: str
) -> None:
    data = task["data"]
    texts = [candidate["text"].partition(" · ")[2] for candidate in data["candidates"]]
    rng = random.Random(f"{seed}|{data['task_key']}")  # noqa: S311 - mistakes, not secrets
    labels = judge(data["source_text"], texts, threshold, noise, rng)
    words = sum(len(WORD.findall(text)) for text in [data["source_text"], *texts])
    result = [
        {
            "id": f"link{number}",
            "from_name": f"link_{number}",
            "to_name": f"cand_{number}",
            "type": "choices",
            "value": {"choices": [label.value]},
        }
        for number, label in enumerate(labels)
    ]
    body = {"result": result, "lead_time": round(words / READING_SPEED, 1)}
    session.post(f"/api/tasks/{task['id']}/annotations?project={project}", json=body).raise_for_status()

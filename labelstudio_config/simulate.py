"""Annotators that are programs, for demonstrations and tests: real accounts, real submissions.

Their address, ``simulated-N@simulated.invalid``, says what they are. They fetch one task after
another from Label Studio as a person does, with their own tokens, but do not read the texts: they
know the gold links and make seeded mistakes. Gold links never go to Label Studio; a candidate of a fetched
task is found by its id.
"""

from __future__ import annotations

import hashlib
import hmac
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import cycle, takewhile
from typing import Any, NamedTuple

import httpx

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError, ServiceError
from abcdlink.judgments import Label, Pool
from abcdlink.layout import NATURAL, POOLS
from abcdlink.stages.annotate import pools_in
from abcdlink.stages.feedback import prepare_feedback
from abcdlink.store import Store
from labelstudio_config.accounts import log_in, sign_up, with_own_token
from labelstudio_config.answers import SIMULATED_DOMAIN
from labelstudio_config.client import NOT_FOUND, Client, connect
from labelstudio_config.pages import MOST_ANNOTATORS, own_title
from labelstudio_config.pages.adjudicate import adjudication_title
from labelstudio_config.pages.annotate import batch_title, candidate_id, controls_of, documents_of, of_batch, offered
from labelstudio_config.pages.feedback import READ, UNDERSTOOD, feedback_title
from labelstudio_config.run import find_project, require_project


class Mistakes(NamedTuple):
    """Probabilities of a mistake: on a gold link, and on any other candidate."""

    missed_link: float
    false_link: float


STRICT, LENIENT = Mistakes(missed_link=0.30, false_link=0.02), Mistakes(missed_link=0.05, false_link=0.10)
"""The strictest and the most lenient annotator.

Chosen, not measured on people: where 15 % to 20 % of the candidates are gold links, as in the shipped
samples, two such annotators usually reach a kappa of 0.5 to 0.6 in the first batch and 0.75 later.
"""

AFTER_FEEDBACK = 0.5
"""Factor on both probabilities from the second batch on. Chosen, not measured."""


def gold_of(pools: Sequence[Pool], corpus: Corpus) -> dict[str, frozenset[str]]:
    """Return task key -> opaque ids of the candidates that are gold links; every pool's key is there.

    Raises:
        InputError: when a pair has no gold links because nobody has annotated it, or a pool does not
            fit the corpus.
    """
    documents_of(pools, corpus)
    pairs = {pair.id: pair for pair in corpus.pairs}
    found = {}
    for pool in pools:
        links = pairs[pool.pair].links
        if links is None:
            msg = f"the pair {pool.pair!r} has no gold links for simulated annotators to judge by"
            raise InputError(msg, "only pairs with gold links can be simulated; have people annotate this batch")
        linked = links.get(pool.source, ())
        found[pool.key] = frozenset(candidate_id(pool.key, c.target) for c in pool.candidates if c.target in linked)
    return found


def mistakes_of(number: int, accounts: int, batch: int) -> Mistakes:
    """Return how likely annotator ``number`` of ``accounts`` is to err in a batch.

    Annotator 1 is the strictest and misses the most links; the last is the most lenient and accepts the most
    false ones; the others are evenly spaced between them. From batch 2 on they have had feedback.
    """
    place = (number - 1) / max(1, accounts - 1)
    left = 1.0 if batch == 1 else AFTER_FEEDBACK
    both = zip(STRICT, LENIENT, strict=True)
    return Mistakes(*(left * (strict + (lenient - strict) * place) for strict, lenient in both))


def judge(linked: bool, mistakes: Mistakes, seed: str) -> Label:
    """Return the gold label of a candidate, or make a mistake; the same seed gives the same label."""
    draw = random.Random(seed).random()  # noqa: S311 - mistakes, not secrets
    wrong = draw < (mistakes.missed_link if linked else mistakes.false_link)
    return Label.LINK if linked != wrong else Label.NO_LINK


MARK = "simulated"
"""Section of the manifest that names the simulated annotators of a run and the batches they judged."""

READING_SPEED = 4.0
"""Reading speed in words per second; gives the time that a simulated annotator reports for a task."""

FAILURES = 10
"""Failed calls after which a simulated annotator gives up."""


class SimulationResult(Record):
    """What simulated annotators did: account -> number of tasks submitted."""

    projects: list[int]
    submitted: dict[str, int]


def simulated_account(number: int) -> str:
    """Return the e-mail address of simulated annotator ``number``, from 1."""
    return f"simulated-{number}{SIMULATED_DOMAIN}"


def simulate_batch(
    store: Store, url: str, token: str, batch: int, accounts: int = 2, seed: int = 13
) -> SimulationResult:
    """Let simulated annotators work through a pushed batch of a run, and mark the run as simulated.

    The mark is set before the first submission, so that a killed simulation leaves no judgment
    by a program in an unmarked run. For the arguments, see ``simulate_annotators``.

    Raises:
        InputError: when the run has no candidates yet, or a pair of the batch has no gold links.
        ServiceError: when the batch was not pushed, or Label Studio does not do its part.
    """
    store.require(POOLS, "candidates")
    pools = of_batch(store.read_records(POOLS, Pool), batch)
    gold = gold_of(list(pools.values()), read_corpus_from(store, NATURAL))
    batch_projects(connect(url, token), store.key, batch)
    mark_simulated(store, batch, accounts)
    return simulate_annotators(url, token, store.key, batch, gold, accounts, seed)


def batch_projects(client: Client, run_key: str, batch: int) -> list[int]:
    """Return the ids of a batch's projects: one that all annotators share, or one for each of them.

    Raises:
        ServiceError: when there is none.
    """
    title = batch_title(run_key, batch)
    own = (find_project(client, own_title(title, number)) for number in range(MOST_ANNOTATORS))
    found = list(takewhile(lambda project: project is not None, own))
    return [project for project in found if project] or [require_project(client, title)]


def mark_simulated(store: Store, batch: int, accounts: int) -> None:
    """Add simulated annotators and their batch to the run's manifest."""
    before = store.manifest.get(MARK, {"accounts": [], "batches": []})
    names = {simulated_account(number) for number in range(1, accounts + 1)}
    batches = {*before["batches"], batch}
    store.note(MARK, {"accounts": sorted(names.union(before["accounts"])), "batches": sorted(batches)})


def simulate_annotators(
    url: str,
    token: str,
    run_key: str,
    batch: int,
    gold: Mapping[str, frozenset[str]],
    accounts: int = 2,
    seed: int = 13,
) -> SimulationResult:
    """Let simulated annotators work through a batch in parallel until none is offered a task.

    ``token``: of an account that may invite others; the accounts' passwords are derived from it. ``gold``: task key ->
    opaque ids of the candidates that are gold links (``gold_of``). ``seed``: of their mistakes; the same seed gives the
    same labels, whatever the order of the tasks.

    Raises:
        ServiceError: when the batch was not pushed, or Label Studio does not do its part.
    """
    client = connect(url, token)
    projects = batch_projects(client, run_key, batch)
    names = [simulated_account(number) for number in range(1, accounts + 1)]
    mistakes = [mistakes_of(number, accounts, batch) for number in range(1, accounts + 1)]
    answers = [_Mind(gold, made, f"{seed}|{name}").result for name, made in zip(names, mistakes, strict=True)]
    with ExitStack() as stack, ThreadPoolExecutor(max_workers=accounts) as people:
        # One at a time: two simultaneous sign-ups can block each other in SQLite.
        connections = [stack.enter_context(closing(_enter(client, token, name))) for name in names]
        # Each in their own project, if there are several.
        counts = list(people.map(_work, connections, cycle(projects), answers))
    return SimulationResult(projects=projects, submitted=dict(zip(names, counts, strict=True)))


@dataclass(frozen=True)
class _Mind:
    """The judgments of one annotator; ``seed`` begins the seed of each mistake."""

    gold: Mapping[str, frozenset[str]]
    mistakes: Mistakes
    seed: str

    def result(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the result to submit for a task: a label for each candidate, in their order."""
        key = data["task_key"]
        if key not in self.gold:
            msg = f"Label Studio offers the task {key!r}, which does not belong to this batch"
            raise ServiceError(msg, "delete that task in Label Studio and simulate again")
        ids = [candidate["id"] for candidate in offered(data)]
        labels = [judge(name in self.gold[key], self.mistakes, f"{self.seed}|{key}|{name}") for name in ids]
        return [_choice(*controls_of(number), label.value) for number, label in enumerate(labels)]


def simulate_feedback(store: Store, client: Client, token: str, batch: int, accounts: int = 2) -> int:
    """Let the simulated annotators of a batch answer the round after it; returns how many tasks they submitted.

    They judge each case again, err half as often as before, and confirm that they have read the guidelines.
    """
    pairs = {pair.id: pair for pair in read_corpus_from(store, NATURAL).pairs}
    cases = {case.key: case for case in prepare_feedback(store, batch).cases}
    project = require_project(client, feedback_title(store.key, batch))

    def answers_of(number: int, name: str) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
        mistakes = mistakes_of(number, accounts, batch + 1)

        def answer(data: dict[str, Any]) -> list[dict[str, Any]]:
            if data["notices"]:
                return [_choice(READ, "guide_0", UNDERSTOOD)]
            case = cases[data["task_key"]]
            linked = case.target in (pairs[case.pair].links or {}).get(case.source, ())
            return [_choice(*controls_of(0), judge(linked, mistakes, f"again|{name}|{case.key}").value)]

        return answer

    done = 0
    for number in range(1, accounts + 1):
        name = simulated_account(number)
        with closing(_enter(client, token, name)) as connection:
            done += _work(connection, project, answers_of(number, name))
    return done


def simulate_adjudicator(store: Store, client: Client, token: str, number: int = 3) -> int:
    """Let another simulated person, who makes no mistakes, decide all disputes; returns how many tasks they did.

    ``number``: of the account, beyond those of the annotators.
    """
    gold = gold_of(pools_in(store), read_corpus_from(store, NATURAL))
    mind = _Mind(gold, Mistakes(missed_link=0, false_link=0), "")
    with closing(_enter(client, token, simulated_account(number))) as connection:
        return _work(connection, require_project(client, adjudication_title(store.key)), mind.result)


def _enter(client: Client, token: str, account: str) -> httpx.Client:
    """Log in, after signing up if the account is new. The password is derived from the token."""
    password = hmac.new(token.encode(), account.encode(), hashlib.sha256).hexdigest()[:32]
    known = account in client.accounts().values()
    with closing(
        log_in(client.url, account, password) if known else sign_up(client.invitation(), account, password)
    ) as session:
        return with_own_token(session)


def _work(connection: httpx.Client, project: int, answer: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> int:
    """Take the next task and submit it, until there is none; return how many were submitted.

    When a call fails, the next task is requested again: the same one unless the answer was stored. ``answer`` gives the
    result for the data of a task.
    """
    done, failures = 0, 0
    while True:
        try:
            # Requested as the labelling page does: in the order of the tasks.
            address = f"/api/dm/actions?id=next_task&project={project}"
            reply = connection.post(address, json={"ordering": ["tasks:id"]})
            if reply.status_code == NOT_FOUND:
                return done
            task = reply.raise_for_status().json()
            seconds = round(_words(task["data"]) / READING_SPEED, 1)
            body = {"result": answer(task["data"]), "lead_time": seconds}
            connection.post(f"/api/tasks/{task['id']}/annotations?project={project}", json=body).raise_for_status()
            done += 1
        except httpx.HTTPError as error:
            failures += 1
            if failures == FAILURES:
                msg = f"{FAILURES} calls of a simulated annotator to Label Studio failed, the last with: {error}"
                raise ServiceError(msg, "check its log, fix what it reports and simulate again") from None
            time.sleep(0.1 * failures)


def _words(data: dict[str, Any]) -> int:
    """Count the words of the sentences that a task asks about, or of a notice's text."""
    if "cases" not in data:
        texts = [data["source_text"], *(candidate["text"] for candidate in offered(data))]
    else:
        cases = [text for case in data["cases"] for text in (case["source_text"], case["candidate"])]
        texts = cases or [notice["html"] for notice in data["notices"]]
    return sum(len(text.split()) for text in texts)


def _choice(control: str, about: str, choice: str) -> dict[str, Any]:
    return {"id": control, "from_name": control, "to_name": about, "type": "choices", "value": {"choices": [choice]}}

"""A small run to annotate; its methods, documents and sentences have names that can be recognised anywhere."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import httpx

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.domain import Domain, find_domain
from abcdlink.judgments import Candidate, Pool
from labelstudio_config.accounts import sign_up
from labelstudio_config.client import Client
from labelstudio_config.pages.annotate import candidate_id
from labelstudio_config.pages.exhaustive import ALL_TICKED, NO_LINK
from labelstudio_config.run import ProjectAt
from tests.helpers.builders import document
from tests.helpers.pulls import push_batch

METHODS = ("method-quokka", "method-numbat", "method-potoroo")
"""Distinctive labels, so that a leak can be found by searching."""

IDS = "sid-dugong-{n}"
"""Words of the sentences."""
SECRETS = (*METHODS, "pair-wombat", "source-bilby", "target-bilby", "sid-dugong")
"""Everything that an annotator must never see: methods, and the ids in gold links."""

TEXTS = ("The old bridge fell at noon.", "Nobody was hurt in the fall.", "The mayor spoke of luck.", "It had rained.")


@dataclass(frozen=True)
class Run:
    """A run with its corpus and pools, to be pushed."""

    key: str
    corpus: Corpus
    pools: list[Pool]
    domain: Domain

    def pushed(self, batch: int = 1) -> list[Pool]:
        return [pool for pool in self.pools if pool.batch == batch]


def make_run(tasks: int = 4, batches: int = 1, candidates: int = 3, texts: Sequence[str] = TEXTS) -> Run:
    """Make a run with up to four tasks per pair, a gold link per source, and a random key."""
    key = f"run-{secrets.token_hex(4)}"
    documents, pairs, pools = {}, [], []
    for number in range(-(-tasks // 4)):
        source, target = (document(f"{side}-bilby-{number}", texts, IDS) for side in ("source", "target"))
        documents |= {source.id: source, target.id: target}
        gold = {s.id: (s.id,) for s in source.sentences}
        pairs.append(Pair(id=f"pair-wombat-{number}", source=source.id, target=target.id, links=gold))
        for sentence in source.sentences[: tasks - 4 * number]:
            chosen = tuple(
                Candidate(target=s.id, method=METHODS[n % 3]) for n, s in enumerate(target.sentences[:candidates])
            )
            batch = 1 + number % batches
            pools.append(
                Pool(key=secrets.token_hex(8), batch=batch, pair=pairs[-1].id, source=sentence.id, candidates=chosen)
            )
    return Run(key, Corpus(name="test", documents=documents, pairs=pairs), pools, find_domain("news"))


def annotator(client: Client, name: str = "ada") -> closing[httpx.Client]:
    """Sign up a new annotator; the context is the browser session."""
    email = f"{name}-{secrets.token_hex(4)}@example.org"
    return closing(sign_up(client.invitation(), email, secrets.token_hex(12)))


def submit(session: httpx.Client, task: int, labels: Sequence[str]) -> httpx.Response:
    """Submit one annotation as the page does."""
    return choose(session, task, *((f"link_{n}", f"cand_{n}", [label]) for n, label in enumerate(labels)))


def choose(
    session: httpx.Client, task: int, *chosen: tuple[str, str, Sequence[str]], seconds: float = 3.5
) -> httpx.Response:
    """Submit choices, each as (name, what it is about, values)."""
    result = [
        {"id": name, "from_name": name, "to_name": about, "type": "choices", "value": {"choices": list(values)}}
        for name, about, values in chosen
    ]
    return session.post(f"/api/tasks/{task}/annotations", json={"result": result, "lead_time": seconds})


def account_id(session: httpx.Client) -> int:
    """Return the id of the session's account."""
    return int(session.get("/api/current-user/whoami").raise_for_status().json()["id"])


def tick(session: httpx.Client, task: int, key: str, targets: Sequence[str]) -> None:
    """Submit the ticked target sentences as the pages of exhaustive judging and gold pairs do."""
    ticked = [candidate_id(key, target) for target in targets]
    done = ("done", "src", [ALL_TICKED if ticked else NO_LINK])
    chosen = [("links", "src", ticked), done] if ticked else [done]
    choose(session, task, *chosen, seconds=60.0).raise_for_status()


def as_read(
    number: int, user: int, result: list[dict[str, Any]], at: str, *, cancelled: bool = False
) -> dict[str, Any]:
    """Return an annotation as Label Studio gives it, submitted and last changed by the same account."""
    return {
        "id": number,
        "completed_by": user,
        "updated_by": user,
        "updated_at": at,
        "was_cancelled": cancelled,
        "result": result,
    }


def skip(session: httpx.Client, task: int) -> None:
    """Skip a task as the page does."""
    answer = session.post(f"/api/tasks/{task}/annotations", json={"result": [], "was_cancelled": True})
    answer.raise_for_status()


def pushed(client: Client, run: Run, batch: int = 1) -> ProjectAt:
    """Push a batch of the run."""
    return push_batch(client, run.key, batch, run.pools, run.corpus, run.domain)

"""The paper's human evaluation, replayed: its judgments go through real accounts of Label Studio and the flow."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from abcdlink.agreement import Agreement, read_judgments
from abcdlink.candidates import task_key
from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.io import write_corpus_to
from abcdlink.corpus.records import Corpus
from abcdlink.domain import find_domain
from abcdlink.judgments import Candidate, Judgment, Pool, by_candidate
from abcdlink.layout import AGREEMENT, JUDGMENTS, NATURAL, POOLS, batch_slug
from abcdlink.segmentation import get_segmenter
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store
from labelstudio_config.accounts import sign_up, with_own_token
from labelstudio_config.client import connect
from labelstudio_config.linking.tasks import candidate_id
from tasks.projects import WaitsFor, read_pushed
from tests.integration.annotation import submit
from tests.integration.stack import Stack

RUN = "replay"
ANNOTATORS = ("annotator-1", "annotator-2")
THREADS = 2
"""Of each annotator: she has as many windows open."""

Said = Mapping[tuple[str, str], str]
"""(task key, opaque id of the candidate) -> label."""


def pools_of(judgments: Sequence[Judgment], corpus: Corpus) -> list[Pool]:
    """Return the pools that the annotators of the paper were shown, as the run would hold them."""
    pairs = {pair.id: pair for pair in corpus.pairs}
    shown: dict[tuple[int, str, str], dict[str, Candidate]] = {}
    for one in judgments:
        at = (one.batch, one.pair, one.source)
        shown.setdefault(at, {})[one.target] = Candidate(target=one.target, method=one.method)
    pools = []
    for (batch, pair, source), candidates in shown.items():
        place = corpus.target_of(pairs[pair]).position
        ordered = sorted(candidates.values(), key=lambda candidate: place[candidate.target])
        key = task_key(RUN, pair, source)
        pools.append(Pool(key=key, batch=batch, pair=pair, source=source, candidates=tuple(ordered)))
    return pools


def begin(store: Store, folder: Path) -> list[Judgment]:
    """Make the run as the stage ``candidates`` leaves it, and return what the annotators will say."""
    judgments = read_judgments(folder / "annotations.csv")
    corpus = import_corpus("abcd-link", folder, get_segmenter())
    describe_run(store, find_domain("reviews"))
    write_corpus_to(store, NATURAL, corpus)
    store.write_records(POOLS, pools_of(judgments, corpus))
    return judgments


def people(stack: Stack, connections: ExitStack) -> list[httpx.Client]:
    """Sign up the annotators; each is a connection with a token of her own."""
    client = connect(stack.label_studio.url, stack.label_studio.token)
    sessions = [
        connections.enter_context(closing(sign_up(client.invitation(), f"{name}@example.org", secrets.token_hex(12))))
        for name in ANNOTATORS
    ]
    return [connections.enter_context(closing(with_own_token(session))) for session in sessions]


def annotate(stack: Stack, batch: int, sessions: Sequence[httpx.Client], said: Sequence[Said]) -> None:
    """Let all annotators submit a batch at the same time."""
    client = connect(stack.label_studio.url, stack.label_studio.token)
    tasks = client.tasks(read_pushed(stack.run(RUN), batch_slug(batch)).project_id)

    def work(session: httpx.Client, labels: Said, task: dict) -> None:
        data = task["data"]
        chosen = [labels[data["task_key"], candidate["id"]] for candidate in data["candidates"]]
        while submit(session, task["id"], chosen).is_server_error:  # SQLite is locked: nothing was stored
            pass

    with ThreadPoolExecutor(THREADS * len(sessions)) as threads:
        jobs = [
            threads.submit(work, session, labels, task)
            for task in tasks
            for session, labels in zip(sessions, said, strict=True)
        ]
        for job in jobs:
            job.result()


@pytest.mark.timeout(600)
def test_the_papers_judgments_come_back_whole_with_its_figures(stack: Stack, shared_data: Path) -> None:
    store, prefect = stack.run(RUN), stack.prefect
    judgments = begin(store, shared_data / "reviews_he")
    said = [
        {
            (key, candidate_id(key, one.target)): one.label.value
            for one in judgments
            if one.annotator == name
            for key in [task_key(RUN, one.pair, one.source)]
        }
        for name in ANNOTATORS
    ]
    parameters = {"run": RUN, "annotation": {"batches": 2, "overlap": 2, "auto_feedback": True}}
    flow_run = prefect.start("annotate/annotate", parameters)
    with ExitStack() as connections:
        sessions = people(stack, connections)
        for batch in (1, 2):
            stack.wait_until_waiting(flow_run, RUN, WaitsFor.ANNOTATORS, batch)
            annotate(stack, batch, sessions, said)
            stack.reconcile()
    prefect.wait(flow_run, "Completed", 180)

    pulled = store.read_records(JUDGMENTS, Judgment)
    assert {at: {who: one.label for who, one in group.items()} for at, group in by_candidate(pulled).items()} == {
        at: {who: one.label for who, one in group.items()} for at, group in by_candidate(judgments).items()
    }
    assert len(pulled) == len(judgments) == 2 * 1022
    assert [store.read_json(f"batches/{batch}/anomalies.json") for batch in (1, 2)] == [[], []]
    agreement = Agreement.model_validate_json(store.read_text(AGREEMENT))
    assert agreement.kappa == pytest.approx(0.5875, abs=5e-5)
    assert [round(agreement.batches[batch].kappa or 0, 4) for batch in (1, 2)] == [0.5534, 0.6262]
    assert {method: (one.accepted, one.candidates) for method, one in agreement.acceptance.items()} == {
        "llm": (101, 179),
        "retriever": (76, 178),
        "both": (136, 175),
        "random": (21, 490),
    }

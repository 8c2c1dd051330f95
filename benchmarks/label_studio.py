"""Label Studio with SQLite and 2,000 tasks for two annotators: our push and pull against its own import and export."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.domain import find_domain
from abcdlink.judgments import Candidate, Judgment, Pool
from abcdlink.layout import JUDGMENTS, POOLS, batch_file
from abcdlink.settings import get_settings
from abcdlink.store import open_run
from benchmarks import Claim, SkippedError
from tests.helpers.label_studio_server import PROGRAM, label_studio_server

PAIRS = 40
SENTENCES = 50
"""Per document; every source sentence is a task."""
WORDS = 20
CANDIDATES = 8
TIMES = 5
"""The median of this many runs is taken, alternating ours and Label Studio's own."""
MOST = 1.3
RUN = "bench"


def claims(_data: Path) -> Iterator[Claim]:
    """Measure both directions with a separate server whose database is empty at first."""
    from labelstudio_config.accounts import sign_up
    from labelstudio_config.client import connect
    from labelstudio_config.pages.annotate import batch_project, batch_tasks

    if not PROGRAM.exists():
        msg = f"Label Studio is not available: there is no {PROGRAM}; `make setup` installs it"
        raise SkippedError(msg)
    folder = get_settings().home.resolve()
    pools, corpus, domain = _pools(), _corpus(), find_domain("news")
    project, tasks = batch_project(RUN, 1, domain, 2), batch_tasks(RUN, 1, pools, corpus, domain)
    with label_studio_server(folder) as server:
        client = connect(server.url, server.token)
        for name in ("ada", "ben"):
            with closing(sign_up(client.invitation(), f"{name}@example.org", "a-long-password")):
                pass
        yield _push(server, client, project, tasks)
        yield _pull(server, client, project, tasks, pools)


def _push(server: Any, client: Any, project: Any, tasks: dict[str, Any]) -> Claim:  # noqa: ANN401
    from labelstudio_config.projects import push_tasks

    sdk = _sdk(server)
    bodies = [{"data": {"task_key": key, **data}} for key, data in tasks.items()]
    places = [sdk.projects.create(title=f"own {n}", label_config=project.label_config).id for n in range(TIMES)]
    own, ours = _in_turn(
        lambda n: sdk.projects.import_tasks(id=places[n], request=bodies),
        lambda n: push_tasks(client, project.model_copy(update={"title": f"ours {n}"}), tasks),
    )
    return Claim(
        what=f"push of {len(tasks):,} tasks",
        ours=f"{ours:.1f} s: the project and its tasks, each there once",
        baseline=f"one import call of Label Studio's SDK into an existing project: {own:.1f} s",
        value=ours / own,
        most=MOST,
        note=f"{sum(len(json.dumps(body)) for body in bodies) / 1e6:.0f} MB of task data; wall time, median of {TIMES}",
    )


def _pull(server: Any, client: Any, project: Any, tasks: dict[str, Any], pools: list[Pool]) -> Claim:  # noqa: ANN401
    from labelstudio_config.pages.annotate import keep_result
    from labelstudio_config.projects import push_tasks
    from labelstudio_config.run import ProjectAt, PushedProject, look_at

    sdk, store = _sdk(server), open_run(RUN)
    at = push_tasks(client, project, {})
    users = [number for number, account in client.accounts().items() if account.startswith(("ada@", "ben@"))]
    client.import_tasks(at.project_id, [_annotated(key, data, users) for key, data in tasks.items()])
    store.write_records(POOLS, pools)
    here = ProjectAt(title=project.title, project_id=at.project_id, url=at.url)
    pushed = PushedProject(slug="batch-1", overlap=2, task_keys=tuple(tasks), projects=(here,))

    def export(_: int) -> None:
        for _chunk in sdk.projects.exports.download_sync(at.project_id, export_type="JSON", download_all_tasks=True):
            pass

    own, ours = _in_turn(export, lambda _: keep_result(store, 1, look_at(store, client, pushed)))
    judged = len(store.read_records(batch_file(1, JUDGMENTS), Judgment))
    return Claim(
        what=f"pull of {len(tasks):,} tasks with 2 annotations",
        ours=f"{ours:.1f} s: {judged:,} judgments and the snapshot, written",
        baseline=f"one export call of Label Studio's SDK, read and discarded: {own:.1f} s",
        value=ours / own,
        most=MOST,
        note=f"wall time, median of {TIMES}",
    )


def _in_turn(own: Callable[[int], object], ours: Callable[[int], object]) -> tuple[float, float]:
    """Return the median seconds of both, run alternately."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(TIMES):
        for work, spent in zip((own, ours), seconds, strict=True):
            started = time.perf_counter()
            work(number)
            spent.append(time.perf_counter() - started)
    return median(seconds[0]), median(seconds[1])


def _sdk(server: Any) -> Any:  # noqa: ANN401 - the SDK's class
    from label_studio_sdk import LabelStudio

    return LabelStudio(base_url=server.url, api_key=server.token, timeout=300)


def _annotated(key: str, data: dict[str, Any], users: list[int]) -> dict[str, Any]:
    result = [
        {"from_name": f"link_{n}", "to_name": f"cand_{n}", "type": "choices", "value": {"choices": ["Link"]}}
        for n in range(CANDIDATES)
    ]
    annotations = [{"completed_by": user, "result": result, "lead_time": 9.0} for user in users]
    return {"data": {"task_key": key, **data}, "annotations": annotations}


def _corpus() -> Corpus:
    """Return invented pairs; no two sentences share a word."""
    documents = {}
    for number in range(PAIRS):
        for side in ("a", "b"):
            name = f"{number}{side}"
            texts = [" ".join(f"word{number}{place}{word}" for word in range(WORDS)) for place in range(SENTENCES)]
            sentences = tuple(Sentence(id=str(place), text=text) for place, text in enumerate(texts))
            documents[name] = Document(id=name, sentences=sentences)
    pairs = [Pair(id=str(number), source=f"{number}a", target=f"{number}b") for number in range(PAIRS)]
    return Corpus(name="bench", documents=documents, pairs=pairs)


def _pools() -> list[Pool]:
    candidates = tuple(Candidate(target=str(n), method="both") for n in range(CANDIDATES))
    return [
        Pool(key=f"{pair}-{source}", batch=1, pair=str(pair), source=str(source), candidates=candidates)
        for pair in range(PAIRS)
        for source in range(SENTENCES)
    ]

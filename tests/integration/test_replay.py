"""The paper's human evaluation, replayed: its judgments go through real accounts of Label Studio and the flows.

First the judgments on candidates, in two batches; then the exhaustive ones on 29 source sentences, which give
the tables of true recall.
"""

from __future__ import annotations

import csv
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pandas as pd
import pytest

from abcdlink.candidates.pools import task_key
from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.io import write_corpus_to
from abcdlink.corpus.records import Corpus
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.domain import find_domain
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.exhaustive import Over, Recall, View
from abcdlink.interannotator.measures import Agreement
from abcdlink.judgment_file import read_judgment_file
from abcdlink.judgments import Candidate, Judgment, Label, Pool, by_candidate
from abcdlink.layout import (
    AGREEMENT,
    EXHAUSTIVE_JUDGMENTS,
    EXHAUSTIVE_SLUG,
    JUDGMENTS,
    NATURAL,
    POOLS,
    RECALL,
    SAMPLE,
    SHORTLIST,
    batch_slug,
    decision_part,
)
from abcdlink.linking.records import Approach, ApproachKind, Decision, Setup
from abcdlink.llm.records import Usage
from abcdlink.source_sample import Sample, SampledSource, exhaustive_key
from abcdlink.stages.decide import DecisionPart, part_count
from abcdlink.stages.intake import describe_run
from abcdlink.stages.once import is_done
from abcdlink.stages.rank import RankingEffort, keep_rankings
from abcdlink.store import Store
from abcdlink.waiting import WaitsFor
from labelstudio_config.accounts import sign_up, with_own_token
from labelstudio_config.client import connect
from labelstudio_config.pages.annotate import candidate_id
from labelstudio_config.pages.exhaustive import ALL_TICKED, DONE, LINKS
from labelstudio_config.run import read_pushed
from tests.conftest import SharedData
from tests.helpers.annotation import choose
from tests.helpers.stack import Stack

RUN = "replay"
ANNOTATORS = ("annotator-1", "annotator-2")
THREADS = 2
"""Per annotator: they have this many windows open."""

RETRIEVER = Approach(kind=ApproachKind.RETRIEVER, retriever="sfr-mistral", cutoff=10)
LLM = Approach(kind=ApproachKind.LLM, retriever="sfr-mistral", cutoff=10, setup=Setup.LISTWISE, prompt_mode=4)
"""Stand-ins for the paper's two approaches, whose lists are in the run."""

Chosen = list[tuple[str, str, list[str]]]
Answerer = Callable[[dict], Chosen]
"""Data of a task -> choices of an annotation."""


def pools_of(judgments: Sequence[Judgment], corpus: Corpus) -> list[Pool]:
    """Return the pools that the annotators of the paper were shown, in the form that a run keeps."""
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
    """Make the run as the stage ``candidates`` leaves it, and return what annotators will say of candidates."""
    judgments = list(read_judgment_file(folder / "annotations.csv").judgments)
    corpus = import_corpus("abcd-link", folder, get_segmenter())
    # Like a run begun before headings were left out as candidates: the paper left out none.
    store.note("domain", {"name": "reviews"})
    describe_run(store, find_domain("reviews"))
    write_corpus_to(store, NATURAL, corpus)
    store.write_records(POOLS, pools_of(judgments, corpus))
    know_approaches(store, folder)
    return judgments


def know_approaches(store: Store, folder: Path) -> None:
    """Put the released predictions into the run as what its two shortlisted approaches decided."""
    predicted = json.loads((folder / "predictions_reviews.json").read_text(encoding="utf-8"))
    rows = [
        (pair, source, target, -rank, rank)
        for pair, sources in predicted.items()
        for source, lists in sources.items()
        for rank, target in enumerate(lists.get("Retriever", []), start=1)
    ]
    table = pd.DataFrame(rows, columns=["pair", "source", "target", "score", "rank"])
    table = table.astype({"pair": "category", "source": "category", "target": "category", "rank": "int32"})
    keep_rankings(
        store,
        NATURAL,
        RETRIEVER.retriever,
        table,
        RankingEffort(seconds=0.0, kept_seconds=0.0, truncated=0, max_length=None),
    )
    decisions = [
        Decision(approach=LLM.name, pair=pair, source=source, targets=tuple(lists.get("R+LLM", [])))
        for pair, sources in predicted.items()
        for source, lists in sources.items()
    ]
    for part in range(part_count(store, NATURAL)):
        kept = DecisionPart(
            decisions=tuple(decisions if part == 0 else []), usage=Usage(), prompt_hash="released", model="released"
        )
        store.write_text(decision_part(NATURAL, LLM.name, part), kept.model_dump_json())
    shortlist = Shortlist(first=LLM, second=RETRIEVER, reasons=("as in the paper",))
    store.write_text(SHORTLIST, shortlist.model_dump_json())


def sample_as_the_paper(store: Store, folder: Path) -> dict[str, set[str]]:
    """Replace the blind sample by the paper's 29 sources; return task key -> its gold targets."""
    with (folder / "reviews_gold_labels.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = [(row["og_doc_id"], row["source_id"], row["target_id"]) for row in csv.DictReader(file)]
    sources = tuple(
        SampledSource(key=exhaustive_key(RUN, pair, source), pair=pair, source=source)
        for pair, source in dict.fromkeys((pair, source) for pair, source, _ in rows)
    )
    assert not is_done(store, "exhaustive", SAMPLE, {"share": None, "number": 29, "seed": 13, "overlap": 1})
    sample = Sample(sources=sources, population=29, filtered={}, seed=13)
    store.write_text(SAMPLE, sample.model_dump_json())
    gold: dict[str, set[str]] = {}
    for pair, source, target in rows:
        gold.setdefault(exhaustive_key(RUN, pair, source), set()).add(target)
    return gold


def people(stack: Stack, connections: ExitStack) -> list[httpx.Client]:
    """Sign up the annotators; each is a connection with its own token."""
    client = connect(stack.label_studio.url, stack.label_studio.token)
    sessions = [
        connections.enter_context(closing(sign_up(client.invitation(), f"{name}@example.org", secrets.token_hex(12))))
        for name in ANNOTATORS
    ]
    return [connections.enter_context(closing(with_own_token(session))) for session in sessions]


def annotate(stack: Stack, slug: str, sessions: Sequence[httpx.Client], said: Sequence[Answerer]) -> None:
    """Let all annotators submit their answers to a pushed project at the same time."""
    client = connect(stack.label_studio.url, stack.label_studio.token)
    tasks = client.tasks(read_pushed(stack.run(RUN), slug).project_id)

    def work(session: httpx.Client, answer: Answerer, task: dict) -> None:
        while (stored := choose(session, task["id"], *answer(task["data"]))).is_server_error:
            pass  # SQLite is locked: nothing was stored
        stored.raise_for_status()

    with ThreadPoolExecutor(THREADS * len(sessions)) as threads:
        jobs = [
            threads.submit(work, session, answer, task)
            for task in tasks
            for session, answer in zip(sessions, said, strict=True)
        ]
        for job in jobs:
            job.result()


def candidates_as(judgments: Sequence[Judgment], annotator: str) -> Answerer:
    """Answer tasks of a batch with the judgments of one annotator."""
    said = {
        (key, candidate_id(key, one.target)): one.label.value
        for one in judgments
        if one.annotator == annotator
        for key in [task_key(RUN, one.pair, one.source)]
    }

    def answer(data: dict) -> Chosen:
        labels = [said[data["task_key"], candidate["id"]] for candidate in data["candidates"]]
        return [(f"link_{n}", f"cand_{n}", [label]) for n, label in enumerate(labels)]

    return answer


def links_as(gold: Mapping[str, set[str]]) -> Answerer:
    """Answer exhaustive tasks with the gold links: task key -> target sentences."""

    def answer(data: dict) -> Chosen:
        key = data["task_key"]
        ticked = [candidate_id(key, target) for target in gold[key]]
        return [(LINKS, "targets", ticked), (DONE, "targets", [ALL_TICKED])]

    return answer


def test_replaying_the_papers_judgments_gives_its_figures(stack: Stack, shared_data: SharedData) -> None:
    store, folder = stack.run(RUN), shared_data / "reviews_he"
    judgments = begin(store, folder)
    gold = sample_as_the_paper(store, folder)
    with ExitStack() as connections:
        sessions = people(stack, connections)
        replay_batches(stack, sessions, judgments)
        replay_exhaustive(stack, sessions[0], gold)

    pulled = store.read_records(JUDGMENTS, Judgment)
    assert labels_of(pulled) == labels_of(judgments)
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

    exhaustive = store.read_records(EXHAUSTIVE_JUDGMENTS, Judgment)
    assert sum(one.label is Label.LINK for one in exhaustive) == sum(map(len, gold.values()))
    assert store.read_json("exhaustive/anomalies.json") == []
    recall = Recall.model_validate_json(store.read_text(RECALL))
    printed = json.loads((shared_data / "paper_tables.json").read_text(encoding="utf-8"))
    for table, view, over in (("true_recall", View.FULL, Over.GOLD), ("true_recall_pool", View.POOL, Over.SHARED)):
        rows = {(row.approach, row.over): row for row in recall.rows if row.view is view}
        ours = {
            "R+LLM": rows[LLM.name, Over.GOLD],
            "Retriever": rows[RETRIEVER.name, Over.GOLD],
            "Both": rows["both", over],
        }
        for name, row in ours.items():
            assert [round(value.mean, 2) for value in row.measures if value] == printed[table]["REVIEWS"][name]


def replay_batches(stack: Stack, sessions: Sequence[httpx.Client], judgments: Sequence[Judgment]) -> None:
    """Run the flow ``annotate`` to its end with the paper's two annotators."""
    parameters = {"run": RUN, "annotation": {"batches": 2, "overlap": 2, "auto_feedback": True, "shared_queue": True}}
    flow_run = stack.prefect.start("annotate/annotate", parameters)
    for batch in (1, 2):
        stack.wait_until_waiting(flow_run, RUN, WaitsFor.ANNOTATORS, batch_slug(batch))
        annotate(stack, batch_slug(batch), sessions, [candidates_as(judgments, name) for name in ANNOTATORS])
        stack.look()
    stack.bring_to_its_end(flow_run)


def replay_exhaustive(stack: Stack, session: httpx.Client, gold: Mapping[str, set[str]]) -> None:
    """Run the flow ``exhaustive`` to its end with one annotator who ticks the gold links."""
    parameters = {"run": RUN, "judging": {"number": 29, "overlap": 1}}
    flow_run = stack.prefect.start("exhaustive/exhaustive", parameters)
    stack.prefect.wait(flow_run, "Suspended")
    annotate(stack, EXHAUSTIVE_SLUG, [session], [links_as(gold)])
    stack.bring_to_its_end(flow_run)


def labels_of(judgments: Sequence[Judgment]) -> dict[tuple[str, str, str], dict[str, Label]]:
    """Return candidate -> annotator -> label."""
    return {at: {who: one.label for who, one in group.items()} for at, group in by_candidate(judgments).items()}

"""Applicants and raters on real servers: all at once, nobody sees gold, the coordinator decides by form."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx

from abcdlink.annotators import people_of
from abcdlink.corpus.io import read_corpus, write_corpus_to
from abcdlink.corpus.records import PairKind
from abcdlink.domain import find_domain
from abcdlink.layout import GOLD_SLUG, NATURAL, QUALIFY_SLUG, SYNTHETIC
from abcdlink.qualify import applicants_of, proposal, qualified_accounts
from abcdlink.qualify.gold import GOLD, GoldSet, expert_corpus, expert_sample, gold_set_of
from abcdlink.rate import ratings_of, sample_of, summarise
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store
from abcdlink.waiting import WaitsFor
from abcdlink.whatnow import what_now
from labelstudio_config.client import Client, connect
from labelstudio_config.pages import title_of
from labelstudio_config.pages.exhaustive import documents_of
from labelstudio_config.pages.qualify import gold_project
from labelstudio_config.run import require_project
from tests.helpers.annotation import annotator, choose, submit, tick
from tests.helpers.stack import Stack
from tests.helpers.waiting import until

Judge = Callable[[httpx.Client, int, str], None]
"""Submits one task: session, task id, task key."""


def work(client: Client, title: str, judges: dict[str, tuple[Judge, int]]) -> None:
    """Let people with these names do the given number of tasks, all at the same time."""
    project = require_project(client, title)
    tasks = sorted((task["id"], task["data"]["task_key"]) for task in client.tasks(project))
    with ExitStack() as stack, ThreadPoolExecutor(len(judges)) as people:
        sessions = [stack.enter_context(annotator(client, name)) for name in judges]

        def do(session: httpx.Client, judge: Judge, count: int) -> None:
            for task, key in tasks[:count]:
                judge(session, task, key)

        done = [people.submit(do, s, judge, count) for s, (judge, count) in zip(sessions, judges.values(), strict=True)]
        for one in done:
            one.result()


def like_gold(gold: GoldSet, wrong: int = 0) -> Judge:
    """Follow gold except for the first candidate of the first ``wrong`` tasks."""
    pools = {pool.key: pool for pool in gold.pools}
    mistaken = set(list(pools)[:wrong])

    def judge(session: httpx.Client, task: int, key: str) -> None:
        links = [candidate.method == GOLD for candidate in pools[key].candidates]
        links[0] ^= key in mistaken
        submit(session, task, ["Link" if link else "No Link" for link in links]).raise_for_status()

    return judge


def fill_in(stack: Stack, flow_run: str, names: list[str]) -> None:
    """Resume with the filled-in form; a run that was just suspended has no form for a moment."""
    address, body = f"/flow_runs/{flow_run}/resume", {"run_input": {"qualified": names}}
    until(lambda: stack.prefect.post(address, body)["status"] == "ACCEPT", "a form that is taken")


def test_a_new_run_qualifies_applicants_and_the_coordinator_decides_by_form(stack: Stack) -> None:
    key, prefect, client = "new-run", stack.prefect, connect(stack.label_studio.url, stack.label_studio.token)
    asked = {"run": key, "domain": "news", "qualification": {"applicants": 2, "wanted": 1, "threshold": 0.5}}
    flow_run = prefect.start("qualify/qualify", asked)
    stack.wait_until_waiting(flow_run, key, WaitsFor.ANNOTATORS, flow="qualify")
    gold = gold_set_of(stack.run(key))
    size = len(gold.pools)
    people = {"sure": (like_gold(gold), size), "rash": (like_gold(gold, 3), size)}
    work(client, title_of(key, "qualification"), {"late": (like_gold(gold), size - 1)})
    work(client, title_of(key, "qualification"), people)
    # Everyone who can log in can read all of this.
    title = title_of(key, "qualification")
    there = json.dumps([task["data"] for task in client.tasks(require_project(client, title))])
    sentences = {sentence.id for document in gold.corpus.documents.values() for sentence in document.sentences}
    told = {gold.corpus.pairs[0].id, *gold.corpus.documents, *sentences, GOLD, "random", "method", "links"}
    assert not [name for name in told if f'"{name}"' in there]
    stack.look()
    stack.wait_until_waiting(flow_run, key, WaitsFor.COORDINATOR, flow="qualify")
    found = {one.annotator: one for one in applicants_of(stack.run(key))}
    names = {one.account.split("-")[0]: one.annotator for one in people_of(stack.run(key))}
    assert (found[names["sure"]].kappa, found[names["late"]].done) == (1, size - 1)
    assert 0 < found[names["rash"]].kappa < 1
    best = proposal(applicants_of(stack.run(key)), 1, 0.5)[0]
    (table,) = [one for one in prefect.artifacts(flow_run) if one["key"] == f"{key}-applicants"]
    rows = json.loads(table["data"])
    assert (rows[0]["applicant"], rows[0]["proposed"]) == (best.annotator, "yes")
    assert rows[0]["account"].startswith("sure-")

    # After an unknown name or an empty form, the form is shown again.
    for names in (["applicant-9"], []):
        fill_in(stack, flow_run, names)
        stack.wait_until_waiting(flow_run, key, WaitsFor.COORDINATOR, flow="qualify")
        assert qualified_accounts(stack.run(key)) is None
    stack.command("qualify", "confirm", key, "--wanted", "1", "--threshold", "0.5")
    prefect.wait(flow_run, "Completed")
    assert qualified_accounts(stack.run(key)) == {rows[0]["account"]}


def links_of_expert(store: Store) -> Judge:
    """Tick the first target sentence for every other source sentence."""
    sources = {one.key: one for one in expert_sample(store).sources}
    corpus = expert_corpus(store)

    def judge(session: httpx.Client, task: int, key: str) -> None:
        target = documents_of(sources[key], corpus)[1].sentences[0].id
        tick(session, task, key, [target] if list(sources).index(key) % 2 == 0 else [])

    return judge


def test_an_expert_links_two_pairs_in_label_studio_and_applicants_judge_them(stack: Stack) -> None:
    key, prefect, client = "expert-run", stack.prefect, connect(stack.label_studio.url, stack.label_studio.token)
    names = [pair.id for pair in read_corpus(find_domain("news").sample_folder).pairs][:2]
    asked = {"pairs": names, "expert": True, "applicants": 1, "wanted": 1, "threshold": 0.5}
    flow_run = prefect.start("qualify/qualify", {"run": key, "domain": "news", "qualification": asked})
    stack.wait_until_waiting(flow_run, key, WaitsFor.ANNOTATORS, slug=GOLD_SLUG, flow="qualify")
    store = stack.run(key)
    assert what_now(store).headline == "An expert links the gold pairs"
    title = gold_project(key, find_domain("news")).title
    tasks = client.tasks(require_project(client, title))
    assert len(tasks) == len(expert_sample(store).sources) > 4
    work(client, title, {"expert": (links_of_expert(store), len(tasks))})
    stack.look()
    stack.wait_until_waiting(flow_run, key, WaitsFor.ANNOTATORS, slug=QUALIFY_SLUG, flow="qualify")
    gold = gold_set_of(store)
    assert gold.links == (len(tasks) + 1) // 2
    assert {pool.pair for pool in gold.pools} == set(names)
    assert [one.account.split("-")[0] for one in people_of(store)] == ["expert"]
    # An applicant cannot read the expert's answers.
    with annotator(client, "nosy") as session:
        seen = session.get(f"/api/tasks?project={require_project(client, title)}&fields=all").raise_for_status().json()
    assert not [answer for task in seen["tasks"] for answer in task["annotations"]]
    work(client, title_of(key, "qualification"), {"sure": (like_gold(gold), len(gold.pools))})
    stack.look()
    stack.wait_until_waiting(flow_run, key, WaitsFor.COORDINATOR, flow="qualify")
    (applicant,) = applicants_of(store)
    assert (applicant.finished, applicant.kappa) == (True, 1)
    fill_in(stack, flow_run, [applicant.annotator])
    prefect.wait(flow_run, "Completed")


def rated(value: int) -> Judge:
    def judge(session: httpx.Client, task: int, key: str) -> None:
        chosen = ((f"rating_{n}", "doc_a", [str(value)]) for n in range(4))
        choose(session, task, *chosen, seconds=9.5).raise_for_status()

    return judge


def test_documents_of_a_run_are_rated(stack: Stack) -> None:
    key, prefect, client = "rated-run", stack.prefect, connect(stack.label_studio.url, stack.label_studio.token)
    store, domain = stack.run(key), find_domain("news")
    sample = read_corpus(domain.sample_folder)
    describe_run(store, domain)
    write_corpus_to(store, NATURAL, sample)
    write_corpus_to(store, SYNTHETIC, sample.first_pairs(3))
    flow_run = prefect.start("rate/rate", {"run": key, "rating": {"synthetic": 3, "natural": 2, "overlap": 2}})
    stack.wait_until_waiting(flow_run, key, WaitsFor.ANNOTATORS, flow="rate")
    work(client, title_of(key, "ratings"), {"mild": (rated(4), 5), "strict": (rated(2), 5)})
    stack.bring_to_its_end(flow_run)
    assert [one.kind for one in sample_of(store)].count(PairKind.SYNTHETIC) == 3
    assert len(ratings_of(store)) == 2 * 5 * 4
    for one in summarise(ratings_of(store)):
        assert {kind: mean.mean for kind, mean in one.means.items()} == {PairKind.SYNTHETIC: 3, PairKind.NATURAL: 3}
    assert f"{key}-ratings" in {one["key"] for one in prefect.artifacts(flow_run)}

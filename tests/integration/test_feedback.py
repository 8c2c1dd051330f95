"""A feedback round on real servers: the coordinator's form, annotators who answer again, one who vanished."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import find_domain
from abcdlink.feedback import Accepted, Case, FeedbackOutcome, SecondAnswer
from abcdlink.feedback.memos import example_text
from abcdlink.judgments import Judgment, Label, Pool
from abcdlink.layout import NATURAL, batch_slug, feedback_slug
from abcdlink.store import Store
from abcdlink.waiting import WaitsFor
from labelstudio_config.client import Client, connect
from labelstudio_config.pages.feedback import UNDERSTOOD
from labelstudio_config.run import is_pushed, read_pushed
from tests.helpers.annotation import annotator, choose, submit
from tests.helpers.example_benchmark import benchmark
from tests.helpers.example_run import generate, make_pools, take_in
from tests.helpers.stack import Stack

KEY = "feedback-rounds"
OPPOSITE = (["Link", "No Link"], ["No Link", "Link"])
SECRETS = ("retriever", "llm", "random", "natural-0", "annotator-1")


def begin(stack: Stack) -> Store:
    """Make a run with one pool of two candidates in each of three batches."""
    store = stack.run(KEY)
    domain = find_domain("news")
    store.note("domain", {"name": domain.name, "folder": str(domain.folder)})
    corpus = take_in(store)
    generate(store)
    benchmark(store)
    make_pools(store, corpus)
    pools = [pool for pool in store.read_records("candidates.jsonl", Pool) if len(pool.candidates) > 1][:3]
    small = [
        pool.model_copy(update={"batch": batch, "candidates": pool.candidates[:2]})
        for batch, pool in enumerate(pools, start=1)
    ]
    store.write_records("candidates.jsonl", small)
    return store


def judge(stack: Stack, client: Client, people: Sequence[httpx.Client], batch: int) -> None:
    """Let both annotators judge all tasks of a batch, each the opposite of the other."""
    pushed = read_pushed(stack.run(KEY), batch_slug(batch))
    for task in client.tasks(pushed.project_id):
        for person, labels in zip(people, OPPOSITE, strict=True):
            submit(person, task["id"], labels).raise_for_status()


def answer_again(stack: Stack, client: Client, person: httpx.Client, batch: int) -> None:
    """Say Link to every case and acknowledge the guidelines, as the page does."""
    pushed = read_pushed(stack.run(KEY), feedback_slug(batch))
    for task in client.tasks(pushed.project_id):
        for word in SECRETS:
            assert word not in str(task["data"])
        name, to, choice = ("link_0", "cand_0", "Link") if task["data"]["cases"] else ("read_0", "guide_0", UNDERSTOOD)
        choose(person, task["id"], (name, to, [choice])).raise_for_status()


def instruction(stack: Stack, project: int) -> str:
    """Return what annotators of a project see first."""
    server = stack.label_studio
    found = httpx.get(f"{server.url}/api/projects/{project}", headers={"Authorization": f"Token {server.token}"})
    return str(found.raise_for_status().json()["expert_instruction"])


def kept(store: Store, name: str, kind: type[Any]) -> Any:
    return kind.model_validate_json(store.read_text(name))


def test_feedback_rounds_with_the_form_with_answers_and_without_a_vanished_annotator(
    stack: Stack, tmp_path: Path
) -> None:
    store, prefect = begin(stack), stack.prefect
    client = connect(stack.label_studio.url, stack.label_studio.token)
    parameters = {"run": KEY, "domain": "news", "annotation": {"batches": 3, "overlap": 2, "shared_queue": True}}
    run = prefect.start("annotate/annotate", parameters)
    with annotator(client, "ada") as ada, annotator(client, "ben") as ben:
        stack.wait_until_waiting(run, KEY, WaitsFor.ANNOTATORS, batch_slug(1))
        judge(stack, client, (ada, ben), 1)
        stack.look()
        stack.wait_until_waiting(run, KEY, WaitsFor.COORDINATOR, feedback_slug(1))

        # Neither an empty resume nor a check on the annotators replaces the coordinator's decision.
        assert prefect.post(f"/flow_runs/{run}/resume")["status"] == "REJECT"
        stack.look()
        assert prefect.state(run) == "Suspended"
        feedback = [one for one in prefect.artifacts(run) if f"{KEY}-feedback" in (one["key"] or "")]
        shown = str([artifact["data"] for artifact in feedback])
        for part in ("Feedback for annotator-1", "Feedback for annotator-2", "> DRAFT", "### Case 2"):
            assert part in shown
        assert not any(word in shown for word in SECRETS[:3])
        form = {"clarifications": "> DRAFT x\n\n**Bridges.** Look twice.", "label_studio_round": True}
        # A choice in the form makes a borderline case an example of the guidelines.
        form["case_2"] = "No Link"
        assert prefect.post(f"/flow_runs/{run}/resume", {"run_input": form})["status"] == "ACCEPT"

        # One of two has answered: the run waits. Both have: it goes on.
        stack.wait_until_waiting(run, KEY, WaitsFor.ANNOTATORS, feedback_slug(1))
        answer_again(stack, client, ada, 1)
        stack.look()
        assert prefect.state(run) == "Suspended"
        assert not is_pushed(store, batch_slug(2))
        answer_again(stack, client, ben, 1)
        stack.look()

        # The next batch shows the new guidelines.
        stack.wait_until_waiting(run, KEY, WaitsFor.ANNOTATORS, batch_slug(2))
        assert "Look twice" not in instruction(stack, read_pushed(store, batch_slug(1)).project_id)
        assert "Look twice" in instruction(stack, read_pushed(store, batch_slug(2)).project_id)
        assert "Example: No Link" in instruction(stack, read_pushed(store, batch_slug(2)).project_id)
        judge(stack, client, (ada, ben), 2)
        stack.look()
        stack.wait_until_waiting(run, KEY, WaitsFor.COORDINATOR, feedback_slug(2))
        (tmp_path / "more.md").write_text("**Ferries.** Look thrice.", encoding="utf-8")
        stack.command("feedback", "start", KEY, "--clarifications", str(tmp_path / "more.md"))

        # Someone vanished: the coordinator continues without them.
        stack.wait_until_waiting(run, KEY, WaitsFor.ANNOTATORS, feedback_slug(2))
        answer_again(stack, client, ben, 2)
        stack.command("feedback", "close", KEY)
        stack.wait_until_waiting(run, KEY, WaitsFor.ANNOTATORS, batch_slug(3))
        judge(stack, client, (ada, ben), 3)
        stack.bring_to_its_end(run)

    assert_what_is_kept(store)


def assert_what_is_kept(store: Store) -> None:
    accepted = kept(store, "batches/1/feedback/accepted.json", Accepted)
    case = store.read_records("batches/1/feedback/cases.jsonl", Case)[1]
    ours = f"**Bridges.** Look twice.\n\n{example_text(case, read_corpus_from(store, NATURAL), Label.NO_LINK)}"
    assert ours.count("> ") == 2
    assert (accepted.by, accepted.clarifications) == ("coordinator", ours)
    first, second = (kept(store, f"batches/{batch}/feedback/outcome.json", FeedbackOutcome) for batch in (1, 2))
    # The other case became an example.
    assert (first.cases, first.answered, first.resolved, first.missing) == (1, 1, 1, ())
    assert list(first.changed.values()) == [1]
    assert (second.answered, second.resolved, second.missing) == (0, 0, ("annotator-1",))
    assert len(store.read_records("batches/1/feedback/answers.jsonl", SecondAnswer)) == 2
    assert store.manifest["guidelines"] == {"1": 1, "2": 2, "3": 3}
    assert store.read_text("guidelines/v3.md").endswith(
        f"## Clarifications after batch 1\n\n{ours}\n\n## Clarifications after batch 2\n\n**Ferries.** Look thrice.\n"
    )
    judgments = store.read_records("judgments.jsonl", Judgment)
    assert len(judgments) == 12
    assert sum(one.label == "Link" for one in judgments) == 6

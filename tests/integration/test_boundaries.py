"""The flow boundaries: a person checks documents in Label Studio, and a corrected corpus comes out."""

from __future__ import annotations

from abcdlink.boundaries import CORRECTED
from abcdlink.corpus.io import read_corpus, read_corpus_from
from abcdlink.domain import find_domain
from abcdlink.layout import BOUNDARIES_SLUG
from abcdlink.waiting import WaitsFor
from labelstudio_config.client import connect
from labelstudio_config.pages.boundaries import DONE, DROPPED, NOTHING
from labelstudio_config.run import read_pushed
from tests.helpers.annotation import annotator, choose
from tests.helpers.stack import Stack


def test_sentences_that_people_leave_out_are_not_in_the_corrected_corpus_of_a_run_that_was_cancelled_and_continued(
    stack: Stack,
) -> None:
    key, prefect, client = "boundaries-run", stack.prefect, connect(stack.label_studio.url, stack.label_studio.token)
    folder, store = find_domain("news").sample_folder, stack.run("boundaries-run")
    flow_run = prefect.start("boundaries/boundaries", {"run": key, "corpus": str(folder), "documents": 2})
    stack.wait_until_waiting(flow_run, key, WaitsFor.ANNOTATORS, flow="boundaries")
    # As the button of Prefect's pages does.
    stack.prefect.post(f"flow_runs/{flow_run}/set_state", {"state": {"type": "CANCELLING"}})
    stack.prefect.wait(flow_run, "Cancelled")
    stack.look()
    assert "It was cancelled in Prefect" in stack.command("status", key)
    stack.command("continue", key)
    (flow_run,) = [one["id"] for one in stack.prefect.runs("boundaries") if one["id"] != flow_run]
    stack.wait_until_waiting(flow_run, key, WaitsFor.ANNOTATORS, flow="boundaries")
    tasks = sorted(client.tasks(read_pushed(store, BOUNDARIES_SLUG).project_id), key=lambda task: int(task["id"]))
    first = tasks[0]["data"]["drops_html"][-1]["value"]
    with annotator(client) as session:
        for task in tasks:
            chosen = {DROPPED: first, DONE: "I read everything; the boundaries are right now"}
            chosen = chosen if task is tasks[0] else {DONE: NOTHING}
            choose(session, task["id"], *((name, "doc", [one]) for name, one in chosen.items())).raise_for_status()
    stack.bring_to_its_end(flow_run)
    before, after = read_corpus(folder).documents, read_corpus_from(store, CORRECTED).documents
    lengths = {name: len(before[name].sentences) - len(document.sentences) for name, document in after.items()}
    assert sorted(lengths.values()) == [*[0] * (len(before) - 1), 1]

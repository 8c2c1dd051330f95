"""Starting flows: what is refused at once, and since when a flow counts as at work."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import httpx
import pytest
from prefect.client.schemas import FlowRun
from prefect.exceptions import PrefectHTTPStatusError
from prefect.input import RunInput
from prefect.states import Completed, Scheduled

from abcdlink.corpus.io import write_corpus
from abcdlink.corpus.records import Pair
from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.layout import feedback_slug
from abcdlink.qualify.gold import gold_set_of
from abcdlink.stages.candidates import batches_of, overlap_of
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store, open_run
from abcdlink.waiting import WaitsFor, wait_for, waiting_of
from flows import waiting
from tests.helpers.builders import corpus, document
from tests.helpers.command_line import call, called


def test_what_a_flow_would_refuse_is_refused_before_it_starts(
    run: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr("tasks.runs.reach_server", lambda: None)
    monkeypatch.setattr(
        "tasks.runs.start", lambda flow, _: started.append(flow) or FlowRun(id=uuid4(), flow_id=uuid4())
    )
    describe_run(run, find_domain("news"))
    documents, pair = [document(name, ["A bridge."]) for name in "ab"], Pair(id="p", source="a", target="b")
    bare, unlinked = str(tmp_path / "bare"), str(tmp_path / "unlinked")
    write_corpus(corpus([], *documents), bare)
    write_corpus(corpus([pair], *documents), unlinked)
    for words, problem in (
        (("qualify", "start", "new", "--domain", "news", "--corpus", unlinked), "no pair with gold links"),
        (("boundaries", "start", "new", "--corpus", bare), "contains no pairs"),
        (("start", "new", "--corpus", bare), "contains no pairs"),
        (("run", "bootstrap", "new", "--corpus", bare), "contains no pairs"),
        (("annotate", "start", "harbour", "--batches", "3"), "candidates for 2 batches, and 3 are asked for"),
        (("annotate", "start", "harbour", "--domain", "reviews"), "reviews"),
    ):
        with pytest.raises(InputError, match=problem):
            call(*words)
    assert (started, open_run("new").manifest.get("inputs", {})) == ([], {})
    for words in (
        ("qualify", "start", "new", "--domain", "news"),
        ("boundaries", "start", "edges", "--corpus", unlinked),
        ("annotate", "start", "harbour"),
        ("rate", "start", "harbour", "--synthetic", "2"),
    ):
        call(*words)
    assert started == [f"{flow}/{flow}" for flow in ("qualify", "boundaries", "annotate", "rate")]
    assert batches_of(run, 3, begun=True) == 2  # as earlier versions began it
    assert gold_set_of(open_run("new")).links > 0
    run.note("annotation", {"batches": 2, "overlap": 3})
    for words in (("annotate", "start", "harbour", "--overlap", "2"), ("start", "harbour", "--corpus", unlinked)):
        with pytest.raises(InputError, match="began with 3 annotators per task, not 2"):
            call(*words)
    assert overlap_of(run, find_domain("news")) == 3  # whatever the domain says
    for words in (("qualify", "start", "new", "--links", "3"), ("rate", "start", "harbour", "--synthetic", "3")):
        with pytest.raises(InputError, match="other settings"):
            call(*words)


def test_a_flow_is_at_work_from_the_moment_that_it_is_started(run: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    describe_run(run, find_domain("news"))
    begun = FlowRun(id=uuid4(), flow_id=uuid4(), state=Scheduled())
    monkeypatch.setattr("tasks.runs.reach_server", lambda: None)
    monkeypatch.setattr("prefect.deployments.run_deployment", lambda *_, **__: begun)
    for words, headline in (
        (("annotate", "start", "harbour"), "The flow annotate is running"),
        (("start", "--corpus", "sample", "whole"), "The stage generate is running (step 2 of 6 before annotation)"),
        (("start", "--corpus", "sample", "--goal", "quick try", "try"), "The stage candidates is running (step 3 of 3"),
    ):
        call(*words)
        assert called("status", words[-1])["headline"].startswith(headline)
    for state, newest in ((Scheduled(), str(begun.id)), (Completed(), "f2")):
        begun.state = state
        wait_for(run, newest, "annotate", WaitsFor.ANNOTATORS)  # the flow was faster, or this start is an older one
        call("annotate", "start", "harbour")
        assert (noted := waiting_of(run, "annotate"))
        assert (noted.flow_run, noted.kind) == (newest, WaitsFor.ANNOTATORS)


def test_a_flow_is_at_work_again_as_soon_as_it_has_its_answer(run: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[WaitsFor | None] = []

    def look(*_: object) -> None:
        kinds.append(getattr(waiting_of(run, "annotate"), "kind", None))

    for name, value in (
        ("flow_run", SimpleNamespace(id="f1", flow_name="annotate")),
        ("get_run_logger", logging.getLogger),
        ("show_what_now", look),
        ("suspend", look),
    ):
        monkeypatch.setattr(f"flows.waiting.{name}", value)
    waiting.wait_for_coordinator(run, feedback_slug(1), "The memos are ready.", "feedback-1", RunInput)
    assert kinds == [WaitsFor.COORDINATOR, WaitsFor.COORDINATOR, WaitsFor.NOBODY]


def test_a_setting_that_prefect_refuses_is_one_clear_error(run: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = (
        "Error creating flow run: Validation failed for field 'annotation.reminder_block'. Failure reason: no slash"
    )

    def refuse(*_: object, **__: object) -> None:
        request = httpx.Request("POST", "http://prefect.invalid")
        response = httpx.Response(409, json={"detail": reason}, request=request)
        raise PrefectHTTPStatusError(reason, request=request, response=response)

    describe_run(run, find_domain("news"))
    monkeypatch.setattr("tasks.runs.reach_server", lambda: None)
    monkeypatch.setattr("prefect.deployments.run_deployment", refuse)
    with pytest.raises(InputError, match=r"flow annotate is invalid: field 'annotation.reminder_block': no slash"):
        call("annotate", "start", "harbour", "--reminders", "slack")

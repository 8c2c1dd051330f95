"""The commands of a feedback round, without a Prefect server: what they show and what they refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from abcdlink.cli.app import make_app
from abcdlink.layout import batch_slug, feedback_slug
from abcdlink.stages.feedback import end_feedback
from abcdlink.store import Store, open_run
from abcdlink.waiting import WaitsFor, wait_for
from tests.helpers.example_run import example_run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("ABCDLINK_RUNS", str(tmp_path))
    example_run(tmp_path)
    return open_run("harbour")


def said(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(make_app(), ["feedback", *arguments])
    return result.exit_code, result.output + str(result.exception or "")


def test_show_prints_memos_draft_and_outcome(run: Store) -> None:
    code, text = said("show", "harbour")
    assert code == 0
    for part in ("# Feedback for annotator-1", "# Feedback for annotator-2", "> DRAFT", "12 borderline cases"):
        assert part in text
    numbers = re.findall(r"^### Case (\d+)$", text[text.index("# Borderline cases") :], re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 13)]
    end_feedback(run, 1, [], [])
    assert "12 disagreements, 0 were judged again" in said("show", "harbour")[1]
    shown = json.loads(said("show", "harbour", "--json")[1])
    assert (shown["outcome"]["cases"], shown["accepted"]) == (12, None)


@pytest.mark.parametrize(
    ("kind", "slug", "problem"),
    [
        (WaitsFor.ANNOTATORS, batch_slug(1), "waits for the annotators of batch-1, not for feedback"),
        (WaitsFor.NOTHING, batch_slug(2), "waits for nothing, not for feedback"),
    ],
)
def test_starting_is_refused_when_there_is_nothing_to_accept(
    run: Store, kind: WaitsFor, slug: str, problem: str
) -> None:
    wait_for(run, "00000000-0000-0000-0000-000000000000", "annotate", kind, slug)
    code, text = said("start", "harbour")
    assert code != 0
    assert problem in text


def test_clarifications_are_taken_once_and_only_from_an_existing_file(run: Store) -> None:
    wait_for(run, "x", "annotate", WaitsFor.COORDINATOR, feedback_slug(1))
    assert "there is no file nowhere.md" in said("start", "harbour", "--clarifications", "nowhere.md")[1]
    wait_for(run, "x", "annotate", WaitsFor.ANNOTATORS, feedback_slug(1))
    assert "have already been accepted" in said("start", "harbour", "--clarifications", "nowhere.md")[1]

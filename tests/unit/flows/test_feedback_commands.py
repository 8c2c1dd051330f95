"""The commands of feedback rounds: what they show of memos, questions and outcome, and what they refuse."""

from __future__ import annotations

import re

import pytest

from abcdlink.errors import InputError
from abcdlink.feedback import Acknowledgement
from abcdlink.layout import batch_slug, feedback_slug
from abcdlink.stages.feedback import end_feedback
from abcdlink.store import Store
from abcdlink.waiting import WaitsFor, wait_for
from tests.helpers.command_line import call, called


def test_show_prints_memos_draft_and_outcome(run: Store) -> None:
    text = call("feedback", "show", "harbour")
    for part in ("# Feedback for annotator-1", "# Feedback for annotator-2", "> DRAFT", "12 borderline cases"):
        assert part in text
    numbers = re.findall(r"^### Case (\d+)$", text[text.index("# Borderline cases") :], re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 13)]
    end_feedback(run, 1, [], [])
    assert "12 disagreements, 0 were judged again" in call("feedback", "show", "harbour")
    shown = called("feedback", "show", "harbour")
    assert (shown["outcome"]["cases"], shown["accepted"]) == (12, None)


def test_show_lists_annotators_questions_at_the_end_of_the_round(run: Store) -> None:
    asked = (
        ("annotator-1", True, "What about [b]numbers[/b]?"),
        ("annotator-2", True, ""),
        ("annotator-3", False, "Thanks"),
    )
    end_feedback(
        run, 1, [], [Acknowledgement(batch=1, annotator=who, question=asks, comment=text) for who, asks, text in asked]
    )
    shown = call("feedback", "show", "harbour")
    for line in (
        "annotator-1 still has a question: What about [b]numbers[/b]?",
        "annotator-2 still has a question: they did not write which",
        "annotator-3 says: Thanks",
    ):
        assert line in shown


@pytest.mark.parametrize(
    ("kind", "slug", "problem"),
    [
        (WaitsFor.ANNOTATORS, batch_slug(1), "waits for the annotators of batch 1: there is no feedback"),
        (WaitsFor.NOTHING, batch_slug(2), "does not wait for you: there is no feedback to give now"),
    ],
)
def test_starting_is_refused_when_there_is_nothing_to_accept(
    run: Store, kind: WaitsFor, slug: str, problem: str
) -> None:
    wait_for(run, "00000000-0000-0000-0000-000000000000", "annotate", kind, slug)
    with pytest.raises(InputError, match=problem):
        call("feedback", "start", "harbour")


def test_clarifications_are_taken_once_and_only_from_an_existing_file(run: Store) -> None:
    for kind, problem in (
        (WaitsFor.COORDINATOR, "there is no file nowhere.md"),
        (WaitsFor.ANNOTATORS, "have already been accepted"),
    ):
        wait_for(run, "x", "annotate", kind, feedback_slug(1))
        with pytest.raises(InputError, match=problem):
            call("feedback", "start", "harbour", "--clarifications", "nowhere.md")

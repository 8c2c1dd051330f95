"""Tasks of a feedback round reveal neither methods nor names; answers are read and anything lost is reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from abcdlink.domain import find_domain
from abcdlink.feedback import Case, choose_cases
from abcdlink.judgments import Annotator, Label
from labelstudio_config.pages.feedback import (
    ASKS,
    UNDERSTOOD,
    FeedbackPull,
    feedback_project,
    feedback_tasks,
    feedback_title,
    notice_key,
)
from tests.helpers.annotation import METHODS, SECRETS, as_read, make_run
from tests.helpers.builders import judgment
from tests.helpers.pulls import OneProject, pull_feedback

RUN = make_run(tasks=2)
ACCOUNTS = {7: "ada@example.org", 8: "ben@example.org"}
KNOWN = [
    Annotator(annotator=f"annotator-{n}", account=account, simulated=False)
    for n, account in enumerate(ACCOUNTS.values(), start=1)
]


def cases(method: str = METHODS[0]) -> list[Case]:
    judgments = [
        judgment(
            (pool.pair, pool.source, pool.candidates[0].target),
            who,
            label,
            method=method,
            comment="<i>why</i>" if who == 1 else "",
        )
        for pool in RUN.pools
        for who, label in ((1, Label.LINK), (2, Label.NO_LINK))
    ]
    return choose_cases(RUN.key, judgments, RUN.corpus)


def tasks_of(some: list[Case]) -> dict[str, dict[str, Any]]:
    return feedback_tasks(RUN.key, 1, some, RUN.corpus, RUN.domain, "**A rule.**", "# Guide\n\n<script>x</script>")


def answer(user: int, result: list[dict[str, Any]], number: int = 1) -> dict[str, Any]:
    return as_read(number, user, result, f"2026-01-01T00:{number:02d}:00Z")


def chose(name: str, choice: str) -> dict[str, Any]:
    return {"from_name": name, "value": {"choices": [choice]}}


def wrote(name: str, text: str) -> dict[str, Any]:
    return {"from_name": name, "value": {"text": [text]}}


def pulled(answers: dict[str, list[dict[str, Any]]], some: list[Case]) -> FeedbackPull:
    exported = [
        {"id": n, "data": {**data, "task_key": key}, "annotations": answers.get(key, []), "drafts": []}
        for n, (key, data) in enumerate(tasks_of(some).items())
    ]
    return pull_feedback(OneProject(feedback_title(RUN.key, 1), exported, ACCOUNTS), RUN.key, 1, some, KNOWN)


def test_tasks_hold_only_texts_and_opaque_ids() -> None:
    told = json.dumps(tasks_of(cases()))
    for word in (*SECRETS, "annotator-1", "annotator-2"):
        assert word not in told
    assert tasks_of(cases(METHODS[0])) == tasks_of(cases(METHODS[1]))
    assert "<script>" not in told
    assert "<i>" not in told


def test_the_guidelines_are_the_last_task_and_every_task_has_all_fields() -> None:
    tasks = tasks_of(cases())
    assert list(tasks)[-1] == notice_key(RUN.key, 1)
    assert len({tuple(data) for data in tasks.values()}) == 1
    assert [(len(data["cases"]), len(data["notices"])) for data in tasks.values()] == [(1, 0), (1, 0), (0, 1)]
    assert list(tasks_of([])) == [notice_key(RUN.key, 1)]


def test_votes_are_shown_without_names() -> None:
    (shown,) = next(iter(tasks_of(cases()).values()))["cases"]
    assert shown["said_html"] == (
        "<p>One annotator: <b>Link</b></p><p>One annotator: <b>No Link</b></p>"
        '<p>With Link: “<span dir="auto">&lt;i&gt;why&lt;/i&gt;</span>”</p>'
    )


def test_answers_and_acknowledgements_are_read() -> None:
    some = cases()
    notice = notice_key(RUN.key, 1)
    result = pulled(
        {
            some[0].key: [answer(7, [chose("link_0", "No Link"), wrote("comment_0", "Now I see.")])],
            some[1].key: [answer(7, [chose("link_0", "Link")]), answer(8, [chose("link_0", "Link")], 2)],
            notice: [answer(7, [chose("read_0", UNDERSTOOD)]), answer(8, [chose("read_0", ASKS)], 2)],
        },
        some,
    )
    assert [(one.annotator, one.label, one.comment) for one in result.answers] == [
        ("annotator-1", Label.NO_LINK, "Now I see."),
        ("annotator-1", Label.LINK, ""),
        ("annotator-2", Label.LINK, ""),
    ]
    assert [(one.annotator, one.question) for one in result.acknowledgements] == [
        ("annotator-1", False),
        ("annotator-2", True),
    ]
    assert result.anomalies == []


@pytest.mark.parametrize("result", [[], [chose("link_0", "Perhaps")], [wrote("comment_0", "?")]])
def test_unreadable_answers_are_reported(result: list[dict[str, Any]]) -> None:
    some = cases()
    read = pulled({key: [answer(7, result)] for key in (some[0].key, notice_key(RUN.key, 1))}, some)
    assert (read.answers, read.acknowledgements) == ([], [])
    assert len(read.anomalies) == 2


def test_the_page_offers_the_choices_that_are_read() -> None:
    project = feedback_project(RUN.key, 1, find_domain("news"), "# Guide", 2)
    for choice in (UNDERSTOOD, ASKS, *Label):
        assert f'value="{choice}"' in project.label_config
    assert project.title == feedback_title(RUN.key, 1)
    assert "Guide" in project.instruction

"""The coder's page reveals neither methods nor ids; the latest of the offered patterns counts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from abcdlink.coding import Coding, patterns_in, wrong_predictions
from abcdlink.domain import find_domain
from abcdlink.evaluation.errors import ErrorKind
from abcdlink.judgments import RANDOM, Annotator, Candidate, Pool
from labelstudio_config.history import remember
from labelstudio_config.pages.coding import CodingPull, codes_in, coding_project, coding_tasks, pattern_id
from labelstudio_config.snapshot import snapshot_of
from tests.helpers.annotation import as_read
from tests.helpers.disputes import CORPUS, RUN

SECRETS = ("sid-", "doc-", "pair-", "numbat", "quokka", "random", "annotator-")
LINES = ["near: <i>much alike</i>", "far", *(f"pattern {n}" for n in range(8)), "other: which?"]
NEAR, FAR, OTHER = pattern_id(0), pattern_id(1), "pattern-other"
POOLS = [
    Pool(
        key="k",
        batch=1,
        pair="pair-1",
        source="sid-4",
        candidates=(
            Candidate(target="sid-1", method="numbat"),
            Candidate(target="sid-2", method="quokka"),
            Candidate(target="sid-3", method=RANDOM),
        ),
    )
]
LINKS = {("pair-1", "sid-4", f"sid-{n}"): n > 1 for n in (1, 2, 3)}


def coding() -> Coding:
    errors = tuple(wrong_predictions(POOLS, LINKS, RUN))
    return Coding(patterns=patterns_in(LINES), found=len(errors), errors=errors)


def tasks() -> dict[str, dict[str, Any]]:
    return coding_tasks(coding(), CORPUS, find_domain("news"))


def test_a_task_shows_the_error_but_not_its_method() -> None:
    text = json.dumps(tasks())
    assert not [secret for secret in SECRETS if secret in text]
    first, second, third = tasks().values()
    assert (first["progress"], first["source_text"], first["candidate"]) == ("1 of 3", "Text 4.", "Text 1.")
    assert first["wrong"].startswith("Wrong link")
    assert second["wrong"] == third["wrong"]
    assert second["wrong"].startswith("Missed link")
    assert [first[side].count("<mark") for side in ("doc_a_html", "doc_b_html")] == [1, 1]
    # The methods that were wrong do not affect a task.
    renamed = [one.model_copy(update={"methods": ("other",)}) for one in coding().errors]
    other = coding().model_copy(update={"errors": tuple(renamed)})
    assert coding_tasks(other, CORPUS, find_domain("news")) == tasks()


def test_patterns_are_text_and_the_first_nine_have_digits() -> None:
    patterns = next(iter(tasks().values()))["patterns"]
    assert [one["value"] for one in patterns][:2] == [NEAR, FAR]
    assert len({one["value"] for one in patterns}) == len(LINES)
    assert "&lt;i&gt;much alike&lt;/i&gt;" in patterns[0]["html"]
    assert [one["hotkey"] for one in patterns] == [*"123456789", "f19", "f19"]


def answer(number: int, user: int, *chosen: str, comment: str = "") -> dict[str, Any]:
    result: list[dict[str, Any]] = [
        {"from_name": "pattern", "type": "choices", "value": {"choices": [one]}} for one in chosen
    ]
    result += [{"from_name": "comment", "type": "textarea", "value": {"text": [comment]}}] if comment else []
    return as_read(number, user, result, f"2026-11-28T05:00:{number:02}Z")


ACCOUNTS = {1: "ada@example.org", 2: "eve@example.org"}
ADA = Annotator(annotator="annotator-1", account=ACCOUNTS[1], simulated=False)


def pulled(answers: list[list[dict[str, Any]]], coders: tuple[Annotator, ...] = ()) -> CodingPull:
    errors = coding().errors
    there = [
        {"id": n, "project": 7, "data": {"task_key": one.key, **tasks()[one.key]}, "annotations": given, "drafts": []}
        for n, (one, given) in enumerate(zip(errors, answers, strict=True))
    ]
    snapshot = snapshot_of(remember(None, [7], there, ACCOUNTS, datetime.now(UTC)), [one.key for one in errors])
    return codes_in(snapshot, errors, coding().patterns, [ADA], coders)


def test_annotators_keep_their_pseudonyms_and_others_become_coders() -> None:
    result = pulled([[answer(1, 1, NEAR, comment="A & B")], [answer(2, 2, FAR)], []])
    first, second, _ = coding().errors
    assert [(one.key, one.coder, one.pattern, one.comment) for one in result.codes] == [
        (first.key, "annotator-1", "near", "A & B"),
        (second.key, "coder-1", "far", ""),
    ]
    assert [(one.annotator, one.account) for one in result.annotators] == [("coder-1", ACCOUNTS[2])]
    assert result.anomalies == []
    known = Annotator(annotator="coder-5", account=ACCOUNTS[2], simulated=False)
    assert pulled([[answer(1, 2, NEAR)], [], []], (known,)).codes[0].coder == "coder-5"


def test_unknown_patterns_are_reported_and_the_latest_answer_counts() -> None:
    result = pulled([[answer(1, 2, FAR), answer(3, 2, NEAR)], [answer(2, 2, "unheard of")], [answer(4, 2)]])
    assert [one.pattern for one in result.codes] == ["near"]
    assert sum("not one of the patterns" in line for line in result.anomalies) == 1
    assert sum("decides nothing" in line for line in result.anomalies) == 1


def test_other_without_a_comment_is_reported() -> None:
    result = pulled([[answer(1, 2, OTHER)], [answer(2, 2, OTHER, comment="A pun")], []])
    assert [one.pattern for one in result.codes] == ["other", "other"]
    assert [line for line in result.anomalies if "say what" in line] == result.anomalies
    assert len(result.anomalies) == 1


def test_a_project_belongs_to_one_coder() -> None:
    project = coding_project(RUN, find_domain("news"), "# Guidelines")
    assert (project.title, project.overlap) == ("a-run · coding", 1)
    assert {error.kind for error in coding().errors} == set(ErrorKind)

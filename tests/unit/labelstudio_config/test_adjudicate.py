"""The adjudicator's page gives no hint of methods or people; the latest decision counts."""

from __future__ import annotations

import json
from typing import Any

from abcdlink.adjudicate import pools_to_decide
from abcdlink.domain import find_domain
from abcdlink.feedback import SecondAnswer
from abcdlink.judgments import Annotator, Label, by_candidate
from labelstudio_config.pages.adjudicate import AdjudicationPull, adjudication_tasks, said_html
from labelstudio_config.pages.annotate import candidate_id
from tests.helpers.annotation import as_read
from tests.helpers.disputes import CORPUS, JUDGMENTS_MADE, LINK, NO, RUN, judged
from tests.helpers.pulls import OneProject, pull_adjudications

SECRETS = ("sid-", "doc-", "pair-", "numbat", "annotator-", "adjudicat")


def tasks() -> dict[str, dict[str, Any]]:
    return adjudication_tasks(
        pools_to_decide(JUDGMENTS_MADE, CORPUS, RUN, 2), JUDGMENTS_MADE, CORPUS, find_domain("news")
    )


def test_a_task_shows_judgments_without_annotators_or_methods() -> None:
    text = json.dumps(tasks())
    assert not [secret for secret in SECRETS if secret in text]
    second, first = sorted(tasks().values(), key=lambda data: data["source_text"], reverse=True)
    assert list(tasks().values()) == [first, second]
    assert (first["source_text"], second["source_text"]) == ("Text 1.", "Text 4.")
    shown = second["candidates"]
    assert [one["text"] for one in shown] == ["0 · Text 1.", "1 · Text 5."]
    assert second["doc_b_html"].count("<mark") == 2
    remark = 'Unsure, “<span dir="auto">&lt;b&gt;It follows&lt;/b&gt;</span>”'
    assert sorted(shown[1]["said_html"].replace("Another", "One annotator").split("</p>")) == [
        "",
        f"<p>One annotator: <b>Link</b>, {remark}",
        f"<p>One annotator: <b>No Link</b>, {remark}",
    ]


def test_the_order_reveals_nobody_and_is_stable() -> None:
    group = by_candidate(judged(1, 1, LINK, NO))["pair-1", "sid-1", "sid-1"]
    orders = [said_html(group, candidate_id("key", str(number))) for number in range(200)]
    first = sum(order.startswith("<p>One annotator: <b>Link") for order in orders)
    assert 70 < first < 130
    backwards = dict(reversed(group.items()))
    assert orders == [said_html(backwards, candidate_id("key", str(number))) for number in range(200)]


def test_gold_links_and_methods_do_not_change_a_task() -> None:
    gold = {"sid-4": ("sid-1",)}
    linked = CORPUS.model_copy(update={"pairs": [p.model_copy(update={"links": gold}) for p in CORPUS.pairs]})
    others = [j.model_copy(update={"method": "random"}) for j in JUDGMENTS_MADE]
    pools = pools_to_decide(others, linked, RUN, 2)
    assert adjudication_tasks(pools, others, linked, find_domain("news")) == tasks()


def test_second_answers_are_shown_beside_the_first() -> None:
    at = {"batch": 1, "pair": "pair-1", "source": "sid-4", "target": "sid-5"}
    answer = SecondAnswer(**at, annotator="annotator-2", label=Label.LINK, comment="<i>seen</i>")
    pools = pools_to_decide(JUDGMENTS_MADE, CORPUS, RUN, 2)
    made = adjudication_tasks(pools, JUDGMENTS_MADE, CORPUS, find_domain("news"), [answer])
    said = [one["said_html"] for data in made.values() for one in data["candidates"]]
    (shown,) = (text for text in said if "after feedback" in text)
    (line,) = (line for line in shown.split("</p>") if "after feedback" in line)
    assert line.index("<b>No Link</b>") < line.index("after feedback <b>Link</b>")
    assert "&lt;i&gt;seen&lt;/i&gt;" in shown
    assert "annotator-2" not in shown


ACCOUNTS = {1: "ada@example.org", 2: "bo@example.org", 3: "eve@example.org"}


def annotation(number: int, user: int, *labels: Label, comment: str = "") -> dict[str, Any]:
    result = [
        {"from_name": f"link_{n}", "type": "choices", "value": {"choices": [label]}} for n, label in enumerate(labels)
    ]
    result += [{"from_name": "comment", "type": "textarea", "value": {"text": [comment]}}] if comment else []
    return as_read(number, user, result, f"2026-11-28T05:00:{number:02}Z", cancelled=not labels)


def pulled(by_source: dict[str, list[dict[str, Any]]], adjudicators: list[Annotator]) -> AdjudicationPull:
    pools = pools_to_decide(JUDGMENTS_MADE, CORPUS, RUN, 2)
    there = [
        {
            "id": number,
            "data": {"task_key": pool.key, **tasks()[pool.key]},
            "annotations": by_source.get(pool.source, []),
            "drafts": [],
        }
        for number, pool in enumerate(pools)
    ]
    people = [Annotator(annotator=f"annotator-{n}", account=ACCOUNTS[n], simulated=False) for n in (1, 2)]
    return pull_adjudications(
        OneProject("a-run · adjudication", there, ACCOUNTS), RUN, pools, JUDGMENTS_MADE, people, adjudicators
    )


def test_a_third_person_decides_and_keeps_their_pseudonym() -> None:
    result = pulled({"sid-4": [annotation(1, 3, NO, LINK, comment="B repeats A.")]}, [])
    assert [(a.target, a.label, a.adjudicator, a.consensus, a.comment) for a in result.adjudications] == [
        ("sid-1", NO, "adjudicator-1", False, "B repeats A."),
        ("sid-5", LINK, "adjudicator-1", False, "B repeats A."),
    ]
    assert result.annotators == [Annotator(annotator="adjudicator-1", account="eve@example.org", simulated=False)]
    assert result.anomalies == []
    known = [Annotator(annotator="adjudicator-7", account="eve@example.org", simulated=False)]
    assert {a.adjudicator for a in pulled({"sid-1": [annotation(1, 3, NO)]}, known).adjudications} == {"adjudicator-7"}


def test_an_annotator_who_decides_is_named_and_marked() -> None:
    result = pulled({"sid-1": [annotation(1, 2, LINK)]}, [])
    assert [(a.adjudicator, a.consensus) for a in result.adjudications] == [("annotator-2", True)]
    assert result.annotators == []


def test_the_latest_decision_counts_and_the_others_are_reported() -> None:
    result = pulled({"sid-1": [annotation(1, 3, LINK), annotation(4, 1, NO), annotation(2, 3, NO)]}, [])
    assert [(a.adjudicator, a.label) for a in result.adjudications] == [("annotator-1", NO)]
    assert any("adjudicator-1 and annotator-1 decided the task" in line for line in result.anomalies)
    assert any("2 times" in line for line in result.anomalies)


def test_skipped_and_undecided_candidates_stay_open() -> None:
    result = pulled({"sid-1": [annotation(1, 3)], "sid-4": [annotation(2, 3, LINK)]}, [])
    assert [a.target for a in result.adjudications] == ["sid-1"]
    assert any("skipped" in line for line in result.anomalies)
    assert any("left 1 of 2 candidates" in line for line in result.anomalies)

"""Exhaustive tasks hold only texts and opaque ids; once everything was read, an unticked sentence is No Link."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.judgments import Annotator, Label
from abcdlink.source_sample import SampledSource
from labelstudio_config.pages import JudgmentsPull, label_config
from labelstudio_config.pages.annotate import candidate_id
from labelstudio_config.pages.exhaustive import ALL_TICKED, NO_LINK, exhaustive_project, exhaustive_tasks
from tests.helpers.annotation import as_read
from tests.helpers.pulls import OneProject, pull_exhaustive

SOURCE = Document(id="doc-dingo", sentences=(Sentence(id="sid-7", text="The bridge fell."),))
TARGET = Document(
    id="doc-quoll",
    sentences=tuple(Sentence(id=f"sid-{n}", text=t) for n, t in enumerate(("Same.", "Same.", "<b>x</b>", " "))),
)
CORPUS = Corpus(
    name="c",
    documents={"doc-dingo": SOURCE, "doc-quoll": TARGET},
    pairs=[Pair(id="pair-bilby", source="doc-dingo", target="doc-quoll", links={"sid-7": ("sid-0",)})],
)
AT = SampledSource(key="0123456789abcdef", pair="pair-bilby", source="sid-7")


def target_id(number: int) -> str:
    return candidate_id(AT.key, f"sid-{number}")


def annotation(number: int, user: int, ticked: Sequence[str], said: str | None, **more: Any) -> dict[str, Any]:
    chosen = {"links": list(ticked), "done": [said] if said else []}
    result = [{"from_name": name, "type": "choices", "value": {"choices": c}} for name, c in chosen.items() if c]
    made = as_read(number, user, result + more.pop("result", []), f"2026-11-28T05:00:{number:02}Z")
    return {**made, "lead_time": 90.5, **more}


ACCOUNTS = {1: "ada@example.org", 2: "bo@example.org"}


def pulled(*annotations: dict[str, Any]) -> JudgmentsPull:
    data = {"task_key": AT.key, **exhaustive_tasks([AT], CORPUS, find_domain("news"))[AT.key]}
    tasks = [{"id": 1, "data": data, "annotations": list(annotations)}]
    known = [Annotator(annotator="annotator-1", account="bo@example.org", simulated=False)]
    return pull_exhaustive(OneProject("a-run · exhaustive", tasks, ACCOUNTS), "a-run", [AT], CORPUS, known)


def links(result: JudgmentsPull, who: str) -> dict[str, Label]:
    return {j.target: j.label for j in result.judgments if j.annotator == who}


def test_a_task_holds_only_texts_and_opaque_ids():
    (data,) = exhaustive_tasks([AT], CORPUS, find_domain("news")).values()
    assert data.pop("progress") == "Sentence 1 of 1"
    assert set(data) == {"list_title", "doc_a_name", "source_text", "doc_a_html", "targets_html"}
    (open_ended,) = exhaustive_tasks([AT], CORPUS, find_domain("news"), ends_early=True).values()
    assert open_ended["progress"] == "Sentence 1"
    text = json.dumps(data)
    assert not [secret for secret in ("sid-", "doc-", "pair-bilby", "exhaustive", "gold") if secret in text]
    shown = [target["html"] for target in data["targets_html"]]
    texts = ["Same.", "Same.", "&lt;b&gt;x&lt;/b&gt;", "(empty sentence)"]
    assert shown == [f'<b>{n}</b> <span dir="auto">{text}</span>' for n, text in enumerate(texts, start=1)]
    assert len({target["value"] for target in data["targets_html"]}) == 4


def test_gold_links_do_not_change_a_task():
    bare = CORPUS.model_copy(update={"pairs": [CORPUS.pairs[0].model_copy(update={"links": None})]})
    domain = find_domain("news")
    assert exhaustive_tasks([AT], CORPUS, domain) == exhaustive_tasks([AT], bare, domain)


def test_everyone_who_read_everything_judges_every_target():
    result = pulled(annotation(1, 1, [target_id(1)], ALL_TICKED), annotation(2, 2, [], NO_LINK))
    link, no = Label.LINK, Label.NO_LINK
    # A known annotator keeps their pseudonym.
    assert links(result, "annotator-2") == {"sid-0": no, "sid-1": link, "sid-2": no, "sid-3": no}
    assert links(result, "annotator-1") == dict.fromkeys(("sid-0", "sid-1", "sid-2", "sid-3"), no)
    assert {j.seconds for j in result.judgments} == {90.5}
    assert result.anomalies == []


def test_whoever_did_not_confirm_reading_everything_judged_nothing():
    result = pulled(annotation(1, 1, [target_id(1)], None), annotation(2, 2, [target_id(2)], None))
    assert result.judgments == []
    assert len(result.anomalies) == 2
    assert all("does not count as judged" in line for line in result.anomalies)


@pytest.mark.parametrize(
    ("ticked", "said", "problem", "expected"),
    [
        ([target_id(0)], NO_LINK, "no links, but ticked 1", {"sid-0"}),
        ([], ALL_TICKED, "ticked none", set()),
        ([target_id(2), "of-another-task"], ALL_TICKED, "ticked 1 sentences that", {"sid-2"}),
    ],
)
def test_contradictions_are_reported_and_ticks_count(ticked: list[str], said: str, problem: str, expected: set[str]):
    result = pulled(annotation(1, 1, ticked, said))
    assert {target for target, label in links(result, "annotator-2").items() if label is Label.LINK} == expected
    (line,) = result.anomalies
    assert problem in line


def test_skips_flags_comments_and_changed_answers_are_read():
    flagged = [
        {"from_name": "flag", "type": "choices", "value": {"choices": ["Unsure"]}},
        {"from_name": "comment", "type": "textarea", "value": {"text": ["Sentence 2 repeats 1."]}},
    ]
    result = pulled(
        annotation(1, 1, [], NO_LINK),
        annotation(3, 1, [target_id(0)], ALL_TICKED, result=flagged),
        annotation(2, 2, [], None, was_cancelled=True),
    )
    said = [(j.target, j.flags, j.comment) for j in result.judgments if j.label is Label.LINK]
    assert said == [("sid-0", ("Unsure",), "Sentence 2 repeats 1.")]
    assert [(s.key, s.annotator) for s in result.skips] == [(AT.key, "annotator-1")]
    assert any("2 times" in line for line in result.anomalies)


def test_the_page_submits_the_answers_that_are_read():
    config = label_config("exhaustive")
    assert f'<Choice value="{ALL_TICKED}"' in config
    assert f'<Choice value="{NO_LINK}"' in config
    project = exhaustive_project("a-run", find_domain("news"), find_domain("news").guidelines, 2)
    assert (project.title, project.overlap) == ("a-run · exhaustive", 2)


def test_a_sample_of_another_corpus_is_refused():
    with pytest.raises(InputError, match="'sid-9'"):
        exhaustive_tasks([AT.model_copy(update={"source": "sid-9"})], CORPUS, find_domain("news"))

"""Only what annotators differ on is asked, without a hint at methods and people; what is decided is counted."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, cast

import pytest
from example_run import example_run
from hostile_run import hostile_adjudications, hostile_corpus, hostile_judgments, hostile_run
from typer.testing import CliRunner

from abcdlink.adjudication import Adjudication, disputed, pools_to_decide, summarise
from abcdlink.cli.app import make_app
from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.judgments import Annotator, Judgment, Label, Pool, by_candidate
from abcdlink.layout import ADJUDICATIONS, DISPUTED, JUDGMENTS, batch_file
from abcdlink.report import write_report
from abcdlink.stages.adjudicate import judged_so_far, keep_adjudications, prepare_adjudication, summary_of
from abcdlink.store import Store
from labelstudio_config.adjudication import AdjudicationPull, adjudication_project, adjudication_tasks
from labelstudio_config.adjudication.pull import pull_adjudications
from labelstudio_config.adjudication.tasks import said_html
from labelstudio_config.client import Client
from labelstudio_config.linking.tasks import candidate_id

LINK, NO = Label.LINK, Label.NO_LINK
RUN = "a-run"
SECRETS = ("sid-", "doc-", "pair-", "numbat", "annotator-", "adjudicat")


def document(name: str) -> Document:
    return Document(id=name, sentences=tuple(Sentence(id=f"sid-{n}", text=f"Text {n}.") for n in range(6)))


CORPUS = Corpus(
    name="c",
    documents={name: document(name) for name in ("doc-a", "doc-b")},
    pairs=[Pair(id="pair-1", source="doc-a", target="doc-b"), Pair(id="pair-2", source="doc-b", target="doc-a")],
)


def judged(source: int, target: int, *labels: Label, pair: str = "pair-1", **more: Any) -> list[Judgment]:
    return [
        Judgment(
            batch=1 if pair == "pair-1" else 2,
            pair=pair,
            source=f"sid-{source}",
            target=f"sid-{target}",
            method="numbat",
            annotator=f"annotator-{number}",
            label=label,
            **more,
        )
        for number, label in enumerate(labels, start=1)
    ]


JUDGMENTS_MADE = [
    *judged(4, 5, LINK, NO, comment="<b>It follows</b>", flags=("Unsure",)),
    *judged(4, 1, NO, LINK),
    *judged(4, 2, LINK, LINK),
    *judged(0, 3, NO, NO),
    *judged(0, 2, LINK),
    *judged(1, 0, NO, LINK),
]


def asked(pools: list[Pool]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(pool.pair, pool.source, tuple(candidate.target for candidate in pool.candidates)) for pool in pools]


def test_only_complete_candidates_on_which_annotators_differ_are_asked() -> None:
    pools = pools_to_decide(JUDGMENTS_MADE, CORPUS, RUN, 2)
    assert asked(pools) == [("pair-1", "sid-4", ("sid-1", "sid-5")), ("pair-1", "sid-1", ("sid-0",))]
    assert len({pool.key for pool in pools}) == 2
    assert pools_to_decide(JUDGMENTS_MADE[::-1], CORPUS, RUN, 2)[1] == pools[0]
    assert not {pool.key for pool in pools_to_decide(JUDGMENTS_MADE, CORPUS, "other", 2)} & {p.key for p in pools}


def test_nothing_is_asked_twice_and_what_is_new_is_added() -> None:
    before = pools_to_decide(JUDGMENTS_MADE, CORPUS, RUN, 2)
    assert pools_to_decide(JUDGMENTS_MADE, CORPUS, RUN, 2, before) == before
    # Annotator 2 thinks otherwise of one candidate of a source that was asked, and there is another batch.
    changed = [
        j if j.target != "sid-2" or j.annotator == "annotator-1" else j.model_copy(update={"label": NO})
        for j in JUDGMENTS_MADE
    ]
    after = pools_to_decide([*changed, *judged(3, 3, LINK, NO, pair="pair-2")], CORPUS, RUN, 2, before)
    assert after[:2] == before
    assert asked(after[2:]) == [("pair-1", "sid-4", ("sid-2",)), ("pair-2", "sid-3", ("sid-3",))]
    assert [pool.batch for pool in after] == [1, 1, 1, 2]
    assert len({pool.key for pool in after}) == 4


def test_judgments_that_the_corpus_does_not_hold_are_an_error() -> None:
    for lost in (judged(4, 9, LINK, NO), judged(4, 1, LINK, NO, pair="pair-9")):
        with pytest.raises(InputError, match="does not hold"):
            pools_to_decide(lost, CORPUS, RUN, 2)


def tasks() -> dict[str, dict[str, Any]]:
    return adjudication_tasks(
        pools_to_decide(JUDGMENTS_MADE, CORPUS, RUN, 2), JUDGMENTS_MADE, CORPUS, find_domain("news")
    )


def test_a_task_tells_what_was_said_but_not_by_whom_nor_which_method() -> None:
    text = json.dumps(tasks())
    assert not [secret for secret in SECRETS if secret in text]
    second, first = sorted(tasks().values(), key=lambda data: data["source_text"], reverse=True)
    assert list(tasks().values()) == [first, second]
    assert (first["source_text"], second["source_text"]) == ("Text 1.", "Text 4.")
    shown = second["candidates"]
    assert [one["text"] for one in shown] == ["0 · Text 1.", "1 · Text 5."]
    assert second["doc_b_html"].count("<mark") == 2
    remark = "Unsure, “&lt;b&gt;It follows&lt;/b&gt;”"
    assert sorted(shown[1]["said_html"].replace("Another", "One annotator").split("</p>")) == [
        "",
        f"<p>One annotator: <b>Link</b>, {remark}",
        f"<p>One annotator: <b>No Link</b>, {remark}",
    ]


def test_the_order_does_not_tell_who_is_who_and_stays() -> None:
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


class LabelStudio:
    """What is read of Label Studio: one project with some tasks."""

    url = "http://localhost"

    def __init__(self, tasks: list[dict[str, Any]]) -> None:
        self._tasks = tasks

    def projects_titled(self, title: str) -> dict[int, int]:
        assert title == adjudication_project(RUN, find_domain("news"), "").title == "a-run · adjudication"
        return {1: len(self._tasks)}

    def tasks(self, _project: int) -> list[dict[str, Any]]:
        return self._tasks

    def accounts(self) -> dict[int, str]:
        return {1: "ada@example.org", 2: "bo@example.org", 3: "eve@example.org"}


def annotation(number: int, user: int, *labels: Label, comment: str = "") -> dict[str, Any]:
    result = [
        {"from_name": f"link_{n}", "type": "choices", "value": {"choices": [label]}} for n, label in enumerate(labels)
    ]
    result += [{"from_name": "comment", "type": "textarea", "value": {"text": [comment]}}] if comment else []
    at = f"2026-11-28T05:00:{number:02}Z"
    return {"id": number, "completed_by": user, "updated_at": at, "was_cancelled": not labels, "result": result}


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
    people = [
        Annotator(annotator=f"annotator-{n}", account=a, simulated=False)
        for n, a in ((1, "ada@example.org"), (2, "bo@example.org"))
    ]
    client = cast("Client", LabelStudio(there))
    return pull_adjudications(client, RUN, pools, JUDGMENTS_MADE, people, adjudicators)


def test_a_third_person_decides_and_keeps_the_pseudonym() -> None:
    result = pulled({"sid-4": [annotation(1, 3, NO, LINK, comment="B repeats A.")]}, [])
    assert [(a.target, a.label, a.adjudicator, a.consensus, a.comment) for a in result.adjudications] == [
        ("sid-1", NO, "adjudicator-1", False, "B repeats A."),
        ("sid-5", LINK, "adjudicator-1", False, "B repeats A."),
    ]
    assert result.adjudicators == [Annotator(annotator="adjudicator-1", account="eve@example.org", simulated=False)]
    assert result.anomalies == []
    known = [Annotator(annotator="adjudicator-7", account="eve@example.org", simulated=False)]
    assert {a.adjudicator for a in pulled({"sid-1": [annotation(1, 3, NO)]}, known).adjudications} == {"adjudicator-7"}


def test_an_annotator_who_decides_is_named_and_marked() -> None:
    result = pulled({"sid-1": [annotation(1, 2, LINK)]}, [])
    assert [(a.adjudicator, a.consensus) for a in result.adjudications] == [("annotator-2", True)]
    assert result.adjudicators == []


def test_of_several_people_the_newest_decision_counts_and_the_rest_is_told() -> None:
    result = pulled({"sid-1": [annotation(1, 3, LINK), annotation(4, 1, NO), annotation(2, 3, NO)]}, [])
    assert [(a.adjudicator, a.label) for a in result.adjudications] == [("annotator-1", NO)]
    assert any("adjudicator-1 and annotator-1 decided the task" in line for line in result.anomalies)
    assert any("2 times" in line for line in result.anomalies)


def test_skipped_and_undecided_ones_stay_open() -> None:
    result = pulled({"sid-1": [annotation(1, 3)], "sid-4": [annotation(2, 3, LINK)]}, [])
    assert [a.target for a in result.adjudications] == ["sid-1"]
    assert any("skipped" in line for line in result.anomalies)
    assert any("left 1 of 2 candidates" in line for line in result.anomalies)


def decision(source: int, target: int, label: Label, who: str = "adjudicator-1") -> Adjudication:
    at = {"batch": 1, "pair": "pair-1", "source": f"sid-{source}", "target": f"sid-{target}"}
    return Adjudication(**at, adjudicator=who, label=label, consensus=who.startswith("annotator"))


def test_counts_of_what_was_decided() -> None:
    moot = decision(0, 3, LINK)
    result = summarise(JUDGMENTS_MADE, [decision(4, 5, LINK), decision(4, 1, LINK, "annotator-2"), moot], 2)
    total = result.total
    assert (total.candidates, total.disputed, total.to_link, total.to_no_link, total.open) == (5, 3, 2, 0, 1)
    assert (total.accepted, total.before) == (1, 1 / 5)
    assert (total.links, total.labelled, total.after) == (3, 4, 3 / 4)
    assert [row.model_copy(update={"method": "all"}) for row in result.methods] == [total]
    assert [(f.annotator, f.decided, f.followed, f.own) for f in result.followed] == [
        ("annotator-1", 2, 1, 0),
        ("annotator-2", 2, 1, 1),
    ]
    assert [(a.adjudicator, a.decided, a.consensus) for a in result.adjudicators] == [
        ("adjudicator-1", 1, 0),
        ("annotator-2", 1, 1),
    ]
    assert result.moot == 1


def test_counts_of_a_run_with_three_annotators_are_those_of_counting_by_hand() -> None:
    judgments, decided = hostile_judgments(), hostile_adjudications()
    result = summarise(judgments, decided, 2)
    differ = disputed(judgments, 2)
    assert result.total.disputed == len(differ) == sum(row.disputed for row in result.methods)
    assert result.total.to_link == sum(a.label is LINK for a in decided)
    assert result.total.open == len(differ) - len(decided)
    for row in result.followed:
        own = [(group[row.annotator].label, a.label) for a in decided if row.annotator in (group := differ[a.at])]
        assert (row.decided, row.followed) == (len(own), sum(said is final for said, final in own))
    assert summarise(judgments, [], 2).total.after == pytest.approx(
        result.total.accepted / (result.total.candidates - len(differ))
    )


def test_a_run_can_be_adjudicated_batch_by_batch(tmp_path: Path) -> None:
    store = example_run(tmp_path)
    judgments = store.read_records(JUDGMENTS, Judgment)
    store.folder.remove(JUDGMENTS)
    store.folder.remove(batch_file(2, JUDGMENTS))
    with pytest.raises(InputError, match="no judgments of batch 2 yet"):
        prepare_adjudication(store, [2])
    first = prepare_adjudication(store)
    assert {pool.batch for pool in first} == {1}
    written = store.folder.read(DISPUTED)
    assert prepare_adjudication(store) == first
    assert store.folder.read(DISPUTED) == written
    results = keep_adjudications(store, [], [], [])
    assert (results["adjudications"], results["dataset"]) == (0, [])
    store.write_records(batch_file(2, JUDGMENTS), [j for j in judgments if j.batch == 2])
    assert prepare_adjudication(store, [1]) == first
    both = prepare_adjudication(store, [2])
    assert both[: len(first)] == first
    assert {(p.pair, p.source, c.target) for p in both for c in p.candidates} == set(disputed(judgments, 2))


def decide_all(store: Store) -> list[Adjudication]:
    """Let an adjudicator decide everything at random, once."""
    chooser = random.Random(3)
    made = [
        Adjudication(
            batch=pool.batch,
            pair=pool.pair,
            source=pool.source,
            target=candidate.target,
            adjudicator="adjudicator-1",
            label=chooser.choice(list(Label)),
            consensus=False,
        )
        for pool in prepare_adjudication(store)
        for candidate in pool.candidates
    ]
    people = [Annotator(annotator="adjudicator-1", account="eve@example.org", simulated=False)]
    keep_adjudications(store, made, people, ["eve <b>skipped</b> a task"])
    return made


def test_data_set_and_report_tell_what_was_decided(tmp_path: Path) -> None:
    store = example_run(tmp_path)
    write_report(store)
    assert "Adjudication" not in store.read_text("report.html")
    made = decide_all(store)
    summary = summary_of(store)
    assert (summary.total.disputed, summary.total.open) == (len(made), 0)
    assert store.manifest["exports"]["jsonl"]["rule"] == "adjudicated"
    assert store.manifest["exports"]["jsonl"]["links"] == summary.total.links
    page = store.read_text("report.html")
    assert f"{summary.total.to_link} were decided to be a link" in page
    assert page.count("decided by adjudicator-1") == len(made)
    assert "eve &lt;b&gt;skipped" in page
    assert "eve@example.org" not in page


def test_the_command_shows_figures_and_says_what_is_missing(isolated_home: Path) -> None:
    store = hostile_run(isolated_home / "runs")
    done = CliRunner().invoke(make_app(), ["adjudication", "hostile", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == summary_of(store).model_dump(mode="json")
    done = CliRunner().invoke(make_app(), ["adjudication", "hostile"])
    assert "annotator-10 decided 1, 1 of them as consensus" in done.stderr
    store.folder.remove(ADJUDICATIONS)
    failed = CliRunner().invoke(make_app(), ["adjudication", "hostile"])
    assert isinstance(failed.exception, InputError)
    assert "adjudicate" in str(failed.exception)
    store.folder.remove(JUDGMENTS)
    with pytest.raises(InputError, match="no judgments yet"):
        judged_so_far(store)


def test_hostile_texts_are_asked_about_as_text() -> None:
    judgments = [j.model_copy(update={"comment": "<script>x</script>"}) for j in hostile_judgments()]
    corpus = hostile_corpus()
    made = adjudication_tasks(pools_to_decide(judgments, corpus, RUN, 2), judgments, corpus, find_domain("news"))
    html = "".join(value for data in made.values() for name, value in data.items() if name.endswith("_html"))
    html += "".join(one["said_html"] for data in made.values() for one in data["candidates"])
    assert "<script" not in html
    assert 'onclick="' not in html

"""Only disagreements are adjudicated, once; decisions are counted, exported and reported."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from abcdlink.adjudicate import FEEDBACK, Adjudication, disputed, pools_to_decide, summarise
from abcdlink.errors import InputError
from abcdlink.feedback import SecondAnswer
from abcdlink.judgments import Annotator, Judgment, Label, Place, Pool
from abcdlink.layout import ADJUDICATIONS, DISPUTED, JUDGMENTS, batch_file
from abcdlink.report import write_report
from abcdlink.report.decided import decisions_in
from abcdlink.stages.annotate import judged_so_far, keep_adjudications, prepare_adjudication, summary_of
from abcdlink.stages.feedback import ANSWERS
from abcdlink.store import Store
from tests.helpers.command_line import call, called
from tests.helpers.disputes import CORPUS, JUDGMENTS_MADE, LINK, NO, RUN, judged
from tests.helpers.example_run import example_run
from tests.helpers.hostile_run import hostile_adjudications, hostile_judgments, hostile_run


def asked(pools: list[Pool]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(pool.pair, pool.source, tuple(candidate.target for candidate in pool.candidates)) for pool in pools]


def test_only_complete_disputed_candidates_are_asked_about() -> None:
    pools = pools_to_decide(JUDGMENTS_MADE, CORPUS, RUN, 2)
    assert asked(pools) == [("pair-1", "sid-4", ("sid-1", "sid-5")), ("pair-1", "sid-1", ("sid-0",))]
    assert len({pool.key for pool in pools}) == 2
    assert pools_to_decide(JUDGMENTS_MADE[::-1], CORPUS, RUN, 2)[1] == pools[0]
    assert not {pool.key for pool in pools_to_decide(JUDGMENTS_MADE, CORPUS, "other", 2)} & {p.key for p in pools}


def test_nothing_is_asked_twice_and_new_disputes_are_added() -> None:
    before = pools_to_decide(JUDGMENTS_MADE, CORPUS, RUN, 2)
    assert pools_to_decide(JUDGMENTS_MADE, CORPUS, RUN, 2, before) == before
    # Annotator 2 disagrees on one candidate of a source already asked about, and there is another batch.
    changed = [
        j if j.target != "sid-2" or j.annotator == "annotator-1" else j.model_copy(update={"label": NO})
        for j in JUDGMENTS_MADE
    ]
    after = pools_to_decide([*changed, *judged(3, 3, LINK, NO, pair="pair-2")], CORPUS, RUN, 2, before)
    assert after[:2] == before
    assert asked(after[2:]) == [("pair-1", "sid-4", ("sid-2",)), ("pair-2", "sid-3", ("sid-3",))]
    assert [pool.batch for pool in after] == [1, 1, 1, 2]
    assert len({pool.key for pool in after}) == 4


def test_judgments_outside_the_corpus_are_an_error() -> None:
    for lost in (judged(4, 9, LINK, NO), judged(4, 1, LINK, NO, pair="pair-9")):
        with pytest.raises(InputError, match=r"not in the run.s corpus"):
            pools_to_decide(lost, CORPUS, RUN, 2)


def decision(source: int, target: int, label: Label, who: str = "adjudicator-1") -> Adjudication:
    at = {"batch": 1, "pair": "pair-1", "source": f"sid-{source}", "target": f"sid-{target}"}
    return Adjudication(**at, adjudicator=who, label=label, consensus=who.startswith("annotator"))


def test_decisions_are_counted() -> None:
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


def test_counts_with_three_annotators_equal_counting_by_hand() -> None:
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
    keep_adjudications(store, [], [], [])
    assert store.read_records(ADJUDICATIONS, Adjudication) == []
    assert not store.folder.names("dataset/")
    store.write_records(batch_file(2, JUDGMENTS), [j for j in judgments if j.batch == 2])
    assert prepare_adjudication(store, [1]) == first
    both = prepare_adjudication(store, [2])
    assert both[: len(first)] == first
    assert {(p.pair, p.source, c.target) for p in both for c in p.candidates} == set(disputed(judgments, 2))


def test_disputes_settled_by_feedback_are_decided_without_asking(tmp_path: Path) -> None:
    store = example_run(tmp_path)
    judgments = store.read_records(JUDGMENTS, Judgment)
    places = disputed(judgments, 2)
    (one, who), *_ = places.items()
    answers = [
        SecondAnswer(batch=1, pair=one[0], source=one[1], target=one[2], annotator=name, label=Label.LINK)
        for name in who
    ]
    store.write_records(batch_file(1, ANSWERS), answers[:1])
    assert places_of(prepare_adjudication(store)) == set(places)  # one person alone settles nothing
    store.folder.remove(DISPUTED)
    store.write_records(batch_file(1, ANSWERS), answers)
    assert places_of(prepare_adjudication(store)) == set(places) - {one}
    keep_adjudications(store, [], [], [])
    (kept,) = store.read_records(ADJUDICATIONS, Adjudication)
    assert (kept.at, kept.label, kept.adjudicator, kept.consensus) == (one, Label.LINK, FEEDBACK, True)
    # If it is asked about all the same, the adjudicator decides.
    assert places_of(prepare_adjudication(store, settled_too=True)) == set(places)
    keep_adjudications(store, [], [], [])
    assert store.read_records(ADJUDICATIONS, Adjudication) == []


def places_of(pools: Sequence[Pool]) -> set[Place]:
    return {(pool.pair, pool.source, candidate.target) for pool in pools for candidate in pool.candidates}


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


def test_the_data_set_and_report_show_the_decisions(tmp_path: Path) -> None:
    store = example_run(tmp_path)
    assert decisions_in(store, store.read_records(JUDGMENTS, Judgment)) is None
    made = decide_all(store)
    summary = summary_of(store)
    assert (summary.total.disputed, summary.total.open) == (len(made), 0)
    assert store.manifest["exports"]["jsonl"]["rule"] == "adjudicated"
    assert store.manifest["exports"]["jsonl"]["links"] == summary.total.links
    page = Path(write_report(store)).read_text(encoding="utf-8")
    assert f"Decided to be links: {summary.total.to_link};" in page
    # Among the disagreements; those decided to be links, among the links.
    assert page.count("decided by adjudicator-1") == len(made) + summary.total.to_link
    assert "eve &lt;b&gt;skipped" in page
    assert "eve@example.org" not in page


def test_the_command_shows_figures_and_says_what_is_missing(isolated_home: Path) -> None:
    store = hostile_run(isolated_home / "runs")
    assert called("adjudicate", "show", "hostile") == summary_of(store).model_dump(mode="json")
    assert "annotator-10 decided 1; 1 of them as consensus" in call("adjudicate", "show", "hostile")
    store.folder.remove(ADJUDICATIONS)
    with pytest.raises(InputError, match="adjudicate"):
        call("adjudicate", "show", "hostile")
    store.folder.remove(JUDGMENTS)
    with pytest.raises(InputError, match="no judgments yet"):
        judged_so_far(store)

"""What now: the state of a run in words, from its folder alone, and the same everywhere."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.domain import SourceFilter, make_domain
from abcdlink.feedback.guidelines import clarify, guidelines_for
from abcdlink.layout import (
    AGREEMENT,
    JUDGMENTS,
    POOL_COUNTS,
    batch_file,
    batch_slug,
    feedback_slug,
)
from abcdlink.qualify import QUALIFIED, Qualified
from abcdlink.report import write_report
from abcdlink.stages.batch_preview import PREVIEW, REVIEW, BatchPreview, Review
from abcdlink.store import Store, all_runs, open_run
from abcdlink.waiting import PeopleProgress, Person, WaitsFor, keep_people_progress, note_progress, wait_for
from abcdlink.whatnow import Surroundings, what_now
from tests.helpers.example_run import example_run, take_in

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
ADA = "ada@example.org"
INVITATION = "http://127.0.0.1:8080/user/signup/?token=secret-of-the-organisation"
SERVERS = Surroundings(invitation=INVITATION, pages="http://127.0.0.1:4200/runs/flow-run/", accounts=True)


def progress(answers: int = 30) -> PeopleProgress:
    return PeopleProgress(
        title="spring · batch 1",
        url="http://127.0.0.1:8080/projects/3/data?tab=4&labeling=1",
        tasks=37,
        done=14,
        needed=74,
        answers=answers,
        people=(Person(account=ADA, annotator="annotator-1", done=30, open=7),),
        looked=NOON,
        first=NOON - timedelta(hours=answers),
    )


@pytest.fixture
def run(isolated_home: Path) -> Store:
    return open_run("spring")


def text(store: Store, around: Surroundings | None = None) -> str:
    return "\n".join(what_now(store, around).plain())


def test_waiting_for_people_shows_links_names_progress_and_the_expected_end(run: Store) -> None:
    run.note("annotation", {"batches": 2, "overlap": 2})
    wait_for(run, "f1", "annotate", WaitsFor.ANNOTATORS, batch_slug(1))
    assert "being pushed" in text(run)
    keep_people_progress(run, batch_slug(1), progress())
    now = text(run, SERVERS)
    end = (NOON + timedelta(hours=44)).astimezone()
    for part in (
        "Annotators judge batch 1 of 2",
        "14 of 37 tasks done, 30 of 74 answers",
        f"they will finish on {end.day} {end:%B %Y, %H:%M}",
        f"Waiting for {ADA} (7 open)",
        progress().url,
        INVITATION,
        "http://127.0.0.1:4200/runs/flow-run/f1",
    ):
        assert part in now
    done = progress().people[0].model_copy(update={"done": 37, "open": 0})
    keep_people_progress(run, batch_slug(1), progress().model_copy(update={"people": (done,)}))
    assert "All who have started are done: the rest waits for somebody else." in text(run, SERVERS)


def test_a_report_shows_neither_accounts_nor_the_invitation(run: Store) -> None:
    wait_for(run, "f1", "annotate", WaitsFor.ANNOTATORS, batch_slug(1))
    keep_people_progress(run, batch_slug(1), progress())
    now = text(run)
    assert ADA not in now
    assert "annotator-1 (7 open)" in now
    assert "token=" not in now
    assert "abcdlink status spring" in now


def test_the_report_that_ends_a_run_says_that_it_is_complete(run: Store) -> None:
    run.note("annotation", {"batches": 2, "overlap": 2})
    wait_for(run, "f1", "annotate", WaitsFor.NOBODY)
    run.write_text(batch_file(1, AGREEMENT), "{}")
    assert "annotate is running" in text(run)
    run.write_text(batch_file(2, AGREEMENT), "{}")
    run.write_text(JUDGMENTS, "{}")
    assert "Complete: data set and report are written" in text(run)
    assert "annotate is running" in text(run, SERVERS)


def test_a_batch_waiting_for_go_shows_size_hours_and_refused_filters(run: Store) -> None:
    run.note("annotation", {"batches": 2, "overlap": 2})
    preview = BatchPreview(
        batch=2,
        tasks=40,
        pairs=3,
        candidates=240,
        methods={"retriever": 200, "random": 40},
        left_out={},
        overlap=2,
        seconds=9.0,
        timed=230,
        filters=SourceFilter(),
        gold=("p7",),
    )
    run.write_record(batch_file(2, PREVIEW), preview)
    run.write_record(batch_file(2, REVIEW), Review(looks=1, problem="the expression is broken"))
    wait_for(run, "f1", "annotate", WaitsFor.COORDINATOR, batch_slug(2))
    now = text(run)
    for part in (
        "Batch 2 of 2 waits for your Go",
        "40 tasks with 240 candidates",
        "36 minutes for each of 2 annotators",
        "gold pairs, which applicants judged in the qualification: p7",
        "The filters are unchanged: the expression is broken",
        "abcdlink annotate preview spring --open",
        "abcdlink annotate go spring",
    ):
        assert part in now
    assert "retriever" not in now, "the report, which shows this too, may be read by annotators"


def test_the_coordinator_is_told_what_to_read_and_how_to_continue(run: Store) -> None:
    wait_for(run, "f1", "annotate", WaitsFor.COORDINATOR, feedback_slug(2))
    now = text(run)
    assert "You decide what annotators are told after batch 2" in now
    assert "abcdlink feedback show spring --batch 2" in now
    wait_for(run, "f2", "qualify", WaitsFor.COORDINATOR, "qualify")
    assert "abcdlink qualify confirm spring" in text(run)


LAST, CLARIFY = "This is the last batch, which no clarifications follow", "as clarifications after batch 1: abcdlink"


@pytest.mark.parametrize(
    ("kind", "slug", "told"),
    [
        (WaitsFor.COORDINATOR, feedback_slug(1), CLARIFY),
        (WaitsFor.COORDINATOR, batch_slug(2), LAST),
        (WaitsFor.ANNOTATORS, batch_slug(1), CLARIFY),
        (WaitsFor.ANNOTATORS, feedback_slug(1), LAST),
    ],
)
def test_it_is_told_whom_guidelines_reach_that_were_edited_after_batch_1_began(
    run: Store, kind: WaitsFor, slug: str, told: str
) -> None:
    keep_people_progress(run, slug, progress())
    run.note("annotation", {"batches": 2})
    mine = make_domain("mine", "news")
    run.note("domain", {"name": mine.name, "folder": str(mine.folder)})
    wait_for(run, "f1", "annotate", kind, slug)
    guidelines_for(run, 1, mine.guidelines)
    clarify(run, 1, "**A rule.**")
    assert "The domain's guidelines have changed" not in text(run)
    (mine.folder / "guidelines.md").write_text("No Link, always.")
    assert "annotators see those of the run" in text(run)
    assert told in text(run)
    (mine.folder / "guidelines.md").unlink()
    assert "The domain's guidelines have changed" not in text(run)


def test_a_failure_says_why_and_how_to_continue(run: Store) -> None:
    told = "no corpus at corpora/a.b: documents.jsonl is missing. make one, e.g. by import."
    wait_for(run, "f1", "bootstrap", WaitsFor.FIX, told=told)
    (item,) = what_now(run).items
    assert item.headline == "The flow bootstrap failed"
    assert [line.plain() for line in item.lines] == [
        "No corpus at corpora/a.b: documents.jsonl is missing. Make one, e.g. by import.",
        "Once the cause is fixed, continue where it stopped: abcdlink continue spring",
    ]
    wait_for(run, "f1", "start", WaitsFor.FIX, told="no corpus")
    assert "abcdlink start spring --corpus FOLDER" in text(run)
    wait_for(run, "f1", "bootstrap", WaitsFor.FIX, told="Flow run was cancelled.")
    assert "The flow bootstrap was cancelled." in text(run)
    assert "  Continue where it stopped: abcdlink continue spring" in text(run)


def test_a_running_stage_says_how_far_it_is(run: Store) -> None:
    take_in(run)
    wait_for(run, "f1", "bootstrap", WaitsFor.NOBODY)
    stage = "The stage generate is running (step 2 of 6 before annotation)."
    assert text(run) == f"{stage}\n  Nobody needs to do anything now."
    began, told = what_now(run).since, "Generate by sentence, part 1 of 2: 3 of 4"
    note_progress(run, "bootstrap", told)
    assert (text(run), what_now(run).since) == (f"{stage}\n  {told}.", began)
    wait_for(run, "f1", "bootstrap", WaitsFor.LLM, told="synthetic")
    note_progress(run, "bootstrap", told)
    assert "a batch of questions on the synthetic pairs" in text(run)


def test_what_comes_next_when_nothing_runs(run: Store, tmp_path: Path) -> None:
    assert "Nothing has started" in text(run)
    run.write_record(QUALIFIED, Qualified(accounts=("a@example.org",), annotators=("applicant-1",)))
    assert "done: qualification." in text(run)
    take_in(run)
    assert "done: qualification, corpus" in text(run)
    run.note("drop", {"shortlist_of": "autumn"})
    assert "not ready yet" in text(run)
    assert "abcdlink run drops" in text(run)
    run.write_json(POOL_COUNTS, {})
    assert "abcdlink annotate start spring" in text(run)
    complete = example_run(tmp_path)
    write_report(complete)
    wait_for(complete, "f1", "annotate", WaitsFor.NOTHING, batch_slug(2))
    assert text(complete).startswith("Complete: data set and report are written.")
    complete.write_records(JUDGMENTS, [])
    assert text(complete).startswith("Over, but nobody judged anything")


def test_simultaneous_flows_are_all_shown(run: Store) -> None:
    wait_for(run, "f1", "annotate", WaitsFor.COORDINATOR, feedback_slug(1))
    wait_for(run, "f2", "rate", WaitsFor.ANNOTATORS, "rate")
    keep_people_progress(run, "rate", progress())
    assert [item.flow for item in what_now(run).items] == ["annotate", "rate"]


def test_the_words_are_the_same_everywhere(run: Store) -> None:
    take_in(run)
    wait_for(run, "f1", "annotate", WaitsFor.ANNOTATORS, batch_slug(1))
    keep_people_progress(run, batch_slug(1), progress())
    now = what_now(run)
    html = run.read_text(write_report(run) and "report.html")
    seen = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html.replace("&amp;", "&")))
    for item in now.items:
        for words in (item.headline, *(line.plain() for line in item.lines)):
            assert words in seen
    for line in now.items[0].lines:
        assert line.text in now.markdown()


@given(st.integers(0, 74), st.integers(0, 10_000))
def test_the_expected_end_is_never_before_the_last_check(answers: int, minutes: int) -> None:
    one = progress(answers=answers).model_copy(update={"first": NOON - timedelta(minutes=minutes)})
    assert one.expected_end is None or one.expected_end >= NOON


def test_all_runs_are_found_and_other_folders_ignored(run: Store) -> None:
    run.note("inputs", {})
    open_run("other").note("inputs", {})
    root = Path(run.where()).parent
    (root / "not a run").mkdir()
    (root / "empty").mkdir()
    assert [store.key for store in all_runs()] == ["other", "spring"]
    assert json.loads(what_now(run).model_dump_json())["run"] == "spring"

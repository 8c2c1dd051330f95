"""People in the report of a whole run, beyond its batches, and what is left to do."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

from abcdlink.domain import find_domain
from abcdlink.folders import LocalFolder
from abcdlink.report import DASH, counted, render, steps_of
from abcdlink.report.content import Content, gather
from abcdlink.report.pictures import name_rows, picture
from abcdlink.stages.feedback import accept_feedback, end_unasked, outcome_in
from abcdlink.store import Store
from tests.helpers.example_people import GUIDELINES, with_people
from tests.helpers.example_run import annotate, make_pools, take_in

OF_ANNOTATORS = ("acceptance", "agreement", "feedback", "links", "disagreements", "adjudication", "recall")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(LocalFolder(tmp_path_factory.mktemp("run")), "harbour")
    annotate(store, make_pools(store, take_in(store)))
    return store


@pytest.fixture(scope="module")
def whole(finished: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The complete example run, with everything that people can do in it."""
    folder = LocalFolder(tmp_path_factory.mktemp("whole"))
    for name in finished.folder.names(""):
        folder.write(name, finished.folder.read(name))
    store = Store(folder, "harbour")
    with_people(store, find_domain("news"))
    return store


@pytest.fixture(scope="module")
def content(whole: Store) -> Content:
    return gather(whole)


@pytest.fixture(scope="module")
def html(content: Content) -> str:
    return render(content)


def section(html: str, name: str) -> str:
    """The visible text of a section."""
    part = html.partition(f'<section id="{name}">')[2].partition("</section>")[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", part)).split())


def test_the_report_gives_the_outcome_then_judgments_then_reasons(html: str):
    found = re.findall(r'<section id="(\w+)">', html)
    rest = ["qualification", "ratings", "candidates", "shortlist", "benchmark", "errors", "generated"]
    assert found == ["glance", *OF_ANNOTATORS, *rest, "refusals", "costs", "made"]
    assert re.findall(r'<li><a href="#(\w+)">', html.partition("</nav>")[0]) == found


def test_a_round_is_reported_with_its_counts_and_guideline_versions(whole: Store, content: Content, html: str):
    outcome = outcome_in(whole, 1)
    assert outcome is not None
    assert outcome.cases >= outcome.answered >= outcome.resolved > 0
    text = section(html, "feedback")
    assert f"over {outcome.answered} of {outcome.cases} {outcome.resolved} of {outcome.answered} " in text
    assert "Did not acknowledge them: annotator-2." in text
    assert "Still have a question: annotator-1." in text
    assert "version 2 from then on, with the draft" not in text
    for batch in (1, 2):
        measures = content.agreement.batches[batch] if content.agreement else None
        assert measures is not None
        assert f"batch {batch} version {batch} {measures.judged} {measures.kappa:.2f}" in text


def test_batches_are_compared_with_the_interval_of_their_difference(content: Content, html: str):
    assert content.details is not None
    change = content.details.differences[0].kappa
    assert change.interval is not None
    low, high = change.interval
    for name in ("glance", "agreement"):
        assert f"{change.value:+.2f} {low:+.2f} to {high:+.2f}" in section(html, name)
    by_chance = "Chance alone could explain" in section(html, "agreement").partition("From batch to batch")[2]
    assert by_chance is (low <= 0 <= high)


@pytest.mark.parametrize("name", [*OF_ANNOTATORS, "qualification", "ratings"])
def test_figures_from_simulated_people_are_marked(html: str, name: str):
    assert section(html, name).split("  ")[0].partition(" simulated")[1]
    assert "simulated</span></h2>" in html.partition(f'<section id="{name}">')[2].partition("</section>")[0]


def test_figures_from_real_people_are_not_marked(content: Content):
    people = [one.model_copy(update={"simulated": False}) for one in content.annotators]
    page = render(replace(content, annotators=people, benchmark=None, findings=None))
    for name in OF_ANNOTATORS:
        assert "simulated" not in section(page, name)
    mixed = render(replace(content, annotators=[people[0], content.annotators[1]], benchmark=None, findings=None))
    assert "partly simulated" in section(mixed, "agreement")


def test_the_report_lists_what_is_left_to_do(content: Content, html: str):
    told = {step.section: step for step in steps_of(content)}
    assert told["adjudication"].what == "2 disagreements that nobody has decided"
    assert told["adjudication"].command == "abcdlink adjudicate start harbour"
    assert [step.what for step in steps_of(content) if step.section == "feedback"] == [
        "Did not acknowledge the guidelines after batch 1: annotator-2",
        "Still have a question after the feedback on batch 1: annotator-1",
    ]
    stayed_away = [one for one in content.judgments if (one.batch, one.annotator) != (2, "annotator-2")]
    assert "not acknowledge" not in " ".join(step.what for step in steps_of(replace(content, judgments=stayed_away)))
    assert "qualification" not in told  # somebody is qualified
    undecided = {step.section: step for step in steps_of(replace(content, qualified=None, decisions=None))}
    assert undecided["qualification"].what.startswith("2 of 3 applicants finished every task")
    assert undecided["disagreements"].what.startswith(f"{sum(map(len, content.disagreements.values()))} disagreements")
    sections = set(re.findall(r'<section id="(\w+)">', html))
    assert {step.section for step in steps_of(content)} <= sections


def test_a_run_without_feedback_rounds_has_no_section_on_them(complete: str):
    assert 'id="feedback"' not in complete
    assert 'href="#feedback"' not in complete


def test_a_round_without_second_answers_is_reported_as_such(run: Store):
    accept_feedback(run, 1, GUIDELINES, "", label_studio_round=False, by="auto_feedback")
    end_unasked(run, 1)
    text = section(render(gather(run)), "feedback")
    assert f"nobody was asked again {DASH} {DASH}" in text
    assert "The guidelines stayed as they were: version 1." in text
    assert "Nobody accepted this" in text
    assert "Did not acknowledge" not in text


def test_no_report_names_accounts(whole: Store, html: str):
    assert "@simulated.invalid" in whole.read_text("annotators.jsonl")
    assert "@simulated.invalid" not in html


def test_nouns_agree_with_their_numbers():
    assert [counted(1, "pair"), counted(2000, "pair"), counted(2, "a", "b")] == ["1 pair", "2,000 pairs", "2 b"]


@pytest.mark.usefixtures("drawing")
def test_a_picture_keeps_letters_that_its_font_lacks_without_a_word(recwarn):
    with picture(1, "事実") as (axes, parts):
        name_rows(axes, ["事実", "तथ्य", "حقيقة"])
    assert all(name in parts[0] for name in ("事実", "तथ्य", "حقيقة"))
    assert not recwarn.list


def test_a_candidate_with_fewer_judgments_than_were_asked_for_is_in_no_figure(content: Content):
    asked = replace(content, manifest={**content.manifest, "annotation": {"batches": 1, "overlap": 3}}, decisions=None)
    assert content.agreement is not None
    assert asked.agreement is not None
    candidates = content.agreement.judged + content.agreement.incomplete
    assert (asked.agreement.judged, asked.agreement.incomplete) == (0, candidates)
    told = [step.what for step in steps_of(asked)]
    assert f"{candidates} candidates with fewer judgments than were asked for, in no figure" in told
    assert not [what for what in told if "nobody has decided" in what or "pulled yet" in what]

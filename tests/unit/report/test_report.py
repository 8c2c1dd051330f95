from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from abcdlink.folders import LocalFolder
from abcdlink.interannotator import details
from abcdlink.interannotator.measures import agreement
from abcdlink.judgments import Annotator, Judgment, Label
from abcdlink.report import write_report
from abcdlink.report.pictures import as_image
from abcdlink.report.pictures.of_benchmark import Series, by_cutoff
from abcdlink.store import Store
from tests.helpers.example_benchmark import benchmark
from tests.helpers.example_run import annotate, generate, make_pools, take_in
from tests.helpers.html_page import Page


@pytest.fixture
def empty(tmp_path: Path) -> Store:
    return Store(LocalFolder(tmp_path / "run"), "run")


def page_of(store: Store) -> Page:
    return Page(Path(write_report(store)).read_text(encoding="utf-8"))


def test_a_complete_run_has_a_complete_report(finished: Store, complete: str):
    page = Page(complete)
    assert "Not available yet" not in page.text
    result = agreement(finished.read_records("judgments.jsonl", Judgment))
    assert f"{result.kappa:.2f}" in page.text
    for one in result.acceptance.values():
        assert f"{100 * one.rate:.1f} %" in page.text
    for name in (
        "hybrid@3",
        "hybrid@7+llm-listwise-4",
        "best F1 of all retrievers",
        "Left out: learned-logistic: nothing could be fitted: 6 pairs are too few.",
        "61 24,310 20,001 2,112",
        "natural pairs 12 2,000",
    ):
        assert name in page.text


def test_the_page_is_one_file_without_scripts_and_texts_are_escaped(complete: str):
    page = Page(complete)
    assert not {"script", "img", "link", "iframe", "object"} & set(page.tags)
    # The links page is in the same folder as the report.
    assert {target for target in page.targets if not target.startswith("#")} <= {"links.html"}
    assert "<img src=x onerror=alert(1)> \"quoted\" & 'single' $x$ | *stars*" in page.text


def test_charts_are_well_formed_with_alt_text_and_no_fixed_colours(complete: str):
    pictures = re.findall(r"<svg.*?</svg>", complete, flags=re.DOTALL)
    # It is our own file, so the parser is safe.
    labels = [ET.fromstring(picture.replace("<svg ", '<svg xmlns="x" ', 1)).get("aria-label") for picture in pictures]  # noqa: S314
    starts = ["Acceptance rate by method", "Kappa by batch", "Learning curve", "Kappa within a batch"]
    starts += ["Seconds within a batch", "F1 by cutoff", "Recall by cutoff", "F1 by prompt mode"]
    starts += ["Labelled links by method and annotator", "Agreement over documents: kappa"]
    starts += ["Acceptance rate of methods together"]
    starts += ["Shares of sentences and links", "Flesch reading ease by corpus"]
    found = [(label or "").split(".")[0] for label in labels]
    assert all(found)
    assert set(starts) <= set(found)
    assert not re.search(r"(?:fill|stroke): ?#", "".join(pictures))


def test_ids_in_two_charts_do_not_clash(complete: str):
    clips = re.findall(r'<clipPath id="([^"]+)"', complete)
    assert len(clips) == len(set(clips))


def test_disagreements_show_both_sentences_and_every_vote(finished: Store, complete: str):
    page = Page(complete)
    count = page.text.count("batch 1, method") + page.text.count("batch 2, method")
    judgments = finished.read_records("judgments.jsonl", Judgment)
    differing = sum(a.label is not b.label for a, b in zip(judgments[::2], judgments[1::2], strict=True))
    assert count == differing
    assert f"{differing} candidates on which annotators differ" in page.text


def test_a_long_list_of_disagreements_is_shortened_with_a_note(empty: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("abcdlink.report.MOST_LISTED", 3)
    annotate(empty, make_pools(empty, take_in(empty)))
    page = page_of(empty)
    assert "The first 3 are listed" in page.text
    assert page.text.count(", method ") == 3


def test_simulated_annotators_and_the_embedded_model_are_clearly_marked(complete: str):
    page = Page(complete)
    assert "The annotators were simulated." in page.text
    assert "Its link decisions are at chance" in page.text


def test_real_people_and_a_real_model_get_no_banner(empty: Store):
    corpus = take_in(empty)
    generate(empty, model="a-real-model")
    annotate(empty, make_pools(empty, corpus))
    people = [Annotator(annotator=f"annotator-{n}", account=f"p{n}@example.org", simulated=False) for n in (1, 2)]
    empty.write_records("annotators.jsonl", people)
    text = page_of(empty).text
    assert "simulated" not in text
    assert "at chance" not in text
    assert "example.org" not in text  # accounts are kept separate from judgments


def test_an_empty_run_says_what_is_missing(empty: Store):
    text = page_of(empty).text
    for stage in ("generate", "benchmark", "candidates", "annotate"):
        assert f"the stage {stage} of this run has not finished" in text
    assert "No documents have been taken into this run yet" in text


def test_the_report_grows_stage_by_stage(empty: Store):
    corpus = take_in(empty)
    missing = [page_of(empty).text.count("Not available yet")]
    generate(empty)
    missing.append(page_of(empty).text.count("Not available yet"))
    benchmark(empty)
    missing.append(page_of(empty).text.count("Not available yet"))
    judgments = make_pools(empty, corpus)
    missing.append(page_of(empty).text.count("Not available yet"))
    annotate(empty, judgments, batches=(1,))
    last = page_of(empty).text
    missing.append(last.count("Not available yet"))
    assert missing == [9, 8, 5, 3, 0]
    assert "batch 2 " not in last.partition("Kappa by batch")[2].partition("Disagreements")[0]
    assert "No judgments of batch 2 were pulled yet" in last


def agreement_part(store: Store) -> str:
    return (
        Path(write_report(store))
        .read_text(encoding="utf-8")
        .partition('<section id="agreement">')[2]
        .partition("</section>")[0]
    )


def test_agreement_is_shown_by_annotator_pair_document_time_and_early_stop(finished: Store, complete: str):
    page = Page(complete)
    judgments = finished.read_records("judgments.jsonl", Judgment)
    found = details(judgments)
    change, kappa = found.differences[0].kappa, found.needed[0]
    assert change.value is not None
    assert f"batch 2 minus batch 1 104 and 115 {change.value:+.2f}" in page.text
    assert f"kappa 6 219 {kappa.value:.2f}" in page.text
    assert f"{kappa.more:,}" in page.text
    assert "annotator-1 and annotator-2 219" in page.text
    for line in found.times.words:
        assert line in page.text
    for pair, one in found.documents.items():
        assert f"{pair} {one.judged} {one.kappa:.2f}" in page.text
    assert "as they appear, since times are missing" in page.text


def test_three_annotators_with_submission_times(empty: Store):
    judgments = make_pools(empty, take_in(empty))
    third = [
        j.model_copy(update={"annotator": "annotator-3", "label": Label.LINK if n % 3 else j.label})
        for n, j in enumerate(judgments[::2])
    ]
    start = datetime(2026, 5, 4, 9, tzinfo=UTC)
    timed = [
        j.model_copy(update={"submitted": start + timedelta(minutes=n), "seconds": 9_000.0 if n == 7 else 30.0})
        for n, j in enumerate(judgments + third)
    ]
    annotate(empty, timed)
    text = page_of(empty).text
    assert "Fleiss' kappa" in text
    assert "Krippendorff's alpha" in text
    assert "annotator-2 and annotator-3" in text
    assert "Order of pairs: as submitted." in text
    assert "9,000 s" in text


@pytest.mark.parametrize("kept", [{"annotator-1"}, {"annotator-1", "annotator-2"}])
def test_agreement_on_too_few_judgments_crashes_nothing(empty: Store, kept: set[str]):
    judgments = [j for j in make_pools(empty, take_in(empty)) if j.annotator in kept]
    few = [j.model_copy(update={"seconds": None}) for j in judgments if j.source == judgments[0].source][:2]
    annotate(empty, few)
    text = Page(agreement_part(empty)).text
    assert "at least 5 judged pairs are needed" in text
    assert "No times are known." in text
    assert "nan" not in text.lower().split()
    assert "None" not in text


def test_a_single_label_is_reported(empty: Store):
    corpus = take_in(empty)
    judgments = [j.model_copy(update={"label": Label.LINK}) for j in make_pools(empty, corpus)]
    annotate(empty, judgments)
    text = page_of(empty).text
    assert "undefined (one label only)" in text
    assert "nan" not in text.lower().split()
    assert "All annotators said the same about every candidate." in text


@pytest.mark.usefixtures("drawing")
def test_a_chart_can_be_shown_outside_the_page():
    picture = by_cutoff("F1", [Series("bm25", {1: 0.4, 3: 0.5})])
    head, _, data = as_image(picture).partition(",")
    assert head == "data:image/svg+xml;base64"
    svg = base64.b64decode(data).decode()
    ET.fromstring(svg)  # noqa: S314
    assert "var(--" not in svg
    assert "#1668ad" in svg

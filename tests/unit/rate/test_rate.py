"""Ratings: nobody can tell which documents are synthetic; answers are summarised correctly."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from abcdlink.corpus.records import Corpus, Document, Pair, PairKind, Sentence
from abcdlink.criteria import Criterion, rating_settings
from abcdlink.domain import Domain, find_domain
from abcdlink.errors import InputError
from abcdlink.folders import LocalFolder
from abcdlink.rate import (
    RatedDocument,
    Rating,
    corpora_of,
    keep_ratings,
    kept_criteria,
    prepare,
    sample_documents,
    summarise,
)
from abcdlink.report import write_report
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store
from labelstudio_config.pages.rate import KEYS, RatingPull, rating_page, rating_project, rating_tasks
from tests.helpers.annotation import as_read
from tests.helpers.command_line import call, called
from tests.helpers.example_run import take_in, write_synthetic
from tests.helpers.homes import configure
from tests.helpers.pulls import OneProject, pull_ratings

SYNTHETIC, NATURAL = PairKind.SYNTHETIC, PairKind.NATURAL


@pytest.fixture
def store(tmp_path: Path, news: Domain) -> Store:
    """A run with a synthetic corpus."""
    store = Store(LocalFolder(tmp_path / "harbour"), "harbour")
    take_in(store)
    describe_run(store, news)
    write_synthetic(store)
    return store


@pytest.mark.parametrize(
    ("domain", "raters", "names"),
    [
        ("news", 4, ["Fluency", "Coherence", "Realism", "Specificity"]),
        ("reviews", 3, ["Fluency", "Coherence", "Helpfulness", "Specificity"]),
    ],
)
def test_shipped_domains_have_the_papers_criteria_and_raters(domain: str, raters: int, names: list[str]) -> None:
    settings = rating_settings(find_domain(domain))
    assert (settings.raters, [one.name for one in settings.rating]) == (raters, names)
    assert len(names) <= len(KEYS)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "has no file"),
        ("[[rating", "not valid TOML"),
        ("", "rating"),
        ('[[rating]]\nname = "a"\nquestion = "b"\nlow = "c"\n', "high"),
        (2 * '[[rating]]\nname = "a"\nquestion = "b"\nlow = "c"\nhigh = "d"\n', "same name"),
        ("".join(f'[[rating]]\nname = "{n}"\nquestion = "b"\nlow = "c"\nhigh = "d"\n' for n in range(5)), "rating"),
    ],
)
def test_invalid_criteria_are_named(news: Domain, tmp_path: Path, text: str | None, problem: str) -> None:
    news.folder = tmp_path
    if text is not None:
        (tmp_path / "rating.toml").write_text(text)
    with pytest.raises(InputError, match=problem) as error:
        rating_settings(news)
    assert "rating.toml" in error.value.problem


def corpus_of_kind(kind: PairKind, pairs: dict[str, tuple[str, str]]) -> Corpus:
    names = {name for both in pairs.values() for name in both}
    documents = {name: Document(id=name, sentences=(Sentence(id="0", text=f"Text of {name}."),)) for name in names}
    return Corpus(
        name=kind.value,
        documents=documents,
        pairs=[Pair(id=p, source=s, target=t, kind=kind) for p, (s, t) in pairs.items()],
    )


MADE = corpus_of_kind(SYNTHETIC, {f"made-{n}": (f"made-a-{n}", f"b-{n}") for n in range(12)})
FOUND = corpus_of_kind(NATURAL, {f"found-{n}": (f"found-a-{n}", f"b-{n}") for n in range(12)})


@pytest.mark.parametrize("seed", range(6))
def test_no_target_document_is_repeated_while_others_remain(seed: int) -> None:
    documents = sample_documents(MADE, FOUND, "run", (6, 6), seed)
    assert sorted(one.pair.split("-")[1] for one in documents) == sorted(str(n) for n in range(12))
    assert [one.kind for one in documents].count(SYNTHETIC) == 6
    assert documents == sample_documents(MADE, FOUND, "run", (6, 6), seed)


def test_kinds_are_mixed_and_seeds_differ() -> None:
    orders = {tuple(one.kind for one in sample_documents(MADE, FOUND, "run", (6, 6), seed)) for seed in range(6)}
    assert len(orders) > 1
    assert all(order != tuple(sorted(order)) for order in orders)
    assert all(order != tuple(sorted(order, reverse=True)) for order in orders)


def test_with_few_documents_each_is_rated_once() -> None:
    twice = corpus_of_kind(NATURAL, {"x": ("same", "b-0"), "y": ("same", "b-1")})
    documents = sample_documents(MADE, twice, "run", (99, 99), 1)
    assert [one.kind for one in documents].count(NATURAL) == 1
    assert len(documents) == 13
    assert len({one.key for one in documents}) == 13
    with pytest.raises(InputError, match="no synthetic pair"):
        sample_documents(corpus_of_kind(SYNTHETIC, {}), twice, "run", (1, 1), 1)


def test_natural_counterparts_of_the_synthetic_documents_can_be_chosen() -> None:
    documents = sample_documents(MADE, FOUND, "run", (6, 6), 1, same_targets=True)
    numbers = {
        kind: sorted(one.pair.split("-")[1] for one in documents if one.kind is kind) for kind in (SYNTHETIC, NATURAL)
    }
    assert len(numbers[SYNTHETIC]) == 6
    assert numbers[SYNTHETIC] == numbers[NATURAL]
    elsewhere = corpus_of_kind(NATURAL, {"x": ("a", "other")})
    with pytest.raises(InputError, match="shares a target document with a synthetic"):
        sample_documents(MADE, elsewhere, "run", (1, 1), 1, same_targets=True)


def test_a_run_keeps_its_sample_and_its_criteria(store: Store, news: Domain, tmp_path: Path) -> None:
    documents = prepare(store, news, 4, 3, 13)
    assert [one.kind for one in documents].count(NATURAL) == 3
    criteria = kept_criteria(store)
    news.folder = tmp_path  # the coordinator changes the domain's texts
    assert prepare(store, news, 4, 3, 13) == documents
    assert kept_criteria(store) == criteria
    with pytest.raises(InputError, match="synthetic=4"):
        prepare(store, news, 5, 3, 13)


def test_a_run_without_a_synthetic_corpus_has_nothing_to_rate(news: Domain, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="generate"):
        prepare(Store(LocalFolder(tmp_path), "empty"), news, 1, 1, 1)


def test_no_task_reveals_which_document_is_synthetic(store: Store, news: Domain) -> None:
    documents = prepare(store, news, 6, 6, 13)
    tasks = rating_tasks(documents, corpora_of(store), news)
    assert list(tasks) == [one.key for one in documents]
    fields = {"doc_a_name", "doc_b_name", "doc_a_html", "doc_b_html"}
    assert {frozenset(task) for task in tasks.values()} == {frozenset(fields)}
    project = rating_project("harbour", news, kept_criteria(store), 2)
    sent = (json.dumps(tasks) + project.model_dump_json()).lower()
    assert not [word for word in ("synthetic", "natural-", "generated", "<mark", "model") if word in sent]
    assert "<img" not in json.dumps(tasks)
    assert (project.title, project.overlap) == ("harbour · ratings", 2)


def test_a_missing_pair_is_named(news: Domain) -> None:
    with pytest.raises(InputError, match="'gone'"):
        rating_tasks([RatedDocument(key="k", kind=NATURAL, pair="gone")], {NATURAL: FOUND}, news)


def test_the_page_has_a_row_with_its_own_keys_for_each_criterion() -> None:
    hostile = '"<b>&'
    criteria = [Criterion(name=f"{hostile}{n}", question=hostile, low=hostile, high=hostile) for n in range(4)]
    page = ET.fromstring(rating_page(criteria))  # noqa: S314 - our own text
    rows = [row for row in page.iter("Choices") if row.get("name").startswith("rating_")]
    assert [row.get("name") for row in rows] == [f"rating_{n}" for n in range(4)]
    assert all(row.get("required") == "true" for row in rows)
    assert all([choice.get("value") for choice in row] == list("12345") for row in rows)
    keys = [choice.get("hotkey") for row in rows for choice in row]
    assert len(set(keys)) == 20
    assert rows[2].get("requiredMessage") == f"Please rate: {hostile}2"


CRITERIA = [Criterion(name=name, question="?", low="l", high="h") for name in ("Fluency", "Coherence")]
DOCUMENTS = [RatedDocument(key="k1", kind=SYNTHETIC, pair="p"), RatedDocument(key="k2", kind=NATURAL, pair="p")]
PEOPLE = {7: "ada@example.org", 8: "ben@example.org"}


def annotation(user: int, *values: str, comment: str = "", skipped: bool = False) -> dict[str, Any]:
    result: list[dict[str, Any]] = [
        {"from_name": f"rating_{n}", "value": {"choices": [value]}} for n, value in enumerate(values)
    ]
    result += [{"from_name": "comment", "value": {"text": [comment]}}] if comment else []
    return {**as_read(user, user, result, "2026-01-01T10:00:00Z", cancelled=skipped), "lead_time": 42.5}


def pulled(*of_tasks: list[dict[str, Any]]) -> RatingPull:
    tasks = [
        {"id": n, "data": {"task_key": one.key}, "annotations": annotations, "drafts": []}
        for n, (one, annotations) in enumerate(zip(DOCUMENTS, of_tasks, strict=True))
    ]
    return pull_ratings(OneProject("run · ratings", tasks, PEOPLE), "run", DOCUMENTS, CRITERIA)


def test_annotations_become_ratings() -> None:
    result = pulled([annotation(8, "1", "5", comment="odd")], [annotation(7, "4", "4"), annotation(8, "2", "3")])
    assert [(r.kind, r.annotator, r.criterion, r.value) for r in result.ratings] == [
        (SYNTHETIC, "rater-2", "Fluency", 1),
        (SYNTHETIC, "rater-2", "Coherence", 5),
        (NATURAL, "rater-1", "Fluency", 4),
        (NATURAL, "rater-1", "Coherence", 4),
        (NATURAL, "rater-2", "Fluency", 2),
        (NATURAL, "rater-2", "Coherence", 3),
    ]
    assert (result.ratings[0].comment, result.ratings[2].comment, result.ratings[0].seconds) == ("odd", "", 42.5)
    assert {one.annotator: one.account for one in result.annotators} == {"rater-1": PEOPLE[7], "rater-2": PEOPLE[8]}
    assert result.anomalies == []


def test_invalid_ratings_are_reported() -> None:
    result = pulled([annotation(7, "6", "5", "1")], [annotation(7, "3"), annotation(8, skipped=True)])
    assert [(r.kind, r.criterion, r.value) for r in result.ratings] == [
        (SYNTHETIC, "Coherence", 5),
        (NATURAL, "Fluency", 3),
    ]
    said = "\n".join(result.anomalies)
    for part in ("Fluency = ['6']", "rating_2", "Coherence = []", "skipped the task k2"):
        assert part in said


def ratings(kind: PairKind, by_rater: dict[str, list[int]], criterion: str = "Fluency") -> list[Rating]:
    return [
        Rating(kind=kind, pair=f"p{n}", annotator=rater, criterion=criterion, value=value)
        for rater, values in by_rater.items()
        for n, value in enumerate(values)
    ]


def test_means_intervals_and_agreement_are_right() -> None:
    made, found = {"a": [1, 2, 4, 2], "b": [2, 2, 5, 1]}, {"a": [5, 5, 4], "b": [5, 4, 4]}
    (one,) = summarise([*ratings(SYNTHETIC, made), *ratings(NATURAL, found)])
    assert list(one.means) == [SYNTHETIC, NATURAL]
    assert one.means[SYNTHETIC].mean == pytest.approx(19 / 8)
    assert (one.means[NATURAL].ratings, one.means[NATURAL].documents) == (6, 3)
    of_document = np.array([1.5, 2.0, 4.5, 1.5])
    draws = np.random.default_rng(5).integers(0, 4, (20_000, 4))
    low, high = np.percentile(of_document[draws].mean(axis=1), (2.5, 97.5))
    assert one.means[SYNTHETIC].interval == pytest.approx((low, high), abs=0.15)
    a, b = [*made["a"], *found["a"]], [*made["b"], *found["b"]]
    assert one.kappa == pytest.approx(cohen_kappa_score(a, b, weights="quadratic", labels=range(1, 6)))
    assert one.observed == pytest.approx(3 / 7)
    assert one.histogram == {SYNTHETIC: (2, 4, 0, 1, 1), NATURAL: (0, 0, 0, 3, 3)}


def test_alpha_is_krippendorffs_for_ordinal_values() -> None:
    """His example of four observers and twelve units (2011, Computing Krippendorff's Alpha-Reliability): 0.815."""
    missing = 0
    said = {
        "a": [1, 2, 3, 3, 2, 1, 4, 1, 2, missing, missing, missing],
        "b": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, missing, 3],
        "c": [missing, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, missing],
        "d": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, missing],
    }
    given = [
        Rating(kind=SYNTHETIC, pair=f"p{n}", annotator=rater, criterion="Fluency", value=value)
        for rater, values in said.items()
        for n, value in enumerate(values)
        if value != missing
    ]
    (one,) = summarise(given)
    assert one.alpha == pytest.approx(0.815, abs=0.0005)
    low, high = one.alpha_interval or (1, 0)
    assert 0 < low < 0.815 < high <= 1


def test_kappa_is_the_mean_over_rater_pairs_on_common_documents() -> None:
    said = {"a": [1, 2, 3, 4], "b": [1, 3, 3, 4], "c": [5, 2, 3, 1]}
    only_a = [Rating(kind=SYNTHETIC, pair="more", annotator="a", criterion="Fluency", value=1)]
    (one,) = summarise([*ratings(SYNTHETIC, said), *only_a])
    rater_pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    kappas = [cohen_kappa_score(said[x], said[y], weights="quadratic", labels=[1, 2, 3, 4, 5]) for x, y in rater_pairs]
    assert one.kappa == pytest.approx(np.mean(kappas))


def test_undefined_measures_are_never_numbers() -> None:
    alone, constant = ratings(SYNTHETIC, {"a": [1, 2]}), ratings(NATURAL, {"a": [3, 3], "b": [3, 3]}, "Coherence")
    first, second = summarise([*alone, *constant])
    assert (first.kappa, first.observed) == (None, None)
    assert first.note == "undefined (no document was rated by two)"
    assert (second.kappa, second.observed, second.note) == (None, 1.0, "undefined (one value only)")
    assert summarise([]) == []


def test_the_report_and_the_command_show_the_ratings(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ratings(SYNTHETIC, {"rater-1": [1, 2, 4], "rater-2": [2, 2, 5]})
    keep_ratings(store, [], [*made, *ratings(NATURAL, {"rater-1": [5]})])
    configure(monkeypatch, runs=tmp_path)
    (one,) = called("rate", "show", "harbour")["criteria"]
    assert one["means"]["synthetic"]["mean"] == pytest.approx(16 / 6)
    assert "2.67" in call("rate", "show", "harbour")
    write_report(store)
    page = store.read_text("report.html")
    assert '<section id="ratings">' in page
    assert (
        "Ratings by Fluency. synthetic: 1 times 1, 3 times 2, 0 times 3, 1 times 4, 1 times 5; natural: 0 times 1"
        in page
    )
    keep_ratings(store, [], [])
    assert "Nobody rated a document." in call("rate", "show", "harbour")


def test_missing_ratings_name_the_flow_to_start(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, runs=tmp_path)
    with pytest.raises(InputError, match="'rate'"):
        call("rate", "show", "harbour")

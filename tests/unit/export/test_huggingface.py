"""The Hugging Face folder: ``datasets`` loads it, and its card tells the truth."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path

import pytest
import yaml

from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.export import export_dataset
from abcdlink.export.dataset import LabelledCandidate
from abcdlink.interannotator.measures import agreement
from abcdlink.judgments import Annotator, Judgment, LabelRule, by_candidate
from abcdlink.layout import ADJUDICATIONS, JUDGMENTS
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store
from tests.helpers.example_run import example_run
from tests.helpers.hostile_run import PAIRS, TEXTS, hostile_corpus, hostile_run


def card_of(store: Store, **options: str) -> tuple[dict, str]:
    export_dataset(store, "huggingface", **options)
    _, head, text = store.read_text("dataset/huggingface/README.md").split("---\n", 2)
    return yaml.safe_load(head), text


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = example_run(tmp_path)
    describe_run(store, find_domain("news"))
    return store


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, str]:
    """Head and text of the card of the complete example run."""
    store = example_run(tmp_path_factory.mktemp("plain"))
    describe_run(store, find_domain("news"))
    return card_of(store)


def test_datasets_loads_the_folder_with_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import datasets

    monkeypatch.setattr("datasets.config.HF_DATASETS_OFFLINE", True)
    datasets.disable_progress_bars()
    store = hostile_run(tmp_path)
    export_dataset(store, "jsonl", "majority")
    rows = store.read_records("dataset/links.jsonl", LabelledCandidate)
    export_dataset(store, "huggingface", "majority", "cc-by-4.0")
    folder, cache = store.where("dataset/huggingface"), str(tmp_path / "cache")
    links = datasets.load_dataset(folder, split="train", cache_dir=cache)
    read = [{**row, "judgments": {j["annotator"]: j["label"] for j in row["judgments"]}} for row in links]
    assert [LabelledCandidate.model_validate(row) for row in read] == rows
    sentences = datasets.load_dataset(folder, "sentences", split="train", cache_dir=cache)
    assert [(s["document"], s["sentence"], s["position"], s["text"]) for s in sentences] == [
        (document.id, sentence.id, position, sentence.text)
        for document in hostile_corpus().documents.values()
        for position, sentence in enumerate(document.sentences)
    ]


def test_datasets_takes_no_earlier_export_for_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It keeps what it has loaded by the name of the folder, which is the same in every run."""
    import datasets

    monkeypatch.setattr("datasets.config.HF_DATASETS_OFFLINE", True)
    datasets.disable_progress_bars()
    store = hostile_run(tmp_path)
    for rule in ("both", "majority"):
        export_dataset(store, "huggingface", rule)
        loaded = datasets.load_dataset(store.where("dataset/huggingface"), split="train", cache_dir=str(tmp_path / "c"))
        assert set(loaded["rule"]) == {rule}


def test_the_card_counts_judgments(store: Store, plain: tuple[dict, str]):
    _, text = plain
    judgments = store.read_records("judgments.jsonl", Judgment)
    result = agreement(judgments)
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (\d+) \|$", text, re.MULTILINE))
    assert rows["judged candidates"] == str(len({(j.pair, j.source, j.target) for j in judgments}))
    assert rows["links"] == str(sum(a.accepted for a in result.acceptance.values()))
    assert rows["judgments"] == str(len(judgments))
    assert (rows["pairs of documents"], rows["documents"], rows["sentences"]) == ("6", "12", "96")
    assert f"| all | {result.judged} | {result.kappa:.3f} |" in text
    for batch, measures in result.batches.items():
        assert f"| batch {batch} | {measures.judged} | {measures.kappa:.3f} |" in text
    for method, a in result.acceptance.items():
        assert re.search(rf"^\| {method} \| .* \| {a.accepted} \| {a.candidates} \|", text, re.MULTILINE)
    assert "| retriever | hybrid@3 |" in text


@pytest.mark.parametrize(
    ("methods", "says"),
    [
        ({"retriever", "llm", "both", "random"}, "two automatic approaches, some were drawn at random, and"),
        ({"both"}, "two automatic approaches, and"),
        ({"retriever", "llm"}, "two automatic approaches, and"),
        ({"retriever"}, "an automatic approach, and"),
        ({"linker", "random"}, "an automatic approach, some were drawn at random, and"),
    ],
)
def test_the_card_says_where_candidates_came_from(store: Store, methods: set[str], says: str):
    judgments = store.read_records(JUDGMENTS, Judgment)
    proposed = dict(zip(by_candidate(judgments), cycle(sorted(methods))))
    store.write_records(JUDGMENTS, (one.model_copy(update={"method": proposed[one.at]}) for one in judgments))
    _, text = card_of(store)
    assert f"Candidates were proposed by {says} they were shown" in " ".join(text.split())
    assert ("drawn at random" in text) == ("random" in methods)


def test_the_card_says_how_the_documents_were_chosen(store: Store, plain: tuple[dict, str]):
    assert "Selection of documents" not in plain[1]
    corpus = store.manifest.get("corpus", {})
    store.note("corpus", {**corpus, "history": ["Drawn: 2 of 9 pairs | with seed 1"]})
    text = card_of(store)[1]
    assert "## Selection of documents\n\n- Drawn: 2 of 9 pairs" in text


def test_the_card_shows_the_guidelines_below_its_own_headings(plain: tuple[dict, str]):
    _, text = plain
    guidelines = text.partition("## Guidelines\n")[2].partition("\n## Annotators")[0]
    headings = re.findall(r"^#+", guidelines, re.MULTILINE)
    assert headings
    assert all(len(heading) >= 3 for heading in headings)
    plain = [line.lstrip("#").strip() for line in guidelines.splitlines()]
    assert all(line.lstrip("#").strip() in plain for line in find_domain("news").guidelines.splitlines())


def test_the_card_says_that_annotators_were_simulated(store: Store, plain: tuple[dict, str]):
    head, text = plain
    assert head["annotations_creators"] == ["machine-generated"]
    assert "simulated-annotators" in head["tags"]
    assert "2 of 2 annotators (annotator-1, annotator-2) are programs" in text
    people = store.read_records("annotators.jsonl", Annotator)
    store.write_records("annotators.jsonl", [person.model_copy(update={"simulated": False}) for person in people])
    head, text = card_of(store)
    assert "annotations_creators" not in head
    assert "simulated-annotators" not in head["tags"]
    assert "programs" not in text


@pytest.mark.parametrize(
    ("given", "head"),
    [
        ("cc-by-4.0", {"license": "cc-by-4.0"}),
        ("", {}),
        ("Ours: ask <b>first</b>\nNow", {"license": "other", "license_name": "ours-ask-b-first-b-now"}),
    ],
)
def test_the_licence_is_the_one_given(store: Store, given: str, head: dict[str, str]):
    found, text = card_of(store, licence=given)
    assert {key: value for key, value in found.items() if key.startswith("license")} == head
    section = text.partition("## Licence\n")[2].partition("## Limits")[0].strip()
    assert section == given if given else section.startswith("None has been given")


def test_hostile_methods_cannot_break_the_tables(store: Store):
    judgments = store.read_records("judgments.jsonl", Judgment)
    evil = 'x | y\n<script>alert("z")</script>'
    store.write_records("judgments.jsonl", [j.model_copy(update={"method": evil}) for j in judgments])
    _, text = card_of(store)
    assert "<script>" not in text
    assert r"| x \| y &lt;script>" in text


def test_the_card_of_a_hostile_run_counts_labels_by_provenance(tmp_path: Path):
    store = hostile_run(tmp_path)
    _, text = card_of(store, rule="majority")
    export_dataset(store, "jsonl", "majority")
    rows = store.read_records("dataset/links.jsonl", LabelledCandidate)
    assert {row.provenance.value for row in rows} == {"unanimous", "majority", "tie", "incomplete"}
    for provenance, label, link in (
        ("tie", "no label", None),
        ("majority", "link", True),
        ("majority", "no link", False),
    ):
        count = sum((row.provenance.value, row.link) == (provenance, link) for row in rows)
        assert f"| {provenance} | {label} | {count} |" in text
    assert "1 of 3 annotators (annotator-9) are programs" in text
    assert all(sentence not in text for sentence in (*TEXTS[1:9], *PAIRS))


def test_the_card_counts_labels_by_each_rule_and_decider(tmp_path: Path):
    store = hostile_run(tmp_path)
    _, text = card_of(store, rule="adjudicated")
    export_dataset(store, "jsonl", "adjudicated")
    rows = store.read_records("dataset/links.jsonl", LabelledCandidate)
    for rule in LabelRule:
        counts = [sum(getattr(row, f"link_{rule}") is link for row in rows) for link in (True, False, None)]
        assert re.search(rf"^\| {rule}: .* \| {' . '.join(map(str, counts))} \|$", text, re.MULTILINE)
    decided = [row for row in rows if row.adjudicator]
    assert (
        f"{len(decided)} candidates on which annotators differ were decided by adjudicator-1, annotator-10; 1 of"
        in text
    )
    store.folder.remove(ADJUDICATIONS)
    _, text = card_of(store)
    assert "decided by" not in text
    assert "| adjudicated:" not in text


def test_a_run_without_its_domain_has_no_card(tmp_path: Path):
    with pytest.raises(InputError, match="there is no run"):
        export_dataset(example_run(tmp_path), "huggingface")

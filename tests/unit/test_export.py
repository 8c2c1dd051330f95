from __future__ import annotations

import json
from pathlib import Path

import pytest
from example_run import example_run

from abcdlink.agreement import agreement, read_judgment_file
from abcdlink.corpus.io import read_corpus_from
from abcdlink.errors import InputError
from abcdlink.export import ExportFormat, LabelledCandidate, export_dataset, labelled_candidates
from abcdlink.folders import LocalFolder
from abcdlink.judgments import Judgment, Label
from abcdlink.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return example_run(tmp_path)


def test_jsonl_holds_every_candidate_with_all_judgments(store: Store):
    assert export_dataset(store) == ["dataset/links.jsonl"]
    rows = store.read_records("dataset/links.jsonl", LabelledCandidate)
    judgments = store.read_records("judgments.jsonl", Judgment)
    assert sum(len(row.judgments) for row in rows) == len(judgments)
    assert all(row.link == (set(row.judgments.values()) == {Label.LINK}) for row in rows)
    assert sum(bool(row.link) for row in rows) == sum(a.accepted for a in agreement(judgments).acceptance.values())


def test_rows_follow_the_order_of_the_corpus(store: Store):
    judgments = store.read_records("judgments.jsonl", Judgment)
    corpus = read_corpus_from(store, "natural")
    forward, backward = labelled_candidates(judgments, corpus), labelled_candidates(judgments[::-1], corpus)
    assert forward == backward
    assert [row.pair for row in forward] == sorted(row.pair for row in forward)


def test_csv_is_read_back_with_the_same_agreement(store: Store, tmp_path: Path):
    (name,) = export_dataset(store, "csv")
    file = read_judgment_file(store.where(name))
    original, again = agreement(store.read_records("judgments.jsonl", Judgment)), agreement(file.judgments)
    assert file.refused == ()
    assert again.model_dump(exclude={"batches"}) == original.model_dump(exclude={"batches"})
    header = store.read_text(name).splitlines()[0]
    assert header == (
        "document_id,source_id,target_id,method,annotator_1,annotator_2,"
        "source_sentence,target_sentence,agreement,both_link"
    )


def test_abcd_link_holds_the_accepted_links_and_their_documents(store: Store):
    assert export_dataset(store, ExportFormat.ABCD_LINK) == ["dataset/docs.json", "dataset/dataset_links.json"]
    documents, pairs = store.read_json("dataset/docs.json"), store.read_json("dataset/dataset_links.json")
    links = [
        (pair["doc1"], source, pair["doc2"], target)
        for pair in pairs.values()
        for source, targets in pair["links"].items()
        for target in targets
    ]
    export_dataset(store)
    rows = [row for row in store.read_records("dataset/links.jsonl", LabelledCandidate) if row.link]
    assert sorted(links) == sorted((r.source_document, r.source, r.target_document, r.target) for r in rows)
    assert all(source in documents[a] and target in documents[b] for a, source, b, target in links)


def test_candidate_with_a_missing_judgment_has_no_label(store: Store):
    judgments = store.read_records("judgments.jsonl", Judgment)
    store.write_records("judgments.jsonl", judgments[1:])
    rows = labelled_candidates(judgments[1:], read_corpus_from(store, "natural"))
    assert [row.link for row in rows].count(None) == 1
    export_dataset(store, "csv")
    assert len(read_judgment_file(store.where("dataset/annotations.csv")).refused) == 1
    export_dataset(store, "jsonl")
    first = json.loads(store.read_text("dataset/links.jsonl").splitlines()[0])
    assert set(first) == set(LabelledCandidate.model_fields)


def test_unknown_format_and_missing_judgments_are_clear_errors(store: Store, tmp_path: Path):
    with pytest.raises(InputError, match="abcd-link"):
        export_dataset(store, "xml")
    with pytest.raises(InputError, match="annotate"):
        export_dataset(Store(LocalFolder(tmp_path / "empty"), "empty"))

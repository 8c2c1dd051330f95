"""The released REVIEWS-HE judgments survive every layout that keeps links."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.io import write_corpus_to
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.export import export_dataset
from abcdlink.folders import LocalFolder
from abcdlink.judgment_file import read_judgment_file
from abcdlink.store import Store
from tests.conftest import SharedData

TEXTS = ("source_sentence", "target_sentence")
"""The released table strips white space; ours is that of the documents."""


@pytest.fixture
def store(shared_data: SharedData, tmp_path: Path) -> Store:
    store = Store(LocalFolder(tmp_path / "he"), "he")
    write_corpus_to(store, "natural", import_corpus("abcd-link", shared_data / "reviews_he", get_segmenter()))
    store.write_records(
        "judgments.jsonl", list(read_judgment_file(shared_data / "reviews_he" / "annotations.csv").judgments)
    )
    return store


def rows_of(path: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return {(row["document_id"], row["source_id"], row["target_id"]): row for row in csv.DictReader(file)}


def test_the_released_table_survives_a_round_trip(store: Store, shared_data: SharedData):
    export_dataset(store, "csv")
    released = rows_of(shared_data / "reviews_he" / "annotations.csv")
    ours = rows_of(Path(store.where("dataset/annotations.csv")))
    assert len(ours) == 1022
    assert ours.keys() == released.keys()
    for at, row in ours.items():
        # One sentence is the word None, which the released table lost.
        texts = {column: "" if row[column] == "None" else row[column].strip() for column in TEXTS}
        assert {**row, **texts, "method": ""} == {**released[at], "method": ""}


def test_every_layout_holds_the_links_that_both_accepted(store: Store):
    import cassis

    expected = {at for at, row in csv_links(store).items() if row["both_link"] == "True"}
    assert len(expected) == 334
    assert {export_dataset(store, layout).links for layout in ("jsonl", "abcd-link", "brat")} == {334}
    corpus = import_corpus("abcd-link", Path(store.where("dataset/abcd-link")), get_segmenter())
    assert {(p.id, s, t) for p in corpus.pairs for s, targets in (p.links or {}).items() for t in targets} == expected
    _, *files = export_dataset(store, "uima").files
    types = cassis.load_typesystem(Path(store.where("dataset/uima/TypeSystem.xml")))
    found = set()
    for name in files:
        cas = cassis.load_cas_from_xmi(Path(store.where(name)), typesystem=types)
        (pair,) = cas.select("webanno.custom.PairMetadata")
        links = cas.select("webanno.custom.LinkRelation")
        found |= {(pair.pair, link.Governor.sentence, link.Dependent.sentence) for link in links}
    assert found == expected
    assert len(files) == len(corpus.pairs)


def csv_links(store: Store) -> dict[tuple[str, str, str], dict[str, str]]:
    export_dataset(store, "csv")
    return rows_of(Path(store.where("dataset/annotations.csv")))

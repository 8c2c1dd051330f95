"""Documents behave the same in memory and in a file."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus import Corpus, Document, Sentence
from abcdlink.corpus import builder as corpus_builder
from abcdlink.corpus.io import read_corpus, write_corpus
from abcdlink.corpus.shelf import Shelf
from tests.helpers.builders import document
from tests.helpers.outside_files import files, load

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.dictionaries(names, st.lists(texts, min_size=1, max_size=3), max_size=8), st.sampled_from([0, 20, 10_000]))
def test_a_shelf_is_a_dictionary_in_insertion_order(contents, most_held):
    shelf, plain = Shelf(most_held), {}
    for name, sentences in contents.items():
        plain[name] = document(name, sentences).model_copy(update={"meta": {"topic": name}})
        shelf.add(plain[name])
    assert dict(shelf) == plain
    assert (list(shelf), len(shelf), list(shelf.values())) == (list(plain), len(plain), list(plain.values()))
    assert shelf.sentences == sum(len(one.sentences) for one in plain.values())
    assert [Document.model_validate_json(line) for line in shelf.lines()] == list(plain.values())
    assert "absent" not in shelf
    with pytest.raises(KeyError):
        shelf["absent"]


def test_a_corpus_kept_on_disk_is_written_and_read_like_any_other(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_builder, "Shelf", lambda _: Shelf(30))
    documents = [Document(id=f"d{n}", sentences=(Sentence(id="0", text=f"Sentence {n}."),)) for n in range(50)]
    builder = corpus_builder.CorpusBuilder("large")
    for one in documents:
        builder.add_document("x", one)
    made = builder.build()
    assert isinstance(made.documents, Shelf)
    assert list(made.model_copy(update={"pairs": []}).documents.values()) == documents
    write_corpus(made, tmp_path / "large")
    read = read_corpus(tmp_path / "large")
    assert isinstance(read.documents, Shelf)
    monkeypatch.undo()
    small = read_corpus(tmp_path / "large")
    assert (type(small), small.documents) == (Corpus, {one.id: one for one in documents})


def test_importing_a_large_file_keeps_little_of_it_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_builder, "Shelf", lambda _: Shelf(40_000))
    path = tmp_path / "large.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(200):
            sides = {
                side: {
                    "id": f"{side}-{n}",
                    "sentences": [f"Sentence {at} of {side} {n}, {'and on ' * 20}." for at in range(25)],
                }
                for side in ("source", "target")
            }
            file.write(json.dumps({"pair": f"p{n}", **sides}) + "\n")
    load("jsonl", files(tmp_path / "warm", {"x.jsonl": path.read_bytes()[:50_000]}) / "x.jsonl")
    tracemalloc.start()
    try:
        imported = load("jsonl", path)
        write_corpus(imported, tmp_path / "large")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(imported.pairs) == 200
    assert path.stat().st_size > 1_600_000
    assert peak < 800_000

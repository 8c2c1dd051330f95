"""Importing data: what the formats mean, and every kind of bad input."""

from __future__ import annotations

import pytest

from abcdlink.corpus import write_corpus
from abcdlink.corpus.formats import FORMATS
from abcdlink.errors import InputError
from tests.helpers.outside_files import A, B, files, lines, load, reasons, released


def test_unknown_formats_and_missing_sources_are_named(tmp_path):
    with pytest.raises(InputError, match=r"no format 'pdf'.*jsonl, abcd-link, text"):
        load("pdf", tmp_path)
    for name in FORMATS:
        with pytest.raises(InputError, match=r"nowhere (does not exist|is not a folder)"):
            load(name, tmp_path / "nowhere")
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(InputError, match="empty"):
            load(name, tmp_path / "empty")


def test_abcd_link_flat_layout(tmp_path):
    links = {"p": {"doc1": "a", "doc2": "b b:é", "links": {"1": [10, "2"], "0": []}}}
    corpus = load("abcd-link", released(tmp_path, {"a": A, "b b:é": B, "unused": {"0": " \ufffd\n*"}}, links))
    assert [s.id for s in corpus.documents["b b:é"].sentences] == ["0", "10", "2"]
    assert corpus.documents["unused"].texts == [" \ufffd\n*"]
    assert [(p.id, p.source, p.target, p.links) for p in corpus.pairs] == [
        ("p", "a", "b b:é", {"1": ("10", "2"), "0": ()})
    ]
    assert (corpus.name, corpus.refused) == (tmp_path.name, [])


def test_abcd_link_nested_layout_needs_no_links(tmp_path):
    corpus = load("abcd-link", released(tmp_path, {"p": {"doc1": A, "doc2": B}}))
    assert corpus.documents["p_doc1"].texts == list(A.values())
    assert [(p.id, p.source, p.target, p.links) for p in corpus.pairs] == [("p", "p_doc1", "p_doc2", None)]


def test_abcd_link_nested_layout_reads_links_of_its_pairs(tmp_path):
    docs = {"p": {"doc1": A, "doc2": B}, "q": {"doc1": A, "doc2": B}}
    corpus = load("abcd-link", released(tmp_path, docs, {"q": {"links": {"0": ["0"]}}}))
    assert {p.id: p.links for p in corpus.pairs} == {"q": {"0": ("0",)}, "p": None}


def test_abcd_link_refuses_invalid_entries_and_keeps_the_rest(tmp_path):
    docs = {"a": A, "b": B, "empty": {}, "list": ["x"], "null": {"0": None}, "blank": {"0": " "}}
    links = {
        "good": {"doc1": "a", "doc2": "b", "links": {"0": ["0", "77"]}},
        "lost": {"doc1": "a", "doc2": "gone", "links": {}},
        "bare": {"doc1": "a", "doc2": "b"},
        "word": {"doc1": "a", "doc2": "b", "links": {"0": "0"}},
        "nodoc": {"doc1": "a", "links": {}},
        "typo": {"doc1": "a", "doc2": "b", "links": {}, "lins": 1},
    }
    corpus = load("abcd-link", released(tmp_path, docs, links))
    assert list(corpus.documents) == ["a", "b"]
    assert [(p.id, p.links) for p in corpus.pairs] == [("good", {"0": ("0",)})]
    assert reasons(corpus) == [
        "document 'empty' has no sentences",
        "document 'list' is a list, not an object of sentence ids and texts",
        "text must be text",
        "document 'blank' has no text",
        "pair 'bare' has no object 'links'",
        "pair 'word': the targets '0' are not a list of sentence ids",
        "target must be text",
        "pair 'typo' has the unknown field 'lins'",
        "pair 'good': link '0' to '77': sentence '77' of 'b' does not exist",
        "pair 'lost' names the document 'gone', which does not exist or was refused",
    ]


def test_a_folder_of_markdown_is_read_like_one_of_text_but_beside_text_it_is_not(tmp_path):
    folder = files(tmp_path, {"x.source.md": "# Tides\n\nOne.", "sub/x.target.md": "Two.", "x.target.MD": "Three."})
    corpus = load("text", folder)
    assert [(p.id, p.source, p.target) for p in corpus.pairs] == [("x", "x.source", "x.target")]
    assert corpus.documents["x.target"].texts == ["Three."]
    assert list(load("text", files(folder, {"a.txt": "One."}), targets=True).documents) == ["a"]


def test_a_single_jsonl_file_holds_whole_pairs(tmp_path):
    target = {"id": "t", "text": "Three. Four."}
    path = lines(
        tmp_path / "pairs of mine.jsonl",
        {"pair": "p", "source": {"id": "s1", "text": "One."}, "target": target, "links": {"0": ["1"]}},
        {"pair": "q", "source": {"id": "s2", "sentences": ["Two."]}, "target": target},
        {"pair": "r", "source": {"id": "s3", "text": " "}, "target": target},
    )
    corpus = load("jsonl", path)
    assert corpus.name == "pairs of mine"
    assert list(corpus.documents) == ["s1", "t", "s2"]
    assert [(p.id, p.links) for p in corpus.pairs] == [("p", {"0": ("1",)}), ("q", None)]
    assert reasons(corpus) == ["document 's3' has no sentences"]


def test_jsonl_reads_our_own_layout(tmp_path):
    corpus = load("abcd-link", released(tmp_path, {"p": {"doc1": A, "doc2": B}}, {"p": {"links": {"0": ["10"]}}}))
    write_corpus(corpus, tmp_path / "own")
    back = load("jsonl", tmp_path / "own")
    assert (back.documents, back.pairs) == (corpus.documents, corpus.pairs)

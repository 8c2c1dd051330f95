"""The sources of the paper's corpora, with their quirks: NLPeer, WikinewsSum and SPICED."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from abcdlink.corpus.sampling import PairSampling, sample_pairs
from abcdlink.errors import InputError
from tests.helpers.outside_files import files, lines, load, reasons


def span(ix: str, content: str | None, ntype: str = "s", **more: Any) -> dict[str, Any]:
    return {
        "ix": ix,
        "ntype": ntype,
        "meta": None,
        "label": {},
        **({} if content is None else {"content": content}),
        **more,
    }


GRAPH = {
    "nodes": [
        {"ix": "p_0", "ntype": "title", "content": "On bridges", "meta": None},
        {"ix": "p_1", "ntype": "paragraph", "content": "Bridges fall. We ask why.", "meta": {}},
        {"ix": "p_2", "ntype": "media", "content": "<table/>", "meta": {}},
    ],
    "span_nodes": [
        span("p_0@0", "On bridges", src_ix="p_0", start=0, end=10),
        span("line_1", "Bridges", "line", src_ix="p_1", start=0, end=7),
        span("p_1@0", "Bridges fall. ", src_ix="p_1", start=0, end=13),
        span("p_1@1", None, "sentence", src_ix="p_1", start=14, end=25),
    ],
    "edges": [],
    "prefix": "p",
    "meta": {"ix_counter": 3},
}
STRUCTURED = {
    "rid": "r1",
    "reviewer": None,
    "report": {"paper_summary": "It asks. It answers.", "weaknesses": None, "comments": "Typos:\n- tpyo"},
    "scores": {"overall": "3 = Good"},
    "meta": {"sentences": {"paper_summary": [[0, 8], [9, 20]], "comments": [[0, 6], [6, 7], [7, 13]]}},
}
PLAIN = {"rid": 7, "report": {"main": "Good paper. Accept it."}, "meta": {"sentences": [[0, 11], [12, 22]]}}
UNCUT = {"rid": "r3", "report": {"main": "Short one. Fine."}, "meta": {}}
EMPTY = {"rid": "r4", "report": {"main": "", "other": None}, "meta": {}}


def nlpeer(folder: Path) -> Path:
    return files(
        folder,
        {
            "ARR-22/data/meta.json": "{}",
            "ARR-22/data/abc/meta.json": "{}",
            "ARR-22/data/abc/v1/paper.itg.json": json.dumps(GRAPH),
            "ARR-22/data/abc/v1/paper.pdf": b"%PDF",
            "ARR-22/data/abc/v1/reviews.json": json.dumps([STRUCTURED, PLAIN, UNCUT, EMPTY]),
            "ARR-22/data/abc/v2/paper.itg.json": "not read",
            "ARR-22/data/def/v2/paper.itg.json": json.dumps({**GRAPH, "span_nodes": []}),
            "ARR-22/data/def/v2/reviews.json": "[]",
        },
    )


def test_nlpeer_papers_and_reviews_keep_their_sentences(tmp_path):
    corpus = load("nlpeer", nlpeer(tmp_path))
    texts = {name: document.texts for name, document in corpus.documents.items()}
    assert texts == {
        "abc": ["On bridges", "Bridges fall. ", "We ask why."],
        "abc__r1": ["paper_summary:", "It asks.", "It answers.", "comments:", "Typos:", "- tpyo"],
        "abc__7": ["Good paper.", "Accept it."],
        "abc__r3": ["Short one.", "Fine."],
        "def": ["On bridges", "Bridges fall.", "We ask why."],
    }
    assert [(pair.source, pair.target, pair.links) for pair in corpus.pairs] == [
        (name, "abc", None) for name in ("abc__r1", "abc__7", "abc__r3")
    ]
    assert reasons(corpus) == ["review 'r4' has no text"]
    assert corpus.documents["def"].meta == {"kind": "paper", "paper": "def", "dataset": "ARR-22"}
    papers = load("nlpeer", tmp_path / "ARR-22", targets=True)
    assert (list(papers.documents), papers.pairs, papers.refused) == (["abc", "def"], [], [])


def test_the_shortest_review_of_an_nlpeer_paper_is_taken(tmp_path):
    drawn, _ = sample_pairs(load("nlpeer", nlpeer(tmp_path)), PairSampling(one_source=True))
    assert [pair.source for pair in drawn.pairs] == ["abc__r3"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"span_nodes": [span("x", None)]}, "neither content nor a place"),
        ({"nodes": {}}, "no list 'nodes'"),
        ({"span_nodes": [{"ntype": "s"}]}, "no list 'span_nodes'"),
    ],
)
def test_an_invalid_graph_is_refused(tmp_path, change, reason):
    files(tmp_path, {"a/v1/paper.itg.json": json.dumps({**GRAPH, **change}), "b/v1/paper.itg.json": json.dumps(GRAPH)})
    corpus = load("nlpeer", tmp_path)
    assert list(corpus.documents) == ["b"]
    assert reason in reasons(corpus)[0]


PAGE = {
    "language": "en",
    "text": "A bridge closed, it was said. Nobody was hurt.",
    "url": "http://a.b",
    "archive_url": None,
}
ARTICLE = {
    "language": "en",
    "title": "Bridge closes",
    "news": "The bridge closed.\nThe mayor spoke. It rained.",
    "sources": [PAGE],
}


def test_wikinewssum_articles_are_targets_and_their_pages_sources(tmp_path):
    pages = [PAGE, {**PAGE, "text": "Another report. It says more."}, {**PAGE, "language": "de"}, {**PAGE, "text": " "}]
    lines(tmp_path / "train.json", ARTICLE, {**ARTICLE, "title": "Two pages", "sources": pages})
    lines(
        tmp_path / "test.json",
        {**ARTICLE, "title": "No page", "sources": [], "news": ["A list.", "Of passages."]},
        {**ARTICLE, "news": "Another article has this title."},
        {**ARTICLE, "language": "fr", "title": "Le pont", "news": "Le pont ferme.", "sources": []},
        {**ARTICLE, "title": ""},
    )
    corpus = load("wikinewssum", tmp_path, only={"language": ("en",)})
    assert corpus.documents["Bridge closes"].texts == ["Another article has this title."]  # test.json comes first
    assert sorted((pair.id, pair.target) for pair in corpus.pairs) == [
        ("Bridge closes", "Bridge closes"),
        ("Bridge closes@2", "Bridge closes@2"),
        ("Two pages (1)", "Two pages"),
        ("Two pages (2)", "Two pages"),
    ]
    assert corpus.documents["Bridge closes@2"].texts == ["The bridge closed.", "The mayor spoke.", "It rained."]
    assert corpus.documents["No page"].texts == ["A list.", "Of passages."]
    assert "Le pont" not in corpus.documents
    assert len(corpus.refused) == 1  # an article without a title
    notes = " | ".join(map(str, corpus.notes))
    assert "another language than their article, which were left out: 1" in notes
    assert "Items without language en, which were left out: 1" in notes
    alone = load("wikinewssum", tmp_path / "test.json", targets=True, only={"language": ("en",)})
    assert list(alone.documents) == ["No page", "Bridge closes"]


def spiced(folder: Path, newline: str = "\n") -> Path:
    rows = {
        "text_1": [f"First text {n}.{newline}{newline}It goes on, {n}." for n in range(120)],
        "text_2": [f"Second text {n}. It ends." for n in range(120)],
        "URL_1": ["http://a"] * 120,
        "URL_2": ["http://b"] * 120,
        "Type": ["Politics", "Sports"] * 60,
    }
    pd.DataFrame(rows).to_csv(folder / "spiced.csv", index=False, lineterminator="\n")
    return folder


FIRST = {"0": [0, 14], "1": [16, 31]}  # "First text 98." and "It goes on, 98."
SECOND = {"0": [0, 15], "1": [16, 24]}
FIRST_118 = {"0": [0, 15], "1": [17, 33]}
SECOND_118 = {"0": [0, 16], "1": [17, 25]}
BOUNDARIES = {"98": {"doc1": FIRST, "doc2": SECOND}, "118": {"doc1": SECOND_118, "doc2": FIRST_118}}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_news_he_uses_the_released_boundaries_and_reverses_eight_pairs(tmp_path, newline):
    spiced(tmp_path, newline)
    (tmp_path / "sentence_boundaries.json").write_text(json.dumps(BOUNDARIES), encoding="utf-8")
    corpus = load("spiced", tmp_path, as_released=True)
    assert [(pair.id, pair.source, pair.target) for pair in corpus.pairs] == [
        ("98", "98_doc1", "98_doc2"),
        ("118", "118_doc1", "118_doc2"),
    ]
    texts = {name: document.texts for name, document in corpus.documents.items()}
    assert texts == {
        "98_doc1": ["First text 98.", "It goes on, 98."],
        "98_doc2": ["Second text 98.", "It ends."],
        "118_doc1": ["Second text 118.", "It ends."],
        "118_doc2": ["First text 118.", "It goes on, 118."],
    }
    assert corpus.documents["118_doc1"].meta == {"topic": "Politics", "url": "http://b"}
    everything = load("spiced", tmp_path)
    assert len(everything.pairs) == 120
    assert everything.documents["98_doc1"] == corpus.documents["98_doc1"]


def test_spiced_by_topic_without_boundaries(tmp_path):
    corpus = load("spiced", spiced(tmp_path) / "spiced.csv", only={"topic": ("Sports",)})
    assert len(corpus.pairs) == 60
    assert corpus.documents["1_doc1"].texts == ["First text 1.", "It goes on, 1."]
    with pytest.raises(InputError, match=r"sentence_boundaries\.json does not exist"):
        load("spiced", tmp_path, as_released=True)


def test_mismatched_boundaries_are_refused(tmp_path):
    spiced(tmp_path)
    wrong = {
        "98": {"doc1": {"0": [0, 99]}, "doc2": SECOND},
        "5": {"doc1": {"0": [0, 5]}},
        "900": {},
        "6": {"doc1": {"0": "x"}},
    }
    (tmp_path / "sentence_boundaries.json").write_text(json.dumps(wrong), encoding="utf-8")
    corpus = load("spiced", tmp_path)
    assert len(corpus.pairs) == 117
    said = " | ".join(reasons(corpus))
    for part in ("up to character 99, and the text has 31", "pair '5' has no object 'doc2'", "no such row", "pair '6'"):
        assert part in said
    (tmp_path / "spiced.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="columns text_1 and text_2"):
        load("spiced", tmp_path)

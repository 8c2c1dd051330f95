"""Importing outside data: what the formats mean, and every kind of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from abcdlink.corpus import Corpus, write_corpus
from abcdlink.corpus.formats import FORMATS, import_corpus
from abcdlink.errors import InputError
from abcdlink.segmentation import get_segmenter

A = {"0": "The bridge closed.", "1": "Nobody was hurt."}
B = {"0": "A bridge was shut.", "10": "The mayor spoke.", "2": "It rained."}


def load(format_name: str, source: Path) -> Corpus:
    return import_corpus(format_name, source, get_segmenter())


def released(folder: Path, docs: object, links: object = None) -> Path:
    (folder / "docs.json").write_text(json.dumps(docs), encoding="utf-8")
    if links is not None:
        (folder / "any_links.json").write_text(json.dumps(links), encoding="utf-8")
    return folder


def files(folder: Path, contents: dict[str, str | bytes]) -> Path:
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def lines(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def reasons(corpus: Corpus) -> list[str]:
    return [refusal.reason for refusal in corpus.refused]


# any format


def test_unknown_formats_and_missing_sources_are_named(tmp_path):
    with pytest.raises(InputError, match=r"no format 'pdf'.*jsonl, abcd-link, text"):
        load("pdf", tmp_path)
    for name in FORMATS:
        with pytest.raises(InputError, match="nowhere is not there"):
            load(name, tmp_path / "nowhere")
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(InputError, match="empty"):
            load(name, tmp_path / "empty")


# abcd-link


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


def test_abcd_link_nested_layout_takes_links_of_its_pairs(tmp_path):
    docs = {"p": {"doc1": A, "doc2": B}, "q": {"doc1": A, "doc2": B}}
    corpus = load("abcd-link", released(tmp_path, docs, {"q": {"links": {"0": ["0"]}}}))
    assert {p.id: p.links for p in corpus.pairs} == {"q": {"0": ("0",)}, "p": None}


def test_abcd_link_refuses_what_does_not_fit_and_keeps_the_rest(tmp_path):
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
        "text: Input should be a valid string",
        "document 'blank' has no text",
        "pair 'bare' has no object 'links'",
        "pair 'word': the targets '0' are no list of sentence ids",
        "target: Input should be a valid string",
        "pair 'typo' has the unknown field 'lins'",
        "pair 'good': link '0' to '77': sentence '77' of 'b' is not there",
        "pair 'lost' names the document 'gone', which is not there",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"a": {"0": "caf\xe9"}}', r"docs\.json is not UTF-8: byte 16 \(line 1\) is 0xe9"),
        (b'{"a": {"0": "x"', r"docs\.json is not JSON: .*line 1 column 16"),
        (b"[1]", "holds a list"),
        (b"", "is not JSON"),
        (b'{"a": {"0": "x", "0": "y"}}', "the id '0' occurs twice"),
        (b'{"a": {"0": "x"}, "a": {"0": "y"}}', "the id 'a' occurs twice"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_abcd_link_file_errors_are_one_clear_error(tmp_path, content, problem):
    (tmp_path / "docs.json").write_bytes(content)
    with pytest.raises(InputError, match=problem):
        load("abcd-link", tmp_path)


def test_abcd_link_reads_a_byte_order_mark(tmp_path):
    (tmp_path / "docs.json").write_bytes(b"\xef\xbb\xbf" + json.dumps({"a": A}).encode())
    assert list(load("abcd-link", tmp_path).documents) == ["a"]


def test_a_source_of_nothing_but_refusals_is_an_error_that_says_why(tmp_path):
    with pytest.raises(InputError, match=r"no document that can be used \(1 items refused, the first because document"):
        load("abcd-link", released(tmp_path, {"empty": {}}))


# text


def test_text_pairs_by_file_name(tmp_path):
    files(tmp_path, {"x.source.txt": "One. Two.", "x.target.txt": "\ufeffThree.\nFour.", "alone.target.txt": "Five."})
    corpus = load("text", tmp_path)
    assert corpus.documents["x.target"].texts == ["Three.", "Four."]
    assert [(p.id, p.source, p.target, p.links) for p in corpus.pairs] == [("x", "x.source", "x.target", None)]
    assert reasons(corpus) == ["there is no alone.source.txt to pair it with"]


def test_text_source_without_target_is_refused(tmp_path):
    corpus = load("text", files(tmp_path, {"x.source.txt": "One."}))
    assert corpus.pairs == []
    assert reasons(corpus) == ["pair 'x' names the document 'x.target', which is not there"]


def test_text_pairs_by_table(tmp_path):
    table = "\ufeffTarget , source,id\r\nsub/b.txt,a,first\r\na,sub/b,\r\n,a,\r\nzzz,a,\r\na\r\n"
    files(tmp_path, {"a.txt": "One.", "sub/b.txt": "Two.", "pairs.csv": table})
    corpus = load("text", tmp_path)
    assert [(p.id, p.source, p.target) for p in corpus.pairs] == [("first", "a", "sub/b"), ("sub/b__a", "sub/b", "a")]
    assert [(r.where.rpartition(", ")[2], r.reason) for r in corpus.refused] == [
        ("line 4", "the source or the target is blank"),
        ("line 6", "the source or the target is blank"),
        ("line 5", "pair 'a__zzz' names the document 'zzz', which is not there"),
    ]


def test_text_refuses_empty_and_undecodable_files_and_keeps_the_rest(tmp_path):
    files(tmp_path, {"a.txt": "One.", "b.txt": " \n ", "c.txt": b"ok\nno\xff", "d.txt": "x".encode("utf-16")})
    corpus = load("text", tmp_path)
    assert list(corpus.documents) == ["a"]
    assert [(Path(r.where).name, r.reason.removeprefix(str(tmp_path))) for r in corpus.refused] == [
        ("b.txt", "document 'b' has no sentences"),
        ("c.txt", "/c.txt is not UTF-8: byte 5 (line 2) is 0xff"),
        ("d.txt", "/d.txt is not UTF-8: byte 0 (line 1) is 0xff"),
    ]


@pytest.mark.parametrize("table", ["", "from,to\na,b\n"])
def test_text_table_without_its_columns_is_an_error(tmp_path, table):
    with pytest.raises(InputError, match=r"pairs\.csv has the columns"):
        load("text", files(tmp_path, {"a.txt": "One.", "pairs.csv": table}))


# jsonl


def test_jsonl_folder_takes_texts_and_sentences(tmp_path):
    lines(
        tmp_path / "documents.jsonl",
        {"id": "a", "text": "One. Two."},
        {"id": 7, "sentences": ["Three.", "Four."]},
        {"id": "c", "sentences": [{"id": 5, "text": "Five."}]},
    )
    lines(
        tmp_path / "pairs.jsonl",
        {"source": "a", "target": 7, "links": {"0": [1]}},
        {"id": "p", "source": "c", "target": "a"},
    )
    corpus = load("jsonl", tmp_path)
    assert [document.texts for document in corpus.documents.values()] == [
        ["One.", "Two."],
        ["Three.", "Four."],
        ["Five."],
    ]
    assert [(p.id, p.links) for p in corpus.pairs] == [("a__7", {"0": ("1",)}), ("p", None)]
    assert corpus.documents["c"].position == {"5": 0}


def test_jsonl_folder_may_have_no_pairs(tmp_path):
    lines(tmp_path / "documents.jsonl", {"id": "a", "text": "One."})
    assert load("jsonl", tmp_path).pairs == []


def test_jsonl_refuses_lines_that_do_not_fit_and_keeps_the_rest(tmp_path):
    documents = lines(
        tmp_path / "documents.jsonl",
        {"id": "a", "text": "One."},
        {"id": "a", "text": "Another."},
        {"id": "b"},
        {"id": "", "text": "x"},
        {"id": "c", "text": "x", "title": "y"},
        {"id": "d", "text": ""},
        {"id": "e", "sentences": [{"id": 1, "text": "x"}, {"id": "1", "text": "y"}]},
    )
    with documents.open("a", encoding="utf-8") as file:
        file.write('{"id": \n\n{"id": "z", "text": "Last."}')
    lines(tmp_path / "pairs.jsonl", {"source": "a", "target": "z", "links": {"0": [9]}}, {"source": "a"}, ["a", "z"])
    corpus = load("jsonl", tmp_path)
    assert list(corpus.documents) == ["a", "z"]
    assert [(p.id, p.links) for p in corpus.pairs] == [("a__z", None)]
    places = [r.where.rpartition("/")[2] for r in corpus.refused]
    assert places == [
        *(f"documents.jsonl, line {n}" for n in (2, 3, 4, 5, 6, 7, 8)),
        *(f"pairs.jsonl, line {n}" for n in (2, 3, 1)),
    ]
    assert reasons(corpus)[1] == "document 'b' needs either 'text' or 'sentences'"


def test_jsonl_single_file_holds_whole_pairs(tmp_path):
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


def test_jsonl_reads_our_own_layout_back(tmp_path):
    corpus = load("abcd-link", released(tmp_path, {"p": {"doc1": A, "doc2": B}}, {"p": {"links": {"0": ["10"]}}}))
    write_corpus(corpus, tmp_path / "own")
    back = load("jsonl", tmp_path / "own")
    assert (back.documents, back.pairs) == (corpus.documents, corpus.pairs)


# f1000rd

F1000RD_HEADER = ",exp,imp_b,review_sentence_id,imp_a,paper_sentence_id\n"


def nodes(name: str, *texts: str) -> str:
    return json.dumps({"span_nodes": [{"ix": f"{name}@{i}", "content": text} for i, text in enumerate(texts)]})


def submission(folder: Path, *rows: str) -> Path:
    contents = {
        "sub/v1.json": nodes("p", "A title ", " We measured.", "It holds."),
        "sub/reviews/r1.json": nodes("r", "Review", "They measured."),
        "sub/linking/r1.csv": F1000RD_HEADER + "".join(f"{row}\n" for row in rows),
    }
    return files(folder, contents)


def test_f1000rd_keeps_the_rows_on_which_both_main_annotators_agree(tmp_path):
    rows = ("0,quote,1.0,r@1,1.0,p@2", "1,,1,r@1,1,p@1", "2,,0.0,r@0,1.0,p@0", "3,,,r@1,1.0,p@0", "4,sec,,r@1,,whole")
    corpus = load("f1000rd", submission(tmp_path, *rows))
    assert [(p.id, p.source, p.target, p.links) for p in corpus.pairs] == [("r1__sub", "r1", "sub", {"1": ("2", "1")})]
    assert corpus.documents["sub"].texts == ["A title ", " We measured.", "It holds."]
    assert corpus.refused == []


def test_f1000rd_without_an_agreed_row_is_no_pair(tmp_path):
    with pytest.raises(InputError, match="no document that can be used"):
        load("f1000rd", submission(tmp_path, "0,,0,r@1,1,p@1"))


def test_f1000rd_refuses_rows_and_tables_that_do_not_fit(tmp_path):
    source = submission(tmp_path, "0,,1,r@1,1,p@1", "1,,1,r@9,1,p@1", "2,,yes,r@1,1,p@1")
    files(source, {"sub/linking/r2.csv": F1000RD_HEADER + "0,,1,r@1,1,p@1\n", "sub/linking/r3.csv": "exp\n"})
    corpus = load("f1000rd", source)
    assert [pair.links for pair in corpus.pairs] == [{"1": ("1",)}]
    found = " | ".join(reasons(corpus))
    for part in ("and yes are not both numbers", "no sentence 'r@9'", "r2.json", "has the columns exp"):
        assert part in found
    assert len(corpus.refused) == 4


@pytest.mark.parametrize(
    "paper", ["[]", "{}", '{"span_nodes": [{"ix": 1}]}', '{"span_nodes": [{"ix": "p@1", "content": "a"}', nodes("p")]
)
def test_f1000rd_refuses_a_paper_that_is_none(tmp_path, paper):
    source = submission(tmp_path, "0,,1,r@1,1,p@1")
    files(source, {"sub/v1.json": paper})
    with pytest.raises(InputError, match="no document that can be used"):
        load("f1000rd", source)


# ecb-plus


def ecb_document(words: dict[str, str], mentions: str, relations: str) -> str:
    """Write a document: sentence -> words; the tokens are numbered from 1 over the document."""
    tokens, number = "", 0
    for sentence, text in words.items():
        for word in text.split():
            number += 1
            tokens += f'<token t_id="{number}" sentence="{sentence}" number="0">{word}</token>\n'
    body = f"{tokens}<Markables>{mentions}</Markables><Relations>{relations}</Relations>"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<Document doc_name="x" doc_id="1">{body}</Document>'


def mention(number: int, token: int, tag: str = "ACTION_OCCURRENCE") -> str:
    return f'<{tag} m_id="{number}"><token_anchor t_id="{token}"/></{tag}>'


def coreference(cluster: str, *mentions: int, kind: str = "CROSS_DOC_COREF") -> str:
    sources = "".join(f'<source m_id="{number}"/>' for number in mentions)
    note = f' note="{cluster}"' if cluster else ""
    return f'<{kind} r_id="9"{note}>{sources}<target m_id="99"/></{kind}>'


TARGET = '<ACTION_OCCURRENCE m_id="99" RELATED_TO="" TAG_DESCRIPTOR="the fire" instance_id="ACT1"/>'


@pytest.fixture
def ecb(tmp_path: Path) -> Path:
    first = ecb_document(
        {"0": "http : //a", "1": "Shop burned", "2": "It burned again", "10": "Bob fled"},
        mention(1, 5) + mention(2, 7) + mention(3, 9, "HUMAN_PART_PER") + mention(4, 10),
        coreference("ACT1", 1, 2) + coreference("HUM1", 3) + coreference("ACT2", 4),
    )
    second = ecb_document(
        {"0": "Fire", "2": "No blaze , Bob says", "1": "He fled"},
        mention(1, 1)
        + mention(2, 3, "NEG_ACTION_OCCURRENCE")
        + mention(3, 5, "HUMAN_PART_PER")
        + mention(4, 8)
        + TARGET,
        # A cluster without a note is named by its target; clusters of one document link nothing.
        coreference("", 1, 2) + coreference("HUM1", 3) + coreference("ACT2", 4, kind="INTRA_DOC_COREF"),
    )
    contents = {
        "ECB+/1/1_10ecbplus.xml": second,
        "ECB+/1/1_1ecbplus.xml": first,
        "ECB+/2/2_1ecbplus.xml": first,
        "ECBplus_coreference_sentences.csv": "Topic,File,Sentence Number\n"
        "1,1ecbplus,1\n1,1ecbplus,10\n1,10ecbplus,0\n1,10ecbplus,2\n2,1ecbplus,1\n",
    }
    return files(tmp_path, contents)


def test_ecb_plus_links_validated_sentences_that_mention_one_event(ecb):
    corpus = load("ecb-plus", ecb)
    assert [(p.id, p.source, p.target, p.links) for p in corpus.pairs] == [
        ("1_10ecbplus__1_1ecbplus", "1_10ecbplus", "1_1ecbplus", {"0": ("1",), "2": ("1",)})
    ]
    assert [(s.id, s.text) for s in corpus.documents["1_10ecbplus"].sentences] == [
        ("0", "Fire"),
        ("2", "No blaze , Bob says"),
        ("1", "He fled"),
    ]
    assert (set(corpus.documents), corpus.refused) == ({"1_1ecbplus", "1_10ecbplus", "2_1ecbplus"}, [])


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("<Document>", "is not XML"),
        ('<?xml version="1.0" encoding="none"?><Document/>', "is not XML"),
        ("<Document/>", "has no sentences"),
        ('<Document><token t_id="1">a</token></Document>', "element token has no sentence"),
        (ecb_document({"0": "a"}, mention(1, 1), coreference("", 1)), "names no cluster"),
        (ecb_document({"0": "a"}, mention(1, 7), coreference("ACT1", 1)), "token '7', which is not there"),
    ],
)
def test_ecb_plus_refuses_a_document_that_does_not_fit(ecb, broken, reason):
    files(ecb, {"ECB+/2/2_1ecbplus.xml": broken})
    corpus = load("ecb-plus", ecb)
    assert len(corpus.pairs) == 1
    assert len(corpus.refused) == 1
    assert reason in reasons(corpus)[0]


def test_ecb_plus_refuses_a_validated_sentence_of_no_document(ecb):
    with (ecb / "ECBplus_coreference_sentences.csv").open("a", encoding="utf-8") as table:
        table.write("3,1ecb,0\n")
    assert reasons(load("ecb-plus", ecb)) == ["there is no document '3_1ecb'"]


def test_ecb_plus_without_its_table_is_one_clear_error(ecb):
    (ecb / "ECBplus_coreference_sentences.csv").unlink()
    with pytest.raises(InputError, match=r"cannot read .*ECBplus_coreference_sentences\.csv"):
        load("ecb-plus", ecb)

"""Files that a command refuses, entirely or line by line.

Rows of ``FILES`` are the command, the files, what is wrong, and what to do. Rows of ``REFUSED`` are one bad line of a
file and its reason: the rest is imported, and the line is listed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.bad_input import DOCUMENTS, LIBRARY_WORDS, PAIR, label

HEAD = "document_id,source_id,target_id,method,annotator_1,annotator_2\n"


def text_of(value: object) -> str:
    """One line of JSON."""
    return json.dumps(value, ensure_ascii=False) + "\n"


FILES: list[tuple[str, dict[str, Any], str, str]] = [
    ("import jsonl d.jsonl --out made", {"d.jsonl": ""}, "d.jsonl contains no document", "empty"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": "\n\n"}, "d.jsonl contains no document", "empty"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": b"\xff\xfe{"}, "begins like UTF-16, but is not", "UTF-8"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": '{"id":"a"}'.encode("utf-16-le")}, "contains NUL bytes", "UTF-8"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": DOCUMENTS.encode() + b"caf\xe9"}, "(line 3) is 0xe9", "UTF-8"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": '["a"]'}, "entry 1: the record must be an object", "format"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": "[" * 100_000}, "line 1: the record is not JSON", "format"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": "{\n}"}, "2 refused; the first: d.jsonl, line 1", "format"),
    ("import jsonl d.txt --out made", {"d.txt": "Hello."}, "d.txt, line 1: the record is not JSON", "format"),
    ("import jsonl d.jsonl.gz --out made", {"d.jsonl.gz": b"\x1f\x8b\x08"}, "not UTF-8", "UTF-8"),
    ("import jsonl d --out made", {"d/pairs.jsonl": PAIR}, "documents.jsonl does not exist", "pairs.jsonl"),
    (
        "import jsonl d.jsonl --out made",
        {"d.jsonl": '{"pair": "p", "source": "A."}'},
        "source must be an object",
        '{"id": "a"',
    ),
    ("import jsonl d.jsonl --out made", {"d.jsonl": '{"id": "a", "turns": []}'}, "no field turns", '"meta"'),
    ("import csv t.csv --out made", {"t.csv": ""}, "t.csv contains no document", "empty"),
    ("import csv t.csv --out made", {"t.csv": "text\n"}, "t.csv contains no document", "empty"),
    ("import csv t.csv --out made", {"t.csv": b"PK\x03\x04"}, "t.csv contains no document", "format is csv"),
    ("import csv t.csv --out made", {"t.csv": "<html>404</html>"}, "t.csv contains no document", "format is csv"),
    ("import csv t.csv --out made", {"t.csv": "a,b\n1,2\n"}, "columns a, b", "--columns"),
    ("import csv t.csv --out made", {"t.csv": "source\nOne.\n"}, "columns source", "--columns"),
    ("import csv t.csv --out made", {"t.csv": "text,id\n,a\n"}, "'a' has no sentences", ""),
    ("import csv t.csv --out made", {"t.csv": b"text\ncaf\xe9.\n"}, "(line 2) is 0xe9", "UTF-8"),
    ("import csv t.csv --out made", {"t.csv": "text\nOne.".encode("utf-16-le")}, "contains NUL bytes", "UTF-8"),
    ("import csv t.csv --out made --columns text=body", {"t.csv": "text\nOne.\n"}, "no column 'body'", "--columns"),
    ("import csv t.csv --out made --columns body=text", {"t.csv": "text\nOne.\n"}, "no role 'body'", "source_id"),
    ("import csv t.csv --out made --columns text", {"t.csv": "text\nOne.\n"}, "'text' names no column", "ROLE=COLUMN"),
    ("import parquet t.parquet --out made", {"t.parquet": b"PAR1"}, "cannot be read as Parquet", "rewrite"),
    ("import parquet t.parquet --out made", {"t.parquet": b""}, "cannot be read as Parquet", "rewrite"),
    ("import text texts --out made --segmentation s.jsonl", {"s.jsonl": '{"document": "d"}'}, "s.jsonl, line 1", ""),
    ("import text t --out made", {"t/a.txt": ""}, "document 'a' has no sentences", ""),
    ("import text t --out made", {"t/a.rtf": "One."}, "not a folder with .txt, .docx", "save others as .docx or .txt"),
    ("import text t --out made", {"t/a.txt": "One.", "t/pairs.csv": "x,y\n"}, "pairs.csv has the columns", "source"),
    ("import abcd-link t --out made", {"t/docs.json": "[1]"}, "docs.json contains a list", "layout"),
    ("import abcd-link t --out made", {"t/docs.json": "{"}, "docs.json is not JSON", "position"),
    ("import abcd-link t --out made", {"t/docs.json": ""}, "docs.json is not JSON", "position"),
    ("import abcd-link t --out made", {"t/docs.json": "[" * 100_000}, "docs.json is not JSON", "position"),
    ("import abcd-link t --out made", {"t/docs.json": b'{"a": "\xe9'}, "byte 7 (line 1) is 0xe9", "UTF-8"),
    ("import abcd-link t --out made", {"t/docs.json": '{"a": {"0": 5}}'}, "text must be text", ""),
    ("import abcd-link t --out made", {"t/docs.json": '{"a": {"0": "x", "0": "y"}}'}, "'0' occurs twice", "own id"),
    (
        "stats c",
        {"c/documents.jsonl": "{\n", "c/pairs.jsonl": ""},
        "documents.jsonl, line 1: it is not JSON",
        "Document",
    ),
    ("stats c", {"c/documents.jsonl": '{"id":"a"}\n', "c/pairs.jsonl": ""}, "sentences is missing", "Document"),
    (
        "stats c",
        {"c/documents.jsonl": DOCUMENTS, "c/pairs.jsonl": "{\n"},
        "pairs.jsonl, line 1: it is not JSON",
        "Pair",
    ),
    ("stats c", {"c/documents.jsonl": DOCUMENTS}, "pairs.jsonl is missing", "abcdlink import"),
    ("stats c", {"c/pairs.jsonl": ""}, "documents.jsonl is missing", "abcdlink import"),
    (
        "stats c",
        {"c/documents.jsonl": DOCUMENTS + '{"id": "c"}\n', "c/pairs.jsonl": ""},
        "line 3: sentences",
        "Document",
    ),
    (
        "stats c",
        {"c/documents.jsonl": '{"id": "void", "sentences": []}\n', "c/pairs.jsonl": ""},
        "line 1: document 'void' has no sentences",
        "give it text",
    ),
    ("sample corpus --out made", {"corpus/origin.json": "{"}, "origin.json: it is not JSON", "fix the file"),
    ("agreement a.csv", {"a.csv": ""}, "no column document_id", "annotator_1"),
    ("agreement a.csv", {"a.csv": "a,b\n"}, "no column document_id", "annotator_1"),
    ("agreement a.csv", {"a.csv": b"\xff"}, "a.csv is not UTF-8", "UTF-8"),
    ("agreement a.xlsx", {"a.xlsx": b"PK\x03\x04\xff"}, "a.xlsx is not UTF-8", "Word or Excel"),
    (
        "import csv a.xlsx --out made",
        {"a.xlsx": b"PK\x03\x04\x14\0"},
        "a.xlsx cannot be read as an Excel file",
        "or as CSV",
    ),
    ("import text t --out made", {"t/a.txt": b"%PDF-1.7\n%\xe2"}, "a.txt is not UTF-8", "PDF, as plain text"),
    ("import text t --out made", {"t/a.txt": "{\\rtf1 One.}"}, "a.txt is rich text (RTF)", "plain text"),
    ("import text t --out made", {"t/a.txt": "\\documentclass{a}\nOne."}, "a.txt: it is LaTeX", "pandoc"),
    ("import text t --out made", {"t/a.docx": "One."}, "a.docx cannot be read as a Word file", "save it as .docx"),
    ("agreement a.jsonl", {"a.jsonl": "{\n"}, "a.jsonl, line 1: it is not JSON", "Judgment"),
    ("agreement a.jsonl", {"a.jsonl": b"\x80"}, "a.jsonl is not UTF-8", "UTF-8"),
    ("agreement a.jsonl", {"a.jsonl": "{}\n"}, "a.jsonl, line 1: pair is missing", "Judgment"),
    ("agreement a.csv", {"a.csv": HEAD}, "a.csv has no judgments", "annotations.csv"),
    ("agreement a.csv", {"a.csv": HEAD + "d,0,1,bm25,Yes,No\n"}, "'Yes' is not a label", "fix the rows"),
    ("agreement a.jsonl", {"a.jsonl": ""}, "a.jsonl has no judgments", "judgments.jsonl"),
    ("agreement a.csv --width 0", {"a.csv": HEAD + "d,0,1,bm25,Link,Link\n"}, "an interval cannot be 0 wide", "0.1"),
]
GOOD = '{"id": "ok", "text": "The old bridge is open again."}\n'
WHOLE = {"pair": "p", "source": {"id": "s", "sentences": ["One."]}, "target": {"id": "t", "sentences": ["Two."]}}
REFUSED: list[tuple[str, str]] = [
    ("{\n", "the record is not JSON"),
    ("not json\n", "the record is not JSON"),
    ('{"id": "a", "text": "\\ud800"}\n', "the record is not JSON"),
    ("[1]\n", "the record must be an object"),
    ("5\n", "the record must be an object"),
    ("null\n", "the record must be an object"),
    (text_of({"text": "x"}), "id is missing"),
    (text_of({"id": "", "text": "x"}), "id must not be empty"),
    (text_of({"id": None, "text": "x"}), "id must be text"),
    (text_of({"id": True, "text": "x"}), "id must be text"),
    (text_of({"id": ["a"], "text": "x"}), "id must be text"),
    (text_of({"id": "a"}), "'a' needs either 'text' or 'sentences'"),
    (text_of({"id": "a", "text": None}), "'a' needs either 'text' or 'sentences'"),
    (text_of({"id": "a", "text": "x", "sentences": ["y"]}), "'a' needs either 'text' or 'sentences'"),
    (text_of({"id": "a", "text": ""}), "'a' has no sentences"),
    (text_of({"id": "a", "text": " \n"}), "'a' has no sentences"),
    (text_of({"id": "a", "sentences": []}), "'a' has no sentences"),
    (text_of({"id": "a", "sentences": [""]}), "'a' has no text"),
    (text_of({"id": "a", "sentences": "x"}), "sentences must be a list"),
    (text_of({"id": "a", "sentences": [{"id": "1"}]}), "sentences.0.text is missing"),
    (text_of({"id": "a", "sentences": [{"id": "1", "text": "x"}, {"id": "1", "text": "y"}]}), "the id '1'"),
    (text_of({"id": "ok", "text": "Another text."}), "a second document has the id 'ok'"),
    (text_of({"id": "a", "text": "x", "title": "y"}), "there is no field title"),
    (text_of({"id": "a", "text": "x", "meta": {"topic": ["x"]}}), "meta.topic must be text"),
    (text_of({"id": "a\0b", "text": "A good sentence."}), "cannot be the id"),
    (text_of({"id": "a", "text": "x\0y"}), "NUL characters"),
    (text_of({"pair": "p", "source": {"id": "s", "text": "One."}}), "target is missing"),
    (text_of({"pair": "p", "source": "s", "target": "t"}), "source must be an object"),
    (text_of({**WHOLE, "links": {"0": ["9"]}}), "sentence '9' of 't' does not exist"),
    (text_of({**WHOLE, "links": {"9": ["0"]}}), "sentence '9' of 's' does not exist"),
    (text_of({**WHOLE, "links": ["0"]}), "links must be an object"),
    (text_of({**WHOLE, "links": {"0": "0"}}), "links.0 must be a list"),
    (text_of({**WHOLE, "kind": "odd"}), "kind must be 'natural' or 'synthetic'"),
]


@pytest.mark.parametrize("row", FILES, ids=label)
def test_a_bad_file_is_one_clear_message_and_nothing_is_written(refuses, row):
    refuses(*row)


@pytest.mark.parametrize(("line", "reason"), REFUSED, ids=label)
def test_a_bad_line_is_refused_with_its_number_and_the_rest_is_imported(call, capfd, line, reason):
    code = call("import jsonl d.jsonl --out made", {"d.jsonl": GOOD + line})
    err = capfd.readouterr().err
    assert code == 0, err
    assert "Refused: 1" in err
    assert not [word for word in LIBRARY_WORDS if word in err]
    (refused,) = map(json.loads, Path("made/refused.jsonl").read_text(encoding="utf-8").splitlines())
    assert refused["where"] == "d.jsonl, line 2"
    assert reason in refused["reason"]
    assert '"ok"' in Path("made/documents.jsonl").read_text(encoding="utf-8")

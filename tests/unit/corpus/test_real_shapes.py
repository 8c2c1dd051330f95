"""Input as people really provide it: one row per shape of input, with the expected outcome."""

# ruff: noqa: E501 - one row is one line

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.drops import DropResult, LocalSource, settle, take
from abcdlink.errors import InputError
from abcdlink.folders import LocalFolder
from tests.helpers.outside_files import files, load

Files = dict[str, str | bytes]


class Shape(NamedTuple):
    """An input and its outcome.

    ``texts``: sentences by document id, for the named documents; ``pairs``: (id, source, target) of all pairs;
    ``links``: of the first pair; ``refused`` and ``notes``: part of each message, in order; ``error``: part of
    the one message if nothing can be imported.
    """

    name: str
    format: str
    files: Files
    texts: Mapping[str, list[str]] = MappingProxyType({})
    pairs: list[tuple[str, str, str]] | None = None
    links: dict[str, tuple[str, ...]] | None = None
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""


def jsonl(*values: object) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def pair(name: str = "p", source: object = None, target: object = None, **more: object) -> dict[str, object]:
    source = source or {"id": f"{name}-s", "text": "The bridge is open."}
    return {"pair": name, "source": source, "target": target or {"id": f"{name}-t", "text": "It reopened."}, **more}


def text(content: str | bytes, target: str | bytes = "It reopened.") -> Files:
    return {"p.source.txt": content, "p.target.txt": target}


def table(content: str | bytes, name: str = "pairs.csv") -> Files:
    return {"a.txt": "The bridge is open.", "b.txt": "It reopened.", name: content}


P = [("p", "p.source", "p.target")]
AB = [("a__b", "a", "b")]
JOINED = ("wrapped lines",)
KEPT = ("end of a line ends a sentence",)
DECODED = ("HTML entities",)
OPEN = "The bridge is open."
DOCS = '{"a": {"0": "One."}, "b": {"0": "Uno.", "1": "Dos."}}'

SHAPES = [
    # plain text: encodings
    Shape("utf-8", "text", text("Café is open."), {"p.source": ["Café is open."]}, P),
    Shape("byte order mark", "text", text(b"\xef\xbb\xbfCaf\xc3\xa9."), {"p.source": ["Café."]}, P),
    Shape("utf-16 with a mark", "text", text("Café, 5 €.".encode("utf-16")), {"p.source": ["Café, 5 €."]}, P),
    Shape("utf-16 with a mark, big endian", "text", text(b"\xfe\xff" + OPEN.encode("utf-16-be")), {"p.source": [OPEN]}, P),
    Shape("utf-16 cut in a letter", "text", text(OPEN.encode("utf-16")[:-1]), pairs=[], refused=("like UTF-16", "not exist")),
    Shape("half a letter in utf-16", "text", text(b"\xff\xfe\x00\xd8"), pairs=[], refused=("like UTF-16", "not exist")),
    Shape("a table in utf-16", "text", table("source,target\na,b\n".encode("utf-16")), pairs=AB),
    Shape("utf-16 without a mark", "text", text(OPEN.encode("utf-16-le")), pairs=[], refused=("NUL bytes", "not exist")),
    Shape("utf-16 big endian", "text", text(OPEN.encode("utf-16-be")), pairs=[], refused=("NUL bytes", "not exist")),
    Shape("utf-32", "text", text(OPEN.encode("utf-32")), pairs=[], refused=("NUL bytes", "not exist")),
    Shape("latin-1", "text", text("Café".encode("latin-1")), pairs=[], refused=("byte 3 (line 1) is 0xe9", "not exist")),
    Shape("windows-1252 quotes", "text", text(b"\x93Yes\x94"), pairs=[], refused=("is 0x93", "not exist")),
    Shape("a picture", "text", text(b"\x89PNG\r\n\x1a\n\x00\x00"), pairs=[], refused=("NUL bytes", "not exist")),
    Shape("an empty file", "text", text(""), {"p.target": ["It reopened."]}, [], refused=("has no sentences", "not exist")),
    Shape("a blank file", "text", text(" \n\t\n\u3000"), pairs=[], refused=("has no sentences", "not exist")),
    Shape("a replacement mark stays", "text", text("So \ufffd it is."), {"p.source": ["So \ufffd it is."]}, P),
    Shape("right to left", "text", text("هل فتح الجسر؟ نعم."), {"p.source": ["هل فتح الجسر؟", "نعم."]}, P),
    Shape("emoji", "text", text("Open 🌉 now."), {"p.source": ["Open 🌉 now."]}, P),
    # plain text: lines
    Shape("windows lines", "text", text("It is open.\r\nIt was dear."), {"p.source": ["It is open.", "It was dear."]}, P, notes=KEPT),
    Shape("old mac lines", "text", text("It is open.\rIt was dear."), {"p.source": ["It is open.", "It was dear."]}, P, notes=KEPT),
    Shape("line separators", "text", text("It is open.\u2028It was dear."), {"p.source": ["It is open.", "It was dear."]}, P, notes=KEPT),
    Shape("wrapped lines", "text", text("Ten people were killed and\nmore than 100 hurt when two\ntrains met."), {"p.source": ["Ten people were killed and more than 100 hurt when two trains met."]}, P, notes=JOINED),
    Shape("wrapped with windows lines", "text", text("Ten people were\r\nkilled in the\r\ntown."), {"p.source": ["Ten people were killed in the town."]}, P, notes=JOINED),
    Shape("headline, byline, wrapped text", "text", text("Trains meet\n\nBy Jo Doe\n\nTen people were killed and\nmany hurt."), {"p.source": ["Trains meet", "By Jo Doe", "Ten people were killed and many hurt."]}, P, notes=JOINED),
    Shape("headline above wrapped text", "text", text("Trains meet\nTen people were killed and many others\nhurt on Monday."), {"p.source": ["Trains meet", "Ten people were killed and many others hurt on Monday."]}, P, notes=JOINED),
    Shape("a list", "text", text("Bring these:\n- a torch\n- warm clothes"), {"p.source": ["Bring these:", "- a torch", "- warm clothes"]}, P),
    Shape("a list with wrapped items", "text", text("- a torch that is\n  charged\n- warm clothes"), {"p.source": ["- a torch that is charged", "- warm clothes"]}, P, notes=JOINED),
    Shape("paragraphs of one line above a signature", "text", text(f"{'Mill Lane is narrow. ' * 8}\n\n{'The limes ought to stay. ' * 8}\n\nYours,\nPaula Attwell\ncopy to J. Hume"), {"p.source": ["Mill Lane is narrow."] * 8 + ["The limes ought to stay."] * 8 + ["Yours,", "Paula Attwell", "copy to J. Hume"]}, P, notes=KEPT),
    Shape("headlines alone", "text", text("Bridge reopened\nMayor resigned\nRain expected"), {"p.source": ["Bridge reopened", "Mayor resigned", "Rain expected"]}, P, notes=KEPT),
    Shape("a sentence a line, in lower case", "text", text("it is open .\nit was dear ."), {"p.source": ["it is open .", "it was dear ."]}, P, notes=KEPT),
    Shape("divided at a hyphen", "text", text("A well-\nknown man and a\nwoman ran."), {"p.source": ["A well-known man and a woman ran."]}, P, notes=JOINED),
    Shape("divided at a soft hyphen", "text", text("An extra\u00ad\nordinary man and a\nwoman ran."), {"p.source": ["An extraordinary man and a woman ran."]}, P, notes=JOINED),
    Shape("indented paragraphs", "text", text("  Ten people were\nkilled here.\n  Nobody ran\naway."), {"p.source": ["Ten people were killed here.", "Nobody ran away."]}, P, notes=JOINED),
    Shape("a blank line ends a sentence", "text", text("It is open\n\nand it was dear."), {"p.source": ["It is open", "and it was dear."]}, P),
    # plain text: entities
    Shape("a dash as an entity", "text", text("Ten &mdash; no, nine."), {"p.source": ["Ten — no, nine."]}, P, notes=DECODED),
    Shape("numbers as entities", "text", text("It&#8217;s &#x201C;open&#x201D;."), {"p.source": ["It\u2019s “open”."]}, P, notes=DECODED),
    Shape("a tag as entities", "text", text("Press &lt;Enter&gt; now."), {"p.source": ["Press <Enter> now."]}, P, notes=DECODED),
    Shape("entities escaped twice", "text", text("R&amp;amp;D is open."), {"p.source": ["R&amp;D is open."]}, P, notes=DECODED),
    Shape("words that are not entities", "text", text("AT&T; R&D &unknown; a&b."), {"p.source": ["AT&T; R&D &unknown; a&b."]}, P),
    Shape("a space as an entity", "text", text("Five&nbsp;people &quot;ran&quot;."), {"p.source": ['Five\u00a0people "ran".']}, P, notes=DECODED),
    Shape("an ampersand", "text", text("AT&T and R&D are open."), {"p.source": ["AT&T and R&D are open."]}, P),
    Shape("an address with &copy", "text", text("See http://a.b/?x=1&copy=2 now."), {"p.source": ["See http://a.b/?x=1&copy=2 now."]}, P),
    Shape("an HTML page", "text", text("<p>It is open.</p>"), {"p.source": ["It is open."]}, P, notes=("HTML tags, which were removed: 1",)),
    Shape("less than", "text", text("If a<b and c>d it is open."), {"p.source": ["If a<b and c>d it is open."]}, P),
    # plain text: names
    Shape("upper-case ending", "text", {"P.source.TXT": OPEN, "P.target.txt": "Yes."}, pairs=[("P", "P.source", "P.target")]),
    Shape("upper-case sides", "text", {"p.SOURCE.txt": OPEN, "p.Target.txt": "Yes."}, pairs=[("p", "p.SOURCE", "p.Target")]),
    Shape("base names that differ in case", "text", {"P.source.txt": OPEN, "p.target.txt": "Yes."}, pairs=[("P", "P.source", "p.target")]),
    Shape("two bases that differ in case", "text", {"P.source.txt": OPEN, "P.target.txt": "A.", "p.source.txt": "B.", "p.target.txt": "C."}, pairs=[("P", "P.source", "P.target"), ("p", "p.source", "p.target")]),
    Shape("a source of its own twice", "text", {"p.source.txt": OPEN, "p.SOURCE.txt": "B.", "p.target.txt": "C."}, pairs=[("p", "p.SOURCE", "p.target")], refused=("p.SOURCE.txt is the source of that pair already",), notes=("in no pair, which nobody judges: 1 (p.source)",)),
    Shape("no target", "text", {"p.source.txt": OPEN}, pairs=[], refused=("no p.target.txt",)),
    Shape("no source", "text", {"p.target.txt": OPEN}, pairs=[], refused=("no p.source.txt",)),
    Shape("a name with a typo", "text", {"derby.source.txt": OPEN, "drebi.target.txt": "Yes."}, pairs=[], refused=("no drebi.source.txt", "no derby.target.txt")),
    Shape("subfolders", "text", {"x/p.source.txt": OPEN, "x/p.target.txt": "Yes."}, pairs=[("x/p", "x/p.source", "x/p.target")]),
    Shape("blanks and dots in names", "text", {"a b. c.source.txt": OPEN, "a b. c.target.txt": "Yes."}, pairs=[("a b. c", "a b. c.source", "a b. c.target")]),
    Shape("files of other programs", "text", text(OPEN) | {"p.odt": b"PK", "README.md": "x", ".DS_Store": b"\0"}, pairs=P, notes=("not read: 2 (README.md, p.odt)",)),
    Shape("nothing but other files", "text", {"p.odt": b"PK"}, error="not a folder with .txt, .docx, .html, .htm, .pdf, .md files"),
    Shape("damaged files of Word and PDF", "text", text(OPEN) | {"p.docx": b"PK", "~$p.docx": b"ada", "p.pdf": b"%PDF-1.4"}, pairs=P, refused=("cannot be read as a Word file",), notes=("another ending: 1 (p.pdf)", "not read: 1 (~$p.docx)")),
    Shape("a folder named .txt", "text", text(OPEN) | {"x.txt/y.md": "x"}, pairs=P, refused=("cannot read",), notes=("x.txt/y.md",)),
    # plain text: a table of pairs
    Shape("a table", "text", table("source,target\na,b\n"), pairs=AB),
    Shape("a table from a spreadsheet", "text", table("\ufeffSource , Target\r\na.txt,b.txt,\r\n"), pairs=AB),
    Shape("a table with ids", "text", table("id,source,target\np,a,b\n,b,a\n"), pairs=[("p", "a", "b"), ("b__a", "b", "a")]),
    Shape("a table in upper case", "text", table("SOURCE,TARGET\nA,B.TXT\n"), pairs=AB),
    Shape("a table named in upper case", "text", table("source,target\na,b\n", "Pairs.CSV"), pairs=AB),
    Shape("a table with semicolons", "text", table("source;target\na;b\n"), pairs=AB),
    Shape("a table with tabs", "text", table("source\ttarget\na\tb\n"), pairs=AB),
    Shape("a table of other columns", "text", table("from,to\na,b\n"), error="has the columns from, to"),
    Shape("an accent of its own", "text", {"cafe\u0301.txt": OPEN, "b.txt": "B.", "pairs.csv": "source,target\ncaf\xe9,b\n"}, pairs=[("cafe\u0301__b", "cafe\u0301", "b")]),
    Shape("paths of Windows in a table", "text", {"x/a.txt": OPEN, "b.txt": "B.", "pairs.csv": "source,target\nx\\a.txt,.\\b.txt\n"}, pairs=[("x/a__b", "x/a", "b")]),
    Shape("a table with quotes", "text", table('source,target\n"a","b"\n'), pairs=AB),
    Shape("a row twice", "text", table("source,target\na,b\na,b\n"), pairs=AB),
    Shape("one id for two rows", "text", table("id,source,target\np,a,b\np,b,a\n"), pairs=[("p", "a", "b")], refused=("second pair has the id 'p'",)),
    Shape("a row of an absent file", "text", table("source,target\na,b\na,c\n"), pairs=AB, refused=("line 3: pair 'a__c' names the document 'c'",)),
    Shape("a row with blanks", "text", table("source,target\na,\na,b\n"), pairs=AB, refused=("line 2: the source or the target is blank",)),
    Shape("a short row", "text", table("source,target\na\na,b\n"), pairs=AB, refused=("blank",)),
    Shape("an empty table", "text", table(""), error="has the columns (none)"),
    Shape("a table in latin-1", "text", table("source,target\ncaf\xe9,b\n".encode("latin-1")), error="is not UTF-8"),
    # JSON Lines
    Shape("a whole pair", "jsonl", {"x.jsonl": jsonl(pair())}, {"p-s": [OPEN]}, [("p", "p-s", "p-t")]),
    Shape("whole pairs in utf-16", "jsonl", {"x.jsonl": jsonl(pair(), pair("q")).encode("utf-16")}, {"p-s": [OPEN]}, [("p", "p-s", "p-t"), ("q", "q-s", "q-t")]),
    Shape("rows in utf-16", "csv", {"x.csv": "source\ttarget\nCafé.\tDos.\n".encode("utf-16")}, {"0_source": ["Café."]}, [("0", "0_source", "0_target")]),
    Shape("without a last line end", "jsonl", {"x.jsonl": jsonl(pair())[:-1]}, pairs=[("p", "p-s", "p-t")]),
    Shape("windows line ends", "jsonl", {"x.jsonl": jsonl(pair(), pair("q")).replace("\n", "\r\n")}, pairs=[("p", "p-s", "p-t"), ("q", "q-s", "q-t")]),
    Shape("numbers as ids", "jsonl", {"x.jsonl": jsonl(pair("p", {"id": 1, "text": OPEN}, {"id": 2, "text": "Yes."}))}, pairs=[("p", "1", "2")]),
    Shape("links as numbers", "jsonl", {"x.jsonl": jsonl(pair(links={0: [0]}))}, pairs=[("p", "p-s", "p-t")], links={"0": ("0",)}),
    Shape("a link twice", "jsonl", {"x.jsonl": jsonl(pair(links={"0": ["0", "0"]}))}, pairs=[("p", "p-s", "p-t")], links={"0": ("0",)}),
    Shape("no links were found", "jsonl", {"x.jsonl": jsonl(pair(links={}))}, pairs=[("p", "p-s", "p-t")], links={}),
    Shape("a link to nowhere", "jsonl", {"x.jsonl": jsonl(pair(links={"0": ["9"]}))}, pairs=[("p", "p-s", "p-t")], refused=("sentence '9' of 'p-t'",)),
    Shape("one id, other texts", "jsonl", {"x.jsonl": jsonl(pair("p", {"id": "a", "text": "One."}, {"id": "b", "text": "Two."}), pair("q", {"id": "a", "text": "Three."}, {"id": "b", "text": "Two."}))}, {"a": ["One."], "a@2": ["Three."]}, [("p", "a", "b"), ("q", "a@2", "b")], notes=("same id: 1 (a@2)",)),
    Shape("source and target of one id", "jsonl", {"x.jsonl": jsonl(pair("p", {"id": "a", "text": "One."}, {"id": "a", "text": "Two."}))}, {"a": ["One."], "a@2": ["Two."]}, [("p", "a", "a@2")], notes=("a@2",)),
    Shape("a document paired with itself", "jsonl", {"x.jsonl": jsonl(pair("p", {"id": "a", "text": "One."}, {"id": "a", "text": "One."}))}, pairs=[("p", "a", "a")]),
    Shape("a pair twice", "jsonl", {"x.jsonl": jsonl(pair(), pair())}, pairs=[("p", "p-s", "p-t")]),
    Shape("one id for two pairs", "jsonl", {"x.jsonl": jsonl(pair(), pair("p", {"id": "z", "text": "Z."}))}, {"p-s": [OPEN]}, [("p", "p-s", "p-t")], refused=("second pair has the id 'p'",)),
    Shape("a line that is cut off", "jsonl", {"x.jsonl": jsonl(pair()) + '{"pair": "q", "sour'}, pairs=[("p", "p-s", "p-t")], refused=("at character",)),
    Shape("a list of pairs instead of lines", "jsonl", {"x.jsonl": json.dumps([pair(), pair("q")])}, pairs=[("p", "p-s", "p-t"), ("q", "q-s", "q-t")]),
    Shape("pretty-printed JSON", "jsonl", {"x.jsonl": json.dumps(pair(), indent=1)}, error="no usable document"),
    Shape("a misspelt field", "jsonl", {"x.jsonl": jsonl(pair("p", {"id": "a", "txt": "A."}), pair("q"))}, pairs=[("q", "q-s", "q-t")], refused=("no field source.txt",)),
    Shape("one blank sentence", "jsonl", {"x.jsonl": jsonl(pair("p", {"id": "a", "sentences": ["A.", ""]}))}, {"a": ["A.", ""]}, [("p", "a", "p-t")]),
    Shape("text full of NULs", "jsonl", {"x.jsonl": jsonl(pair("p", {"id": "a", "sentences": ["A\0B\0C\0"]}), pair("q"))}, pairs=[("q", "q-s", "q-t")], refused=("full of NUL",)),
    Shape("entities in a text", "jsonl", {"x.jsonl": jsonl(pair("p", {"id": "a", "text": "A &amp; B."}))}, {"a": ["A & B."]}, [("p", "a", "p-t")], notes=DECODED),
    Shape("entities in given sentences stay", "jsonl", {"x.jsonl": jsonl(pair("p", {"id": "a", "sentences": ["A &amp; B."]}))}, {"a": ["A &amp; B."]}, [("p", "a", "p-t")]),
    Shape("wrapped text in JSON", "jsonl", {"x.jsonl": jsonl(pair("p", {"id": "a", "text": "Ten people were\nkilled."}))}, {"a": ["Ten people were killed."]}, [("p", "a", "p-t")], notes=JOINED),
    Shape("lines of a text with links stay", "jsonl", {"x.jsonl": jsonl(pair("p", {"id": "a", "text": "ten people\nwere killed"}, links={"1": ["0"]}))}, {"a": ["ten people", "were killed"]}, [("p", "a", "p-t")], {"1": ("0",)}, notes=KEPT),
    Shape("lines of linked documents stay", "jsonl", {"documents.jsonl": jsonl({"id": "a", "text": "ten people\nran"}, {"id": "b", "text": "ten\nmen"}, {"id": "c", "text": "ten\nmen"}), "pairs.jsonl": jsonl({"source": "a", "target": "b", "links": {"1": ["1"]}})}, {"a": ["ten people", "ran"], "c": ["ten men"]}, AB, {"1": ("1",)}, notes=(JOINED[0], KEPT[0], "in no pair, which nobody judges: 1 (c)")),
    Shape("documents and pairs", "jsonl", {"documents.jsonl": jsonl({"id": "a", "text": "A."}, {"id": "b", "text": "B."}), "pairs.jsonl": jsonl({"source": "a", "target": "b"})}, pairs=AB),
    Shape("sentences with ids of their own", "jsonl", {"documents.jsonl": jsonl({"id": 7, "sentences": ["A.", "B."]}, {"id": "c", "sentences": [{"id": 5, "text": "C."}]}), "pairs.jsonl": jsonl({"source": 7, "target": "c", "links": {0: [5]}})}, {"7": ["A.", "B."], "c": ["C."]}, [("7__c", "7", "c")], {"0": ("5",)}),
    Shape("documents of one id", "jsonl", {"documents.jsonl": jsonl({"id": "a", "text": "A."}, {"id": "a", "text": "Z."}, {"id": "b", "text": "B."}), "pairs.jsonl": jsonl({"source": "a", "target": "b"})}, pairs=[], refused=("second document has the id 'a'", "refers to two different texts")),
    Shape("other files in the folder", "jsonl", {"documents.jsonl": jsonl({"id": "a", "text": "A."}), "links.jsonl": "{}"}, pairs=[], notes=("links.jsonl",)),
    Shape("bad lines in two files of a folder", "jsonl", {"documents.jsonl": jsonl({"id": "a", "text": "A."}, {"id": "b"}) + '{"id": \n\n{"id": "z", "text": "Z."}', "pairs.jsonl": jsonl({"source": "z", "target": "z", "links": {"0": [9]}}, {"source": "a"}, ["a", "z"])}, {"z": ["Z."]}, [("z__z", "z", "z")], refused=("pairs.jsonl, line 2", "pairs.jsonl, line 3", "documents.jsonl, line 2: document 'b' needs", "documents.jsonl, line 3", "pairs.jsonl, line 1"), notes=("in no pair, which nobody judges: 1 (a)",)),
    Shape("a folder without documents", "jsonl", {"pairs.jsonl": "{}", "y.jsonl": "{}"}, error="documents.jsonl does not exist"),
    # the released layout
    Shape("released documents", "abcd-link", {"docs.json": DOCS, "x_links.json": '{"p": {"doc1": "a", "doc2": "b", "links": {"0": ["1"]}}}'}, pairs=[("p", "a", "b")], links={"0": ("1",)}),
    Shape("released documents with a mark", "abcd-link", {"docs.json": "\ufeff" + DOCS}, {"a": ["One."]}, []),
    Shape("a pair without links", "abcd-link", {"docs.json": DOCS, "x_links.json": '{"p": {"doc1": "a", "doc2": "b"}}'}, pairs=[], refused=("no object 'links'",)),
    Shape("links in a file of another name", "abcd-link", {"docs.json": DOCS, "links.json": "{}"}, pairs=[], notes=("links.json",)),
    Shape("documents of one name in JSON", "abcd-link", {"docs.json": '{"a": {"0": "A."}, "a": {"0": "Z."}}'}, error="the id 'a' occurs twice"),
    Shape("entities in released sentences stay", "abcd-link", {"docs.json": '{"a": {"0": "A &amp; B"}}'}, {"a": ["A &amp; B"]}, []),
    Shape("a text instead of sentences", "abcd-link", {"docs.json": '{"a": "One. Two.", "b": {"0": "B."}}'}, pairs=[], refused=("'a' is a str",)),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.format}: {shape.name}")
def test_an_import_has_the_expected_outcome(tmp_path: Path, shape: Shape):
    files(tmp_path / "in", shape.files)
    source = tmp_path / "in"
    if shape.format == "jsonl" and list(shape.files) == ["x.jsonl"]:
        source /= "x.jsonl"
    if shape.error:
        with pytest.raises(InputError) as raised:
            load(shape.format, source)
        assert shape.error in str(raised.value)
        return
    corpus = load(shape.format, source)
    assert {name: corpus.documents[name].texts for name in shape.texts} == shape.texts
    if shape.pairs is not None:
        assert [(p.id, p.source, p.target) for p in corpus.pairs] == shape.pairs
    assert (corpus.pairs[0].links if corpus.pairs else None) == shape.links
    assert_parts(shape.refused, [f"{refusal.where}: {refusal.reason}" for refusal in corpus.refused])
    assert_parts(shape.notes, [str(note) for note in corpus.notes])


def assert_parts(parts: tuple[str, ...], messages: list[str]) -> None:
    assert len(parts) == len(messages), messages
    assert all(part in message for part, message in zip(parts, messages, strict=True)), messages


class Dropped(NamedTuple):
    """Dropped files, and the expected result of one take.

    ``pairs``: ids that were taken; ``bad``: part of the reason for each quarantined line or file; ``waits``: part
    of the reason for each waiting file; ``refused``: for each pair that conflicts with another.
    """

    name: str
    files: Files
    pairs: Sequence[str] = ()
    bad: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    old: bool = False
    """Whether the files have not changed for an hour."""


ONE = jsonl(pair())
TWO = jsonl(pair(), pair("q"))
DROPPED = [
    Dropped("one line", {"a.jsonl": ONE}, ["p"]),
    Dropped("blank lines", {"a.jsonl": f"\n{ONE}\n\n"}, ["p"]),
    Dropped("windows line ends", {"a.jsonl": TWO.replace("\n", "\r\n")}, ["p", "q"]),
    Dropped("byte order mark", {"a.jsonl": "\ufeff" + ONE}, ["p"]),
    Dropped("an upload in progress", {"a.jsonl.part": ONE}, waits=("upload in progress",)),
    Dropped("a browser's download", {"a.jsonl.crdownload": ONE}, waits=("upload in progress",)),
    Dropped("a last line without its end", {"a.jsonl": TWO[:-1]}, waits=("does not end yet",)),
    Dropped("the same, an hour old", {"a.jsonl": TWO[:-1]}, ["p", "q"], old=True),
    Dropped("a last line that is cut, an hour old", {"a.jsonl": TWO[:-9]}, ["p"], ("at character",), old=True),
    Dropped("an empty file", {"a.jsonl": ""}, waits=("it is empty",)),
    Dropped("a hidden file", {".a.jsonl": ONE}),
    Dropped("a hidden folder", {".git/a.jsonl": ONE}),
    Dropped("a subfolder", {"2026/11/a.jsonl": ONE}, ["p"]),
    Dropped("gzip by name", {"a.jsonl.gz": gzip.compress(ONE.encode(), mtime=0)}, ["p"]),
    Dropped("gzip by content", {"a.jsonl": gzip.compress(ONE.encode(), mtime=0)}, ["p"]),
    Dropped("gzip without a last line end", {"a.jsonl.gz": gzip.compress(ONE[:-1].encode(), mtime=0)}, ["p"]),
    Dropped("gzip of two parts", {"a.jsonl.gz": gzip.compress(ONE.encode(), mtime=0) + gzip.compress(jsonl(pair("q")).encode(), mtime=0)}, ["p", "q"]),
    Dropped("gzip that is cut", {"a.jsonl.gz": gzip.compress(ONE.encode(), mtime=0)[:-5]}, waits=("truncated or corrupt",)),
    Dropped("gzip that has only begun", {"a.jsonl": b"\x1f\x8b", "b.jsonl": ONE}, ["p"], waits=("cannot be read",)),
    Dropped("nonsense in gzip", {"a.jsonl": b"\x1f\x8b\x08\x00nonsense"}, waits=("cannot be read",)),
    Dropped("gzip in name only", {"a.jsonl.gz": ONE}, ["p"]),
    Dropped("a zip archive", {"a.jsonl": b"PK\x03\x04.."}, bad=("zip archive",)),
    Dropped("xz", {"a.jsonl.xz": b"\xfd7zXZ\x00.."}, bad=("compressed with xz",)),
    Dropped("bzip2", {"a.jsonl.bz2": b"BZh9.."}, bad=("compressed with bzip2",)),
    Dropped("Zstandard", {"a.jsonl.zst": b"\x28\xb5\x2f\xfd.."}, bad=("compressed with Zstandard",)),
    Dropped("7z", {"a.7z": b"7z\xbc\xaf\x27\x1c.."}, bad=("a 7z archive",)),
    Dropped("utf-16", {"a.jsonl": ONE.encode("utf-16")}, bad=("UTF-16",)),
    Dropped("utf-16 without a mark", {"a.jsonl": ONE.encode("utf-16-le")}, bad=("UTF-16",)),
    Dropped("utf-16 big endian", {"a.jsonl": ONE.encode("utf-16-be")}, bad=("UTF-16",)),
    Dropped("latin-1 in one line", {"a.jsonl": ONE.encode() + jsonl(pair("caf\xe9")).encode("latin-1")}, ["p"], ("byte 0xe9",)),
    Dropped("one NUL in one line", {"a.jsonl": ONE.encode() + b'{"pair": "\0"}\n'}, ["p"], ("not JSON",)),
    Dropped("a note", {"readme.txt": "Hello"}, bad=("not a .jsonl file",)),
    Dropped("a table", {"a.csv": "a,b\n"}, bad=("not a .jsonl file",)),
    Dropped("JSON of another kind", {"a.jsonl": '{"x": 1}\n'}, bad=("is missing",)),
    Dropped("a list", {"a.jsonl": json.dumps([pair()]) + "\n"}, bad=("object",)),
    Dropped("a line that is cut, then a good one", {"a.jsonl": '{"pair": "x"\n' + ONE}, ["p"], ("not JSON",)),
    Dropped("two pairs in one line", {"a.jsonl": ONE[:-1] + ONE}, bad=("not JSON",)),
    Dropped("a blank document", {"a.jsonl": jsonl(pair("p", {"id": "a", "text": " "}), pair("q"))}, ["q"], ("no sentences",)),
    Dropped("blank sentences", {"a.jsonl": jsonl(pair("p", {"id": "a", "sentences": [" "]}), pair("q"))}, ["q"], refused=("'a' has no text",)),
    Dropped("a misspelt field", {"a.jsonl": jsonl(pair(lnks={}))}, bad=("no field lnks",)),
    Dropped("the same file twice", {"a.jsonl": ONE, "b.jsonl": ONE}, ["p"]),
    Dropped("the same pair in two files", {"a.jsonl": ONE, "b.jsonl": TWO}, ["p", "q"]),
    Dropped("one pair id, other texts", {"a.jsonl": ONE, "b.jsonl": jsonl(pair("p", {"id": "z", "text": "Z."}))}, ["p"], refused=("b.jsonl, line 1",)),
    Dropped("one document id, other texts", {"a.jsonl": jsonl(pair("p", {"id": "a", "text": "A."}), pair("q", {"id": "a", "text": "Z."}))}, ["p", "q"]),
    Dropped("links to nowhere", {"a.jsonl": jsonl(pair(links={"0": ["7"]}))}, ["p"], refused=("sentence '7'",)),
    Dropped("deep nesting", {"a.jsonl": "[" * 100_000 + "\n" + ONE}, ["p"], ("not JSON",)),
    Dropped("a huge number", {"a.jsonl": '{"pair": 1' + "0" * 5000 + "}\n" + ONE}, ["p"], ("",)),
]  # fmt: skip


@pytest.mark.parametrize("dropped", DROPPED, ids=lambda dropped: dropped.name)
def test_a_drop_has_the_expected_outcome(tmp_path: Path, dropped: Dropped):
    folder = tmp_path / "in"
    files(folder, dropped.files)
    before = {name: (folder / name).read_bytes() for name in dropped.files}
    if dropped.old:
        for name in dropped.files:
            os.utime(folder / name, (time.time() - 3600,) * 2)
    source, ledger = LocalSource(folder, quiet=0), LocalFolder(tmp_path / "ledger")
    result = take(source, ledger, get_segmenter())
    settle(ledger, result)
    assert_outcome(dropped, result)
    again = take(source, ledger, get_segmenter())
    assert (again.corpus.pairs, again.quarantined, again.taken) == ([], [], [])
    assert {name: (folder / name).read_bytes() for name in dropped.files} == before


def assert_outcome(dropped: Dropped, result: DropResult) -> None:
    assert [p.id for p in result.corpus.pairs] == list(dropped.pairs)
    assert_parts(dropped.bad, [item.reason for item in result.quarantined])
    assert_parts(dropped.waits, [item.reason for item in result.waiting])
    assert_parts(dropped.refused, [f"{item.where}: {item.reason}" for item in result.corpus.refused])

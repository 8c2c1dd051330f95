"""Bad input by the command line: each row says what is given, and what the one message must name.

For every row the command exits with the status for bad input, says in our own words what is wrong and what to do,
prints nothing on standard output, and leaves the folders as they were. Rows in ``REFUSED`` are files with one bad
item: the rest is imported, and the item is listed with its line and reason. Replies of LLMs are in
``llm/test_replies.py``, what Label Studio holds in ``labelstudio_config/test_forgeries.py``, forms of the Prefect UI in
``flows/test_forms.py``, damaged files of a run in ``cli/test_damaged_runs.py``.
"""

from __future__ import annotations

import json
import shlex
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from abcdlink.cli import app
from abcdlink.domain import SHIPPED
from abcdlink.settings import get_settings

DOCUMENTS = (
    '{"id": "a", "sentences": [{"id": "0", "text": "The bridge opened on Monday."}, {"id": "1", "text": "It is."}]}\n'
    '{"id": "b", "sentences": [{"id": "0", "text": "Nine millions were spent."}, {"id": "1", "text": "It is open."}]}\n'
)
PAIR = '{"id": "p", "source": "a", "target": "b", "links": {"0": ["1"]}}\n'
THERE = {
    "corpus/documents.jsonl": DOCUMENTS,
    "corpus/pairs.jsonl": PAIR,
    "bare/documents.jsonl": DOCUMENTS,
    "bare/pairs.jsonl": "",
    "texts/p.source.txt": "The bridge opened.",
    "texts/p.target.txt": "Nine millions were spent.",
}
"""Files that every row finds in the current folder."""
LIBRARY_WORDS = ("Traceback", "validation error", "Input should", "Field required", "Extra inputs", "Errno", "pydantic")
LONG = "x" * 300
HEAD = "document_id,source_id,target_id,method,annotator_1,annotator_2\n"
MODEL = '[llm.big]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'


def text_of(value: object) -> str:
    """One line of JSON."""
    return json.dumps(value, ensure_ascii=False) + "\n"


COMMANDS = [
    ("import text texts", "--out or --check", "--out FOLDER"),
    ("import text texts --out made --check", "--out or --check", "write nothing"),
    ("import text texts --out made --domain nowhere", "no domain 'nowhere'", "abcdlink init nowhere"),
    ("import text texts --out made --language english", "the language 'english'", "ISO code"),
    ("import text texts --out made --language ../x", "the language '../x'", "ISO code"),
    ("import text texts --out made --columns text=body", "no columns", "leave out --columns"),
    ("import text texts --out made --as-released", "no released variant", "leave out --as-released"),
    ("import text texts --out made --only topic", "'topic' is not a condition", "FIELD=VALUE"),
    ("import text texts --out made --only topic=x", "no document that --only asks for", "empty"),
    ("import text texts --out made --segmentation nowhere.jsonl", "nowhere.jsonl cannot be read", "boundaries"),
    ("import text texts --out texts/p.source.txt", "p.source.txt is a file", "check the path"),
    ("import text texts --out s3://", "names no bucket", "s3://BUCKET"),
    ("import text texts --out http://example.org/x", "is not a folder", "s3://BUCKET"),
    ("import docx texts --out made", "no format 'docx'", "jsonl"),
    ("import text nowhere --out made", "nowhere does not exist", "check the path"),
    ("import text texts/p.source.txt --out made", "not a folder with .txt files", "one .txt file per document"),
    ("import jsonl texts --out made", "documents.jsonl does not exist", "pairs.jsonl"),
    ("import csv texts --out made", "no .csv file", "give a .csv file"),
    ("import parquet texts --out made", "no .parquet file", "give a .parquet file"),
    ("import hf squad --out made", "downloads are disabled", "ABCDLINK_HUB"),
    ("import nlpeer texts --out made", "no paper", "folder for each paper"),
    ("import wikinewssum texts --out made", "no .json file", "train.json"),
    ("import spiced texts --out made", "text_1 and text_2", "table of SPICED"),
    ("import ecb-plus texts --out made", "no topic", "ECBplus_coreference_sentences.csv"),
    ("import f1000rd texts --out made", "no submission", "v1.json"),
    ("import abcd-link texts --out made", "docs.json does not exist", "docs.json"),
    ("sample nowhere --out made", "documents.jsonl is missing", "abcdlink import"),
    ("sample corpus --out made --sample 9", "9 pairs requested, but only 1", "fewer"),
    ("sample corpus --out made --sample 1 --by topic", "no document has the field 'topic'", "no metadata"),
    ("sample corpus --out made --only topic=x", "no document has the field 'topic'", "no metadata"),
    ("sample corpus --out corpus --sample 1", "corpus is the corpus itself", "another folder"),
    ("sample corpus --out ./corpus/ --sample 1", "is the corpus itself", "another folder"),
    ("pair bare --out bare --floor 0.1", "bare is the corpus itself", "another folder"),
    ("pair corpus --out made", "nothing says which documents", "a lowest similarity"),
    ("pair corpus --check --by topic", "already has 1 pairs", "--targets"),
    ("pair corpus --check --days 3", "field with the date", "give both"),
    ("pair corpus --check --floor 0.9 --ceiling 0.1", "0.9 is above", "swap"),
    ("clean nowhere --out made", "documents.jsonl is missing", "abcdlink import"),
    ("clean corpus --out corpus", "corpus to be cleaned", "another folder"),
    ("restore corpus", "not a cleaned corpus", "abcdlink clean"),
    ("restore nowhere", "not a cleaned corpus", "abcdlink clean"),
    ("stats nowhere", "documents.jsonl is missing", "abcdlink import"),
    ("stats corpus nowhere", "documents.jsonl is missing", "abcdlink import"),
    ("benchmark nowhere", "documents.jsonl is missing", "abcdlink import"),
    ("benchmark texts --retrievers bm25", "documents.jsonl is missing", "abcdlink import"),
    ("benchmark bare --retrievers bm25", "no gold links", "with links"),
    ("benchmark corpus --retrievers bm26", "no retriever 'bm26'", "bm25"),
    ("benchmark corpus --retrievers st:nowhere/model", "nowhere/model is not on this machine", "ABCDLINK_HUB"),
    ("benchmark corpus --retrievers hybrid:bm25", "does not name two retrievers", "join"),
    ("benchmark corpus --retrievers json:loads", "no retriever 'json:loads'", "bm25"),
    ("benchmark corpus --retrievers nomodule:Class", "no retriever 'nomodule:Class'", "bm25"),
    ("benchmark corpus --retrievers learned-forest", "no learned linker", "learned-logistic"),
    ("benchmark corpus --retrievers bm25 --cutoffs 0", "'0' is not a cutoff", "whole numbers"),
    ("benchmark corpus --retrievers bm25 --cutoffs=-1", "'-1' is not a cutoff", "whole numbers"),
    ("benchmark corpus --retrievers bm25 --cutoffs 1.5", "'1.5' is not a cutoff", "whole numbers"),
    ("benchmark corpus --retrievers bm25 --llm nobody", "needs a run", "--run"),
    ("generate r --corpus nowhere", "no corpus folder", "abcdlink import"),
    ("generate r --sample 3", "--targets, which is not given", "--targets FOLDER"),
    ("generate r --corpus corpus --second-look nobody", "no such LLM profile", "[llm.nobody]"),
    ("agreement nowhere.csv", "no file nowhere.csv", "annotations.csv"),
    ("agreement corpus", "corpus is a folder", "judgments.jsonl"),
    ("reproduce nowhere", "paper_tables.json does not exist", "figures"),
    ("qualify screening never people.csv", "people.csv", ""),
    ("qualify start never", "no domain is named", "news"),
    ("boundaries start x --corpus nowhere", "no corpus folder", "abcdlink import"),
    ("run bootstrap x --corpus nowhere", "no corpus folder", "abcdlink import"),
    ("start x --corpus nowhere", "no corpus folder", "abcdlink import"),
    ("start x --corpus corpus --domain nowhere", "no domain 'nowhere'", "abcdlink init nowhere"),
    ("domain check nowhere", "no domain 'nowhere'", "abcdlink init nowhere"),
    ("domain check corpus", "no domain 'corpus'", "news"),
    ("init news", "comes with abcdlink", "another name"),
    ("import text texts --out corpus", "holds another corpus", "--force"),
    ("sample corpus --out bare --sample 1", "holds another corpus", "another folder"),
    ("pair bare --out corpus --floor 0.1", "holds another corpus", "another folder"),
    ("clean corpus --out bare", "holds another corpus", "another folder"),
    ("generate r --corpus corpus --like nowhere", "documents.jsonl is missing", "abcdlink import"),
    ("generate r --corpus corpus --like bare", "'bare' has no links", "leave it to the domain"),
]
NO_RUN = """validate never|label never corpus|labels show never x|labels audit never x|report never|links never|
export never|accept never x|scores never|compare never|errors never bm25@3|shortlist never|candidates never|
estimate never|annotate start never|annotate show never|annotate pull never|annotate check never|
annotate reassign never --from a --to b|feedback show never|feedback start never|qualify show never|rate show never|
rate start never|adjudicate start never|adjudicate show never|exhaustive start never|exhaustive show never|
boundaries show never|simulate never|status never|continue never|annotators show never|annotators forget never a|
run benchmark never|generate r --corpus corpus --second-look run:never""".replace("\n", "").split("|")
COMMANDS += [(command, "no run 'never'", "abcdlink start") for command in NO_RUN]
NAMES = [
    "..",
    "../x",
    "a/b",
    "a\\b",
    "-x",
    "",
    " ",
    LONG,
    "é",
    "two words",
    ".hidden",
    "a\nb",
    "😀",
    "a:b",
    "~",
    "$HOME",
]
DEVICES = ["CON", "nul.txt", "com1", "x."]
COMMANDS += [
    (shlex.join([command, "--", name]), "cannot be " + what, hint)
    for command, what in (("report", "a run key"), ("init", "the name of a domain"))
    for names, hint in ((NAMES, "letters, digits"), (DEVICES, "any computer"))
    for name in names
]

FILES: list[tuple[str, dict[str, Any], str, str]] = [
    ("import jsonl d.jsonl --out made", {"d.jsonl": ""}, "d.jsonl contains no document", "empty"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": "\n\n"}, "d.jsonl contains no document", "empty"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": b"\xff\xfe{"}, "begins like UTF-16, but is not", "UTF-8"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": '{"id":"a"}'.encode("utf-16-le")}, "contains NUL bytes", "UTF-8"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": DOCUMENTS.encode() + b"caf\xe9"}, "(line 3) is 0xe9", "UTF-8"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": '[{"id": "a"}]'}, "line 1: the record must be an object", "format"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": "[" * 100_000}, "line 1: the record is not JSON", "format"),
    ("import jsonl d.jsonl --out made", {"d.jsonl": "{\n}"}, "2 refused; the first: d.jsonl, line 1", "format"),
    ("import jsonl d.txt --out made", {"d.txt": "Hello."}, "d.txt, line 1: the record is not JSON", "format"),
    ("import jsonl d.jsonl.gz --out made", {"d.jsonl.gz": b"\x1f\x8b\x08"}, "not UTF-8", "UTF-8"),
    ("import jsonl d --out made", {"d/pairs.jsonl": PAIR}, "documents.jsonl does not exist", "pairs.jsonl"),
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
    ("import csv t.csv --out made --columns text", {"t.csv": "text\nOne.\n"}, "'text' is not", "FIELD=VALUE"),
    ("import parquet t.parquet --out made", {"t.parquet": b"PAR1"}, "cannot be read as Parquet", "rewrite"),
    ("import parquet t.parquet --out made", {"t.parquet": b""}, "cannot be read as Parquet", "rewrite"),
    ("import text t --out made", {"t/a.txt": ""}, "document 'a' has no sentences", ""),
    ("import text t --out made", {"t/a.md": "One."}, "not a folder with .txt files", ".txt file per document"),
    ("import text t --out made", {"t/a.txt": "One.", "t/pairs.csv": "x,y\n"}, "pairs.csv has the columns", "source"),
    ("import abcd-link t --out made", {"t/docs.json": "[1]"}, "docs.json contains a list", "layout"),
    ("import abcd-link t --out made", {"t/docs.json": "{"}, "docs.json is not JSON", "position"),
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
    ("sample corpus --out made", {"corpus/origin.json": "{"}, "origin.json: it is not JSON", "fix the file"),
    ("agreement a.csv", {"a.csv": ""}, "no column document_id", "annotator_1"),
    ("agreement a.csv", {"a.csv": "a,b\n"}, "no column document_id", "annotator_1"),
    ("agreement a.csv", {"a.csv": b"\xff"}, "a.csv is not UTF-8", "UTF-8"),
    ("agreement a.xlsx", {"a.xlsx": b"PK\x03\x04\xff"}, "a.xlsx is not UTF-8", "UTF-8"),
    ("agreement a.jsonl", {"a.jsonl": "{\n"}, "a.jsonl, line 1: it is not JSON", "Judgment"),
    ("agreement a.jsonl", {"a.jsonl": "{}\n"}, "a.jsonl, line 1: batch is missing", "Judgment"),
    ("agreement a.csv", {"a.csv": HEAD}, "a.csv has no judgments", "annotations.csv"),
    ("agreement a.csv", {"a.csv": HEAD + "d,0,1,bm25,Yes,No\n"}, "'Yes' is not a label", "fix the rows"),
    ("agreement a.jsonl", {"a.jsonl": ""}, "a.jsonl has no judgments", "judgments.jsonl"),
    ("agreement a.csv --width 0", {"a.csv": HEAD + "d,0,1,bm25,Link,Link\n"}, "an interval cannot be 0 wide", "0.1"),
]
TOML = [
    ("[", "cannot be read", "[llm.NAME]"),
    (b"\xff\xfe", "cannot be read", "[llm.NAME]"),
    ("x = 1\n", "has 'x'", "[roles]"),
    ("[LLM.big]\nmodel = 'm'\n", "has 'LLM'", "[roles]"),
    ("llm = 1\n", "llm is not a table", "[llm.NAME]"),
    ("[llm]\nmodel = 'x'\n", "[llm.model] is not a table", "[llm.model]"),
    ("[llm.big]\n", "has no base_url", "base_url ="),
    (MODEL.replace("base_url", "url"), "no setting 'url'", "base_url"),
    (MODEL.replace('model = "m"\n', ""), "has no model", "model ="),
    (MODEL.replace('"m"', '" "'), "has no model", "model ="),
    (MODEL.replace('"m"', "5"), "model must be text, not 5", "correct the file"),
    (MODEL.replace("http://127.0.0.1:9/v1", "no address"), "not a valid URL", "http://HOST:PORT/v1"),
    (MODEL.replace("127.0.0.1", "gpu host"), "not a valid URL", "http://HOST:PORT/v1"),
    (MODEL.replace("127.0.0.1:9", "gpu:99999"), "not a valid URL", "http://HOST:PORT/v1"),
    (MODEL.replace("http:", "ftp:"), "not a valid URL", "http://HOST:PORT/v1"),
    (MODEL + MODEL, "twice", "[llm.NAME]"),
    (MODEL + "base_url = 'x'\n", "cannot be read", "[llm.NAME]"),
    (MODEL + 'api_key = "sk-1"\n', "contains a key", "api_key_env"),
    (MODEL + "api_key_env = 5\n", "api_key_env must be text, not 5", "NAME"),
    (MODEL + "api_key_env = 'A'\napi_key_block = 'b'\n", "both api_key_env and api_key_block", "one of them"),
    (MODEL + "temperature = 9\n", "temperature must be 2 or less, not 9", "correct the file"),
    (MODEL + 'temperature = "hot"\n', "temperature must be a number, not 'hot'", "correct the file"),
    (MODEL + "price_prompt = -1\n", "price_prompt must be 0 or more, not -1", "correct the file"),
    (MODEL + "budget = -5\n", "budget must be 0 or more, not -5", "correct the file"),
    (MODEL + "max_tokens = 0\n", "max_tokens must be 1 or more, not 0", "correct the file"),
    (MODEL + "max_tokens = 1.5\n", "max_tokens must be a whole number, not 1.5", "correct the file"),
    (MODEL + "concurrency = true\n", "concurrency cannot be true or false", "number"),
    (MODEL + "engine = 'ollama'\n", "engine must be 'server' or 'vllm'", "correct the file"),
    (MODEL + "answers = 'xml'\n", "answers must be 'auto'", "correct the file"),
    (MODEL + 'extra = "{"\n', "extra in [llm.big]", "JSON object"),
    (MODEL + "extra = {min_p = nan}\n", "extra cannot be sent as JSON", "finite numbers"),
    (MODEL + "extra = {since = 2026-01-01}\n", "extra cannot be sent as JSON", "finite numbers"),
    (MODEL + """extra = '{"min_p": NaN}'\n""", "NaN is not a number", "JSON object"),
    (MODEL + "timeout = inf\n", "timeout must be a finite number, not inf", "correct the file"),
    (MODEL + "price_prompt = nan\n", "price_prompt must be a finite number, not nan", "correct the file"),
    (MODEL + "batch = 2\n", "batch must be true or false, not 2", "correct the file"),
    (MODEL + "[llm.big.more]\nx = 1\n", "no setting 'more'", "base_url"),
    ("[[llm.big]]\nmodel = 'm'\n", "[llm.big] is not a table", "[llm.big]"),
    ("roles = 1\n", "[roles]: it must be an object", "generator ="),
    (MODEL + "[roles]\ngenerator = 5\n", "generator must be text", "generator ="),
    (MODEL + "extra = 5\n", "extra must be text, not 5", "correct the file"),
    ("[llm.default]\nmodel = 'm'\nbase_url = 'http://x'\n", "'default' is not a valid profile name", "but not default"),
    ("[llm.'a b']\nmodel = 'm'\nbase_url = 'http://x'\n", "'a b' is not a valid profile name", "letters"),
    (MODEL + MODEL.replace("big", "BIG"), "only in case", "another name"),
    (MODEL + "[roles]\ngenerator = 'small'\n", "[roles] names 'small'", "[llm.small]"),
    (MODEL + "[roles]\nlinkers = []\n", "is empty", "once"),
    (MODEL + "[roles]\nlinkers = ['big', 'big']\n", "lists 'big' twice", "once"),
    (MODEL + "[roles]\nlinkers = 'big'\n", "linkers must be a list", "linkers ="),
    (MODEL + "[roles]\nannotator = 'big'\n", "no field annotator", "generator ="),
]
VARIABLES = [
    ("RUNNER", "gpu", "must be 'threads'"),
    ("RUNNER_WORKERS", "-1", "must be 0 or more"),
    ("THREADS", "0", "must be 1 or more"),
    ("THREADS", "x", "must be a whole number"),
    ("HUB", "yes", "must be 'offline' or 'online'"),
    ("LLM_TEMPERATURE", "hot", "must be a number"),
    ("LLM_TEMPERATURE", "3", "must be 2 or less"),
    ("LLM_TOP_P", "0", "must be more than 0"),
    ("LLM_MAX_TOKENS", "-1", "must be 1 or more"),
    ("LLM_ANSWERS", "xml", "must be 'auto'"),
    ("LLM_ENGINE", "ollama", "must be 'server' or 'vllm'"),
    ("LLM_CONCURRENCY", "1000", "must be 256 or less"),
    ("LLM_TIMEOUT", "0", "must be more than 0"),
    ("LLM_TIMEOUT", "inf", "must be a finite number"),
    ("LLM_PRICE_PROMPT", "nan", "must be a finite number"),
    ("LLM_PRICE_PROMPT", "free", "must be a number"),
    ("LLM_BUDGET", "-1", "must be 0 or more"),
    ("LLM_BATCH", "perhaps", "must be true or false"),
    ("LABEL_STUDIO_URL", "127.0.0.1:8080", "must be the address of a server"),
    ("PUBLIC_URL", "annotate.example.org", "must be the address of a server"),
    ("PUBLIC_URL", "https://a.example.org/x", "must be the address of a server"),
    ("PREFECT_PORT", "99999", "must be 65535 or less"),
    ("LLM_PORT", "port", "must be a whole number"),
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

OWN = {
    file.name: file.read_text(encoding="utf-8")
    for file in (SHIPPED / "news").iterdir()
    if file.suffix != ".j2" and file.is_file()
}
"""Files of a domain that can be used."""
SETTINGS = OWN["domain.toml"]
DOMAINS: list[tuple[str, str | bytes | None, str, str]] = [
    ("domain.toml", "", "title is missing", "fix this setting"),
    ("domain.toml", "title = ", "not valid TOML", "line"),
    ("domain.toml", SETTINGS.encode("utf-16"), "not UTF-8", "UTF-8"),
    ("domain.toml", "nothing = 1\n" + SETTINGS, "no field nothing", "fix this setting"),
    ("domain.toml", SETTINGS + "\n[cleaning2]\n", "no field cleaning2", "fix this setting"),
    ("domain.toml", SETTINGS.replace("title =", "title = ' ' #"), "title must not be empty", "fix this setting"),
    ("domain.toml", SETTINGS.replace("title =", "title = 5 #"), "title must be text", "fix this setting"),
    (
        "domain.toml",
        SETTINGS.replace("question =", "question = '' #"),
        "question must not be empty",
        "fix this setting",
    ),
    ("domain.toml", "setting = 'odd'\n" + SETTINGS, "setting must be 'default' or 'paper'", "fix this setting"),
    ("domain.toml", SETTINGS.replace("overlap =", "overlap = 0 #"), "overlap must be 1 or more", "fix this setting"),
    ("domain.toml", "pool = 3\n" + SETTINGS.replace("[pool]", "[pools]"), "must be an object", "fix this setting"),
    ("domain.toml", SETTINGS.partition("exclude =")[0] + "exclude = ['(']", "not a valid regular expression", "fix"),
    ("link_description.md", None, "has no file", "copy link_description.md"),
    ("link_description.md", " \n", "link_description.md of the domain 'mine' is empty", "domain check"),
    ("link_description.md", b"\xff", "not UTF-8 (byte 0)", "UTF-8"),
    ("link_description.md/x", "", "link_description.md cannot be read", "text file"),
    ("guidelines.md", None, "has no file", "copy guidelines.md"),
    ("guidelines.md", "", "guidelines.md of the domain 'mine' is empty", "domain check"),
    ("examples.jsonl", None, "has no file", "copy examples.jsonl"),
    ("examples.jsonl", "", "has no examples", "write some"),
    ("examples.jsonl", '{"source": "x", "tar', "examples.jsonl, line 1: it is not JSON", "LinkExample"),
    ("examples.jsonl", "[]\n", "line 1: it must be an object", "LinkExample"),
    ("examples.jsonl", '{"source": "a", "target": "b"}\n', "line 1: link is missing", "LinkExample"),
    ("examples.jsonl", '{"source": " ", "target": "b", "link": true}\n', "source must not be empty", "LinkExample"),
    ("generation.json", '{"target": ["a"', "it is not JSON", "remove the file"),
    ("generation.json", "[]", "it must be an object", "remove the file"),
    ("generation.json", '{"target": ["a"], "source": [{"targets": [0]}]}', "source.0.text is missing", "remove"),
    ("generation.json", '{"target": ["a"], "source": [{"text": "b", "targets": [4]}]}', "target sentence 4", "remove"),
    ("generation.json/x", "", "generation.json cannot be read", "text file"),
]


def domain_with(file: str, content: str | bytes | None) -> dict[str, str | bytes]:
    """The files of a domain of which one is broken; ``None``: it is missing."""
    good = {name: text for name, text in OWN.items() if name != file.split("/", maxsplit=1)[0]}
    files: dict[str, str | bytes] = {f"mine/{name}": text for name, text in good.items()}
    return files if content is None else {**files, f"mine/{file}": content}


GIVEN: list[tuple[str, dict[str, Any], dict[str, str], str, str]] = [
    *((command, {}, {}, problem, hint) for command, problem, hint in COMMANDS),
    *((command, files, {}, problem, hint) for command, files, problem, hint in FILES),
    *(("domain check mine", domain_with(*row[:2]), {}, *row[2:]) for row in DOMAINS),
    *(("models", {"abcdlink.toml": toml}, {}, problem, hint) for toml, problem, hint in TOML),
    *(("report x", {}, {f"ABCDLINK_{name}": value}, f"ABCDLINK_{name}", wanted) for name, value, wanted in VARIABLES),
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder of one's own; the commands are put together once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(app, "make_app", commands)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")


commands = lru_cache(app.make_app)


def called(command: str, files: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> int:
    for name, content in {**THERE, **files}.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.setattr(sys, "argv", ["abcdlink", *shlex.split(command)])
    get_settings.cache_clear()
    with pytest.raises(SystemExit) as stop:
        app.main()
    return int(stop.value.code or 0)


def files_here() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def label(row: tuple[Any, ...]) -> str:
    return " ".join(str(part) for part in row if part and not isinstance(part, dict))[:90]


@pytest.mark.parametrize("row", GIVEN, ids=label)
def test_bad_input_is_one_clear_message_and_nothing_is_written(
    row: tuple[str, dict[str, Any], dict[str, str], str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    command, files, variables, problem, hint = row
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    code = called(command, files, monkeypatch)
    out, err = capfd.readouterr()
    assert (code, out) == (2, ""), err
    said, advice = err.partition("Hint:")[::2]
    assert said.strip().startswith("Error:")
    assert problem in said
    assert advice.strip()
    assert hint in err
    assert not [word for word in LIBRARY_WORDS if word in err]
    written = {name: content for name, content in files_here().items() if not name.endswith((".lock", ".holder"))}
    assert written == {
        name: value if isinstance(value, bytes) else value.encode() for name, value in {**THERE, **files}.items()
    }


@pytest.mark.parametrize(("line", "reason"), REFUSED, ids=label)
def test_a_bad_line_is_refused_by_its_number_and_the_rest_is_imported(
    line: str, reason: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code = called("import jsonl d.jsonl --out made", {"d.jsonl": GOOD + line}, monkeypatch)
    err = capfd.readouterr().err
    assert code == 0, err
    assert "Refused: 1" in err
    assert not [word for word in LIBRARY_WORDS if word in err]
    (refused,) = map(json.loads, Path("made/refused.jsonl").read_text(encoding="utf-8").splitlines())
    assert refused["where"] == "d.jsonl, line 2"
    assert reason in refused["reason"]
    assert '"ok"' in Path("made/documents.jsonl").read_text(encoding="utf-8")

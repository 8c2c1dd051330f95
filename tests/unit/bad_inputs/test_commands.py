"""Arguments that a command refuses: each row is the command, what is wrong, and what to do."""

from __future__ import annotations

import shlex

import pytest

from tests.helpers.bad_input import label

LONG = "x" * 81
COMMANDS = [
    ("import text texts", "neither --out nor --check", "--out FOLDER"),
    ("import text texts --out made --check", "--out made writes a corpus, but --check writes nothing", "leave out one"),
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
    ("import text texts/p.source.txt --out made", "not a folder with .txt, .docx", "one such file per document"),
    ("import jsonl texts --out made", "documents.jsonl does not exist", "pairs.jsonl"),
    ("import csv texts --out made", "no .csv or .xlsx file", "give a .csv or .xlsx file"),
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
    ("pair corpus --out made --check", "but --check writes nothing", "leave out one"),
    ("pair corpus --out made", "nothing says which documents", "a lowest similarity"),
    ("pair corpus --check --by topic", "already has 1 pairs", "--targets"),
    ("pair bare --check --by topic", "no document has the field 'topic'", "no metadata"),
    ("pair corpus --check --days 3", "field with the date", "give both"),
    ("pair corpus --check --by topic --date day", "are needed together", "give both"),
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
    ("benchmark corpus --cutoffs 1,x", "'x' is not a cutoff", "expected-f1"),
    ("benchmark corpus --cutoffs ,", "no cutoff is given", "separate several by commas"),
    ("benchmark corpus --retrievers bm25 --cutoffs gap", "too few for 3 folds", "fewer folds"),
    ("benchmark corpus --cutoffs gap --group '('", "not a valid regular expression", "beginning"),
    ("benchmark corpus --cutoffs gap --group x-", "does not begin with 'x-'", "matches"),
    ("benchmark corpus --retrievers bm25 --llm nobody", "needs a run", "--run"),
    ("generate r --corpus nowhere", "no corpus folder", "abcdlink import"),
    ("generate r --domain nowhere", "no domain 'nowhere'", "news"),
    ("generate r --sample 3", "--targets, which is not given", "--targets FOLDER"),
    ("generate r --corpus corpus --second-look nobody", "no such LLM profile", "[llm.nobody]"),
    ("agreement nowhere.csv", "no file nowhere.csv", "annotations.csv"),
    ("agreement corpus", "corpus is a folder", "judgments.jsonl"),
    ("reproduce nowhere", "paper_tables.json does not exist", "figures"),
    ("qualify screening never people.csv", "people.csv", ""),
    ("qualify start never", "no domain is named", "news"),
    ("boundaries start x --corpus nowhere", "no corpus folder", "abcdlink import"),
    ("run bootstrap x --corpus nowhere", "no corpus folder", "abcdlink import"),
    ("run bootstrap x --domain nowhere", "no domain 'nowhere'", "abcdlink init nowhere"),
    ("start x --corpus nowhere", "no corpus folder", "abcdlink import"),
    ("start x --corpus corpus --domain nowhere", "no domain 'nowhere'", "abcdlink init nowhere"),
    ("domain check nowhere", "no domain 'nowhere'", "abcdlink init nowhere"),
    ("domain check corpus", "no domain 'corpus'", "news"),
    ("init news", "comes with abcdlink", "another name"),
    ("init News", "'News' cannot be the name of a domain: it differs from 'news'", "write news, or take another"),
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


@pytest.mark.parametrize("row", COMMANDS, ids=label)
def test_a_bad_argument_is_one_clear_message_and_nothing_is_written(refuses, row):
    command, problem, hint = row
    refuses(command, {}, problem, hint)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("start x --corpus corpus --goal win", "'--goal': 'win' is not one of 'compare methods', 'find links'"),
        ("start x --corpus corpus --annotators 0", "'--annotators': it must be 1 or more"),
        ("coding start x --errors many", "'--errors': it must be a whole number"),
    ],
)
def test_a_bad_value_of_an_option_is_refused_in_plain_words(call, capfd, command, said):
    assert call(command, {}) == 2
    assert f"Invalid value for {said}" in capfd.readouterr().err

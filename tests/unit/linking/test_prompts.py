"""Prompts of LLM linking: their guidance, their examples, and their version."""

import json
import re
import shutil
from functools import cache

import jsonschema
import pytest

from abcdlink.corpus import Document, Sentence
from abcdlink.corpus.io import read_corpus
from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.linking.linker import Piece, linker_for
from abcdlink.linking.prompts import Prompts, prompts_of, refuse_known_examples
from abcdlink.linking.records import Approach, ApproachKind, Setup
from abcdlink.llm.client import LLM
from abcdlink.templates import as_data
from tests.helpers.linking import SETUPS, A, B, approach, corpus_of, numbered_document

DOMAINS = ("news", "reviews")
MODES = (1, 2, 3, 4)
PAPERS = tuple(setup for setup in SETUPS if setup is not Setup.TWO_STEP)
every_prompt = pytest.mark.parametrize(
    ("name", "setup", "mode"), [(name, setup, mode) for name in DOMAINS for setup in SETUPS for mode in MODES]
)


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(find_domain("news").folder, tmp_path / "mine")
    return tmp_path / "mine"


every_paper_prompt = pytest.mark.parametrize(
    ("name", "setup", "mode"), [(f"{n}@paper", setup, mode) for n in DOMAINS for setup in PAPERS for mode in MODES]
)


shipped = cache(find_domain)
"""Domains for reading only."""


def question(name, setup, mode, a=A, b=B, ids=("b1", "b2")):
    linker = linker_for(shipped(name), LLM(), approach(setup, mode))
    piece = Piece(a.sentences[0].id, ids[:1] if setup is Setup.PAIRWISE else ids, window=tuple(b.position))
    return linker, linker.question(piece, a, b)


@every_prompt
def test_every_example_answer_fits_the_schema_of_its_set_up(name, setup, mode):
    linker, asked = question(name, setup, mode)
    system = asked.messages[0].content
    form = [json.loads(line) for line in system.splitlines() if line.startswith("{")]
    assert len(form) == 1
    blocks = [part for part in system.split("\n\n") if "\nAnswer: " in part]
    assert bool(blocks) == (mode in (2, 4))
    answers = [(form[0], re.findall(r"\[(x\d)\]", system.split("{")[0]))]
    for block in blocks:
        given, answer = re.fullmatch(
            r"(Source sentence: .*?)\nAnswer: (\{[^\n]*\})(?:\n\([^\n]*\))*", block, re.DOTALL
        ).groups()
        answers.append((json.loads(answer), re.findall(r"^\[(x\d+)\] ", given, re.MULTILINE)))
    for answer, ids in answers:
        assert ids or setup is Setup.PAIRWISE
        jsonschema.validate(answer, json_schema := _schema_for(linker, ids))
        assert list(answer) == json_schema["required"]
    assert set(asked.json_schema) == set(_schema_for(linker, ["b1"]))


def _schema_for(linker, ids):
    """Return the schema that a real question about targets of these ids has."""
    target = Document(id="b", sentences=tuple(Sentence(id=i, text="t") for i in ids or ["b1"]))
    return linker.question(Piece("a0", tuple(ids or ["b1"]), window=tuple(target.position)), A, target).json_schema


@every_prompt
def test_the_answers_to_examples_are_those_of_the_domain(name, setup, mode):
    domain = shipped(name)
    system = question(name, setup, mode)[1].messages[0].content
    links = re.findall(r"true|false", "".join(re.findall(r"^Answer: (.*)$", system, re.MULTILINE)))
    assert sorted(links) == (sorted(json.dumps(e.link) for e in domain.examples) if mode in (2, 4) else [])
    for example in domain.examples if mode in (2, 4) else ():
        block = next(
            part for part in system.split("\n\n") if as_data(example.source) in part and as_data(example.target) in part
        )
        answer = json.loads(re.search(r"^Answer: (.*)$", block, re.MULTILINE)[1])
        key = (
            "related"
            if setup is Setup.PAIRWISE
            else re.search(rf"^\[(x\d+)\] {re.escape(as_data(example.target))}$", block, re.MULTILINE)[1]
        )
        assert answer[key] is example.link


@every_prompt
def test_the_prompt_mode_chooses_the_guidance(name, setup, mode):
    domain = shipped(name)
    system = question(name, setup, mode)[1].messages[0].content
    assert (domain.link_description in system) == (mode in (3, 4))
    assert (domain.examples[0].target in system) == (mode in (2, 4))
    assert domain.settings.question in system


@pytest.mark.parametrize("setup", [Setup.LISTWISE, Setup.LLM_ONLY])
def test_ids_of_examples_never_match_those_of_a_document(setup):
    x = Document(id="x", sentences=tuple(Sentence(id=f"x{i}", text=f"text {i}") for i in range(9)))
    xx = Document(id="xx", sentences=(Sentence(id="xx1", text="text"),))
    for source, target, expected in ((A, B, "x1"), (A, x, "xx1"), (x, B, "xx1"), (xx, x, "xxx1")):
        system = question("news", setup, 4, source, target, tuple(target.position)[:2])[1].messages[0].content
        ids = set(re.findall(r"^\[(\w+)\] ", system, re.MULTILINE))
        assert expected in ids
        assert not ids & {*source.position, *target.position}


def test_examples_are_not_sorted_by_their_answer():
    system = question("news", Setup.LISTWISE, 4)[1].messages[0].content
    first = [line.split(",")[0] for line in system.splitlines() if line.startswith("Answer: ")]
    assert len({line.rpartition(" ")[2] for line in first}) == 2


def version(folder):
    return Prompts(find_domain(str(folder)), Setup.LISTWISE, 4).hash


def test_the_version_depends_only_on_domain_set_up_and_mode():
    versions = {Prompts(shipped(name), setup, mode).hash for name in DOMAINS for setup in SETUPS for mode in MODES}
    assert len(versions) == 32
    assert all(re.fullmatch("[0-9a-f]{12}", one) for one in versions)
    assert versions == {prompts_of(shipped(n), approach(s, m)).hash for n in DOMAINS for s in SETUPS for m in MODES}


@pytest.mark.parametrize(
    ("file", "change", "modes"),
    [
        ("link_description.md", ("A sentence", "One sentence"), {3, 4}),
        ("examples.jsonl", ("340 people", "341 people"), {2, 4}),
        ("domain.toml", ("Does the candidate sentence report", "Does it report"), {1, 2, 3, 4}),
        ("domain.toml", ('source_name = "news report"', 'source_name = "report"'), {1, 2, 3, 4}),
        ("domain.toml", ("overlap = 2", "overlap = 3"), set()),
        ("guidelines.md", ("Document A", "Text A"), set()),
    ],
)
@pytest.mark.parametrize("setup", SETUPS)
def test_the_version_changes_only_with_what_reaches_the_model(copy, setup, file, change, modes):
    before = {mode: Prompts(shipped("news"), setup, mode).hash for mode in MODES}
    text = (copy / file).read_text(encoding="utf-8")
    assert change[0] in text
    (copy / file).write_text(text.replace(*change), encoding="utf-8")
    changed = find_domain(str(copy))
    assert {mode for mode in MODES if Prompts(changed, setup, mode).hash != before[mode]} == modes


def test_the_version_changes_with_templates_and_includes_but_not_comments(copy):
    before = version(copy)
    shipped = find_domain("news").folder.parent / "shared"
    for name in ("listwise_system.j2", "listwise_question.j2", "link_documents.j2", "link_examples.j2"):
        text = (shipped / name).read_text(encoding="utf-8")
        (copy / name).write_text("{# mine #}\n" + text, encoding="utf-8")
        assert version(copy) == before, name
        (copy / name).write_text(text + "\n{% if domain.name == 'rare' %}rare{% endif %}", encoding="utf-8")
        assert version(copy) != before, name
        (copy / name).unlink()
    (copy / "pairwise_system.j2").write_text("other", encoding="utf-8")
    assert version(copy) == before


@pytest.mark.parametrize("name", DOMAINS)
def test_shipped_examples_are_not_in_the_shipped_samples(name):
    domain = find_domain(name)
    refuse_known_examples(domain, approach(mode=4), read_corpus(domain.sample_folder), "sample")


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("part", ["source", "target"])
def test_an_example_that_is_also_to_be_decided_is_refused_by_name(setup, part):
    domain = find_domain("news")
    text = getattr(domain.examples[2], part)
    known = Document(
        id="doc-7", sentences=(Sentence(id="s0", text="Else."), Sentence(id="s1", text=f" {text.upper()}\n"))
    )
    corpus = corpus_of(A, B).model_copy(update={"documents": {"a": A, "b": known}})
    for mode in (2, 4):
        with pytest.raises(InputError, match=r"examples\.jsonl, example \d") as refused:
            refuse_known_examples(domain, approach(setup, mode), corpus, "run/synthetic/documents.jsonl")
        for named in ("'s1'", "'doc-7'", "run/synthetic/documents.jsonl"):
            assert named in str(refused.value)
    for mode in (1, 3):
        refuse_known_examples(domain, approach(setup, mode), corpus, "x")


def test_an_unused_document_or_very_short_sentence_does_not_count_as_a_leak(copy):
    domain = find_domain("news")
    text = domain.examples[0].source
    extra = Document(id="extra", sentences=(Sentence(id="0", text=text),))
    refuse_known_examples(
        domain, approach(), corpus_of(A, B).model_copy(update={"documents": {"a": A, "b": B, "e": extra}}), "x"
    )
    (copy / "examples.jsonl").write_text(
        '{"source": "a says 1.", "target": "b says 2.", "link": true}\n', encoding="utf-8"
    )
    refuse_known_examples(
        find_domain(str(copy)), approach(), corpus_of(numbered_document("a", 3), numbered_document("b", 3)), "x"
    )


def test_a_retriever_has_no_prompts():
    retriever = Approach(kind=ApproachKind.RETRIEVER, retriever="bm25", cutoff=3)
    with pytest.raises(InputError, match="'bm25@3' asks no LLM"):
        linker_for(find_domain("news"), LLM(), retriever)


@every_paper_prompt
def test_the_papers_setting_explains_related_by_the_prompt_mode_alone(name, setup, mode):
    paper, ours = shipped(name), shipped(name.partition("@")[0])
    asked = question(name, setup, mode)[1]
    system, user = (message.content for message in asked.messages)
    assert "related to the source sentence" in system
    assert (paper.link_description in system) == (mode in (3, 4))
    shown = re.findall(r"Sentence of A: (.*)\nRelated sentence of B: (.*)", system)
    assert [(json.loads(a), json.loads(b)) for a, b in shown] == [
        (example.source, example.target) for example in paper.examples if mode in (2, 4)
    ]
    for unwanted in (ours.settings.question, ours.link_description, *(e.why for e in ours.examples)):
        assert unwanted not in f"{system}\n{user}"
    assert ("ranked by their similarity" in system) == (setup is Setup.LISTWISE)


@every_paper_prompt
def test_the_papers_setting_shows_ranked_candidates_and_both_whole_documents(name, setup, mode):
    ids = ("b9", "b2", "b15")
    user = question(name, setup, mode, ids=ids)[1].messages[1].content
    documents, _, asked = user.partition("Source sentence: [a0] ")
    for one in (A, B):
        assert all(f"[{s.id}] {as_data(s.text)}" in documents for s in one.sentences)
    shown = re.findall(r"\[(b\d+)\] (.*)", asked)
    wanted = {Setup.LISTWISE: ids, Setup.PAIRWISE: ids[:1]}.get(setup, ())
    if wanted:
        assert shown == [(i, as_data(B.sentences[B.position[i]].text)) for i in wanted]


def test_candidates_are_in_document_order_unless_the_domain_ranks_them():
    for name, expected in (("news", ["b2", "b9", "b15"]), ("news@paper", ["b9", "b2", "b15"])):
        asked = question(name, Setup.LISTWISE, 4, ids=("b9", "b2", "b15"))[1]
        assert list(asked.json_schema["properties"]) == expected

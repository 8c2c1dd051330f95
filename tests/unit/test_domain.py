"""Domains: the bundled ones are sound, and a broken one says what to fix."""

import re
import shutil

import pytest

from abcdlink.corpus import Document, Pair
from abcdlink.domain import Domain, Setting, domain_of, find_domain, in_setting, own_domains
from abcdlink.errors import InputError
from abcdlink.settings import PROJECT_ROOT
from abcdlink.stages.intake import describe_run
from abcdlink.store import open_run, parse_records

SHIPPED = ["news", "reviews"]


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(PROJECT_ROOT / "prompts" / "news", tmp_path / "mine")
    return tmp_path / "mine"


@pytest.mark.parametrize(("name", "natural", "documents"), [("news", 8, 20), ("reviews", 4, 8)])
def test_the_sample_corpus_is_sound(name, natural, documents):
    folder = find_domain(name).sample_folder
    found = parse_records((folder / "documents.jsonl").read_bytes(), Document, "documents")
    pairs = parse_records((folder / "pairs.jsonl").read_bytes(), Pair, "pairs")
    by_id = {document.id: document for document in found}
    assert (len(pairs), len(by_id), len(found)) == (natural, documents, documents)
    for pair in pairs:
        source, target = by_id[pair.source], by_id[pair.target]
        assert set(pair.links) < set(source.position)  # every source document has sentences without links
        assert {i for targets in pair.links.values() for i in targets} <= set(target.position)
        sentences = source.texts + target.texts
        assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize("name", SHIPPED)
def test_filters_remove_explicit_references_and_keep_the_rest(name):
    rules = find_domain(name).settings.sources
    removed = [
        s
        for s in ("See Table 3 for a wrong sum.", "Figure 2 needs axis labels.", "Line 112 has an error.")
        if any(re.search(rule, s) for rule in rules.exclude)
    ]
    assert len(removed) == 3
    assert not any(re.search(rule, "The line between the two parties was blurred in 1998.") for rule in rules.exclude)
    assert rules.min_words == 4


@pytest.mark.parametrize("name", SHIPPED)
def test_guidelines_explain_the_keys_and_name_no_method(name):
    text = find_domain(name).guidelines
    assert "**Link**" in text
    assert "**No Link**" in text
    assert "`Shift`" in text
    assert not re.search(r"retriev|LLM|language model|bm25|random|distractor|gold", text, re.IGNORECASE)


@pytest.mark.parametrize("name", SHIPPED)
def test_examples_show_both_answers(name):
    assert {example.link for example in find_domain(name).examples} == {True, False}


def test_a_domain_can_be_anywhere_and_its_templates_take_precedence(copy):
    (copy / "listwise_question.j2").write_text("Mine: {{ source.text }}", encoding="utf-8")
    domain = find_domain(str(copy))
    assert domain.name == "mine"
    assert (
        domain.render(
            "listwise_question.j2",
            source=Document.model_validate({"id": "d", "sentences": [{"id": "0", "text": "<b> & 'x'"}]}).sentences[0],
        )
        == "Mine: <b> & 'x'"
    )
    assert set(domain.prompt_hashes) >= {"domain.toml", "guidelines.md", "listwise_system.j2", "listwise_question.j2"}


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("domain.toml", b"title = ", "not valid TOML"),
        ("domain.toml", b'title = "x"', "source_name is missing"),
        ("examples.jsonl", b'{"source": "a"}', "line 1: target is missing"),
        ("guidelines.md", b"\xff", "is not UTF-8 (byte 0)"),
        ("link_description.md", None, "has no file"),
    ],
)
def test_a_broken_file_is_named(copy, file, content, problem):
    (copy / file).unlink()
    if content is not None:
        (copy / file).write_bytes(content)
    with pytest.raises(InputError, match=re.escape(problem)) as caught:
        Domain(copy)
    assert file in str(caught.value)


def test_a_bad_expression_in_a_filter_is_named(copy):
    path = copy / "domain.toml"
    path.write_text(path.read_text().replace("exclude = [", "exclude = [\n    '(',"))
    with pytest.raises(InputError, match="not a valid regular expression"):
        Domain(copy)


def test_an_unknown_domain_is_reported_with_searched_folders_and_known_domains(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"news, reviews") as caught:
        find_domain("recipes")
    for folder in (tmp_path / "recipes", own_domains() / "recipes", PROJECT_ROOT / "prompts" / "recipes"):
        assert str(folder) in str(caught.value)


@pytest.mark.parametrize(("name", "candidates"), [("news", 10), ("reviews", 20)])
def test_the_papers_setting_replaces_texts_and_single_numbers(name, candidates):
    ours, paper = find_domain(name), find_domain(f"{name}@paper")
    assert (ours.label, paper.label, paper.name) == (name, f"{name}@paper", name)
    assert paper.settings.llm_candidates == candidates != ours.settings.llm_candidates
    assert paper.settings.sources.unproposed
    assert paper.settings.sources.exclude == ours.settings.sources.exclude
    assert paper.settings.pool == ours.settings.pool
    assert paper.link_description != ours.link_description
    assert [example.link for example in paper.examples] == [True] * 5
    assert {"paper/domain.toml", "paper/listwise_system.j2"} <= set(paper.prompt_hashes) - set(ours.prompt_hashes)


@pytest.mark.parametrize("name", SHIPPED)
def test_annotators_see_the_definition_and_keys_in_the_papers_setting_too(name):
    ours, paper = find_domain(name), find_domain(f"{name}@paper")
    assert paper.guidelines.partition("## Keys")[2] == ours.guidelines.partition("## Keys")[2] != ""
    assert f"> {paper.settings.question}" in paper.guidelines
    assert f"> {ours.settings.question}" not in paper.guidelines
    assert not re.search(r"retriev|LLM|language model|bm25|random|distractor|gold", paper.guidelines, re.IGNORECASE)


def test_a_domain_names_its_setting_and_a_caller_can_choose_another(copy):
    path = copy / "domain.toml"
    path.write_text('setting = "paper"\n' + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert find_domain(str(copy)).settings.llm_candidates == 10
    assert find_domain(f"{copy}@default").settings.llm_candidates == 5
    for reference in (str(copy), f"{copy}@paper", f"{copy}@default"):
        domain = find_domain(reference)
        assert find_domain(domain.reference).settings == domain.settings
        assert in_setting(reference, None) == reference
        assert find_domain(in_setting(reference, Setting.PAPER)).label == "mine@paper"
    with pytest.raises(InputError, match="no setting 'papr'"):
        find_domain(f"{copy}@papr")
    path.write_text(path.read_text(encoding="utf-8").replace('"paper"', '"papr"'), encoding="utf-8")
    with pytest.raises(InputError, match=r"domain.toml: setting must be 'default' or 'paper'"):
        find_domain(str(copy))


def test_a_folder_name_may_contain_an_at_sign(copy):
    folder = copy.rename(copy.with_name("mine@paper"))
    assert find_domain(str(folder)).settings.llm_candidates == 5
    assert find_domain(f"{folder}@paper").settings.llm_candidates == 10


def test_a_run_stays_in_the_setting_it_was_started_in():
    store = open_run("in-setting")
    describe_run(store, find_domain("news@paper"))
    assert [domain_of(store, name).label for name in ("", "news", "news@paper")] == ["news@paper"] * 3
    with pytest.raises(InputError, match="started with the domain 'news@paper', not 'news'"):
        domain_of(store, "news@default")
    with pytest.raises(InputError, match="started with the domain 'news@paper', not 'reviews@paper'"):
        domain_of(store, "reviews@paper")

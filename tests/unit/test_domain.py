"""Domains: the bundled ones are sound, and a broken one says what to fix."""

from __future__ import annotations

import re
import shutil

import pytest

from abcdlink.corpus import Document, Pair
from abcdlink.domain import Domain, Setting, domain_of, find_domain, in_setting, own_domains
from abcdlink.errors import InputError
from abcdlink.settings import PROJECT_ROOT
from abcdlink.stages.intake import describe_run
from abcdlink.store import open_run
from abcdlink.utf8_lines import parse_records

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


def test_a_bracket_within_brackets_gives_no_warning(copy, recwarn):
    path = copy / "domain.toml"
    path.write_text(path.read_text().replace("exclude = [", "exclude = [\n    '^[[(]note',", 1))
    assert Domain(copy).settings.sources.reason_to_leave_out("[note by the archivist on the recording")
    assert not recwarn.list


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


JUNK = {
    "news": [
        "Marsh reported from Oslo.",
        "Friday 17 April 2026",
        "Zoë Brennan-Kovář — 21 May 2026",
        "— Zoë Kovář (@ZKovar) March 2, 2026",
        "4 June 2026 • 6 min read",
        "How we check · Send us a claim · Support us",
        "1,204 Retweets 5,611 Likes",
        "[Laughter and applause on all sides.]",
        "The ferry off Lyr on Monday. (NWA Photo/Jon Rask)",
        "This story has been corrected to show that the raise is 4.2%.",
        "kes/al 021255 MAR 26",
        "By Maria Oduya",
        "PORT ELLERY (Coast Wire) -- Tuesday, 14 October",
        "MOUNT BESS, Friday (Sky Desk)",
        "Lower Tansley, Monday, 3 November, 7.40 a.m.",
        "From our reporter Tilda Noor in Sundhaven",
        "By our athletics staff in Karlsund",
        "By Sunniva Dahl at Castell District Court",
        "1. Move your car to higher ground before noon.",
        "BY MARIA ODUYA AND SAM PETROV",
        "HOLM HARBOUR, Oct. 3 -",
        "TARUN, June 12 (NewsLine)",
        "PARIS —",
        "Reporting by Sam Petrov; editing by L. Ng",
        "Additional reporting: R. Okafor, E. St. John",
        "By Joost de Wit, staff writer",
        "- Ferry operator fined in 2019",
        "- Sign up for our newsletter",
        "1. Fire brigade short of staff",
        "2. Why old wiring is dangerous",
        "> Ten dead in mine collapse",
        "Follow us on Facebook | Twitter | Instagram",
        "Tags: whales, Cape Marrow, fishing",
        "[VIDEO] Watch the rescue here",
        "© 2024 Valley Courier.",
        "(c) 2024 Valley Courier.",
        "(C) Copyright Valley Courier, 2024.",
        "All rights reserved by the Courier.",
        "Tickets: www.kesselmuseum.example/tickets",
        "www.example.org/a/b-c/d",
        "Photo: Coastwire / T. Brandt",
        "Share this article with friends",
        "Read more about the strike here",
        "Home | News | Sport | Weather",
        "Photograph by R. Okafor of Coastwire",
    ],
    "reviews": [
        "Dear Editor, thank you for the invitation.",
        "Major comments and questions:",
        "Competing Interests: No competing interests were disclosed here.",
        "I confirm that I have read this submission and agree.",
        "Reviewer 2 signed the report below.",
        "The axis of Fig 4 is unreadable in print.",
        "As Fig3 shows, it is wrong here.",
        "L76 has a typo in the title.",
        "ll. 76-80 repeat what was said.",
        "Please see Sec. 3.2 for the wording.",
        "The wording at line 71 is odd.",
        "The sum in Eq. (2) is not defined.",
        "In § 4 the authors say so.",
        "Figs. 2 and 3 are swapped here.",
        "Table S2 lists too many columns.",
        "Appendix B2 should be shortened a lot.",
        "p. 5 has a wrong citation again.",
    ],
}
SENTENCES = {
    "news": [
        "2. “We have built forty thousand homes since the election,” she said.",
        "(The applause lasted for as long as the song, which had been written by a schoolgirl.)",
        "On Friday 17 April 2026 the ferry sailed again.",
        "The song had 5,611 likes on Monday.",
        "The guards reported from the tower, which is on the hill, that smoke was rising.",
        "The story was told by a sailor (via his lawyer) in court.",
        "A fire destroyed the old bakery on Sunday.",
        "By Monday the water had fallen.",
        "(c) the Fees mean the sums set out in the second schedule;",
        "Karlsund, Sunday: four people were hurt when the pier fell.",
        "From our house the fire could be seen.",
        "3 people were hurt on Monday.",
        "By noon, four people had been rescued by boats.",
        "Read in isolation, the report says little.",
        'Police said: "We saw it."',
        "FIRE GUTS BAKERY ON MILL HILL RD. EARLY",
        "HOLM HARBOUR (Coastwire) — A passenger ferry drifted for an hour.",
        "12 people were hurt in the crash.",
        "Sources said that nobody was hurt.",
        "Video shows the bridge falling.",
        "More than 100 people were hurt.",
        "See how the bridge fell, said the mayor.",
        "Most residents stayed at home.",
        '"Follow me", she said.',
        "He shared the news with his wife.",
        "1,200 people fled.",
        "Related diseases killed twelve.",
        "More than 100 hurt in train crash",
        "Most schools closed until Friday",
        "The board met; the council did not.",
    ],
    "reviews": [
        "The questions are hard to answer.",
        "The L2 norm is a poor choice here.",
        "The stable 6 degrees are unlikely to last.",
        "They ran for 30 sec 10 times, which is short.",
        "The deadline 3 weeks ago was too early.",
        "They took a section of 3 mm of the tissue.",
        "The p value of 0.05 is reported wrongly.",
        "1. The sample is far too small for this claim.",
        "Major revisions are needed before this is published.",
        "Smith et al. found the opposite in 2019, which you ignore.",
    ],
}


HEADINGS = {
    "news": [
        "Sport",
        "(Hear, hear.)",
        "[Prolonged applause.]",
        "Power cut",
        "UPDATE:",
        "April 27, 2009",
        "Tuesday, July 2nd, 2013",
        "07 June 2013",
        "04 / 04 / 2012",
        "# Minutes of the council of Port Lunde, 14 March 2025",
        "## 3. What was decided?",
        "3. LIABILITY",
        "2.1 Bus routes:",
        "By ANN DOE, Northwire Agency",
        "(EDITORS: adds quote)",
    ],
    "reviews": [
        "Abstract",
        "3 Results",
        "2.1 Data collection",
        "A.2 Further results on the second task",
        "Related Work:",
        "Methods.",
        "### How we measured sleep, and why",
        "Results and Discussion",
        "info@port-lunde.example",
        "(https://port-lunde.example/plan)",
    ],
}
TARGETS = {
    "news": [
        "Nobody died.",
        "It burned.",
        "Fire guts bakery",
        "On April 27, 2009, the bridge fell.",
        "2013 was dry.",
        "#1 is the bridge.",
        "# 1 fell.",
    ],
    "reviews": [
        "It failed.",
        "Write to info@port-lunde.example.",
        "3 of the patients left the study.",
        "A larger sample shows the same effect",
        "We measured the results in 2019.",
        "3 Results show that the larger model is worse.",
    ],
}


@pytest.mark.parametrize(("domain", "text"), [(domain, text) for domain in HEADINGS for text in HEADINGS[domain]])
def test_headings_and_dates_are_not_candidates_outside_the_papers_setting(domain, text):
    assert find_domain(domain).settings.targets.reason_to_leave_out(text)
    assert not find_domain(f"{domain}@paper").settings.targets.reason_to_leave_out(text)


@pytest.mark.parametrize(("domain", "text"), [(domain, text) for domain in TARGETS for text in TARGETS[domain]])
def test_short_sentences_and_headlines_stay_candidates(domain, text):
    assert not find_domain(domain).settings.targets.reason_to_leave_out(text)


@pytest.mark.parametrize(("domain", "text"), [(domain, text) for domain in JUNK for text in JUNK[domain]])
def test_bylines_datelines_lists_and_links_are_left_out_with_a_reason(domain, text):
    reason = find_domain(domain).settings.sources.reason_to_leave_out(text)
    assert reason
    assert "(?" not in reason


@pytest.mark.parametrize(("domain", "text"), [(domain, text) for domain in SENTENCES for text in SENTENCES[domain]])
def test_sentences_that_only_start_like_one_stay(domain, text):
    reason = find_domain(domain).settings.sources.reason_to_leave_out(text)
    assert not reason or reason.startswith("fewer than")

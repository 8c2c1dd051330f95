"""Cleaning: what rules and the LLM remove, and that nothing is ever changed, added or moved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.cleaning import BY_LLM, AnswerForm, AskAbout, CleaningPlan, Removed, restore
from abcdlink.cleaning.clean import clean, kept_by_article, kept_by_numbers, removed_by_rules
from abcdlink.corpus import Corpus, Document, Pair
from abcdlink.corpus.io import read_corpus, write_corpus
from abcdlink.errors import InputError
from abcdlink.llm.client import LLM
from abcdlink.stages.corpora import run_cleaning, run_restore
from tests.helpers.builders import corpus, document
from tests.helpers.fake_llm import FakeLLM, Request, Response, says

ARTICLE = (
    "Bridge closes",
    "The bridge closed on Monday.",
    "Photo: Jo Doe / Example Images",
    "Nobody was hurt.",
    "Share this story on the network",
    "Pictured here is the mayor at the old bridge",
    "It will open again in May.",
)
PLAIN = ("Flood recedes", "The river fell on Sunday.", "Shops opened again.")


def no_llm() -> LLM:
    msg = "nobody should be asked"
    raise AssertionError(msg)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> Iterator[Callable[[object], FakeLLM]]:
    """Start an LLM that follows a script."""
    started: list[FakeLLM] = []

    def start(script: object) -> FakeLLM:
        fake = FakeLLM(script)  # type: ignore[arg-type]
        fake.__enter__()
        started.append(fake)
        return fake.use(monkeypatch)

    yield start
    for fake in started:
        fake.__exit__(None, None, None)


# rules


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Share this article", "request to share or follow"),
        ("Follow us on the network", "request to share or follow"),
        ("Read more: the history of the bridge", "link to more"),
        ("Sign up for our newsletter", "newsletter or subscription"),
        ("ADVERTISEMENT", "advertisement"),
        ("Image caption: The bridge at dawn", "caption or credit"),
        ("Photo by: Jo Doe", "caption or credit"),
        ("© 2020 Example News", "copyright"),
        ("(c) 2020 Example News", "copyright"),
        ("(c) Services means what the first schedule describes.", ""),
        ("https://www.example.org/a/b?c=d", "address of a page"),
        ("The share of the vote rose.", ""),
        ("Images of the bridge were shown: nobody spoke.", ""),
        ("Read more books, the teacher said.", ""),
        ("He signed up for the army in May.", ""),
        ("Photography is allowed.", ""),
    ],
)
def test_rules_remove_what_never_belongs_to_an_article(news, text, rule):
    found = removed_by_rules(document("a", ["Bridge closes.", text]), news)
    assert [one.by for one in found] == ([rule] if rule else [])


def test_a_document_of_nothing_but_leftovers_stays(news):
    assert removed_by_rules(document("a", ["Share this", "Read more"]), news) == []


def test_rules_cost_nothing_and_most_documents_need_no_question(news):
    made = corpus([], document("a", ARTICLE), document("b", PLAIN))
    cleaned = clean(made, news, CleaningPlan(ask=AskAbout.NONE), no_llm)
    assert [one.position for one in cleaned.removed] == [2, 4]
    assert cleaned.corpus.documents["b"] == made.documents["b"]
    plain = corpus([], document("b", PLAIN), document("c", PLAIN))
    assert clean(plain, news, CleaningPlan(), no_llm).counts.asked == 0


def test_sentences_with_gold_links_stay(news):
    linked = Pair(id="p", source="a", target="b", links={"2": ("0",)})
    cleaned = clean(
        corpus([linked], document("a", ARTICLE), document("b", PLAIN)), news, CleaningPlan(ask=AskAbout.NONE), no_llm
    )
    assert ([one.position for one in cleaned.removed], cleaned.counts.linked) == ([4], 1)


# the guard

SENTENCES = st.lists(st.text(st.sampled_from("ab. \n"), max_size=4), min_size=1, max_size=6)


@given(SENTENCES, st.text(st.sampled_from("ab. \nc"), max_size=20), st.floats(0.1, 1))
def test_whatever_article_comes_back_only_whole_sentences_are_removed(texts, answer, most):
    try:
        kept = kept_by_article(texts, answer, most)
    except InputError:
        return
    assert kept == sorted(set(kept))
    assert "".join("".join(texts[at].split()) for at in kept) == "".join(answer.split())
    assert any(texts[at].strip() for at in kept)
    assert len(texts) - len(kept) <= max(1, most * len(texts))


@given(SENTENCES.filter(lambda texts: any(text.strip() for text in texts)), st.data())
def test_any_subset_of_the_sentences_is_accepted_as_the_article(texts, data):
    kept = data.draw(st.sets(st.integers(0, len(texts) - 1)).filter(lambda some: any(texts[at].strip() for at in some)))
    found = kept_by_article(texts, "\n".join(texts[at] for at in sorted(kept)), 1.0)
    bare = ["".join(text.split()) for text in texts]
    assert "".join(bare[at] for at in found) == "".join(bare[at] for at in sorted(kept))


JSON = st.recursive(st.none() | st.booleans() | st.integers(-2, 9) | st.text(max_size=3), st.lists, max_leaves=5)


@given(SENTENCES, JSON | st.lists(st.integers(-1, 7)))
def test_whatever_numbers_come_back_only_sentences_are_removed(texts, answer):
    try:
        kept = kept_by_numbers(texts, answer, 1.0)
    except InputError:
        return
    assert set(kept) | set(answer) == set(range(len(texts)))
    assert not set(kept) & set(answer)


def test_most_of_a_document_cannot_be_removed():
    with pytest.raises(InputError, match="more than 50% of the sentences would go"):
        kept_by_numbers(ARTICLE, [0, 1, 2, 3], 0.5)
    assert kept_by_numbers(["One.", "Share this"], [1], 0.1) == [0]


# the LLM


@pytest.mark.parametrize("form", AnswerForm)
def test_the_llm_chooses_which_sentences_are_removed(news, server, form):
    left = [text for at, text in enumerate(ARTICLE) if at not in {2, 4, 5}]
    # Among the sentences left by the rules, "Pictured here ..." is number 3.
    answer = {"remove": [3]} if form is AnswerForm.NUMBERS else {"article": " ".join(left)}
    asked = server(says(json.dumps(answer)))
    made = corpus([], document("a", ARTICLE), document("b", PLAIN))
    cleaned = clean(made, news, CleaningPlan(form=form), LLM)
    assert cleaned.corpus.documents["a"].texts == left
    assert [(one.position, one.by == BY_LLM) for one in cleaned.removed] == [(2, False), (4, False), (5, True)]
    assert (cleaned.counts.asked, cleaned.counts.refused, len(asked.questions)) == (1, {}, 1)
    assert "Share this" not in asked.questions[0].prompt
    again = clean(made, news, CleaningPlan(form=form), LLM)
    assert (again.removed, len(asked.questions)) == (cleaned.removed, 1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ('{"remove": [99]}', "a sentence that does not exist"),
        ('{"remove": [0, 1, 2, 3]}', "more than 50%"),
        ('{"remove": [0, 1, 2, 3, 4]}', "nothing of the document"),
        ("I cannot help with that.", "the LLM's answer: refused"),
        ('{"removed": [1]}', "not in the form asked for"),
    ],
)
def test_an_invalid_answer_leaves_the_document_to_the_rules(news, server, answer, reason):
    server(says(answer))
    cleaned = clean(corpus([], document("a", ARTICLE)), news, CleaningPlan(), LLM)
    assert [one.position for one in cleaned.removed] == [2, 4]
    assert [reason in one for one in cleaned.counts.refused] == [True]
    assert reason in cleaned.refused[0].reason


def test_a_long_document_is_cleaned_in_pieces(news, server):
    def answer(request: Request) -> Response:
        numbers = [
            int(line.split(":")[0]) for line in request.prompt.splitlines() if "menu" in line and line[0].isdigit()
        ]
        return says(json.dumps({"remove": numbers}))

    asked = server(answer)
    texts = [f"Sentence {n}." if n % 50 else f"menu {n}" for n in range(200)]
    cleaned = clean(corpus([], document("a", texts)), news, CleaningPlan(), LLM)
    assert [one.position for one in cleaned.removed] == [0, 50, 100, 150]
    assert (len(asked.questions), cleaned.counts.asked) == (3, 1)


# the copy, its page, and undoing


def test_the_copy_shows_removals_and_can_be_undone(news, tmp_path):
    made = corpus(
        [], document("a <b>", [*ARTICLE, "Read more: <script>alert(1)</script>"]), document("c", [*PLAIN, "Share this"])
    )
    write_corpus(made, tmp_path / "raw", {"language": "en", "format": "text"})
    out = str(tmp_path / "clean")
    counts = run_cleaning(str(tmp_path / "raw"), out, news, CleaningPlan(ask=AskAbout.NONE))
    page = (tmp_path / "clean" / "removed.html").read_text(encoding="utf-8")
    assert (counts.changed, sum(counts.removed.values())) == (2, 4)
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "request to share or follow" in page
    assert read_corpus(tmp_path / "raw").documents == made.documents
    origin = json.loads((tmp_path / "clean" / "origin.json").read_text(encoding="utf-8"))
    assert origin["history"][0].startswith("Cleaned: 4 of 12 sentences removed from 2 of 2 documents")
    with pytest.raises(InputError, match="nothing was removed from the document 'x'"):
        run_restore(out, news, ("x",))
    assert run_restore(out, news, ("c",)) == 1
    assert read_corpus(out).documents["c"] == made.documents["c"]
    assert len(read_corpus(out).documents["a <b>"].sentences) == 5
    assert run_restore(out, news) == 3
    assert read_corpus(out).documents == made.documents
    with pytest.raises(InputError, match="is the corpus to be cleaned"):
        run_cleaning(out, out, news, CleaningPlan())


@given(st.lists(st.booleans(), min_size=2, max_size=8).filter(lambda gone: not all(gone)))
def test_restoring_undoes_removing(gone):
    whole = document("a", [f"Sentence {n}." for n in range(len(gone))])
    removed = [
        Removed(document="a", position=at, sentence=whole.sentences[at], by="x")
        for at, is_gone in enumerate(gone)
        if is_gone
    ]
    left = tuple(sentence for sentence, is_gone in zip(whole.sentences, gone, strict=True) if not is_gone)
    cleaned = Corpus(name="c", documents={"a": Document(id="a", sentences=left)}, pairs=[])
    assert restore(cleaned, removed).documents == {"a": whole}

"""The preview of an imported corpus: what is marked, counted and escaped."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus import Corpus, Document, Note, Pair, Refusal
from abcdlink.domain import find_domain
from abcdlink.preview import MOST_PAIRS, doubt_about, preview, render
from tests.helpers.builders import document


def corpus_of(*documents: Document, pairs: int = 1) -> Corpus:
    first, second = documents[:2]
    named = [Pair(id=f"p{n}", source=first.id, target=second.id) for n in range(pairs)]
    return Corpus(name="mine", documents={each.id: each for each in documents}, pairs=named)


@pytest.mark.parametrize(
    ("text", "following", "doubt"),
    [
        ("The bridge is open.", "It was shut.", ""),
        ("“Why?” she asked.", "Nobody knew.", ""),
        ("... and that was all.", "", ""),
        ("It began at 4.52 a.m.", "Nobody saw it.", ""),
        ("It is never warmer than 35.", "Nobody knows why.", ""),
        ("1.", "The first point.", "has no letters"),
        ("said the mayor.", "", "begins in the middle"),
        (", however, it rained.", "", "begins in the middle"),
        ("She lived on Hill Rd.", "It was far.", "an abbreviation"),
        ("She lived on Hill Rd.", "", ""),
        ("It is 2.5 mi.", "From there.", "an abbreviation"),
        ("He won in 48 secs.", "That is fast.", "an abbreviation"),
        ("It was Harry S.", "Truman who spoke.", "an abbreviation"),
        ("It was Harry S.", "2. Truman spoke.", ""),
        ("It is open from 9.00 h to 21.00 h.", "Ring the bell.", ""),
        ("They warn by SMS.", "Nobody reads them.", ""),
        ("They met in the U.S.", "Capitol.", "an abbreviation"),
        ("It opened (in 1931.", "", "bracket"),
        ("1) It opened (in 1931).", "Then it closed.", ""),
        ("2) It opened (in 1931.", "", "bracket"),
        ("a) Lorries.", "", ""),
        ("ii. the bats in shed B.", "", ""),
        ("h3. Steps", "", ""),
        ("b) , and so on.", "", "begins in the middle"),
        ("No data in the cloud :-)", "", ""),
        ("It was dear.Nobody paid.", "", "may contain two sentences"),
        ("消防队救出了三名矿工。没有人受伤。", "", "may contain two sentences"),
        ("「けが人はいません。安心してください。」と話した。", "", ""),
        ("شارك رجال الإطفاء في طنجة.", "نعم.", ""),
        ("وقالت أ.", "منى.", "an abbreviation"),
        ("Η ζημιά είναι 2 εκ. ευρώ.", "Ναι.", ""),
        ("Είπε ο κ.", "Άρης.", "an abbreviation"),
        ("Це було на пл.", "Ринок.", "an abbreviation"),
        ("Il est né en été.", "Elle aussi.", ""),
        ("ის წავიდა.", "", ""),
        ("Word " * 90, "", "more than 80 words"),
    ],
)
def test_doubtful_boundaries_are_marked(text, following, doubt):
    found = doubt_about(text, following)
    assert (doubt in found) if doubt else (found == "")


def test_tasks_and_omissions_are_counted_over_pairs(news):
    source = document(
        "a", ["A long enough sentence about the bridge.", "Too short.", "Read more: all about bridges today."]
    )
    corpus = corpus_of(source, document("b", ["Another sentence that is long enough."]), pairs=3)
    view = preview(corpus, news, "en", "rules")
    assert (view.tasks, view.left_out.total(), view.sentences) == (3, 6, 4)
    pool = news.settings.pool
    assert view.hours == pytest.approx(3 * (pool.first + pool.second + pool.random) * 11 / 3600)
    assert "fewer than 4 words" in view.left_out


def test_a_target_of_several_pairs_is_counted_once(news):
    source = document("a", ["A long enough sentence about the bridge."])
    view = preview(corpus_of(source, document("b", ["Contents", "It is open."]), pairs=3), news, "en", "rules")
    assert view.targets_left_out.total() == 1


def test_a_doubtful_end_is_shown_by_its_end(news):
    text = f"{'It is a long way to the bridge, ' * 5}which is on Hill Rd."
    view = preview(corpus_of(document("a", [text, "It is far."]), document("b", ["It is open."])), news, "en", "rules")
    shown = view.doubts["ends with what may be an abbreviation"].excerpt(80)
    assert (len(shown), shown[:2], shown[-28:]) == (80, "… ", "bridge, which is on Hill Rd.")


def test_a_sentence_shared_by_many_documents_is_marked(news):
    line = "Subscribe to our newsletter for more stories."
    documents = [document(name, [line, f"Document {name} tells something else entirely."]) for name in "abcd"]
    view = preview(corpus_of(*documents), news, "en", "rules")
    assert [(doubt.example, doubt.count) for why, doubt in view.doubts.items() if "documents" in why] == [(line, 4)]


def test_the_page_shows_every_refusal_change_and_omission(news):
    corpus = corpus_of(
        document("a", ["A long enough sentence about the bridge.", "and a broken one.", "It is open."]),
        document("b", ["Contents", "It is open."]),
    ).model_copy(
        update={"refused": [Refusal(where="x.txt", reason="is bad")], "notes": [Note.of("Files not read", ["y.md"])]}
    )
    page = render(preview(corpus, news, "en", "rules"))
    for part in (
        "is bad",
        "Files not read: 1 (y.md)",
        "begins in the middle",
        "fewer than 4 words",
        "fewer than 2 words",
        "source sentences; target sentences: 1",
        "and a broken one.",
    ):
        assert part in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!#)", page)  # nothing is loaded from elsewhere


def test_a_large_corpus_is_shown_in_part_and_counted_in_full(news):
    corpus = corpus_of(document("a", ["A long enough sentence here."]), document("b", ["B."]), pairs=MOST_PAIRS + 5)
    view = preview(corpus, news, "en", "rules")
    assert (len(view.pairs), view.tasks) == (MOST_PAIRS, MOST_PAIRS + 5)
    assert f"The first {MOST_PAIRS} of {MOST_PAIRS + 5} pairs" in render(view)


def test_documents_without_pairs_are_shown(news):
    corpus = corpus_of(document("a", ["The only sentence."]), document("b", ["Another one."]), pairs=0)
    page = render(preview(corpus, news, "en", "rules"))
    assert "The only sentence." in page
    assert "--targets" in page


def test_a_very_large_corpus_is_sampled_throughout(news, monkeypatch):
    monkeypatch.setattr("abcdlink.preview.MOST_LOOKED_AT", 10)
    documents = [document(f"d{n}", [f"A long enough sentence, number {n}.", f"and {n}."]) for n in range(100)]
    corpus = corpus_of(*documents)
    pairs = [Pair(id=f"p{n}", source=f"d{n}", target="d0") for n in range(100)]
    view = preview(corpus.model_copy(update={"pairs": pairs}), news, "en", "rules")
    assert (view.looked_at, view.doubtful, view.counted_pairs, view.tasks) == (10, 10, 10, 100)
    assert view.left_out.total() == 100
    assert "estimated from 10 pairs" in render(view)


hostile = st.text(st.sampled_from("<>&\"'`{}%# \u202e\u0627\u200b/ax=\n"), min_size=1, max_size=30)


@given(hostile, hostile, hostile)
def test_no_text_of_a_corpus_becomes_markup(text, name, reason):
    corpus = corpus_of(document(f"s{name}", [text, "x"]), document(f"t{name}", [text, "y"])).model_copy(
        update={"refused": [Refusal(where=name, reason=reason)], "notes": [Note.of(reason, [name])]}
    )
    page = render(preview(corpus, find_domain("news"), "en", "rules"))
    harmless = corpus_of(document("a", ["x", "x"]), document("b", ["x", "y"])).model_copy(
        update={"refused": [Refusal(where="x", reason="x")], "notes": [Note.of("x", ["x"])]}
    )
    assert tags(page) <= tags(render(preview(harmless, find_domain("news"), "en", "rules")))


def tags(page: str) -> set[str]:
    return set(re.findall(r"</?([a-z0-9]+)", page))

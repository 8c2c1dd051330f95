"""Error analysis: what was wrong, its context, and which pattern's rule applies."""

import pytest
from hypothesis import given, settings

from abcdlink.corpus import Pair
from abcdlink.errors import InputError
from abcdlink.evaluation.errors import (
    FAR,
    FEW_WORDS,
    MANY,
    NEIGHBOURS,
    UNLIKE,
    ErrorKind,
    ErrorPattern,
    Traits,
    analyse_errors,
)
from abcdlink.linking.records import Decision
from abcdlink.llm.records import Outcome
from tests.helpers.builders import corpus, document
from tests.helpers.scripted import scripted_corpora

FALSE, MISSED = ErrorKind.FALSE_LINK, ErrorKind.MISSED_LINK
PLAIN = Traits(gap=1, content_words=9, alikeness=0.5, distractors=0)


def corpus_of(a, b, links):
    return corpus([Pair(id="p", source="a", target="b", links=links)], a, b)


def decision(source, *targets, outcome=Outcome.OK, approach="x@3"):
    return Decision(approach=approach, pair="p", source=source, targets=targets, outcome=outcome)


@pytest.mark.parametrize(
    ("changed", "patterns"),
    [
        ({}, (ErrorPattern.OTHER,)),
        ({"gap": FAR}, (ErrorPattern.OTHER,)),
        ({"gap": FAR + 1}, (ErrorPattern.SCATTERED,)),
        ({"content_words": FEW_WORDS}, (ErrorPattern.OTHER,)),
        ({"content_words": FEW_WORDS - 1}, (ErrorPattern.AMBIGUOUS,)),
        ({"alikeness": UNLIKE}, (ErrorPattern.OTHER,)),
        ({"alikeness": UNLIKE / 2}, (ErrorPattern.AMBIGUOUS,)),
        ({"alikeness": None}, (ErrorPattern.OTHER,)),
        ({"distractors": MANY - 1}, (ErrorPattern.OTHER,)),
        ({"distractors": MANY}, (ErrorPattern.DISTRACTORS,)),
        (
            {"gap": 99, "content_words": 0, "distractors": 99},
            (ErrorPattern.SCATTERED, ErrorPattern.AMBIGUOUS, ErrorPattern.DISTRACTORS),
        ),
    ],
)
def test_each_pattern_follows_from_its_rule(changed, patterns):
    assert PLAIN.model_copy(update=changed).patterns == patterns


SOURCE = "The harbour bridge collapsed after a gravel barge struck its granite pier."
WORDS = {"harbour", "bridge", "collapsed", "gravel", "barge", "struck", "granite", "pier"}


def test_the_counts_of_a_source_sentence_equal_counting_by_hand():
    a = document("a", [SOURCE], "{name}{n}")
    b = document(
        "b",
        [
            "A barge struck the bridge.",
            "Nothing else happened.",
            "The bridge collapsed.",
            "The granite bridge is old.",
            "A gravel barge struck the pier.",
            *["Nothing."] * 7,
            "It was rebuilt in May.",
            "The barge struck granite.",
        ],
        "{name}{n}",
    )
    corpus = corpus_of(a, b, {"a0": ("b2", "b0")})
    analysis = analyse_errors(corpus, [decision("a0", "b4")])
    traits = analysis.errors[0].traits
    assert traits.content_words == len(WORDS)
    assert traits.gap == 2
    assert traits.alikeness == pytest.approx(1 / 4)  # bridge; of barge, struck, bridge, collapsed
    assert traits.distractors == 2
    assert {error.traits for error in analysis.errors} == {traits}
    assert analyse_errors(corpus, [decision("a0", "b4")]) == analysis


def test_a_distractor_needs_a_word_in_common():
    a = document("a", [SOURCE], "{name}{n}")
    b = document("b", ["Nobody knows why.", "Rain fell.", "The barge."], "{name}{n}")
    analysis = analyse_errors(corpus_of(a, b, {"a0": ("b0",)}), [decision("a0")])
    assert analysis.errors[0].traits.distractors == 1  # the gold link has similarity 0, and so has b1


def test_errors_show_both_neighbourhoods_in_document_order():
    a, b = (
        document("a", (f"Alpha {i}." for i in range(9)), "{name}{n}"),
        document("b", (f"Beta {i}." for i in range(9)), "{name}{n}"),
    )
    corpus = corpus_of(a, b, {"a0": ("b8", "b1"), "a4": ("b4",)})
    decisions = [decision("a0", "b5", "b1"), decision("a4", "b4"), decision("a8", "b0")]
    analysis = analyse_errors(corpus, decisions)
    assert [(e.kind, e.source, e.target) for e in analysis.errors] == [
        (FALSE, "a0", "b5"),
        (MISSED, "a0", "b8"),
        (FALSE, "a8", "b0"),
    ]
    first = analysis.errors[0]
    assert first.gold == ("b1", "b8")
    assert first.around_source == a.sentences[: NEIGHBOURS + 1]
    assert first.around_target == b.sentences[5 - NEIGHBOURS : 5 + NEIGHBOURS + 1]
    assert analysis.errors[1].around_target == b.sentences[8 - NEIGHBOURS :]
    assert analysis.errors[2].gold == ()
    assert ErrorPattern.SCATTERED in first.patterns
    assert (analysis.approach, analysis.sources, analysis.unanswered) == ("x@3", 3, 6)


def test_unanswered_sources_are_counted_but_are_not_errors():
    a, b = document("a", ["One.", "Two.", "Three."], "{name}{n}"), document("b", ["One.", "Two."], "{name}{n}")
    corpus = corpus_of(a, b, {"a0": ("b0",), "a1": ("b1",)})
    decisions = [decision("a0", outcome=Outcome.REFUSED), decision("a1", outcome=Outcome.MISSING_IDS)]
    analysis = analyse_errors(corpus, decisions)
    assert (analysis.errors, analysis.sources, analysis.unanswered) == ((), 0, 3)
    repaired = [decision("a0", outcome=Outcome.REPAIRED)]
    assert [error.kind for error in analyse_errors(corpus, repaired).errors] == [MISSED]


def test_an_error_counts_for_every_pattern_it_shows():
    a, b = (
        document("a", ["It was so.", SOURCE], "{name}{n}"),
        document("b", (f"Beta {i}." for i in range(9)), "{name}{n}"),
    )
    corpus = corpus_of(a, b, {"a0": ("b0", "b8")})
    counts = analyse_errors(corpus, [decision("a0", "b3"), decision("a1", "b1")]).counts()
    ambiguous_and_scattered = {
        ErrorPattern.SCATTERED: 2,
        ErrorPattern.AMBIGUOUS: 2,
        ErrorPattern.DISTRACTORS: 0,
        ErrorPattern.OTHER: 0,
    }
    assert counts[MISSED] == ambiguous_and_scattered
    assert counts[FALSE] == {
        ErrorPattern.SCATTERED: 1,
        ErrorPattern.AMBIGUOUS: 1,
        ErrorPattern.DISTRACTORS: 0,
        ErrorPattern.OTHER: 1,
    }


def test_pairs_with_unknown_links_are_left_out():
    a, b = document("a", ["One."], "{name}{n}"), document("b", ["Two."], "{name}{n}")
    assert analyse_errors(corpus_of(a, b, None), [decision("a0", "b0")]).errors == ()
    assert [e.kind for e in analyse_errors(corpus_of(a, b, {}), [decision("a0", "b0")]).errors] == [FALSE]


def test_several_approaches_at_once_are_refused():
    corpus = corpus_of(document("a", ["One."], "{name}{n}"), document("b", ["Two."], "{name}{n}"), {})
    with pytest.raises(InputError, match="2 approaches: x@3, y@3"):
        analyse_errors(corpus, [decision("a0"), decision("a0", approach="y@3")])


@settings(max_examples=8)  # each one loads a tokenizer
@given(scripted_corpora())
def test_errors_are_the_differences_between_decided_and_gold_links(drawn):
    corpus, scores = drawn
    decisions, expected = [], set()
    for pair in corpus.pairs:
        for row, source in zip(scores[pair.source, pair.target], corpus.source_of(pair).sentences, strict=True):
            targets = [s.id for s, score in zip(corpus.target_of(pair).sentences, row, strict=True) if score > 0]
            decisions.append(Decision(approach="x", pair=pair.id, source=source.id, targets=tuple(targets)))
            gold = set((pair.links or {}).get(source.id, ())) & set(corpus.target_of(pair).position)
            expected |= {(FALSE, pair.id, source.id, t) for t in set(targets) - gold}
            expected |= {(MISSED, pair.id, source.id, t) for t in gold - set(targets)}
    analysis = analyse_errors(corpus, decisions)
    found = [(e.kind, e.pair, e.source, e.target) for e in analysis.errors]
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert all(error.patterns for error in analysis.errors)

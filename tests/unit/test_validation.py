"""Measures of a synthetic corpus, and what is flagged."""

import pytest

from abcdlink.corpus import Corpus, Document, Pair, PairKind, Sentence
from abcdlink.domain import find_domain
from abcdlink.languages import share_copied, words
from abcdlink.validation import validate

DOMAIN = find_domain("news")


def corpus(kind, *pairs):
    documents, made = {}, []
    for number, (source, target, links) in enumerate(pairs):
        for side, texts in (("a", source), ("b", target)):
            sentences = tuple(Sentence(id=str(i), text=text) for i, text in enumerate(texts))
            documents[f"{side}{number}"] = Document(id=f"{side}{number}", sentences=sentences)
        made.append(Pair(id=str(number), source=f"a{number}", target=f"b{number}", kind=kind, links=links))
    return Corpus(name="c", documents=documents, pairs=made)


NATURAL = corpus(PairKind.NATURAL, (["One two three four.", "Five six seven eight nine ten."], ["Zero."], None))


def test_measures_are_what_they_say():
    source = ["Red cats sleep all day.", "Dogs bark.", "Birds sing in the morning."]
    target = ["Red cats run.", "A bird sang."]
    result = validate(
        corpus(PairKind.SYNTHETIC, (source, target, {"0": ("0", "1"), "1": (), "2": ("1",)})), NATURAL, DOMAIN
    )
    assert (result.pairs, result.links, result.sources_with_links) == (1, 3, 2)
    assert result.links_per_source == pytest.approx(1.5)
    assert result.overlap == pytest.approx((2 / 3 + 0 + 0) / 3)
    assert result.duplicates == 0
    assert result.synthetic.sentence_length == pytest.approx(4)
    assert result.natural.sentence_length == pytest.approx(5)
    assert result.synthetic.type_token_ratio == 1
    assert result.flags == ()
    assert result.measures["links"] == 3
    assert result.measures["natural: sentence_length"] == pytest.approx(5)


def test_type_token_ratio_does_not_fall_with_the_length_of_a_document():
    text = " ".join(f"w{i % 50}" for i in range(100))
    short, long = (corpus(PairKind.SYNTHETIC, ([text] * n, ["b"], {})) for n in (1, 5))
    ratios = [validate(c, NATURAL, DOMAIN).synthetic.type_token_ratio for c in (short, long)]
    assert ratios == [pytest.approx(0.5)] * 2


@pytest.mark.parametrize(
    ("source", "target", "flag"),
    [
        (["Red cats run far."], ["Red cats run far."], "repeat 100% of the words"),
        (["Red cats run far.", "red cats run far!"], ["Dogs."], "50% of the source sentences occurred before"),
        (["Red."], ["Dogs."], "much shorter than natural ones: 1.0 words against 5.0"),
        ([" ".join(f"w{i}" for i in range(20))], ["Dogs."], "much longer"),
    ],
)
def test_what_is_out_of_bounds_is_flagged_in_words(source, target, flag):
    result = validate(corpus(PairKind.SYNTHETIC, (source, target, {"0": ("0",)})), NATURAL, DOMAIN)
    assert len(result.flags) == 1
    assert flag in result.flags[0]


def test_nothing_to_measure_is_said_not_raised():
    empty = Corpus(name="none", documents={}, pairs=[])
    result = validate(empty, empty, DOMAIN)
    assert result.overlap is None
    assert result.synthetic.sentence_length is None
    assert result.flags == ("there are no synthetic pairs", "there are no natural documents to compare with")
    unlinked = validate(corpus(PairKind.SYNTHETIC, (["Red cats run far."], ["Dogs."], {})), NATURAL, DOMAIN)
    assert unlinked.flags == ("there are no links in the synthetic pairs",)


def test_words_keep_inner_marks_and_copied_counts_distinct_words():
    assert words("Don't pay 1.9 million, 11-year-old!") == ["don't", "pay", "1.9", "million", "11-year-old"]
    assert share_copied("The cat, the DOG.", "a dog") == pytest.approx(1 / 3)
    assert share_copied("...", "a dog") == 0

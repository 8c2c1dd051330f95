"""Measures of a synthetic corpus and what is flagged."""

import random

import pytest
from textstat import textstat

from abcdlink.corpus import Corpus, Pair, PairKind
from abcdlink.corpus.io import write_corpus, write_corpus_to
from abcdlink.domain import find_domain
from abcdlink.languages import share_copied, words
from abcdlink.report.pictures.of_people import validation_pictures
from abcdlink.stages.generate import run_validation
from abcdlink.store import open_run
from abcdlink.validation import Validation, cliffs_delta, style_of, validate
from abcdlink.validation.style import mtld, type_token_ratio
from tests.helpers.builders import document

DOMAIN = find_domain("news")


def corpus_of_kind(kind, *pairs):
    documents, made = {}, []
    for number, (source, target, links) in enumerate(pairs):
        for side, texts in (("a", source), ("b", target)):
            documents[f"{side}{number}"] = document(f"{side}{number}", texts)
        made.append(Pair(id=str(number), source=f"a{number}", target=f"b{number}", kind=kind, links=links))
    return Corpus(name="c", documents=documents, pairs=made)


NATURAL = corpus_of_kind(PairKind.NATURAL, (["One two three four.", "Five six seven eight nine ten."], ["Zero."], None))


def test_measures_are_what_they_claim():
    source = ["Red cats sleep all day.", "Dogs bark.", "Birds sing in the morning."]
    target = ["Red cats run.", "A bird sang."]
    result = validate(
        corpus_of_kind(PairKind.SYNTHETIC, (source, target, {"0": ("0", "1"), "1": (), "2": ("1",)})), NATURAL, DOMAIN
    )
    assert (result.pairs, result.links) == (1, 3)
    assert result.counts["synthetic"].links_per_linked_source == pytest.approx(1.5)
    assert result.overlap == pytest.approx((2 / 3 + 0 + 0) / 3)
    assert result.duplicates == 0
    synthetic, natural = result.styles["synthetic"], result.styles["natural"]
    assert (synthetic.mean("sentences"), natural.mean("sentences")) == (3, 2)
    assert synthetic.mean("sentence_length") == pytest.approx(4)
    assert natural.mean("sentence_length") == pytest.approx(5)
    assert synthetic.mean("type_token_ratio") == 1
    assert result.flags == ()
    assert result.measures["links"] == 3
    assert result.measures["words of a sentence, natural"] == pytest.approx(5)


def test_the_type_token_ratio_does_not_fall_with_document_length():
    text = " ".join(f"w{i % 50}" for i in range(100))
    assert type_token_ratio(document("d", [text])) == type_token_ratio(document("d", [text] * 5)) == pytest.approx(0.5)


def test_mtld_is_the_mean_length_of_factors():
    # In a, b, a, b, ... the third word lowers the ratio to 2/3, which is below 0.72: factors of three words.
    assert mtld(document("d", ["a b " * 60])) == pytest.approx(3)
    assert mtld(document("d", [" ".join(f"w{i}" for i in range(49))])) is None
    varied = document("d", [" ".join(f"w{i * i % 97}" for i in range(200))])
    assert mtld(varied) > 10


@pytest.mark.parametrize("language", ["en", "de"])
def test_flesch_equals_that_of_the_library_on_the_same_text(language):
    texts = ["The cat sat  on the mat.", "It was extraordinarily complicated; nobody understood it."]
    textstat.set_lang(language)
    expected = textstat.flesch_reading_ease(" ".join(" ".join(text.split()) for text in texts))
    assert style_of([document("d", texts)], language).values["flesch"] == (expected,)
    textstat.set_lang("en")


def test_formulas_for_english_are_not_used_in_other_languages():
    values = style_of([document("d", ["消防队周一救出了三名矿工。"])], "zh").values
    assert not {"flesch", "subjectivity_lexicon", "subjectivity"} & set(values)
    assert values["sentence_length"][0] > 0


def test_the_lexicon_tells_opinion_from_fact():
    opinion, fact = (
        document("d", ["What a wonderful, brilliant and awful idea!"]),
        document("d", ["The bridge has two bearings."]),
    )
    values = style_of([opinion, fact]).values["subjectivity_lexicon"]
    assert values[0] > 0.5 > values[1]


def test_missing_classifier_weights_are_reported_and_not_replaced(isolated_home, tmp_path):
    store = open_run("r")
    for name, kind in (("synthetic", PairKind.SYNTHETIC), ("natural", PairKind.NATURAL)):
        write_corpus_to(store, name, corpus_of_kind(kind, (["Red cats run far."], ["Dogs bark."], {"0": ("0",)})))
    result = run_validation(store, DOMAIN)
    (note,) = result.notes
    assert "bert-base-styleclassification-subjective-neutral is not on this machine" in note
    assert "subjectivity" not in result.styles["synthetic"].values
    # A third corpus is measured on request and kept.
    write_corpus(NATURAL, tmp_path / "more")
    beside = run_validation(store, DOMAIN, [str(tmp_path / "more")])
    assert set(beside.styles) == {"synthetic", "natural", "more"}
    assert run_validation(store, DOMAIN) == beside


def test_cliffs_delta_counts_which_document_has_the_higher_value():
    assert cliffs_delta([1, 2, 3], [1, 2, 3])[0] == 0
    delta, (low, high) = cliffs_delta([3, 4, 5, 6], [1, 2, 3, 0])
    assert delta == pytest.approx((16 - 1) / 16)
    assert low <= delta <= high <= 1
    shifted = [random.Random(i).gauss(0.5, 1) for i in range(200)]
    plain = [random.Random(1000 + i).gauss(0, 1) for i in range(200)]
    delta, (low, high) = cliffs_delta(shifted, plain)
    # 2 Phi(0.5 / sqrt 2) - 1 = 0.276
    assert low < 0.276 < high
    assert 0.05 < high - low < 0.3


def test_pictures_show_every_available_measure_by_corpus():
    pair = (["Red cats run far.", "Dogs bark."], ["Dogs."], {"0": ("0",)})
    made = validation_pictures(validate(corpus_of_kind(PairKind.SYNTHETIC, pair, pair), NATURAL, DOMAIN))
    assert "Flesch reading ease" in made
    assert "synthetic: median 2.00, from 2.00 to 2.00, 2 documents" in made["sentences"]
    assert "synthetic: source sentences with links 50%" in made["links"]


def test_results_of_earlier_versions_can_be_read():
    kept = {"pairs": 6, "links": 9, "sources_with_links": 7, "links_per_source": 1.3, "overlap": 0.2, "duplicates": 0}
    kept |= {"synthetic": {"documents": 6}, "natural": {"documents": 6}, "flags": ["too long"]}
    assert Validation.model_validate(kept).flags == ("too long",)


@pytest.mark.parametrize(
    ("source", "target", "flag"),
    [
        (["Red cats run far."], ["Red cats run far."], "repeat 100% of the words"),
        (["Red cats run far.", "red cats run far!"], ["Dogs."], "50% of the source sentences occurred before"),
        (["Red."], ["Dogs."], "much shorter than natural ones: 1.0 words against 5.0"),
        ([" ".join(f"w{i}" for i in range(20))], ["Dogs."], "much longer"),
    ],
)
def test_values_out_of_bounds_are_flagged_in_words(source, target, flag):
    result = validate(corpus_of_kind(PairKind.SYNTHETIC, (source, target, {"0": ("0",)})), NATURAL, DOMAIN)
    assert len(result.flags) == 1
    assert flag in result.flags[0]


def test_nothing_to_measure_is_reported_without_an_error():
    empty = Corpus(name="none", documents={}, pairs=[])
    result = validate(empty, empty, DOMAIN)
    assert result.overlap is None
    assert result.styles["synthetic"].mean("sentence_length") is None
    assert result.flags == ("there are no synthetic pairs", "there are no natural documents to compare with")
    unlinked = validate(corpus_of_kind(PairKind.SYNTHETIC, (["Red cats run far."], ["Dogs."], {})), NATURAL, DOMAIN)
    assert unlinked.flags == ("there are no links in the synthetic pairs",)


def test_words_keep_inner_punctuation_and_copying_counts_distinct_words():
    assert words("Don't pay 1.9 million, 11-year-old!") == ["don't", "pay", "1.9", "million", "11-year-old"]
    assert share_copied("The cat, the DOG.", "a dog") == pytest.approx(1 / 3)
    assert share_copied("...", "a dog") == 0

"""Languages: detection, words, tokens, stems and sentence ends in many scripts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.characters import as_compared
from abcdlink.errors import InputError
from abcdlink.languages import (
    UNSPACED,
    ends_like_a_sentence,
    guess_language,
    language_name,
    script_of,
    share_copied,
    stemmer,
    tokenizer,
    word_count,
    words,
    writing_instruction,
)

TEXTS = {
    "en": "The fire brigade rescued three miners on Monday, the police said.",
    "zh": "消防队周一救出了三名矿工。",
    "ja": "消防は月曜日に鉱山で三人を救助した。",
    "ko": "소방대가 월요일에 광부 세 명을 구조했다.",
    "hi": "दमकल ने सोमवार को तीन खनिकों को बचाया।",
    "ur": "فائر بریگیڈ نے پیر کو تین کان کنوں کو بچایا۔",
    "th": "นักดับเพลิงช่วยคนงานเหมืองสามคน",
    "ru": "Пожарные спасли трёх шахтёров.",
    "el": "Η πυροσβεστική έσωσε τρεις ανθρακωρύχους.",
    "am": "የእሳት አደጋ ሠራተኞች ሦስት ማዕድን አውጪዎችን አዳኑ።",
}
GERMAN = "Die Feuerwehr rettete am Montag drei Bergleute aus einer Grube. Der Bürgermeister dankte den Helfern. " * 3


@pytest.mark.parametrize("language", TEXTS)
def test_a_language_is_guessed_from_a_sentence(language):
    assert guess_language([TEXTS[language]]) == language


@pytest.mark.parametrize("text", ["", "new", "Sentence 3.", "A B C", "Montag", "42", "\N{THUMBS UP SIGN}"])
def test_a_text_too_short_to_tell_counts_as_english(text):
    assert guess_language([text]) == "en"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Norwegian Bokmål", "Brannen brøt ut tirsdag morgen i et lager i Oslo, og ingen ble skadet, sier politiet. "),
        ("Swahili", "Moto ulizuka Jumanne asubuhi katika ghala la karatasi mjini Mombasa. Hakuna aliyejeruhiwa. "),
        ("Belarusian", "Ён пайшоў дадому. Яна прыйшла сёння ў Мінск."),
        ("Kazakh", "Бұл қазақ тілі. Біз бүгін Астанаға келдік."),
        ("Georgian", "ის წავიდა. ის მოვიდა დღეს თბილისში."),
        ("Khmer", "គាត់ទៅ។ គាត់មក។"),
        ("Tibetan", "ཁོང་ཕྱིན། ཁོང་བྱོན།"),
    ],
)
def test_languages_without_data_of_spacy_are_known_too(name, text):
    language = guess_language([text * 3])
    assert name.startswith(language_name(language))
    assert tokenizer(language)(text)
    assert stemmer(language)(text)
    assert ends_like_a_sentence(text.strip())


def test_a_language_in_latin_script_needs_more_text_and_is_named():
    assert guess_language(GERMAN.split(". ")) == "de"
    assert [language_name(code) for code in ("de", "zh", "grc")] == ["German", "Chinese", "Ancient Greek"]
    with pytest.raises(InputError, match="not know the language 'qq'"):
        language_name("qq")


def test_prompts_ask_for_the_language_of_the_documents():
    assert writing_instruction("hi") == "Write in Hindi."
    assert writing_instruction("en") == ""


@pytest.mark.parametrize(
    ("language", "count"),
    [("en", 11), ("zh", 6), ("ja", 9), ("ko", 6), ("hi", 8), ("ur", 10), ("ru", 4), ("el", 5), ("am", 7)],
)
def test_words_are_counted_in_every_script(language, count):
    assert word_count(TEXTS[language]) == count


@pytest.mark.parametrize("language", TEXTS)
def test_sentences_end_in_every_script(language):
    assert ends_like_a_sentence(TEXTS[language])
    assert ends_like_a_sentence(f"{TEXTS[language]}”")
    cut = TEXTS[language].rstrip(".。።۔।")
    assert ends_like_a_sentence(cut) == (language == "th")


def test_combining_marks_stay_with_their_words():
    assert words("खनिकों को Iraq\u0301") == ["खनिकों", "को", "iraq\u0301"]


def test_the_share_of_copied_words_counts_letters_in_scripts_without_spaces():
    assert share_copied("三名矿工", "救出三名") == 0.5


@given(st.text())
def test_words_in_scripts_with_spaces_match_a_simple_regular_expression(text):
    plain = re.compile(r"\w+(?:['\u2019.,:-]\w+)*")
    if UNSPACED.search(text) or not text.isascii():
        text = text.encode("ascii", "ignore").decode()
    assert words(text) == [match[0].casefold() for match in plain.finditer(text)]


@given(st.text(alphabet=st.sampled_from("abcäéßñø0189²½ .,'’-:_%")))
def test_accents_and_digits_do_not_split_words(text):
    assert words(text) == [match.casefold() for match in re.findall(r"\w+(?:['\u2019.,:-]\w+)*", text)]


@given(st.text(), st.sampled_from(sorted(TEXTS)))
def test_any_text_in_any_language_is_segmented_without_loss(text, language):
    pieces = tokenizer(language)(text)
    assert set("".join("".join(pieces).split())) == set("".join(as_compared(text).split()))
    assert all(piece for piece in stemmer(language)(text))
    assert word_count(text) >= 0


def test_characters_that_nobody_sees_part_no_words_that_are_counted():
    assert word_count("The co\u00adop\u200berates cafe\u0301") == word_count("The cooperates café") == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cafe\u0301", "caf\u00e9"),
        ("Feuer\u00adwehr", "Feuerwehr"),
        ("pay\u200bpal", "paypal"),
        ("\u200fكلمة", "كلمة"),
        ("\u202eopen", "open"),
        ("ήρθε\u037e", "ήρθε;"),
    ],
)
def test_words_that_look_the_same_are_the_same(one, other):
    for cut in (words, tokenizer("en"), stemmer("en")):
        assert cut(one) == cut(other)


def test_text_in_another_script_is_segmented_by_that_script():
    assert tokenizer("en")("三名矿工") == ["三名", "名矿", "矿工"]
    assert tokenizer("zh")("Don't go.") == ["Do", "n't", "go", "."]
    assert script_of("消防は") == "Hiragana"


def test_stems_follow_the_language():
    assert stemmer("de")("Die Häuser brannten") == ["haus", "brannt"]
    assert stemmer("en")("The houses burned") == ["hous", "burn"]
    assert stemmer("hi")("खनिकों को") == ["खनिक"]

"""Languages: detection, words, tokens, stems and sentence ends in many scripts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.characters import as_compared
from abcdlink.corpus.records import Document, Sentence
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
from abcdlink.retrieval import get_retriever, ranked

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


CHINESE = [
    ("消防队周一救出了三名矿工。", "三名被困矿工周一被消防员救出。"),
    ("市长因腐败指控宣布辞职。", "面对腐败指控，市长决定辞职。"),
    ("大桥在维修两年后重新开放。", "维修历时两年，这座大桥重新通车。"),
    ("暴雨导致南部城市发生洪水。", "南部多个城市因暴雨遭遇洪水。"),
    ("中央银行将利率提高了半个百分点。", "利率上调半个百分点，央行宣布。"),
    ("一架客机因引擎故障紧急降落。", "引擎出现故障，客机被迫紧急降落。"),
    ("科学家在深海发现了新的鱼类。", "深海中的新鱼类被科学家发现。"),
    ("医院护士为加薪举行罢工。", "要求加薪的护士们在医院罢工。"),
    ("国家队在决赛中以二比一获胜。", "决赛二比一，国家队夺冠。"),
    ("警方逮捕了两名抢劫珠宝店的嫌疑人。", "两名珠宝店抢劫嫌疑人被警方逮捕。"),
    ("火车出轨造成十二人受伤。", "十二人在火车出轨事故中受伤。"),
    ("议会通过了新的环境保护法。", "新环境保护法在议会获得通过。"),
    ("考古学家发掘出一座古代陵墓。", "一座古代陵墓由考古学家出土。"),
    ("该公司将裁减五千个工作岗位。", "五千个岗位将被该公司裁减。"),
    ("地震摧毁了山区的数百座房屋。", "山区数百座房屋毁于地震。"),
    ("学校因流感疫情停课一周。", "流感蔓延，学校停课一星期。"),
    ("作家凭借第三部小说获得文学奖。", "第三部小说为这位作家赢得文学奖。"),
    ("石油价格跌至五年来最低水平。", "五年最低：石油价格继续下跌。"),
    ("法院判处前部长四年监禁。", "前部长被法院判刑四年。"),
    ("新地铁线路将于明年春天开通。", "明年春天，地铁新线路投入运营。"),
]


@pytest.mark.parametrize("name", ["bm25", "bm25-stemmed", "jaccard"])
def test_lexical_retrievers_find_the_right_one_of_twenty_chinese_sentences(name):
    source, target = (
        Document(id=side, sentences=tuple(Sentence(id=str(i), text=pair[n]) for i, pair in enumerate(CHINESE)))
        for n, side in enumerate(("a", "b"))
    )
    retriever = get_retriever(name, "zh")
    retriever.prepare([source, target])
    first = ranked(retriever.score(source, target))[:, 0]
    assert sum(int(at) == i for i, at in enumerate(first)) / len(CHINESE) >= 0.8

"""Cutting text into sentences by rules (trained models are optional and absent in CI)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.errors import InputError
from abcdlink.segmentation import Segmenter, get_segmenter


@pytest.fixture(scope="module")
def rules() -> Segmenter:
    segmenter = get_segmenter()
    if segmenter.name != "rules":
        pytest.skip(f"{segmenter.name} is installed; the rules are not in use")
    return segmenter


@pytest.mark.parametrize(
    "sentences",
    [
        ["The bridge closed at noon.", "Nobody was hurt!", "Why did it close?", "Engineers do not know."],
        [
            "Moreau et al. (2021) disagree.",
            "See Fig. 3 and Eq. 5, e.g. for Dr. Okafor's case.",
            "It grew by 3.5 percent.",
        ],
        ["He stopped.", '"Is it safe?"', "Nobody answered."],
        ['"Is it safe?" she asked.', "Nobody answered."],
        ["She said “go.”", "“Why?” he asked.", "They left (in a hurry).", "(The rest stayed.)"],
        ["The method is sound.", "- The paper is short.", "- No code is given!"],
        ["Wait... no.", "What?!", "Done."],
        ["J. Ortega spoke.", "No full stop at the end"],
    ],
)
def test_sentences_on_one_line_are_found(rules, sentences):
    assert rules.split(" ".join(sentences)) == sentences


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\u2029"])
def test_a_line_end_ends_a_sentence(rules, end):
    assert rules.split(f"Summary{end}The paper is good.{end}") == ["Summary", "The paper is good."]


@pytest.mark.parametrize("blank", ["", " ", "\n\n \t\n"])
def test_blank_text_has_no_sentences_and_is_no_document(rules, blank):
    assert rules.split(blank) == []
    with pytest.raises(InputError, match="'memo' has no sentences"):
        rules.document("memo", blank)


def test_a_document_numbers_its_sentences(rules):
    document = rules.document("memo", "One. Two.")
    assert [(s.id, s.text) for s in document.sentences] == [("0", "One."), ("1", "Two.")]


def test_other_languages_use_rules_and_unknown_ones_are_named():
    assert get_segmenter("de").split("Es regnet. Wir gehen.") == ["Es regnet.", "Wir gehen."]
    with pytest.raises(InputError, match="no language 'qq'"):
        get_segmenter("qq")


@given(st.text(alphabet=st.sampled_from(list("aZ1.!?\"'“”()-… \n\r\t*\u2028\ufffdé"))))
def test_no_character_but_white_space_is_lost(text):
    sentences = get_segmenter().split(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in sentences)

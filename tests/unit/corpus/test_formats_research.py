"""Importing research corpora: F1000RD and ECB+, and every kind of bad input in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from abcdlink.errors import InputError
from tests.helpers.outside_files import files, load, reasons

# f1000rd

F1000RD_HEADER = ",exp,imp_b,review_sentence_id,imp_a,paper_sentence_id\n"


def nodes(name: str, *texts: str) -> str:
    return json.dumps({"span_nodes": [{"ix": f"{name}@{i}", "content": text} for i, text in enumerate(texts)]})


def submission(folder: Path, *rows: str) -> Path:
    contents = {
        "sub/v1.json": nodes("p", "A title ", " We measured.", "It holds."),
        "sub/reviews/r1.json": nodes("r", "Review", "They measured."),
        "sub/linking/r1.csv": F1000RD_HEADER + "".join(f"{row}\n" for row in rows),
    }
    return files(folder, contents)


def test_f1000rd_keeps_rows_on_which_both_main_annotators_agree(tmp_path):
    rows = ("0,quote,1.0,r@1,1.0,p@2", "1,,1,r@1,1,p@1", "2,,0.0,r@0,1.0,p@0", "3,,,r@1,1.0,p@0", "4,sec,,r@1,,whole")
    corpus = load("f1000rd", submission(tmp_path, *rows))
    assert [(p.id, p.source, p.target, p.links) for p in corpus.pairs] == [("r1__sub", "r1", "sub", {"1": ("2", "1")})]
    assert corpus.documents["sub"].texts == ["A title ", " We measured.", "It holds."]
    assert corpus.refused == []


def test_f1000rd_without_an_agreed_row_gives_no_pair(tmp_path):
    with pytest.raises(InputError, match="contains no document"):
        load("f1000rd", submission(tmp_path, "0,,0,r@1,1,p@1"))


def test_f1000rd_refuses_invalid_rows_and_tables(tmp_path):
    source = submission(tmp_path, "0,,1,r@1,1,p@1", "1,,1,r@9,1,p@1", "2,,yes,r@1,1,p@1")
    files(source, {"sub/linking/r2.csv": F1000RD_HEADER + "0,,1,r@1,1,p@1\n", "sub/linking/r3.csv": "exp\n"})
    corpus = load("f1000rd", source)
    assert [pair.links for pair in corpus.pairs] == [{"1": ("1",)}]
    found = " | ".join(reasons(corpus))
    for part in ("and yes are not both numbers", "no sentence 'r@9'", "r2.json", "has the columns exp"):
        assert part in found
    assert len(corpus.refused) == 4


@pytest.mark.parametrize(
    "paper", ["[]", "{}", '{"span_nodes": [{"ix": 1}]}', '{"span_nodes": [{"ix": "p@1", "content": "a"}', nodes("p")]
)
def test_f1000rd_refuses_an_invalid_paper(tmp_path, paper):
    source = submission(tmp_path, "0,,1,r@1,1,p@1")
    files(source, {"sub/v1.json": paper})
    with pytest.raises(InputError, match="no usable document"):
        load("f1000rd", source)


# ecb-plus


def ecb_document(words: dict[str, str], mentions: str, relations: str) -> str:
    """Write a document: sentence -> words; tokens are numbered from 1 throughout the document."""
    tokens, number = "", 0
    for sentence, text in words.items():
        for word in text.split():
            number += 1
            tokens += f'<token t_id="{number}" sentence="{sentence}" number="0">{word}</token>\n'
    body = f"{tokens}<Markables>{mentions}</Markables><Relations>{relations}</Relations>"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<Document doc_name="x" doc_id="1">{body}</Document>'


def mention(number: int, token: int, tag: str = "ACTION_OCCURRENCE") -> str:
    return f'<{tag} m_id="{number}"><token_anchor t_id="{token}"/></{tag}>'


def coreference(cluster: str, *mentions: int, kind: str = "CROSS_DOC_COREF") -> str:
    sources = "".join(f'<source m_id="{number}"/>' for number in mentions)
    note = f' note="{cluster}"' if cluster else ""
    return f'<{kind} r_id="9"{note}>{sources}<target m_id="99"/></{kind}>'


TARGET = '<ACTION_OCCURRENCE m_id="99" RELATED_TO="" TAG_DESCRIPTOR="the fire" instance_id="ACT1"/>'


@pytest.fixture
def ecb(tmp_path: Path) -> Path:
    first = ecb_document(
        {"0": "http : //a", "1": "Shop burned", "2": "It burned again", "10": "Bob fled"},
        mention(1, 5) + mention(2, 7) + mention(3, 9, "HUMAN_PART_PER") + mention(4, 10),
        coreference("ACT1", 1, 2) + coreference("HUM1", 3) + coreference("ACT2", 4),
    )
    second = ecb_document(
        {"0": "Fire", "2": "No blaze , Bob says", "1": "He fled"},
        mention(1, 1)
        + mention(2, 3, "NEG_ACTION_OCCURRENCE")
        + mention(3, 5, "HUMAN_PART_PER")
        + mention(4, 8)
        + TARGET,
        # A cluster without a note is named by its target; clusters of one document link nothing.
        coreference("", 1, 2) + coreference("HUM1", 3) + coreference("ACT2", 4, kind="INTRA_DOC_COREF"),
    )
    contents = {
        "ECB+/1/1_10ecbplus.xml": second,
        "ECB+/1/1_1ecbplus.xml": first,
        "ECB+/2/2_1ecbplus.xml": first,
        "ECBplus_coreference_sentences.csv": "Topic,File,Sentence Number\n"
        "1,1ecbplus,1\n1,1ecbplus,10\n1,10ecbplus,0\n1,10ecbplus,2\n2,1ecbplus,1\n",
    }
    return files(tmp_path, contents)


def test_ecb_plus_links_validated_sentences_that_mention_the_same_event(ecb):
    corpus = load("ecb-plus", ecb)
    assert [(p.id, p.source, p.target, p.links) for p in corpus.pairs] == [
        ("1_10ecbplus__1_1ecbplus", "1_10ecbplus", "1_1ecbplus", {"0": ("1",), "2": ("1",)})
    ]
    assert [(s.id, s.text) for s in corpus.documents["1_10ecbplus"].sentences] == [
        ("0", "Fire"),
        ("2", "No blaze , Bob says"),
        ("1", "He fled"),
    ]
    assert (set(corpus.documents), corpus.refused) == ({"1_1ecbplus", "1_10ecbplus", "2_1ecbplus"}, [])


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("<Document>", "is not XML"),
        ('<?xml version="1.0" encoding="none"?><Document/>', "is not XML"),
        ("<Document/>", "has no sentences"),
        ('<Document><token t_id="1">a</token></Document>', "element token has no sentence"),
        (ecb_document({"0": "a"}, mention(1, 1), coreference("", 1)), "names no cluster"),
        (ecb_document({"0": "a"}, mention(1, 7), coreference("ACT1", 1)), "token '7', which does not exist"),
    ],
)
def test_ecb_plus_refuses_an_invalid_document(ecb, broken, reason):
    files(ecb, {"ECB+/2/2_1ecbplus.xml": broken})
    corpus = load("ecb-plus", ecb)
    assert len(corpus.pairs) == 1
    assert len(corpus.refused) == 1
    assert reason in reasons(corpus)[0]


def test_ecb_plus_refuses_a_validated_sentence_without_a_document(ecb):
    with (ecb / "ECBplus_coreference_sentences.csv").open("a", encoding="utf-8") as table:
        table.write("3,1ecbplus,0\n3,1ecb,0\n3,1ecb,1\n")
    corpus = load("ecb-plus", ecb)
    assert reasons(corpus) == ["there is no document '3_1ecbplus'"]
    # The older corpus is left out entirely: one note, not a refusal per row.
    assert [note.examples for note in corpus.notes] == [("3_1ecb", "3_1ecb"), ("2_1ecbplus",)]


def test_ecb_plus_as_released_drops_urls_mirrored_links_and_the_older_corpus(tmp_path):
    words = {"0": "http : //a", "1": "Shop burned", "2": "It burned again", "3": "Bob fled"}
    first = ecb_document(
        words,
        mention(1, 5) + mention(2, 7) + mention(3, 10),
        # The annotation names the second sentence first, so its link is the one kept.
        coreference("ACT1", 2, 1) + coreference("ACT2", 3),
    )
    second = ecb_document(
        {"0": "Fire took it", "1": "A blaze", "5": "He fled"},
        mention(1, 1) + mention(2, 5) + mention(3, 7),
        coreference("ACT1", 1, 2) + coreference("ACT2", 3),
    )
    rows = [f"1,{file},{n}" for file, ns in (("1ecbplus", "123"), ("2ecbplus", "015"), ("3ecb", "0")) for n in ns]
    files(
        tmp_path,
        {
            "ECB+/1/1_1ecbplus.xml": first,
            "ECB+/1/1_2ecbplus.xml": second,
            "ECB+/1/1_3ecb.xml": second,
            "ECBplus_coreference_sentences.csv": "\n".join(["Topic,File,Sentence Number", *rows]),
        },
    )
    full = load("ecb-plus", tmp_path)
    assert full.pairs[0].links == {"1": ("0", "1"), "2": ("0", "1"), "3": ("5",)}
    assert {pair.id for pair in full.pairs} == {"1_1ecbplus__1_2ecbplus", "1_1ecbplus__1_3ecb", "1_2ecbplus__1_3ecb"}
    released = load("ecb-plus", tmp_path, as_released=True)
    assert [(p.id, p.links) for p in released.pairs] == [
        ("1_1ecbplus_1_2ecbplus", {"0": ("0",), "1": ("0", "1"), "2": ("2",)})
    ]
    assert [s.text for s in released.documents["1_1ecbplus"].sentences] == [
        "Shop burned",
        "It burned again",
        "Bob fled",
    ]
    assert released.refused == []
    assert [note.examples for note in released.notes] == [("1_3ecb",), ("ECB+/1/1_3ecb.xml",)]


def test_ecb_plus_without_its_table_is_one_clear_error(ecb):
    (ecb / "ECBplus_coreference_sentences.csv").unlink()
    with pytest.raises(InputError, match=r"cannot read .*ECBplus_coreference_sentences\.csv"):
        load("ecb-plus", ecb)

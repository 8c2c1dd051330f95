"""Layouts that annotate a text: UIMA CAS XMI, read back with cassis, and brat's standoff format."""

from __future__ import annotations

import re
import sys
import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from abcdlink.corpus.records import Document, Pair, Sentence
from abcdlink.errors import InputError
from abcdlink.export import export_dataset
from abcdlink.export.dataset import LabelledCandidate
from abcdlink.judgments import LabelRule, Provenance
from abcdlink.store import Store
from tests.helpers.example_run import example_run
from tests.helpers.hostile_run import PAIRS, TEXTS, hostile_corpus, hostile_run, sentence_id

SENTENCE = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence"
LOST = "\N{REPLACEMENT CHARACTER}"


@pytest.fixture
def hostile(tmp_path: Path) -> Store:
    return hostile_run(tmp_path)


def exported(
    store: Store, layout: str, rule: str = "both"
) -> tuple[list[str], dict[str, int], list[LabelledCandidate]]:
    """Export; returns the file names, the changes, and the rows of the JSON Lines file."""
    export_dataset(store, "jsonl", rule)
    rows = store.read_records("dataset/links.jsonl", LabelledCandidate)
    done = export_dataset(store, layout, rule)
    return list(done.files), done.changes, rows


def for_xml(text: str) -> str:
    """Replace what XML 1.0 cannot hold, using Unicode categories instead of the ranges of its grammar."""
    return "".join(
        LOST if c in "\ufffe\uffff" or (unicodedata.category(c) == "Cc" and c < " " and c not in "\t\n\r") else c
        for c in text
    )


def shown(text: str) -> str:
    """Return a sentence as a marked span shows it."""
    return text.strip() if text.strip().strip("\N{ZERO WIDTH SPACE}") else LOST


class Xmi(NamedTuple):
    """An XMI file as cassis reads it."""

    cas: object
    pair: object
    spans: list
    links: list


def read_xmi(store: Store, name: str) -> Xmi:
    import cassis

    types = cassis.load_typesystem(Path(store.where("dataset/uima/TypeSystem.xml")))
    cas = cassis.load_cas_from_xmi(Path(store.where(name)), typesystem=types)
    (pair,) = cas.select("webanno.custom.PairMetadata")
    return Xmi(cas, pair, cas.select("webanno.custom.JudgedSentence"), cas.select("webanno.custom.LinkRelation"))


@pytest.mark.parametrize("rule", LabelRule)
def test_xmi_read_by_cassis_holds_the_same_links(hostile: Store, rule: LabelRule):
    names, _, rows = exported(hostile, "uima", rule)
    assert names[0] == "dataset/uima/TypeSystem.xml"
    assert len(names) == 1 + len(PAIRS)
    for name, pair_id in zip(names[1:], PAIRS, strict=True):
        xmi = read_xmi(hostile, name)
        own = [row for row in rows if row.pair == pair_id]
        assert xmi.pair.pair == for_xml(pair_id)
        assert (xmi.pair.sourceDocument, xmi.pair.targetDocument) == (own[0].source_document, own[0].target_document)
        linked = sorted((link.Governor.sentence, link.Dependent.sentence, link.provenance) for link in xmi.links)
        assert linked == sorted((for_xml(r.source), for_xml(r.target), r.provenance.value) for r in own if r.link)
        assert {(link.Governor.side, link.Dependent.side) for link in xmi.links} == {("source", "target")}
        texts = {for_xml(sentence_id(number)): shown(for_xml(text)) for number, text in enumerate(TEXTS)}
        for span in xmi.spans:
            assert xmi.cas.get_covered_text(span) == texts[span.sentence]
        judged = {("source", for_xml(r.source)) for r in own} | {("target", for_xml(r.target)) for r in own}
        assert {(span.side, span.sentence) for span in xmi.spans} == judged


def test_xmi_keeps_every_sentence_with_its_white_space(hostile: Store):
    names, changes, _ = exported(hostile, "uima")
    text = read_xmi(hostile, names[1]).cas.sofa_string
    expected = [for_xml(text) if shown(text) != LOST else LOST for text in TEXTS]
    assert text == "\n".join(expected) + "\n\n" + "\n".join(expected) + "\n"
    sentences = read_xmi(hostile, names[1]).cas.select(SENTENCE)
    ids = [f"{side}:{for_xml(sentence_id(n))}" for side in ("source", "target") for n in range(len(TEXTS))]
    assert [sentence.id for sentence in sentences] == ids
    # Two pairs of two documents with three such sentences each: '', ' \t \n ', a zero width space.
    assert changes["no visible character: shown as U+FFFD"] == 2 * 2 * 3
    assert changes["characters that XML 1.0 cannot contain: replaced by U+FFFD"] > 2 * 2 * 2


def test_xmi_follows_the_rules_that_inception_checks(hostile: Store):
    names, _, _ = exported(hostile, "uima")
    for name in names[1:]:
        xmi = read_xmi(hostile, name)
        sentences = xmi.cas.select(SENTENCE)
        for annotation in [*sentences, *xmi.spans, *xmi.links]:
            covered = xmi.cas.get_covered_text(annotation)
            assert covered
            assert covered == covered.strip()
        assert all(a.end <= b.begin for a, b in pairwise(sentences))
        assert {(s.begin, s.end) for s in xmi.spans} <= {(s.begin, s.end) for s in sentences}
        assert all((link.begin, link.end) == (link.Dependent.begin, link.Dependent.end) for link in xmi.links)


def test_xmi_offsets_count_utf_16_units_as_in_uima(hostile: Store):
    names, _, _ = exported(hostile, "uima")
    raw = hostile.read_text(names[1])
    text = read_xmi(hostile, names[1]).cas.sofa_string
    assert max(int(end) for end in re.findall(r' end="(\d+)"', raw)) == len(text.encode("utf-16-le")) // 2 > len(text)


@pytest.mark.parametrize("rule", LabelRule)
def test_both_layouts_say_who_decided_adjudicated_labels(hostile: Store, rule: LabelRule):
    names, _, rows = exported(hostile, "uima", rule)
    said = [link.judgments for name in names[1:] for link in read_xmi(hostile, name).links]
    decided = [words for words in said if words.endswith("; decided by adjudicator-1: Link")]
    assert len(decided) == sum(bool(row.link) and row.provenance is Provenance.ADJUDICATED for row in rows)
    assert bool(decided) == any("decided" in words for words in said) == (rule is LabelRule.ADJUDICATED)
    names, _, _ = exported(hostile, "brat", rule)
    notes = "".join(hostile.folder.read(name).decode() for name in names if name.endswith(".ann"))
    assert notes.count("; decided by adjudicator-1: Link") == len(decided)


def test_xmi_says_who_judged_and_how(hostile: Store):
    names, _, rows = exported(hostile, "uima", "majority")
    xmi = read_xmi(hostile, names[1])
    assert xmi.pair.annotators == "simulated"
    said = sorted(
        "; ".join(f"{annotator}: {label}" for annotator, label in row.judgments.items())
        for row in rows
        if row.link and row.pair == PAIRS[0]
    )
    assert sorted(link.judgments for link in xmi.links) == said
    assert {link.rule for link in xmi.links} == {"majority"}


def test_ids_of_pairs_never_become_paths(hostile: Store):
    for layout in ("uima", "brat"):
        names, _, _ = exported(hostile, layout)
        for name in names:
            assert re.fullmatch(rf"dataset/{layout}/[A-Za-z0-9][A-Za-z0-9._-]*", name)
            assert ".." not in name


def test_pairs_with_the_same_safe_name_have_separate_files(tmp_path: Path):
    from abcdlink.corpus.io import read_corpus_from, write_corpus_to
    from abcdlink.judgments import Judgment

    store = example_run(tmp_path)
    corpus, judgments = read_corpus_from(store, "natural"), store.read_records("judgments.jsonl", Judgment)
    names = {"natural-0": "x?", "natural-1": "x!", "natural-2": "é" * 300, "natural-3": "/"}
    pairs = [pair.model_copy(update={"id": names.get(pair.id, pair.id)}) for pair in corpus.pairs]
    write_corpus_to(store, "natural", corpus.model_copy(update={"pairs": pairs}))
    store.write_records(
        "judgments.jsonl", [j.model_copy(update={"pair": names.get(j.pair, j.pair)}) for j in judgments]
    )
    files, _, _ = exported(store, "uima")
    assert len(set(files)) == 1 + len(pairs)
    assert [read_xmi(store, name).pair.pair for name in files[1:]] == [pair.id for pair in pairs]


def test_without_cassis_the_error_says_what_to_install(hostile: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cassis", None)
    with pytest.raises(InputError, match=r"dkpro-cassis.*\[export\]"):
        export_dataset(hostile, "uima")


class Ann(NamedTuple):
    """A standoff file, read by its own grammar: tab-separated fields, one annotation per line."""

    spans: dict[str, tuple[str, int, int, str]]
    links: dict[str, tuple[str, str]]
    notes: dict[str, str]


def read_ann(text: str) -> Ann:
    ann = Ann({}, {}, {})
    # str.splitlines splits at all line ends of brat's own reader, too.
    for line in text.splitlines():
        name, middle, *rest = line.split("\t")
        words = middle.split(" ")
        if name[0] == "T":
            (covered,) = rest
            ann.spans[name] = (words[0], int(words[1]), int(words[2]), covered)
        elif name[0] == "R":
            assert words[0] == "Link"
            ann.links[name] = (words[1].removeprefix("Arg1:"), words[2].removeprefix("Arg2:"))
        else:
            assert (name[0], words[0]) == ("#", "AnnotatorNotes")
            (ann.notes[words[1]],) = rest
    return ann


@pytest.mark.parametrize("rule", LabelRule)
def test_standoff_holds_the_same_links(hostile: Store, rule: LabelRule):
    names, _, rows = exported(hostile, "brat", rule)
    assert names[0] == "dataset/brat/annotation.conf"
    stems = [name.removesuffix(".txt") for name in names if name.endswith(".txt")]
    assert [f"{stem}.ann" for stem in stems] == [name for name in names if name.endswith(".ann")]
    for stem, pair_id in zip(stems, PAIRS, strict=True):
        text = hostile.folder.read(f"{stem}.txt").decode()
        ann = read_ann(hostile.folder.read(f"{stem}.ann").decode())
        own = [row for row in rows if row.pair == pair_id]
        for kind, begin, end, covered in ann.spans.values():
            assert text[begin:end] == covered == covered.strip()
            assert covered
            assert kind in {"Source", "Target"}
        places = {at: (span[1], span[2]) for at, span in ann.spans.items()}
        by_place = sorted((places[source], places[target]) for source, target in ann.links.values())
        assert by_place == sorted((place(0, row.source), place(1, row.target)) for row in own if row.link)
        assert all((ann.spans[s][0], ann.spans[t][0]) == ("Source", "Target") for s, t in ann.links.values())
        assert set(ann.notes) == {*ann.spans, *ann.links}


def place(side: int, sentence: str) -> tuple[int, int]:
    """The place of a sentence in the standoff text, counted from the texts."""
    lines = [text if shown(text) != LOST else LOST for text in TEXTS]
    number = [sentence_id(n) for n in range(len(TEXTS))].index(sentence)
    document = sum(len(line) + 1 for line in lines) + 1
    begin = side * document + sum(len(line) + 1 for line in lines[:number])
    line = lines[number]
    return begin + len(line) - len(line.lstrip()), begin + len(line.rstrip())


def test_standoff_text_has_one_sentence_a_line(hostile: Store):
    names, changes, _ = exported(hostile, "brat")
    text = hostile.folder.read(names[1]).decode()
    assert len(text.splitlines()) == 2 * len(TEXTS) + 1
    assert "two lines  and a tab" in text
    assert changes["line breaks or tabs: replaced by spaces"] > 2 * 2 * 3


def test_a_clean_run_needs_no_change(tmp_path: Path):
    store = example_run(tmp_path)
    assert exported(store, "uima")[1] == exported(store, "brat")[1] == {}


def test_a_document_paired_with_itself_appears_twice():
    from abcdlink.export.dataset import JudgedPair
    from abcdlink.export.standoff import lay_out

    corpus = hostile_corpus()
    document = Document(id="d", sentences=(Sentence(id="0", text="ab"), Sentence(id="1", text=" c ")))
    corpus.documents["d"] = document
    laid_out = lay_out(JudgedPair(1, Pair(id="p", source="d", target="d"), []), corpus, str)
    assert laid_out.text == "ab\n c \n\nab\n c \n"
    assert {at: laid_out.text[begin:end] for at, (begin, end) in laid_out.places.items()} == {
        ("source", "0"): "ab",
        ("source", "1"): "c",
        ("target", "0"): "ab",
        ("target", "1"): "c",
    }
    assert laid_out.places["target", "0"] == (8, 10)

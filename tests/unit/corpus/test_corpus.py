"""Corpus records, the builder, and reading and writing our own layout."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus import (
    Corpus,
    CorpusBuilder,
    Document,
    Pair,
    Refusal,
    Sentence,
    read_corpus,
    read_corpus_from,
    write_corpus,
    write_corpus_to,
)
from abcdlink.errors import InputError
from abcdlink.folders import LocalFolder
from abcdlink.store import Store
from tests.helpers.any_corpus import corpora
from tests.helpers.builders import corpus, document


def built(pair: Pair, *documents: Document) -> Corpus:
    builder = CorpusBuilder("c")
    builder.add_pair("pairs, line 1", pair)
    for each in documents:
        builder.add_document("documents", each)
    return builder.build()


A, B = document("a", ["One.", "Two."]), document("b", ["Uno.", "Dos.", "Tres."])


@given(corpora())
def test_a_corpus_survives_a_round_trip(tmp_path_factory, written):
    folder = tmp_path_factory.mktemp("corpora") / "any"
    write_corpus(written, folder)
    assert read_corpus(folder) == written


def test_the_order_of_documents_and_pairs_is_kept(tmp_path):
    pairs = [Pair(id=name, source="b", target="a") for name in ("z", "a", "m")]
    write_corpus(corpus(pairs, B, A), tmp_path)
    back = read_corpus(str(tmp_path))
    assert (list(back.documents), [pair.id for pair in back.pairs]) == (["b", "a"], ["z", "a", "m"])
    assert [d.id for d in back.used_documents()] == ["b", "a"]
    assert [pair.id for pair in back.first_pairs(2).pairs] == ["z", "a"]


def test_a_run_keeps_a_corpus_under_a_prefix(tmp_path):
    store = Store(LocalFolder(tmp_path), "run")
    write_corpus_to(store, "natural", corpus([Pair(id="p", source="a", target="b")], A, B))
    assert store.folder.names() == ["natural/documents.jsonl", "natural/pairs.jsonl", "natural/refused.jsonl"]
    assert read_corpus_from(store, "natural").name == "natural"
    with pytest.raises(InputError, match=r"no corpus at .*synthetic"):
        read_corpus_from(store, "synthetic")


def test_links_to_missing_sentences_are_refused_and_the_others_kept(tmp_path):
    write_corpus(corpus([Pair(id="p", source="a", target="b", links={"0": ("1", "9"), "5": ("2",)})], A, B), tmp_path)
    back = read_corpus(tmp_path)
    assert back.pairs[0].links == {"0": ("1",)}
    assert [r.reason for r in back.refused] == [
        "pair 'p': link '0' to '9': sentence '9' of 'b' does not exist",
        "pair 'p': link '5' to '2': sentence '5' of 'a' does not exist",
    ]
    assert all("pairs.jsonl" in r.where for r in back.refused)
    write_corpus(back, tmp_path)
    assert read_corpus(tmp_path) == back, "refusals are written, and counted once"


def test_a_pair_that_loses_all_its_links_does_not_pass_for_one_without_links():
    assert built(Pair(id="p", source="a", target="b", links={"0": ("9",)}), A, B).pairs[0].links is None
    assert built(Pair(id="p", source="a", target="b", links={}), A, B).pairs[0].links == {}
    assert built(Pair(id="p", source="a", target="b", links={"0": ()}), A, B).pairs[0].links == {"0": ()}


def test_a_duplicate_is_kept_once_and_a_conflicting_id_is_refused():
    builder = CorpusBuilder("c")
    for each in (A, A, B, document("c", ["One."]), document("c", ["Other."])):
        builder.add_document("here", each)
    for pair in (
        Pair(id="p", source="a", target="b"),
        Pair(id="p", source="a", target="b"),
        Pair(id="p", source="b", target="a"),
    ):
        builder.add_pair("there", pair)
    result = builder.build()
    assert (list(result.documents), len(result.pairs)) == (["a", "b", "c"], 1)
    assert [r.where for r in result.refused] == ["here", "there"]


some_ids = st.sampled_from(["a", "b", "a@2", "a@2@2", "b@2"])
some_documents = st.builds(document, some_ids, st.tuples(st.sampled_from(["One.", "Two.", "Three."])))


@given(st.lists(some_documents, max_size=6), st.lists(st.tuples(some_ids, some_ids), max_size=6))
def test_a_pair_of_names_is_kept_only_if_each_name_has_one_text(given_documents, named):
    builder = CorpusBuilder("c")
    for number, (source, target) in enumerate(named):
        builder.add_pair("pairs", Pair(id=str(number), source=source, target=target))
    for each in given_documents:
        builder.add_document("documents", each)
    texts: dict[str, set[str]] = {}
    for each in given_documents:
        texts.setdefault(each.id, set()).add(each.texts[0])
    result = builder.build()
    wanted = [str(number) for number, pair in enumerate(named) if all(len(texts.get(name, ())) == 1 for name in pair)]
    assert [pair.id for pair in result.pairs] == wanted
    assert len(result.refused) >= len(named) - len(wanted)


def test_many_texts_under_one_id_are_handled_quickly():
    builder = CorpusBuilder("c")
    for number in range(1000):
        pair = Pair(id=str(number), source="a", target="b")
        builder.add_whole_pair("here", document("a", [f"One {number}."]), document("b", [f"Two {number}."]), pair)
    result = builder.build()
    assert (len(result.pairs), len(result.documents), result.notes[0].count) == (1000, 2000, 2 * 999)
    assert result.source_of(result.pairs[999]).id == "a@1000"


def test_line_separators_inside_sentences_do_not_end_a_line(tmp_path):
    odd = document("odd \u2028 id/:é" + "x" * 128, ["a\u2028b\u2029c\x85d\ne\tf\ufffd", "*", "*"])
    write_corpus(corpus([], odd), tmp_path)
    assert read_corpus(tmp_path).documents == {odd.id: odd}
    assert len((tmp_path / "documents.jsonl").read_text(encoding="utf-8").split("\n")) == 2
    assert json.loads((tmp_path / "documents.jsonl").read_bytes())["id"] == odd.id


def test_refusals_from_earlier_versions_can_be_read() -> None:
    old = '{"where": "a.txt", "reason": "it is empty", "mend": "remove it"}'
    assert Refusal.model_validate_json(old) == Refusal(where="a.txt", reason="it is empty", hint="remove it")


@pytest.mark.parametrize("bad", ["", "  ", "\n", "a\0b", "\ud800"])
def test_an_unstorable_id_is_refused_with_its_document(bad):
    builder = CorpusBuilder("c")
    good = Document(id="good", sentences=(Sentence(id="0", text="One."),))
    for number, made in enumerate(
        (
            lambda: Document(id=bad, sentences=(Sentence(id="0", text="One."),)),
            lambda: Document(id="d", sentences=(Sentence(id=bad, text="One."),)),
        )
    ):
        with builder.refusing("here"):
            document = made()
            builder.add_document("here", document)
            builder.add_whole_pair("here", good, document, Pair(id=f"p{number}", source="good", target=document.id))
    with builder.refusing("here"):
        builder.add_whole_pair("here", good, good, Pair(id=bad, source="good", target="good"))
    corpus = builder.build()
    assert not corpus.pairs
    assert not corpus.documents
    assert len(corpus.refused) >= 3


@pytest.mark.parametrize(
    "strange", ["../../etc", "a/b", "..", "CON", "-rf", "x" * 300, "\u00e9" * 200, '<b>"', "\u202e"]
)
def test_an_unusual_id_is_accepted(strange):
    builder = CorpusBuilder("c")
    one, two = (Document(id=f"{strange}{n}", sentences=(Sentence(id=strange, text="One."),)) for n in (1, 2))
    builder.add_whole_pair("here", one, two, Pair(id=strange, source=one.id, target=two.id))
    assert [pair.id for pair in builder.build().pairs] == [strange]

"""The invariant of all readers and of drops: every kept pair has the documents that came with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus import Corpus
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.drops import LocalSource, settle, take
from abcdlink.folders import LocalFolder
from tests.helpers.outside_files import files, lines, load


class Given(NamedTuple):
    """A pair as someone might write it, with ids from a small set so that they often recur with other texts."""

    name: str
    source: str
    target: str
    source_text: str
    target_text: str


Kept = tuple[str, str, str]
"""Id of a pair, text of its source, text of its target."""

ids = st.sampled_from(["a", "b", "a@2", "A", "x y", "é"])
texts = st.sampled_from(["The bridge reopened.", "The mayor resigned.", "It rained.", "消防队来了"])
given_pairs = st.lists(st.builds(Given, st.sampled_from("pqrs"), ids, ids, texts, texts), min_size=1, max_size=8)


def kept(corpus: Corpus) -> list[Kept]:
    return [(p.id, corpus.source_of(p).texts[0], corpus.target_of(p).texts[0]) for p in corpus.pairs]


def came(pairs: list[Given]) -> set[Kept]:
    return {(p.name, p.source_text, p.target_text) for p in pairs}


def whole_pair(pair: Given) -> dict[str, object]:
    return {
        "pair": pair.name,
        "source": {"id": pair.source, "sentences": [pair.source_text]},
        "target": {"id": pair.target, "text": pair.target_text},
        "links": {"0": ["0"]},
    }


def jsonl_file(folder: Path, pairs: list[Given]) -> tuple[list[Kept], set[Kept]]:
    return kept(load("jsonl", lines(folder / "pairs.jsonl", *map(whole_pair, pairs)))), came(pairs)


def jsonl_folder(folder: Path, pairs: list[Given]) -> tuple[list[Kept], set[Kept]]:
    both = [each for p in pairs for each in ((p.source, p.source_text), (p.target, p.target_text))]
    lines(folder / "documents.jsonl", *({"id": name, "text": text} for name, text in both))
    lines(folder / "pairs.jsonl", *({"id": p.name, "source": p.source, "target": p.target} for p in pairs))
    return kept(load("jsonl", folder)), came(pairs)


def abcd_link(folder: Path, pairs: list[Given]) -> tuple[list[Kept], set[Kept]]:
    of_name = {p.name: p for p in pairs}  # a JSON object has each name once
    docs = {name: {"doc1": {"0": p.source_text}, "doc2": {"0": p.target_text}} for name, p in of_name.items()}
    links = {name: {"doc1": p.source, "doc2": p.target, "links": {"0": ["0"]}} for name, p in of_name.items()}
    files(folder, {"docs.json": json.dumps(docs), "x_links.json": json.dumps(links)})
    return kept(load("abcd-link", folder)), came(list(of_name.values()))


def text_by_name(folder: Path, pairs: list[Given]) -> tuple[list[Kept], set[Kept]]:
    of_name = {p.name.upper() if p.source == "A" else p.name: p for p in pairs}
    for name, p in of_name.items():
        target = name.swapcase() if p.target == "A" else name
        files(folder, {f"{name}.Source.TXT": p.source_text, f"{target}.target.txt": p.target_text})
    on_disk = {path.name.split(".")[0]: path.read_text(encoding="utf-8") for path in folder.glob("*.target.txt")}
    # A target whose name differs only in case is accepted if there is no other.
    allowed = {(n, p.source_text, on_disk[t]) for n, p in of_name.items() for t in on_disk if t in {n, n.swapcase()}}
    found = kept(load("text", folder))
    assert all((n, s, on_disk[n]) in found for n, s, _ in allowed if n in on_disk)
    return found, allowed


def text_by_table(folder: Path, pairs: list[Given]) -> tuple[list[Kept], set[Kept]]:
    files(folder, {f"{p.source}.txt": p.source_text for p in pairs} | {f"{p.target}.txt": p.target_text for p in pairs})
    on_disk = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.txt")}
    rows = "".join(f"{p.name},{p.source},{p.target}.txt\n" for p in pairs)
    found = kept(load("text", files(folder, {"pairs.csv": f"id,source,target\n{rows}"})))
    return found, {(p.name, on_disk[p.source], on_disk[p.target]) for p in pairs}


def f1000rd(folder: Path, pairs: list[Given]) -> tuple[list[Kept], set[Kept]]:
    of_name = {p.name: p for p in pairs}
    for name, p in of_name.items():
        paper, review = ({"span_nodes": [{"ix": "n", "content": text}]} for text in (p.target_text, p.source_text))
        table = "review_sentence_id,paper_sentence_id,imp_a,imp_b\nn,n,1,1\n"
        # All papers have a report of the same name, since reports are numbered.
        contents = {"v1.json": json.dumps(paper), "reviews/r1.json": json.dumps(review), "linking/r1.csv": table}
        files(folder / name, contents)
    return kept(load("f1000rd", folder)), {(f"r1__{p.name}", p.source_text, p.target_text) for p in of_name.values()}


def ecb_plus(folder: Path, pairs: list[Given]) -> tuple[list[Kept], set[Kept]]:
    def document(text: str) -> str:
        mention = '<ACTION_OCCURRENCE m_id="1"><token_anchor t_id="1"/></ACTION_OCCURRENCE>'
        relation = '<CROSS_DOC_COREF note="E"><source m_id="1"/></CROSS_DOC_COREF>'
        body = f"<Markables>{mention}</Markables><Relations>{relation}</Relations>"
        return f'<Document><token t_id="1" sentence="0">{text}</token>{body}</Document>'

    rows = ["Topic,File,Sentence Number"]
    for topic, p in enumerate(pairs):
        # One topic after another, with file names that recur in other topics.
        files(folder, {f"ECB+/{topic}/{topic}_1.xml": document(p.source_text)})
        files(folder, {f"ECB+/{topic}/{topic}_2.xml": document(p.target_text)})
        rows += [f"{topic},1,0", f"{topic},2,0"]
    found = kept(load("ecb-plus", files(folder, {"ECBplus_coreference_sentences.csv": "\n".join(rows)})))
    return found, {(f"{n}_1__{n}_2", p.source_text, p.target_text) for n, p in enumerate(pairs)}


def drops(folder: Path, pairs: list[Given]) -> tuple[list[Kept], set[Kept]]:
    source, ledger = LocalSource(folder, quiet=0), LocalFolder(folder / ".ledger")
    lines(folder / "1.jsonl", *map(whole_pair, pairs[::2]))
    lines(folder / "2.jsonl", *map(whole_pair, pairs[1::2]))
    found: list[Kept] = []
    more = True
    while more:
        result = take(source, ledger, get_segmenter(), limit=3)
        settle(ledger, result)
        found, more = found + kept(result.corpus), result.more
    return found, came(pairs)


Reader = Callable[[Path, list[Given]], tuple[list[Kept], set[Kept]]]
READERS = (jsonl_file, jsonl_folder, abcd_link, text_by_name, text_by_table, f1000rd, ecb_plus, drops)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
@given(pairs=given_pairs)
def test_a_kept_pair_has_the_documents_that_came_with_it(tmp_path_factory, reader: Reader, pairs):
    found, allowed = reader(tmp_path_factory.mktemp("pairs"), pairs)
    assert set(found) <= allowed


@given(given_pairs)
def test_every_line_of_whole_pairs_is_kept_or_refused(tmp_path_factory, pairs):
    corpus = load("jsonl", lines(tmp_path_factory.mktemp("pairs") / "p.jsonl", *map(whole_pair, pairs)))
    assert len(corpus.pairs) == len({p.name for p in pairs})
    # Two lines with the same name and texts are one pair, even if the ids of its documents differ.
    assert len(corpus.pairs) + len(corpus.refused) >= len({(p.name, p.source_text, p.target_text) for p in pairs})

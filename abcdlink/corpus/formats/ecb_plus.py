"""Reads ECB+ (Cybulska and Vossen, 2014): news sentences that mention one event are linked.

The distribution is a folder with ``ECB+/<topic>/<document>.xml`` and ``ECBplus_coreference_sentences.csv``,
the table of sentences whose annotation was validated (columns Topic, File, Sentence Number). NEWS-ECB+ has
only the documents named ``*ecbplus``; to get these alone, give a folder without the ``*ecb.xml`` files.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import read_bytes, read_table
from abcdlink.corpus.lines import pair_name
from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.errors import InputError
from abcdlink.segmentation import Segmenter

TEXTS = "ECB+"
VALIDATED = "ECBplus_coreference_sentences.csv"
COLUMNS = ("topic", "file", "sentence number")
EVENTS = ("ACTION_", "NEG_ACTION_")
CLUSTER = "CROSS_DOC_COREF"


class _Annotated(NamedTuple):
    document: Document
    clusters: dict[str, set[str]]
    """Cluster of events -> sentences that mention it."""


def read_ecb_plus(source: Path, segmenter: Segmenter) -> Corpus:  # noqa: ARG001 - sentences are given
    """Read the distribution; a pair is two documents of a topic with at least one link.

    Two sentences are linked when both are validated and mention an event of one cross-document
    cluster. Documents are named after their files and sentences as in the files; the text is the
    tokens with blanks between. Of two documents, the source is the one whose name comes first.

    Raises:
        InputError: when the texts or the table are missing, or the table cannot be read.
    """
    paths = sorted((source / TEXTS).glob("*/*.xml"))
    if not paths:
        msg = f"{source / TEXTS} holds no topic with .xml files"
        raise InputError(msg, f"give the folder of the distribution, which holds {TEXTS} and {VALIDATED}")
    builder = CorpusBuilder(source.resolve().name)
    validated = _read_validated(builder, source / VALIDATED, {path.stem for path in paths})
    topics: dict[str, list[_Annotated]] = {}
    for path in paths:
        with builder.refusing(str(path)):
            read = _read_document(builder, path, validated.get(path.stem, set()))
            builder.add_document(str(path), read.document)
            topics.setdefault(path.parent.name, []).append(read)
    for read_documents in topics.values():
        for first, second in combinations(sorted(read_documents, key=lambda read: read.document.id), 2):
            if links := _links(first, second):
                one, other = first.document.id, second.document.id
                builder.add_pair(
                    f"{source}, {one} and {other}",
                    Pair(id=pair_name(one, other), source=one, target=other, links=links),
                )
    return builder.build()


def _read_validated(builder: CorpusBuilder, path: Path, documents: set[str]) -> dict[str, set[str]]:
    """Return document -> its validated sentences."""
    validated: dict[str, set[str]] = {}
    for where, cells in read_table(path, COLUMNS):
        topic, file, sentence = (cells[column] for column in COLUMNS)
        name = f"{topic}_{file}"
        if name not in documents:
            builder.refuse(where, f"there is no document {name!r}", "add its file or remove the row")
        else:
            validated.setdefault(name, set()).add(sentence)
    return validated


def _read_document(builder: CorpusBuilder, path: Path, validated: set[str]) -> _Annotated:
    root = _parse(path)
    words: dict[str, list[str]] = {}
    sentence_of = {}
    for token in root.iter("token"):
        sentence = _attribute(path, token, "sentence")
        words.setdefault(sentence, []).append((token.text or "").strip())
        sentence_of[_attribute(path, token, "t_id")] = sentence
    sentences = tuple(Sentence(id=name, text=" ".join(tokens)) for name, tokens in words.items())
    clusters: dict[str, set[str]] = {}
    for cluster, anchor in _event_mentions(path, root):
        if anchor not in sentence_of:
            reason = f"a mention of {cluster!r} names the token {anchor!r}, which is not there"
            builder.refuse(str(path), reason, "take the file from the distribution")
        elif sentence_of[anchor] in validated:
            clusters.setdefault(cluster, set()).add(sentence_of[anchor])
    return _Annotated(Document(id=path.stem, sentences=sentences), clusters)


def _parse(path: Path) -> ET.Element:
    try:
        return ET.fromstring(read_bytes(path))  # noqa: S314 - expat itself bounds the expansion of entities
    except (ET.ParseError, LookupError, ValueError) as error:
        msg = f"{path} is not XML: {error}"
        raise InputError(msg, "take the file from the distribution") from None


def _event_mentions(path: Path, root: ET.Element) -> Iterator[tuple[str, str]]:
    """Yield (cluster, token) for each token of each event mention in a cross-document cluster."""
    markables = {_attribute(path, mark, "m_id"): mark for mark in root.iterfind("Markables/*")}
    for relation in root.iterfind(f"Relations/{CLUSTER}"):
        cluster = relation.get("note") or _instance(path, relation, markables)
        for source in relation.iterfind("source"):
            mention = markables.get(_attribute(path, source, "m_id"))
            if mention is not None and mention.tag.startswith(EVENTS):
                for anchor in mention.iterfind("token_anchor"):
                    yield cluster, _attribute(path, anchor, "t_id")


def _instance(path: Path, relation: ET.Element, markables: dict[str, ET.Element]) -> str:
    """Return the cluster that a relation's target stands for."""
    target = relation.find("target")
    instance = None if target is None else markables.get(_attribute(path, target, "m_id"))
    if instance is None:
        msg = f"{path}: the relation {relation.get('r_id')!r} names no cluster"
        raise InputError(msg, "give it a note, or a target that is a markable with an instance_id")
    return _attribute(path, instance, "instance_id")


def _attribute(path: Path, element: ET.Element, name: str) -> str:
    value = element.get(name)
    if not value:
        msg = f"{path}: an element {element.tag} has no {name}"
        raise InputError(msg, "take the file from the distribution")
    return value


def _links(first: _Annotated, second: _Annotated) -> dict[str, tuple[str, ...]]:
    """Return source sentence -> target sentences, both in the order of their documents."""
    found: dict[str, set[str]] = {}
    for cluster in first.clusters.keys() & second.clusters.keys():
        for source in first.clusters[cluster]:
            found.setdefault(source, set()).update(second.clusters[cluster])
    position = second.document.position
    return {
        sentence.id: tuple(sorted(found[sentence.id], key=position.__getitem__))
        for sentence in first.document.sentences
        if sentence.id in found
    }

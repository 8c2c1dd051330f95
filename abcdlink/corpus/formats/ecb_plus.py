"""Reads ECB+ (Cybulska and Vossen, 2014): news sentences that mention one event are linked.

The distribution is a folder with ``ECB+/<topic>/<document>.xml`` and ``ECBplus_coreference_sentences.csv``,
the table of sentences whose annotation was validated (columns Topic, File, Sentence Number).

NEWS-ECB+, as the authors of ABCD-Link released it, is a variant: only the documents named ``*ecbplus``; without
the sentence that opens a document with its address; sentences numbered from 0 without gaps; pairs named
``<source>_<target>``; and of two links (i, j) and (j, i) between the positions of two documents only the one that
comes first in the order of the annotation. The released set lacks 692 links for the last reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import ImportSource, read_bytes, read_table
from abcdlink.corpus.records import Corpus, Document, Note, Pair, Sentence, pair_name
from abcdlink.errors import InputError

TEXTS = "ECB+"
VALIDATED = "ECBplus_coreference_sentences.csv"
COLUMNS = ("topic", "file", "sentence number")
EVENTS = ("ACTION_", "NEG_ACTION_")
CLUSTER = "CROSS_DOC_COREF"
ADDRESS = re.compile(r"\s*(https?\s*:|www\s*\.)", re.IGNORECASE)
OLDER, NEWER = "ecb", "ecbplus"
"""Endings of the names of documents from the older corpus ECB and of those that ECB+ added."""


class _Annotated(NamedTuple):
    document: Document
    clusters: dict[str, dict[str, None]]
    """Cluster of events -> sentences that mention it, both in the order of the annotation."""


def read_ecb_plus(given: ImportSource) -> Corpus:
    """Read the distribution; a pair is two documents of a topic with at least one link.

    Two sentences are linked when both are validated and mention an event of one cross-document
    cluster. Documents are named after their files and sentences as in the files; the text is the
    tokens with blanks between. Of two documents, the source is the one whose name comes first.
    The variant as released differs as the module says.

    Raises:
        InputError: when the texts or the table are missing, or the table cannot be read.
    """
    paths = sorted((given.path / TEXTS).glob("*/*.xml"))
    if given.choices.as_released:
        paths = [path for path in paths if path.stem.endswith(NEWER)]
    if not paths:
        msg = f"{given.path / TEXTS} contains no topic with .xml files"
        raise InputError(msg, f"give the folder of the distribution, which holds {TEXTS} and {VALIDATED}")
    builder = CorpusBuilder(given.name)
    validated = _read_validated(builder, given.file(given.path / VALIDATED), {path.stem for path in paths})
    topics: dict[str, list[_Annotated]] = {}
    for path in paths:
        with builder.refusing(str(path)):
            read = _read_document(builder, given.file(path), validated.get(path.stem, set()))
            if given.choices.as_released:
                read = _as_released(read)
            builder.add_document(str(path), read.document)
            topics.setdefault(path.parent.name, []).append(read)
    for read_documents in topics.values():
        for first, second in combinations(sorted(read_documents, key=lambda read: read.document.id), 2):
            one, other = first.document.id, second.document.id
            name = f"{one}_{other}" if given.choices.as_released else pair_name(one, other)
            if links := _links(first, second, once=given.choices.as_released):
                pair = Pair(id=name, source=one, target=other, links=links)
                builder.add_pair(f"{given.path}, {one} and {other}", pair)
    return builder.build()


def _read_validated(builder: CorpusBuilder, path: Path, documents: set[str]) -> dict[str, set[str]]:
    """Return document -> its validated sentences."""
    validated: dict[str, set[str]] = {}
    left_out = []
    without_older = not any(name.endswith(OLDER) for name in documents)
    for where, cells in read_table(path, COLUMNS):
        topic, file, sentence = (cells[column] for column in COLUMNS)
        name = f"{topic}_{file}"
        if name in documents:
            validated.setdefault(name, set()).add(sentence)
        elif name.endswith(OLDER) and without_older:
            left_out.append(name)
        else:
            builder.refuse(where, f"there is no document {name!r}", "add its file or remove the row")
    if left_out:
        builder.note(Note.of(f"Rows of {path.name} for documents of the older corpus, which is left out", left_out))
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
    clusters: dict[str, dict[str, None]] = {}
    for cluster, anchor in _event_mentions(path, root):
        if anchor not in sentence_of:
            reason = f"a mention of {cluster!r} names the token {anchor!r}, which does not exist"
            builder.refuse(str(path), reason, "use the file from the original distribution")
        elif sentence_of[anchor] in validated:
            clusters.setdefault(cluster, {})[sentence_of[anchor]] = None
    return _Annotated(Document(id=path.stem, sentences=sentences), clusters)


def _as_released(read: _Annotated) -> _Annotated:
    """Leave out the address that opens the document, and number the sentences from 0."""
    sentences = read.document.sentences
    rest = sentences[1:] if ADDRESS.match(sentences[0].text) else sentences
    new_id = {sentence.id: str(index) for index, sentence in enumerate(rest)}
    numbered = tuple(Sentence(id=new_id[sentence.id], text=sentence.text) for sentence in rest)
    clusters = {
        cluster: {new_id[name]: None for name in names if name in new_id} for cluster, names in read.clusters.items()
    }
    return _Annotated(Document(id=read.document.id, sentences=numbered), clusters)


def _parse(path: Path) -> ET.Element:
    try:
        return ET.fromstring(read_bytes(path))  # noqa: S314 - expat itself bounds the expansion of entities
    except (ET.ParseError, LookupError, ValueError) as error:
        msg = f"{path} is not XML: {error}"
        raise InputError(msg, "use the file from the original distribution") from None


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
        raise InputError(msg, "use the file from the original distribution")
    return value


def _links(first: _Annotated, second: _Annotated, *, once: bool) -> dict[str, tuple[str, ...]]:
    """Return source sentence -> target sentences, both in the order of their documents.

    ``once``: of two links (i, j) and (j, i) between positions, only the one that the annotation has first.
    """
    sources, targets = first.document.position, second.document.position
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for cluster, mentions in first.clusters.items():
        for source in mentions:
            for target in second.clusters.get(cluster, ()):
                at = sources[source], targets[target]
                if not (once and at[::-1] in found):
                    found[at] = source, target
    links: dict[str, tuple[str, ...]] = {}
    for at in sorted(found):
        source, target = found[at]
        links[source] = (*links.get(source, ()), target)
    return links

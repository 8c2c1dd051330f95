"""What a corpus holds, in numbers: sentences, links and clusters of links, as in Table 1 of the paper and beyond."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from abcdlink.characters import HIDDEN, as_compared, garbled_by, holds_hidden
from abcdlink.corpus.gold import linked_cells
from abcdlink.corpus.records import Corpus, Document, Note, Record


class Clusters(Record):
    """Groups of adjacent links, over all pairs.

    Two links of a pair touch when their source sentences are at most one sentence apart and their target sentences
    too; links that touch, also by way of others, are one cluster; a link that touches none is in no cluster. The paper
    prints figures only; this definition gives its row of REVIEWS-HE to the last digit.

    ``pairs``: pairs with links. ``percent``: of the links that are in a cluster. ``mean`` and ``largest``: links of a
    cluster; 0 when there is none.
    """

    pairs: int
    links: int
    percent: float
    mean: float
    largest: int


class CorpusCounts(Record):
    """The numbers of one corpus; ``None`` where there is nothing to average.

    Means of sentences are over pairs, so that a document counts once for each of its pairs, as in the paper; in a
    corpus without pairs they are over its documents. All that is said of links is over pairs whose links are known.
    """

    documents: int
    pairs: int
    pairs_with_known_links: int
    source_sentences: float | None = Field(description="mean sentences of a source document")
    target_sentences: float | None = Field(description="mean sentences of a target document")
    links: int
    linked_sources: int = Field(description="source sentences with at least one link")
    linked_targets: int = Field(description="target sentences with at least one link")
    linked_sources_per_pair: float | None = Field(description="the paper's mean links of a source document")
    links_per_pair: float | None = Field(description="the paper's mean links of a target document")
    links_per_linked_source: float | None
    links_per_linked_target: float | None
    linked_source_share: float | None = Field(description="share of the source sentences that have a link")
    linked_target_share: float | None = Field(description="share of the target sentences that have a link")
    sources_with_several_targets: int
    clusters: Clusters

    @property
    def rows(self) -> dict[str, float | None]:
        """The numbers by a name to show, in the order of a table."""
        return {
            "documents": self.documents,
            "pairs": self.pairs,
            "pairs with known links": self.pairs_with_known_links,
            "sentences of a source document": self.source_sentences,
            "sentences of a target document": self.target_sentences,
            "links": self.links,
            "linked source sentences": self.linked_sources,
            "linked target sentences": self.linked_targets,
            "linked source sentences of a pair": self.linked_sources_per_pair,
            "links of a pair": self.links_per_pair,
            "links of a linked source sentence": self.links_per_linked_source,
            "links of a linked target sentence": self.links_per_linked_target,
            "share of source sentences with a link": self.linked_source_share,
            "share of target sentences with a link": self.linked_target_share,
            "source sentences with several targets": self.sources_with_several_targets,
            "share of links in clusters": self.clusters.percent / 100 if self.links else None,
            "links of a cluster": self.clusters.mean or None,
            "links of the largest cluster": self.clusters.largest,
        }


def count(corpus: Corpus) -> CorpusCounts:
    """Count a corpus."""
    known = [pair for pair in corpus.pairs if pair.links is not None]
    per_source = [len(targets) for pair in known for targets in pair.sources_with_links.values()]
    links = sum(per_source)
    linked_targets = sum(len({one for found in pair.sources_with_links.values() for one in found}) for pair in known)
    sources = [len(corpus.source_of(pair).sentences) for pair in known]
    targets = [len(corpus.target_of(pair).sentences) for pair in known]
    if corpus.pairs:
        of_sources = [len(corpus.source_of(pair).sentences) for pair in corpus.pairs]
        of_targets = [len(corpus.target_of(pair).sentences) for pair in corpus.pairs]
    else:
        of_sources, of_targets = [], [len(document.sentences) for document in corpus.documents.values()]
    return CorpusCounts(
        documents=len(corpus.documents),
        pairs=len(corpus.pairs),
        pairs_with_known_links=len(known),
        source_sentences=_ratio(sum(of_sources), len(of_sources)),
        target_sentences=_ratio(sum(of_targets), len(of_targets)),
        links=links,
        linked_sources=len(per_source),
        linked_targets=linked_targets,
        linked_sources_per_pair=_ratio(len(per_source), len(known)),
        links_per_pair=_ratio(links, len(known)),
        links_per_linked_source=_ratio(links, len(per_source)),
        links_per_linked_target=_ratio(links, linked_targets),
        linked_source_share=_ratio(len(per_source), sum(sources)),
        linked_target_share=_ratio(linked_targets, sum(targets)),
        sources_with_several_targets=sum(number > 1 for number in per_source),
        clusters=link_clusters(corpus),
    )


def repeated_sentences(documents: Iterable[Document]) -> Counter[int]:
    """Return key of a sentence -> number of documents that have it, whatever its case and white space."""
    counts: Counter[int] = Counter()
    for document in documents:
        counts.update({key_of(text) for text in document.texts})
    return counts


def key_of(text: str) -> int:
    """Return the key of a sentence in ``repeated_sentences``: a hash, as there may be millions."""
    return hash(" ".join(text.split()).casefold())


def link_clusters(corpus: Corpus) -> Clusters:
    """Find the clusters of all pairs."""
    sizes = [_cluster_sizes(linked_cells(corpus, pair)) for pair in corpus.pairs]
    per_link = np.concatenate([np.empty(0, np.intp), *sizes])
    clusters = per_link[per_link > 1]
    links = int(per_link.sum())
    return Clusters(
        pairs=sum(len(of_pair) > 0 for of_pair in sizes),
        links=links,
        percent=100 * float(clusters.sum()) / max(links, 1),
        mean=float(clusters.mean()) if len(clusters) else 0.0,
        largest=int(clusters.max(initial=0)),
    )


def _cluster_sizes(linked: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the number of links of each group of touching links, including groups of one."""
    if not linked.any():
        return np.empty(0, np.intp)
    from scipy.ndimage import label

    groups, _ = label(linked, structure=np.ones((3, 3)))
    return np.bincount(groups[linked])[1:]


def _ratio(total: float, number: int) -> float | None:
    return total / number if number else None


SUSPICIOUS = re.compile(
    r"""
    \b(?:ignore|disregard|forget|override)\b[^.]{0,40}\b(?:instructions?|prompts?|rules|previous|above)\b
    | \b(?:you\ are|act\ as|pretend\ to\ be)\b[^.]{0,20}\b(?:AI|assistant|language\ model|LLM|chatbot)\b
    | \b(?:as\ an?|if\ you\ are\ an?|dear)\ (?:AI|LLM|language\ model|assistant|chatbot)\b
    | \b(?:answer|respond|reply|output|return)\b[^.]{0,20}\b(?:true|false|JSON|only\ with|with\ the\ word)\b
    | \b(?:system|developer)\ (?:prompt|message)\b
    | ^\s*(?:system|assistant|user)\s*:
    | <\|[^|>]{1,40}\|> | </?s> | \[/?INST\b | \#{3}\ *(?:instruction|response|system)
    | \{\s*"[^"]{1,40}"\s*:\s*(?:true|false|null|"|\[|\{)
    | ^\s*(?-i:\[(?:[A-Z]\w{1,19}|[a-z]\d{1,4})\])\s*"?\w
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What reads as if it were written for a model. Prompts show all texts as data, so it can end nothing; a model may
still do what it says: look at documents from strangers."""
LIKE_INSTRUCTIONS = "Sentences that read like instructions to a model"
REPEATED = "Pairs with the same two texts as another pair, which people are not asked about again"
HOLD_HIDDEN = "Sentences with characters that nobody sees (soft hyphens, without width, turning letters around)"
GARBLED = (
    "Garbled sentences, as UTF-8 was read as {0}: save the original as UTF-8 again, or repair the file with "
    "`iconv -f UTF-8 -t {0} FILE > NEW`, and import it once more"
)


def is_suspicious(text: str) -> bool:
    """Tell whether a sentence reads like an instruction to a model, or like a part of a prompt or its answer."""
    return SUSPICIOUS.search(as_compared(text)) is not None


def remarks(corpus: Corpus) -> list[Note]:
    """Return notes of what is worth a look: odd sentences, and pairs that repeat both texts of another one."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for document in corpus.documents.values():
        for sentence in document.sentences:
            for what in _oddities(sentence.text):
                seen = HIDDEN.sub("\N{REPLACEMENT CHARACTER}", " ".join(sentence.text.split())[:80])
                found[what].append(f"{document.id}, {sentence.id}: {seen}")
    found[REPEATED] += [f"{pair} repeats {first}" for pair, first in repeated_pairs(corpus).items()]
    return [Note.of(what, items) for what, items in found.items() if items]


def repeated_pairs(corpus: Corpus) -> dict[str, str]:
    """Return the pairs that repeat both texts of an earlier one -> that one."""
    contents = {document.id: hash(tuple(document.texts)) for document in corpus.documents.values()}
    firsts: dict[tuple[int, int], str] = {}
    found = (
        (pair.id, firsts.setdefault((contents[pair.source], contents[pair.target]), pair.id)) for pair in corpus.pairs
    )
    return {pair: first for pair, first in found if pair != first}


def _oddities(text: str) -> Iterator[str]:
    if is_suspicious(text):
        yield LIKE_INSTRUCTIONS
    if holds_hidden(text):
        yield HOLD_HIDDEN
    if encoding := garbled_by(text):
        yield GARBLED.format(encoding)

"""What was fitted on which pairs: their texts, recognised under any id, and folds that share none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus, Document, Pair, Record
from abcdlink.errors import InputError, counted
from abcdlink.linking.records import Aim, CutoffRule

if TYPE_CHECKING:
    import pandas as pd


LENGTH = 32
"""Hexadecimal digits of a hash: 128 bits."""


def document_fingerprint(document: Document) -> str:
    """Return a hash of the texts of a document's sentences in order; ids do not count."""
    digest = hashlib.sha256()
    for text in document.texts:
        data = text.encode("utf-8", "surrogatepass")
        # The length precedes the text, so that sentence boundaries are unambiguous.
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:LENGTH]


def pair_fingerprints(corpus: Corpus) -> dict[str, str]:
    """Return pair id -> a hash of the texts of its source and its target document; links do not count."""
    texts = {document.id: document_fingerprint(document) for document in corpus.used_documents()}
    return {
        pair.id: hashlib.sha256(f"{texts[pair.source]}>{texts[pair.target]}".encode()).hexdigest()[:LENGTH]
        for pair in corpus.pairs
    }


Folds = Mapping[str, int]
"""Pair id -> number of its fold, from 0."""

FOLDS = 5


def make_folds(corpus: Corpus, count: int = FOLDS, group: Callable[[Pair], str] | None = None) -> dict[str, int]:
    """Divide the pairs of a corpus, so that each fold has about as many sources with links.

    Pairs that share a document stay together, directly or through other pairs; two documents with the same sentences
    are one, whatever their ids. So nothing fitted on the other folds has seen a document of this one. The largest group
    goes first, each into the fold with the fewest sources; ties are in corpus order. ``group`` gives a further group of
    pairs that stay together, such as their topic.

    Returns:
        Pair id -> fold, in the order of the corpus.

    Raises:
        InputError: when there are fewer groups with links than folds.
    """
    if count < 2:  # noqa: PLR2004 - one part leaves nothing to fit on
        msg = f"the number of folds cannot be {count}"
        raise InputError(msg, "use at least 2 folds")
    groups = _groups(corpus, group)
    weights = np.bincount(groups, [len(pair.sources_with_links) for pair in corpus.pairs])
    if np.count_nonzero(weights) < count:
        found = counted(int(np.count_nonzero(weights)), "group") + " of annotated pairs that share no document"
        msg = f"the corpus {corpus.name!r} has {found}, too few for {count} folds"
        raise InputError(msg, "use fewer folds or annotate more documents, or fit on another corpus")
    fold_of, filled = np.zeros(len(weights), np.int64), np.zeros(count)
    for number in np.argsort(-weights, kind="stable"):
        fold_of[number] = filled.argmin()
        filled[fold_of[number]] += weights[number]
    return {pair.id: int(fold_of[number]) for pair, number in zip(corpus.pairs, groups, strict=True)}


def fold_numbers(folds: Folds, pairs: Iterable[str]) -> NDArray[np.int64]:
    """Return the fold of each pair; raises ``InputError`` if one has none."""
    numbers = []
    for pair in pairs:
        if pair not in folds:
            msg = f"the pair {pair!r} is in no fold"
            raise InputError(msg, "make folds of the ranked corpus")
        numbers.append(folds[pair])
    return np.array(numbers, np.int64)


def _groups(corpus: Corpus, group: Callable[[Pair], str] | None) -> NDArray[np.int64]:
    """Return the group of each pair, numbered by first occurrence: connected through documents and named groups."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    texts = {document.id: document_fingerprint(document) for document in corpus.used_documents()}
    nodes: dict[tuple[str, str], int] = {}
    edges: list[tuple[int, int]] = []
    for pair in corpus.pairs:
        keys = [("text", texts[pair.source]), ("text", texts[pair.target])]
        if group is not None:
            keys.append(("group", group(pair)))
        first, *others = (nodes.setdefault(key, len(nodes)) for key in keys)
        edges += [(first, other) for other in others]
    if not edges:
        return np.empty(0, np.int64)
    ends = np.array(edges).T
    graph = coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(len(nodes), len(nodes)))
    component = connected_components(graph, directed=False)[1]
    per_pair = component[[nodes["text", texts[pair.source]] for pair in corpus.pairs]]
    _, first_seen, inverse = np.unique(per_pair, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first_seen))[inverse]


class FittedOn(Record):
    """The pairs that something was fitted on.

    ``sources``: number of source sentences with links. ``pairs``: fingerprints of their texts, sorted, by which the
    pairs are recognised under any id.
    """

    corpus: str
    sources: int
    pairs: tuple[str, ...]

    @classmethod
    def of(cls, corpus: Corpus) -> FittedOn:
        """Return the record of the annotated pairs of a corpus.

        Raises:
            InputError: when there is no source with links to fit on.
        """
        if not corpus.source_count:
            msg = f"the corpus {corpus.name!r} has no source with links, so nothing can be fitted on it"
            raise InputError(msg, "give it pairs with gold links, or fit on another corpus")
        fingerprints = pair_fingerprints(corpus)
        annotated = {fingerprints[pair.id] for pair in corpus.pairs if pair.links is not None}
        return cls(corpus=corpus.name, sources=corpus.source_count, pairs=tuple(sorted(annotated)))

    @property
    def words(self) -> str:
        """Return a note on the pairs, for a result."""
        return (
            f"fitted on the corpus {self.corpus!r}: {len(self.pairs)} pairs, {self.sources} source sentences with links"
        )

    def refuse(self, corpus: Corpus, pairs: Iterable[str], what: str) -> None:
        """Raise ``InputError`` if one of the pairs was fitted on, or is not in the corpus.

        ``what``: what was fitted, for the message.
        """
        known, fingerprints = set(self.pairs), pair_fingerprints(corpus)
        for pair in pairs:
            if pair not in fingerprints:
                msg = f"the pair {pair!r} is not in the corpus {corpus.name!r}"
                raise InputError(msg, "give the corpus that was ranked")
            if fingerprints[pair] in known:
                where = f"the texts of the pair {pair!r} of {corpus.name!r}"
                msg = f"{what} was fitted on {where}, so this would not be a test"
                raise InputError(msg, "use other pairs, or cross-validate over the pairs of this corpus")


class FittedCutoff(Record):
    """A rule with its fitted parameters, as stored beside its results.

    ``log_odds``: whether scores are probabilities that are turned into log-odds first.
    """

    rule: CutoffRule
    parameters: dict[str, float]
    fitted_on: FittedOn
    aim: Aim = Aim.PAPER
    log_odds: bool = False


def pairs_of(rankings: pd.DataFrame) -> list[str]:
    """Return the ids of the pairs in a rankings table."""
    return [str(pair) for pair in rankings["pair"].unique()]

"""Retrievers by name, and fusions of several, which are often better than each alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Document
from abcdlink.errors import InputError
from abcdlink.languages import ENGLISH
from abcdlink.plugins import find_class, installed, make
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import DECIMALS, Effort, Retriever
from abcdlink.retrieval.encoders import DenseEncoder, Encoder, SparseEncoder, Use, own_settings
from abcdlink.retrieval.models import MODELS, Family, Model, locate

RANK_SHIFT = 60
"""The constant of reciprocal-rank fusion; the paper cited there found its value to matter little."""

LEAST, MOST = 0.01, 100.0
"""Bounds of a weight: beyond them, fused scores would differ by less than ranking looks at."""


def z_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (score - mean) / standard deviation over the whole matrix; zeros if all are equal."""
    deviation = scores.std()
    if deviation <= np.finfo(np.float32).eps:
        return np.zeros_like(scores)
    standard: NDArray[np.float64] = (scores - scores.mean()) / deviation
    return standard


def reciprocal_ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (60 + rank) of each target for its source; rank - 1 targets have a higher score.

    Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods", SIGIR 2009. Equal scores have the same rank: their order would say nothing.
    """
    from scipy.stats import rankdata

    ranks: NDArray[np.float64] = rankdata(-np.round(scores, DECIMALS), method="min", axis=1)
    return 1 / (RANK_SHIFT + ranks)


FUSIONS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {"hybrid": z_scores, "rrf": reciprocal_ranks}
"""Kind of fusion -> transformation of each part's scores before they are weighted and added."""

HYBRID = "0.5*jaccard+0.5*bm25-stemmed+all-minilm-l6-v2"
"""The parts of the retriever called simply ``hybrid``."""


class FusionPart(NamedTuple):
    """A part of a fusion by name."""

    weight: float
    name: str


def read_parts(fusion: str) -> list[FusionPart]:
    """Read the parts in a name such as ``hybrid:0.5*jaccard+bm25`` or ``rrf:bm25+all-minilm-l6-v2``.

    Raises:
        InputError: when there are fewer than two parts or one of them twice, when a weight is no
            number between 0.01 and 100, or when a part is such a fusion itself.
    """
    kind, _, said = fusion.partition(":")
    parts = [_read_part(part, fusion) for part in (said or (HYBRID if fusion == "hybrid" else "")).split("+")]
    names = [part.name for part in parts]
    problem = ""
    if len(parts) < 2 or not all(names):  # noqa: PLR2004 - a fusion is of two
        problem = "does not name two retrievers"
    elif nested := next((name for name in names if name.partition(":")[0] in FUSIONS and ":" in name), ""):
        problem = f"has the fusion {nested!r} in it"
    elif twice := next((name for name in names if names.count(name) > 1), ""):
        problem = f"names {twice!r} twice"
    if problem:
        msg = f"the retriever {fusion!r} {problem}"
        raise InputError(msg, f"join different retrievers with +, such as {kind}:{HYBRID}")
    return parts


def _read_part(text: str, fusion: str) -> FusionPart:
    weight, star, name = text.partition("*")
    if not star:
        return FusionPart(1.0, text)
    try:
        number = float(weight)
    except ValueError:
        number = 0.0
    if not LEAST <= number <= MOST:
        msg = f"the weight {weight!r} of {name!r} in {fusion!r} is not a number from {LEAST:g} to {MOST:g}"
        raise InputError(msg, "write a weight before a retriever as in 0.5*jaccard")
    return FusionPart(number, name)


class Fusion(Retriever):
    """Weighted sum of what is made of the scores of several retrievers for one pair of documents.

    ``transform``: what is made of a matrix of scores before it is weighed.
    """

    def __init__(
        self,
        name: str,
        weights: Sequence[float],
        parts: Sequence[Retriever],
        transform: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    ) -> None:
        self.name = name
        self._weights = weights
        self._parts = parts
        self._transform = transform
        self.sentences_per_part = min(filter(None, (part.sentences_per_part for part in parts)), default=None)
        self.cells_per_part = max(1, int(1 / sum(1 / part.cells_per_part for part in parts)))

    @property
    def effort(self) -> Effort:
        """That of all parts; what two of them share counts for each."""
        return Effort.of_fused(part.effort for part in self._parts)

    def warm(self, texts: Sequence[str], progress: Progress = silent) -> None:
        """Warm every part."""
        for part in self._parts:
            part.warm(texts, progress)

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Prepare every part; replaces what was prepared before."""
        for part in self._parts:
            part.prepare(documents, progress)

    def score(self, source: Document, target: Document) -> NDArray[np.float64]:
        """Return fused scores."""
        fused = np.zeros((len(source.sentences), len(target.sentences)))
        for weight, part in zip(self._weights, self._parts, strict=True):
            fused += weight * self._transform(part.score(source, target))
        return fused


LEXICAL = ("bm25", "bm25-stemmed", "jaccard")
RETRIEVERS = (*LEXICAL, *MODELS, "hybrid")

GROUP = "abcdlink.retrievers"
"""Entry points of packages that add retrievers."""

SIMILARITIES = {Family.DENSE: ("cosine", "dot"), Family.SPARSE: ("dot", "cosine")}
"""How vectors can be compared; the first applies to models that do not say."""


def get_retriever(name: str, language: str = ENGLISH) -> Retriever:
    """Return a new retriever.

    Args:
        name: one of ``RETRIEVERS``; or a model on the Hugging Face hub or in a local folder, after
            ``st:`` (dense), ``sparse:`` or ``ce:`` (cross encoder); or a fusion of these, of z-scores as
            ``hybrid:0.5*jaccard+bm25`` or of reciprocal ranks as ``rrf:jaccard+bm25``; or one that a
            package adds to the entry points ``abcdlink.retrievers``, or any class as ``module:Class``.
        language: of the texts; retrievers that compare terms cut and stem by it.

    Raises:
        InputError: when there is no retriever with this name, or its model is not on this machine.
    """
    if name in LEXICAL:
        from abcdlink.retrieval.lexical import BM25, Jaccard, StemmedBM25

        makers: dict[str, Callable[[str], Retriever]] = {"bm25": BM25, "bm25-stemmed": StemmedBM25, "jaccard": Jaccard}
        return makers[name](language)
    kind = name.partition(":")[0]
    if kind in FUSIONS:
        parts = read_parts(name)
        retrievers = [get_retriever(part.name, language) for part in parts]
        return Fusion(name, [part.weight for part in parts], retrievers, FUSIONS[kind])
    own = None if name in MODELS else find_class(name, GROUP, Retriever)  # type: ignore[type-abstract] # the check is of subclasses
    if own:
        retriever = make(own, name)
        retriever.name = name
        return retriever
    model = MODELS.get(name) or _named(name)
    return _with_model(name, model)


def _named(name: str) -> Model:
    """Return the model in a name such as ``st:MODEL``."""
    prefix, _, hub = name.partition(":")
    if not hub or prefix not in set(Family):
        msg = f"there is no retriever {name!r}"
        any_model = ", ".join(f"{family}:MODEL" for family in Family)
        names = ", ".join((*RETRIEVERS, *installed(GROUP)))
        choose = f"choose one of {names}, any model as {any_model}, a fusion as hybrid:{HYBRID}, or module:Class"
        raise InputError(msg, choose)
    return Model(Family(prefix), hub)


def _with_model(name: str, model: Model) -> Retriever:
    from abcdlink.retrieval.vectors import CrossEncoder, Dense, Embedder, Sparse

    if model.family is Family.CROSS:
        return CrossEncoder(name, Use(locate(model.hub), max_length=model.max_length))
    source, target = _uses(model)
    encoder: type[Encoder] = DenseEncoder if model.family is Family.DENSE else SparseEncoder
    retriever = Dense if model.family is Family.DENSE else Sparse
    embedders = [Embedder(name, encoder(use)) for use in (source, target) if use]
    return retriever(*embedders)


def _uses(model: Model) -> tuple[Use, Use | None]:
    """Return how source and target sentences are encoded; ``None``: both in the same way."""
    folder = locate(model.hub, model.package)
    similarity, two_sides = own_settings(folder)
    known = SIMILARITIES[model.family]
    similarity = model.similarity or similarity or known[0]
    if similarity not in known:
        msg = f"the model {model.hub} compares sentences by {similarity!r}"
        raise InputError(msg, f"choose a model for {' or '.join(known)}")
    use = Use(folder, model.pooling, model.max_length, unit=similarity == "cosine")
    if model.target_hub:
        return use, use._replace(folder=locate(model.target_hub))
    if model.instruction or two_sides:
        return use._replace(side="query", instruction=model.instruction), use._replace(side="document")
    return use, None

"""Retrievers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abcdlink.errors import InputError
from abcdlink.languages import ENGLISH
from abcdlink.plugins import find_class, installed, make
from abcdlink.retrieval.base import Retriever
from abcdlink.retrieval.fusion import FUSIONS, HYBRID, Fusion, read_parts
from abcdlink.retrieval.models import MODELS, Family, Model, locate

if TYPE_CHECKING:
    from abcdlink.retrieval.encoders import Encoder, Use

RETRIEVERS = ("bm25", "bm25-stemmed", "jaccard", *MODELS, "hybrid")

GROUP = "abcdlink.retrievers"
"""Entry points of packages that add retrievers."""

SIMILARITIES = {Family.DENSE: ("cosine", "dot"), Family.SPARSE: ("dot", "cosine")}
"""How vectors can be compared; the first is that of a model that does not say."""


def get_retriever(name: str, language: str = ENGLISH) -> Retriever:
    """Return a new retriever.

    Args:
        name: one of ``RETRIEVERS``; or a model on the Hugging Face hub or in a local folder, after
            ``st:`` (dense), ``sparse:`` or ``ce:`` (cross encoder); or a fusion of these, of z-scores as
            ``hybrid:0.5*jaccard+bm25`` or of reciprocal ranks as ``rrf:jaccard+bm25``; or one that a
            package adds to the entry points ``abcdlink.retrievers``, or any class as ``module:Class``.
        language: of the texts; retrievers that compare terms cut and stem by it.

    Raises:
        InputError: when there is none of this name, or its model is not on this machine.
    """
    if name == "bm25":
        from abcdlink.retrieval.lexical import BM25

        return BM25(language)
    if name == "bm25-stemmed":
        from abcdlink.retrieval.lexical import StemmedBM25

        return StemmedBM25(language)
    if name == "jaccard":
        from abcdlink.retrieval.lexical import Jaccard

        return Jaccard(language)
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
    return _cross_encoder(name, model) if model.family is Family.CROSS else _embedded(name, model)


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


def _cross_encoder(name: str, model: Model) -> Retriever:
    from abcdlink.retrieval.cross_encoder import CrossEncoder
    from abcdlink.retrieval.encoders import Use

    return CrossEncoder(name, Use(locate(model.hub), max_length=model.max_length))


def _embedded(name: str, model: Model) -> Retriever:
    from abcdlink.retrieval.encoders import DenseEncoder, SparseEncoder
    from abcdlink.retrieval.vectors import Dense, Embedder, Sparse

    source, target = _uses(model)
    encoder: type[Encoder] = DenseEncoder if model.family is Family.DENSE else SparseEncoder
    retriever = Dense if model.family is Family.DENSE else Sparse
    embedders = [Embedder(name, encoder(use)) for use in (source, target) if use]
    return retriever(*embedders)


def _uses(model: Model) -> tuple[Use, Use | None]:
    """Return how source and target sentences are encoded; ``None``: both in the same way."""
    from abcdlink.retrieval.encoders import Use, own_settings

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

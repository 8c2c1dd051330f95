"""Draws documents or pairs from a corpus: those that fit, the shortest of these, then some of them at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from pydantic import Field

from abcdlink.corpus.records import Corpus, Pair, Record
from abcdlink.errors import InputError

T = TypeVar("T")


class Sampling(Record):
    """What is drawn. The steps are taken in the order of the fields; without any of them, everything is taken."""

    only: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="field of the documents' metadata -> the values that are taken"
    )
    shortest: int | None = Field(
        None, ge=1, description="only the N shortest target documents, by sentences, then characters; empty: all"
    )
    size: int | None = Field(None, ge=1, description="how many are drawn at random; empty: all")
    by: str = Field("", description="field by whose values the draw is stratified: each keeps its share")
    seed: int = Field(13, ge=0, description="seed of the draw")


class PairSampling(Sampling):
    """What is drawn of pairs; ``one_source`` comes before ``shortest``."""

    one_source: bool = Field(
        default=False, description="of each target document, only the pair with the shortest source"
    )


class Sampled(Record):
    """What was drawn from what, for the manifest and the data card.

    ``there``: how many the corpus has; ``eligible``: how many were left for the draw; ``drawn``: how many were taken;
    ``strata``: value of the field ``by`` -> eligible and drawn.
    """

    what: str
    how: PairSampling
    there: int
    eligible: int
    drawn: int
    strata: dict[str, tuple[int, int]] = Field(default_factory=dict)

    def __str__(self) -> str:
        how = self.how
        only = "".join(f", {field} {' or '.join(values)}" for field, values in how.only.items())
        shortest = f", the {how.shortest} with the shortest target" if how.shortest else ""
        source = ", one source for each target" if how.one_source else ""
        drawn = f", drawn at random with seed {how.seed}" if how.size else ""
        by = f", stratified by {how.by}" if how.size and how.by else ""
        return f"{self.drawn} of {self.there} {self.what}{only}{source}{shortest}{drawn}{by}"


def sample_targets(corpus: Corpus, how: Sampling) -> tuple[Corpus, Sampled]:
    """Draw documents that can be targets; the result has them in file order and no pairs.

    Raises:
        InputError: when there are fewer than asked for, or no document has the field.
    """
    documents = [corpus.documents[name] for name in corpus.target_documents]
    fields = {field for document in documents for field in document.meta}
    wanted = _wanted(documents, how, fields, lambda document: document.meta)
    if how.shortest:
        wanted = _shortest(wanted, how.shortest, lambda document: document.size, "documents")
    drawn, sampled = _draw(wanted, how, len(documents), "documents", lambda document: document.meta)
    documents_drawn = {document.id: document for document in drawn}
    return corpus.model_copy(update={"documents": documents_drawn, "pairs": []}), sampled


def sample_pairs(corpus: Corpus, how: PairSampling) -> tuple[Corpus, Sampled]:
    """Draw pairs; the result has them in file order, with their documents and no others.

    A pair has the metadata of its target and, where that says nothing, of its source.

    Raises:
        InputError: when there are fewer than asked for, or no document has the field.
    """

    def meta(pair: Pair) -> Mapping[str, str]:
        return {**corpus.source_of(pair).meta, **corpus.target_of(pair).meta}

    fields = {field for pair in corpus.pairs for field in meta(pair)}
    wanted = _wanted(corpus.pairs, how, fields, meta)
    if how.one_source:
        best: dict[str, Pair] = {}
        for pair in wanted:
            held = best.setdefault(pair.target, pair)
            if corpus.source_of(pair).size < corpus.source_of(held).size:
                best[pair.target] = pair
        kept = {pair.id for pair in best.values()}
        wanted = [pair for pair in wanted if pair.id in kept]
    if how.shortest:
        targets = {pair.target: corpus.target_of(pair) for pair in wanted}
        near = {
            one.id for one in _shortest(list(targets.values()), how.shortest, lambda one: one.size, "target documents")
        }
        wanted = [pair for pair in wanted if pair.target in near]
    drawn, sampled = _draw(wanted, how, len(corpus.pairs), "pairs", meta)
    smaller = corpus.model_copy(update={"pairs": drawn})
    documents = {document.id: document for document in smaller.used_documents()}
    return smaller.model_copy(update={"documents": documents}), sampled


def _wanted(
    items: Sequence[T], how: Sampling, fields: Iterable[str], meta: Callable[[T], Mapping[str, str]]
) -> list[T]:
    require_fields([*how.only, *filter(None, [how.by])], fields)
    return [item for item in items if all(meta(item).get(field) in values for field, values in how.only.items())]


def require_fields(asked: Iterable[str], known: Iterable[str]) -> None:
    """Raise ``InputError`` when a metadata field that is asked for is not a known one."""
    known = sorted(known)
    for field in asked:
        if field not in known:
            msg = f"no document has the field {field!r}"
            raise InputError(msg, f"use one of: {', '.join(known) or '(the documents have no metadata)'}")


def _shortest(items: Sequence[T], number: int, size: Callable[[T], tuple[int, int]], what: str) -> list[T]:
    _require(number, len(items), what)
    order = sorted(range(len(items)), key=lambda index: size(items[index]))
    return [items[index] for index in sorted(order[:number])]


def _draw(
    items: Sequence[T], how: Sampling, there: int, what: str, meta: Callable[[T], Mapping[str, str]]
) -> tuple[list[T], Sampled]:
    strata: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        strata.setdefault(meta(item).get(how.by, "") if how.by else "", []).append(index)
    number = len(items) if how.size is None else how.size
    _require(number, len(items), what)
    generator = random.Random(how.seed)  # noqa: S311 - a sample that can be drawn again, not a secret
    shares = _shares({value: len(indices) for value, indices in sorted(strata.items())}, number)
    drawn = sorted(index for value, share in shares.items() for index in generator.sample(strata[value], share))
    sampled = Sampled(
        what=what,
        how=PairSampling.model_validate(how.model_dump(include=set(PairSampling.model_fields))),
        there=there,
        eligible=len(items),
        drawn=len(drawn),
        strata={value: (len(strata[value]), share) for value, share in shares.items()} if how.by else {},
    )
    return [items[index] for index in drawn], sampled


def _shares(sizes: Mapping[str, int], number: int) -> dict[str, int]:
    """Return how many are drawn from each stratum: proportional to its size, by the method of the largest remainder."""
    total = sum(sizes.values())
    exact = {value: number * size / total for value, size in sizes.items()}
    shares = {value: int(share) for value, share in exact.items()}
    by_remainder = sorted(exact, key=lambda value: shares[value] - exact[value])
    for value in by_remainder[: number - sum(shares.values())]:
        shares[value] += 1
    return shares


def _require(number: int, there: int, what: str) -> None:
    if number > there:
        msg = f"{number} {what} requested, but only {there} available"
        raise InputError(msg, "ask for fewer, or take a larger corpus")

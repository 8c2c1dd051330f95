"""Which documents are rated: some synthetic ones, with natural ones between them."""

from __future__ import annotations

import random

from abcdlink.corpus.records import Corpus, Pair, PairKind
from abcdlink.errors import InputError
from abcdlink.keys import opaque
from abcdlink.rate.records import RatedDocument


def sample_documents(
    synthetic: Corpus, natural: Corpus, run_key: str, sizes: tuple[int, int], seed: int
) -> list[RatedDocument]:
    """Sample pairs of both corpora and mix them; the same arguments give the same documents in the same order.

    Who saw one target document with two source documents could tell that one of them was made for it. So
    natural pairs have other target documents than the sampled synthetic ones, as far as there are others,
    and no document is rated twice.

    Args:
        synthetic: generated pairs.
        natural: pairs that people wrote.
        run_key: makes the opaque task keys differ between runs.
        sizes: how many synthetic and how many natural documents; fewer where there are not as many.
        seed: of the choice and of the order.

    Raises:
        InputError: when there is no synthetic pair.
    """
    if not synthetic.pairs:
        msg = f"run {run_key!r} has no synthetic pair to rate"
        raise InputError(msg, "generate with other settings; `abcdlink report` says why pairs were refused")
    chooser = random.Random(seed)  # noqa: S311 - no secret
    chosen = _shuffled(synthetic, chooser)[: sizes[0]]
    shown = {pair.target for pair in chosen}
    others = sorted(_shuffled(natural, chooser), key=lambda pair: pair.target in shown)[: sizes[1]]
    mixed = [
        *((PairKind.SYNTHETIC, pair) for pair in chosen),
        *((PairKind.NATURAL, pair) for pair in others),
    ]
    chooser.shuffle(mixed)
    return [
        RatedDocument(key=opaque(run_key, "rating", kind, pair.id), kind=kind, pair=pair.id) for kind, pair in mixed
    ]


def _shuffled(corpus: Corpus, chooser: random.Random) -> list[Pair]:
    """Return the pairs in random order, of those with one and the same source document the first only."""
    by_source: dict[str, Pair] = {}
    for pair in chooser.sample(corpus.pairs, len(corpus.pairs)):
        by_source.setdefault(pair.source, pair)
    return list(by_source.values())

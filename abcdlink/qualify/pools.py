"""The tasks of the gold pair: gold targets among random ones, and sources without links between the others."""

from __future__ import annotations

import random

from abcdlink.candidates import sampled, task_key
from abcdlink.corpus.records import Corpus, Document, Pair
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.judgments import RANDOM, Candidate, Pool
from abcdlink.qualify.records import GOLD, GoldSet

MOST_CANDIDATES = 10
"""As many as there are digits to decide them with."""

WITHOUT_LINKS = 0.5
"""So many sources without links for each source with links: those who always find one are found out."""


def gold_set(corpus: Corpus, pair: Pair, domain: Domain, run_key: str, seed: int) -> GoldSet:
    """Make the tasks of a gold pair.

    Every task shows equally many candidates, as far as the target document goes, so that their number
    does not tell how many are links. A distractor never repeats the words of a gold target. The same
    arguments give the same tasks.

    Args:
        corpus: holds the documents of the pair.
        pair: with gold links.
        domain: its filters leave out source sentences, as they do in batches; its pool sizes say how many
            candidates a task shows at least.
        run_key: makes the opaque task keys differ between runs.
        seed: of the distractors and of the sources without links.

    Raises:
        InputError: when the filters leave no source with links.
    """
    source, target = corpus.source_of(pair), corpus.target_of(pair)
    gold = {
        sentence.id: tuple(name for name in pair.sources_with_links.get(sentence.id, ()) if name in target.position)
        for sentence in source.sentences
        if not domain.settings.sources.reason_to_leave_out(sentence.text)
    }
    linked = [name for name, targets in gold.items() if targets]
    if not linked:
        msg = f"the filters of the domain {domain.name!r} leave no source sentence with links of the pair {pair.id!r}"
        raise InputError(msg, "use another gold pair, or loosen the filters in domain.toml")
    shown = {*linked, *_without_links(gold, len(linked), f"{seed}|{pair.id}")}
    sizes = domain.settings.pool
    size = max(sizes.first + sizes.second + sizes.random, 1 + max(len(set(targets)) for targets in gold.values()))
    pools = tuple(
        Pool(
            key=task_key(f"{run_key}|qualification", pair.id, name),
            batch=1,
            pair=pair.id,
            source=name,
            candidates=_candidates(pair, name, target, gold[name], min(size, MOST_CANDIDATES), seed),
        )
        for name in gold
        if name in shown
    )
    return GoldSet(
        corpus=Corpus(name="qualification", documents={source.id: source, target.id: target}, pairs=[pair]),
        pools=pools,
        links=sum(candidate.method == GOLD for pool in pools for candidate in pool.candidates),
    )


def _without_links(gold: dict[str, tuple[str, ...]], linked: int, seed: str) -> list[str]:
    """Choose sources without links, at random."""
    free = [name for name, targets in gold.items() if not targets]
    wanted = min(len(free), max(1, round(WITHOUT_LINKS * linked)))
    return random.Random(seed).sample(free, wanted)  # noqa: S311 - no secret


def _candidates(
    pair: Pair, source: str, target: Document, gold: tuple[str, ...], size: int, seed: int
) -> tuple[Candidate, ...]:
    """Return the candidates of one source in the order of the target document; of too many gold ones the first."""
    in_order = sorted(set(gold), key=target.position.__getitem__)[: size - 1]
    picked = sampled(size - len(in_order), seed)(pair, source, target, gold)
    methods = dict.fromkeys(picked, RANDOM) | dict.fromkeys(in_order, GOLD)
    return tuple(Candidate(target=s.id, method=methods[s.id]) for s in target.sentences if s.id in methods)

"""Which source sentences of a corpus an LLM is asked about, where asking about all would cost too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError
from abcdlink.layout import sources_file
from abcdlink.stages.plan import LLMPlan
from abcdlink.store import Store


class SourceSample(Record):
    """A random sample of source sentences.

    ``wanted``, ``linked_only``, ``seed``: as in the plan. ``population``: source sentences that it was drawn
    from, and ``linked_population``: those of them with gold links. ``drawn``: pair -> source sentences.
    """

    wanted: int | None
    linked_only: bool
    seed: int
    population: int
    linked_population: int
    drawn: dict[str, tuple[str, ...]]

    @property
    def size(self) -> int:
        """How many source sentences were drawn."""
        return sum(map(len, self.drawn.values()))

    def holds(self, pair: str, source: str) -> bool:
        """Tell whether a source sentence was drawn."""
        return source in self.drawn.get(pair, ())

    def only(self, offered: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, dict[str, Sequence[str]]]:
        """Return what is offered to the source sentences that were drawn, by pair and source sentence."""
        return {
            pair: {source: ids for source, ids in by_source.items() if self.holds(pair, source)}
            for pair, by_source in offered.items()
        }


def draw_sources(corpus: Corpus, plan: LLMPlan) -> SourceSample:
    """Draw source sentences evenly over the pairs: a systematic sample with a random start.

    The sentences of a pair are shuffled and the pairs stay in their order, so that every sentence is as likely to be
    drawn as any other, and each pair gives its share, rounded up or down. A larger sample with the same seed is
    another sample.
    """
    generator = np.random.default_rng(plan.seed)
    population: list[tuple[str, str]] = []
    linked = 0
    for pair in corpus.pairs:
        with_links = {source for source, targets in pair.sources_with_links.items() if targets}
        linked += len(with_links)
        sources = [i for i in corpus.source_of(pair).position if i in with_links or not plan.linked_only]
        population += [(pair.id, sources[place]) for place in generator.permutation(len(sources))]
    size = min(plan.sources or len(population), len(population))
    places = ((generator.random() + np.arange(size)) * len(population) / max(size, 1)).astype(int)
    drawn: dict[str, list[str]] = {}
    for place in places:
        pair_id, source = population[place]
        drawn.setdefault(pair_id, []).append(source)
    return SourceSample(
        wanted=plan.sources,
        linked_only=plan.linked_only,
        seed=plan.seed,
        population=len(population),
        linked_population=linked,
        drawn={pair_id: tuple(sources) for pair_id, sources in drawn.items()},
    )


def sample_sources(store: Store, corpus_name: str, corpus: Corpus, plan: LLMPlan) -> SourceSample | None:
    """Draw the source sentences that a plan asks about, once; ``None`` when it asks about all of them.

    Raises:
        InputError: when the run asks about others already.
    """
    name = sources_file(corpus_name)
    kept = read_sample(store, corpus_name)
    wants_sample = plan.sources is not None or plan.linked_only
    if kept is None and wants_sample:
        kept = draw_sources(corpus, plan)
        store.write_record(name, kept, indent=None)
    if kept and (kept.wanted, kept.linked_only, kept.seed) != (plan.sources, plan.linked_only, plan.seed):
        msg = f"{store.where(name)} is another sample of source sentences than the one asked for"
        raise InputError(msg, "ask about the same ones, or use another run key")
    return kept


def read_sample(store: Store, corpus_name: str) -> SourceSample | None:
    """Return the sample of source sentences that the LLM is asked about; ``None``: about all."""
    return store.find_record(sources_file(corpus_name), SourceSample)

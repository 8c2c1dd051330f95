"""The gold pairs of a qualification: their links are known, and applicants judge them without seeing these links.

A task shows gold targets among random ones; source sentences without links are mixed in.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from abcdlink.candidates.pools import sampled, task_key
from abcdlink.corpus.io import read_corpus, read_corpus_from, write_corpus_to
from abcdlink.corpus.records import Corpus, Document, Pair, Record
from abcdlink.domain import Domain, SourceFilter, domain_of, find_domain
from abcdlink.errors import InputError
from abcdlink.exhaustive import gold_of
from abcdlink.judgments import RANDOM, Candidate, Judgment, LabelRule, Pool
from abcdlink.layout import GOLD_SLUG, QUALIFY_SLUG
from abcdlink.source_sample import Sample, Source, sample_sources
from abcdlink.stages.intake import describe_run
from abcdlink.stages.once import at_once, is_done
from abcdlink.store import Store

GOLD = "gold"
"""Method of a candidate that is a gold link; the others of a pool are random."""
POOLS = f"{QUALIFY_SLUG}/candidates.jsonl"
WANTED_LINKS = 30
MOST_CANDIDATES = 10
"""One for each digit key."""
WITHOUT_LINKS = 0.5
"""Source sentences without links per source sentence with links: they expose applicants who always find one."""


EXPERT = f"{QUALIFY_SLUG}/expert"
"""Folder of the pairs that an expert links, without their links."""
EXPERT_SAMPLE = f"{EXPERT}/sample.json"
EXPERTS = f"{EXPERT}/annotators.jsonl"
EXPERT_ANOMALIES = f"{EXPERT}/anomalies.json"
EXPERT_JUDGMENTS = f"{EXPERT}/judgments.jsonl"


class GoldSet(Record):
    """The gold pairs as applicants get them: ``corpus`` holds these pairs alone, ``pools`` their tasks.

    ``links``: gold links among the candidates.
    """

    corpus: Corpus
    pools: tuple[Pool, ...]
    links: int


@at_once(QUALIFY_SLUG)
def prepare(
    store: Store,
    domain: Domain,
    corpus_folder: str,
    pairs: Sequence[str] = (),
    links: int = WANTED_LINKS,
    seed: int = 13,
    *,
    expert: bool = False,
) -> GoldSet:
    """Take gold pairs into the run, or return those that are there. No other stage has to come first.

    Without ``pairs``, it takes the pair whose number of links is nearest to ``links``. ``seed``: of the distractors and
    of the sources without links. ``expert``: whether an expert has linked the named pairs; links that the corpus has do
    not count then.

    Raises:
        InputError: when a pair has no gold links, or the qualification was begun with other settings.
    """
    inputs = _inputs(domain, corpus_folder, pairs, links, seed) | ({"expert": True} if expert else {})
    if is_done(store, QUALIFY_SLUG, POOLS, inputs):
        return gold_set_of(store)
    corpus, unknown = linked_by_expert(store) if expert else (corpus_at(domain, corpus_folder), frozenset())
    chosen = gold_pairs(corpus, domain.settings.sources, pairs, links)
    gold = gold_set(corpus, chosen, domain, store.key, seed, unknown)
    if "domain" not in store.manifest:
        describe_run(store, domain)
    keep_gold_set(store, gold)
    return gold


@at_once(GOLD_SLUG)
def prepare_expert(store: Store, domain: Domain, corpus_folder: str, pairs: Sequence[str]) -> Sample:
    """Take pairs into the run for an expert to link: every source sentence that the filters leave.

    Raises:
        InputError: when no pair is named, or one that the corpus does not have.
    """
    if is_done(store, GOLD_SLUG, EXPERT_SAMPLE, {"corpus": corpus_folder, "domain": domain.name, "pairs": list(pairs)}):
        return expert_sample(store)
    corpus = corpus_at(domain, corpus_folder)
    there = {pair.id: pair for pair in corpus.pairs}
    lost = next((name for name in pairs if name not in there), None)
    if lost is not None or not pairs:
        msg = f"the corpus {corpus.name!r} has no pair {lost!r}" if pairs else "no pair is named for the expert to link"
        raise InputError(msg, f"name pairs of the corpus, such as {next(iter(there), 'none')!r}")
    chosen = [there[name].model_copy(update={"links": None}) for name in dict.fromkeys(pairs)]
    blind = _corpus_of(corpus, chosen)
    sample = sample_sources(blind, domain.settings.sources, f"{store.key}|{GOLD_SLUG}", seed=0, share=1)
    write_corpus_to(store, EXPERT, blind)
    store.write_record(EXPERT_SAMPLE, sample)
    return sample


def expert_sample(store: Store) -> Sample:
    """Return the source sentences that the expert judges; ``InputError``: there are none."""
    store.require(EXPERT_SAMPLE, "qualify")
    return store.read_record(EXPERT_SAMPLE, Sample)


def expert_corpus(store: Store) -> Corpus:
    """Return the pairs that the expert links, without links."""
    return read_corpus_from(store, EXPERT)


def linked_by_expert(store: Store) -> tuple[Corpus, frozenset[Source]]:
    """Return these pairs with the expert's links, and the source sentences that nobody judged."""
    store.require(EXPERT_JUDGMENTS, "qualify")
    sources = [one.at for one in expert_sample(store).sources]
    found = gold_of(sources, store.read_records(EXPERT_JUDGMENTS, Judgment), LabelRule.BOTH, needed=1)
    corpus = expert_corpus(store)
    links = {
        pair.id: {source: tuple(sorted(found.links[pair.id, source])) for at, source in found.links if at == pair.id}
        for pair in corpus.pairs
    }
    pairs = [pair.model_copy(update={"links": links[pair.id]}) for pair in corpus.pairs]
    return corpus.model_copy(update={"pairs": pairs}), frozenset(found.incomplete)


def _inputs(domain: Domain, corpus: str, pairs: Sequence[str], links: int, seed: int) -> dict[str, object]:
    """Return the settings as runs of all versions note them: those with one pair have its name alone."""
    named = list(pairs) if len(pairs) > 1 else next(iter(pairs), "")
    return {"corpus": corpus, "domain": domain.name, "pair": named, "links": links, "seed": seed}


def corpus_at(domain: Domain, folder: str) -> Corpus:
    """Return the corpus in a folder; ``sample``: that of the domain."""
    return read_corpus(domain.sample_folder if folder == "sample" else folder)


def domain_to_begin(store: Store, name: str) -> Domain:
    """Return the domain of a run, or the named one when the run is new.

    Raises:
        InputError: when the run is new and none is named, or it was begun with another.
    """
    if "domain" in store.manifest:
        return domain_of(store, name)
    if not name:
        msg = f"run {store.key!r} is new, and no domain is named"
        raise InputError(msg, "name the domain, such as news or reviews")
    return find_domain(name)


def keep_gold_set(store: Store, gold: GoldSet) -> None:
    """Keep gold pairs and their tasks; the tasks are written last."""
    write_corpus_to(store, QUALIFY_SLUG, gold.corpus)
    store.write_records(POOLS, gold.pools)


def gold_set_of(store: Store) -> GoldSet:
    """Return the gold pairs of a run; raises ``InputError`` when the run has none yet."""
    store.require(POOLS, "qualify")
    return _gold_set(read_corpus_from(store, QUALIFY_SLUG), store.read_records(POOLS, Pool))


def _gold_set(corpus: Corpus, pools: Sequence[Pool]) -> GoldSet:
    links = sum(candidate.method == GOLD for pool in pools for candidate in pool.candidates)
    return GoldSet(corpus=corpus, pools=tuple(pools), links=links)


def gold_pairs(corpus: Corpus, rules: SourceFilter, names: Sequence[str] = (), links: int = WANTED_LINKS) -> list[Pair]:
    """Return the named pairs, or the one whose number of gold links is nearest to ``links``, the first of equals.

    ``rules``: links of source sentences that annotators are not shown do not count.

    Raises:
        InputError: when a named pair is not there or has no gold links, or no pair has any.
    """
    with_gold = {pair.id: pair for pair in corpus.pairs if pair.sources_with_links}
    if not with_gold:
        msg = f"the corpus {corpus.name!r} has no pair with gold links"
        raise InputError(msg, "use a corpus of annotated pairs, for instance one that `abcdlink import` wrote")
    if not names:
        return [min(with_gold.values(), key=lambda pair: abs(link_count(corpus, pair, rules) - links))]
    for name in names:
        if name not in with_gold:
            known = any(pair.id == name for pair in corpus.pairs)
            msg = f"the corpus {corpus.name!r} has no {'gold links for the ' if known else ''}pair {name!r}"
            raise InputError(msg, f"use a pair with gold links, such as {next(iter(with_gold))!r}")
    return [with_gold[name] for name in dict.fromkeys(names)]


def link_count(corpus: Corpus, pair: Pair, rules: SourceFilter) -> int:
    """Return the number of gold links of a pair on source sentences that annotators are shown."""
    source = corpus.source_of(pair)
    return sum(
        len(targets)
        for name, targets in pair.sources_with_links.items()
        if name in source.position and not rules.reason_to_leave_out(source.text_of(name))
    )


def gold_set(
    corpus: Corpus,
    pairs: Sequence[Pair],
    domain: Domain,
    run_key: str,
    seed: int,
    unknown: Collection[Source] = (),
) -> GoldSet:
    """Make the tasks of gold pairs, pair by pair.

    Every task of a pair shows the same number of candidates, as far as the target document goes, so that this number
    does not tell how many are links. A distractor never repeats the words of a gold target. The same arguments give the
    same tasks. The domain's filters leave out source sentences, as they do in batches; its pool sizes say how many
    candidates a task shows at least. ``unknown``: sources whose links nobody knows; they are not shown.

    Raises:
        InputError: when the filters leave a pair no source with links.
    """
    pools = [pool for pair in pairs for pool in _pools_of(corpus, pair, domain, run_key, seed, unknown)]
    return _gold_set(_corpus_of(corpus, pairs), pools)


def _corpus_of(corpus: Corpus, pairs: Sequence[Pair]) -> Corpus:
    names = dict.fromkeys(name for pair in pairs for name in (pair.source, pair.target))
    documents = {name: corpus.documents[name] for name in names}
    return Corpus(name=QUALIFY_SLUG, documents=documents, pairs=list(pairs))


def _pools_of(
    corpus: Corpus, pair: Pair, domain: Domain, run_key: str, seed: int, unknown: Collection[Source]
) -> list[Pool]:
    source, target = corpus.source_of(pair), corpus.target_of(pair)
    gold = {
        sentence.id: tuple(name for name in pair.sources_with_links.get(sentence.id, ()) if name in target.position)
        for sentence in source.sentences
        if (pair.id, sentence.id) not in unknown and not domain.settings.sources.reason_to_leave_out(sentence.text)
    }
    linked = [name for name, targets in gold.items() if targets]
    if not linked:
        msg = f"the filters of the domain {domain.name!r} leave no source sentence with links of the pair {pair.id!r}"
        raise InputError(msg, "use another gold pair, or loosen the filters in domain.toml")
    shown = {*linked, *_without_links(gold, len(linked), f"{seed}|{pair.id}")}
    sizes = domain.settings.pool
    size = max(sizes.first + sizes.second + sizes.random, 1 + max(len(set(targets)) for targets in gold.values()))
    return [
        Pool(
            key=task_key(f"{run_key}|{QUALIFY_SLUG}", pair.id, name),
            batch=1,
            pair=pair.id,
            source=name,
            candidates=_candidates(pair, name, target, gold[name], min(size, MOST_CANDIDATES), seed),
        )
        for name in gold
        if name in shown
    ]


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

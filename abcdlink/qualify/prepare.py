"""The beginning of a qualification: the run gets its gold pair."""

from __future__ import annotations

from abcdlink.corpus.io import read_corpus
from abcdlink.domain import Domain, domain_of, find_domain
from abcdlink.errors import InputError
from abcdlink.qualify.kept import POOLS, gold_set_of, keep_gold_set
from abcdlink.qualify.pair import WANTED_LINKS, gold_pair
from abcdlink.qualify.pools import gold_set
from abcdlink.qualify.records import GoldSet
from abcdlink.stages.intake import describe_run
from abcdlink.stages.once import is_done
from abcdlink.store import Store


def prepare(
    store: Store, domain: Domain, corpus_folder: str, pair: str = "", links: int = WANTED_LINKS, seed: int = 13
) -> GoldSet:
    """Take a gold pair into the run, or return the one that is there. No other stage has to be run before.

    Args:
        store: the run.
        domain: what a link means.
        corpus_folder: a folder as ``abcdlink import`` writes it; ``sample``: the domain's shipped sample.
        pair: id of the pair; empty: the one whose number of links is nearest to ``links``.
        links: how many links the pair should have.
        seed: of the distractors and of the sources without links.

    Raises:
        InputError: when there is no pair with gold links, or the run's qualification was begun otherwise.
    """
    inputs = {"corpus": corpus_folder, "domain": domain.name, "pair": pair, "links": links, "seed": seed}
    if is_done(store, "qualification", POOLS, inputs):
        return gold_set_of(store)
    corpus = read_corpus(domain.sample_folder if corpus_folder == "sample" else corpus_folder)
    gold = gold_set(corpus, gold_pair(corpus, domain.settings.sources, pair, links), domain, store.key, seed)
    if "domain" not in store.manifest:
        describe_run(store, domain)
    keep_gold_set(store, gold)
    return gold


def domain_to_begin(store: Store, name: str) -> Domain:
    """Return the domain of a run, or the named one where the run is not begun.

    Raises:
        InputError: when the run is not begun and none is named, or it was begun with another.
    """
    if "domain" in store.manifest:
        return domain_of(store, name)
    if not name:
        msg = f"run {store.key!r} is new, and no domain is named"
        raise InputError(msg, "name the domain, such as news or reviews")
    return find_domain(name)

"""A gold pair, and people who applied by judging it."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.domain import Domain
from abcdlink.judgments import Annotator, Judgment, Pool
from abcdlink.layout import ANNOTATIONS, QUALIFY_SLUG
from abcdlink.qualify import keep_judgments
from abcdlink.qualify.gold import GOLD, GoldSet, gold_set, prepare
from abcdlink.store import Store
from tests.helpers.builders import document, judged

ACCOUNTS = ("zelda.vole@example.org", "yuri.stoat@example.org", "xena.mole@example.org")


SCREENED = ("Upper Sorbian", "Magister Artium", "87.125", "participant-5f2c9a", "shoe size 43")


def corpus_of(links: dict[str, tuple[str, ...]] | None, sources: int = 12, targets: int = 20) -> Corpus:
    """A pair whose target sentence t19 repeats the words of t3."""
    texts = [f"Target sentence number {n} of the pair." for n in range(targets - 1)]
    a = document("s", [f"Source sentence number {n} of the pair." for n in range(sources)], "s{n}")
    b = document("t", [*texts, f" {texts[3]} "], "t{n}")
    return Corpus(name="c", documents={"s": a, "t": b}, pairs=[Pair(id="p", source="s", target="t", links=links)])


LINKS = {"s1": ("t3",), "s2": ("t9", "t4"), "s5": ("t1", "t2", "t3"), "s6": ()}


def made(domain: Domain, seed: int = 1, links: dict[str, tuple[str, ...]] | None = None) -> GoldSet:
    corpus = corpus_of(links or LINKS)
    return gold_set(corpus, corpus.pairs, domain, "run", seed)


def said(pool: Pool, who: str, links: Sequence[str], seconds: float | None = 10.0) -> list[Judgment]:
    return [judged(pool, candidate, who, candidate.target in links, seconds=seconds) for candidate in pool.candidates]


def person(number: int) -> Annotator:
    return Annotator(annotator=f"applicant-{number}", account=ACCOUNTS[number - 1], simulated=False)


def applied(store: Store, news: Domain) -> None:
    """Three applicants of a run: the first follows gold, the second finds nothing, the third has only begun."""
    gold = prepare(store, news, "sample")
    links = {pool.key: [c.target for c in pool.candidates if c.method == GOLD] for pool in gold.pools}
    first = [j for pool in gold.pools for j in said(pool, "applicant-1", links[pool.key])]
    second = [j for pool in gold.pools for j in said(pool, "applicant-2", [])]
    raw = [{"data": {"task_key": pool.key}} for pool in gold.pools]
    store.write_json(f"{QUALIFY_SLUG}/{ANNOTATIONS}", raw)
    begun = [*first, *second, *said(gold.pools[0], "applicant-3", [])]
    keep_judgments(store, [person(n) for n in (1, 2, 3)], begun)

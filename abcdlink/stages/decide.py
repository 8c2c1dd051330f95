"""Let an LLM decide on a retriever's top candidates, part by part; a part that is kept is not asked again."""

from __future__ import annotations

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Record
from abcdlink.domain import Domain
from abcdlink.errors import ServiceError
from abcdlink.layout import decision_part
from abcdlink.linking.listwise import ListwiseLinker
from abcdlink.linking.records import Approach, Decision
from abcdlink.linking.top_k import top_k
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Outcome, Usage
from abcdlink.progress import Progress, silent
from abcdlink.stages.once import parts_of
from abcdlink.stages.rank import read_rankings
from abcdlink.store import Store

PART_SIZE = 4
"""Pairs per part: some tens of seconds with the embedded model."""


class DecisionPart(Record):
    """Decisions of one approach on some pairs of a corpus, and what they cost."""

    decisions: tuple[Decision, ...]
    usage: Usage


def part_count(store: Store, corpus_name: str) -> int:
    """Return into how many parts the pairs of a corpus of the run are cut."""
    return len(parts_of(read_corpus_from(store, corpus_name).pairs, PART_SIZE))


def decide_part(
    store: Store, corpus_name: str, domain: Domain, approach: Approach, part: int, progress: Progress = silent
) -> None:
    """Decide one part of a corpus with a retriever + LLM approach, unless the run holds it.

    The retriever's rankings must be there. The part is written whole at its end; every answer is in
    the LLM cache before that, so that a part which is begun again asks only what is open.

    Raises:
        ServiceError: when the LLM answered nothing at all.
    """
    name = decision_part(corpus_name, approach.name, part)
    if store.exists(name):
        return
    corpus = read_corpus_from(store, corpus_name)
    parts = parts_of(corpus.pairs, PART_SIZE)
    pairs = parts[part]
    rankings = read_rankings(store, corpus_name, approach.retriever, [pair.id for pair in pairs])
    offered = top_k(rankings.table, approach.k)
    llm = LLM()
    llm.check()
    linker = ListwiseLinker(domain, llm, approach)
    label = f"{approach.name} on {corpus_name}, part {part + 1} of {len(parts)}"
    decisions = tuple(
        decision for pair in progress(pairs, label) for decision in linker.decide(pair, corpus, offered[pair.id])
    )
    if decisions and all(decision.outcome is Outcome.FAILED for decision in decisions):
        msg = f"the LLM answered none of {len(decisions)} questions ({decisions[0].detail})"
        raise ServiceError(msg, "look at its log and run this again; what was answered before is not asked again")
    usage = llm.used.get(approach.name, Usage())
    store.write_text(name, DecisionPart(decisions=decisions, usage=usage).model_dump_json())


def read_decisions(store: Store, corpus_name: str, approach: Approach) -> DecisionPart:
    """Return all parts of an LLM approach's decisions as one; ``FileNotFoundError`` when one is missing."""
    read = [
        DecisionPart.model_validate_json(store.read_text(decision_part(corpus_name, approach.name, part)))
        for part in range(part_count(store, corpus_name))
    ]
    decisions = tuple(decision for part in read for decision in part.decisions)
    return DecisionPart(decisions=decisions, usage=sum((part.usage for part in read), Usage()))

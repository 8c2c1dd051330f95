"""The first questions of LLM approaches, asked by the server's Batch API before the stage asks what is left."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import Domain
from abcdlink.layout import batch_ticket
from abcdlink.linking.records import Approach
from abcdlink.llm.batch import BatchState, BatchTicket, collect, submit
from abcdlink.llm.client import LLM
from abcdlink.stages.decide import checked_linker, questions_left
from abcdlink.store import Store


def ask_by_batch(store: Store, corpus_name: str, domain: Domain, approaches: Sequence[Approach]) -> BatchState:
    """Submit what approaches ask first on a corpus of the run, once, and look how far it is.

    The run keeps the ticket and never submits for this corpus again: what an ended batch left open is
    asked as usual. A process that is killed in the middle submits nothing twice, see ``llm.batch``.
    The rankings must be there.

    Raises:
        BudgetError: the answers could cost more than the budget leaves.
        InputError: the prompt shows a sentence of the corpus as an example.
        ServiceError: the server has no Batch API, or does not answer.
    """
    name = batch_ticket(corpus_name)
    if not store.exists(name):
        asked = dict.fromkeys(approach.asked for approach in approaches)
        corpus, llm = read_corpus_from(store, corpus_name), LLM(account=store.key)
        for one in asked:
            checked_linker(store, corpus_name, corpus, domain, one, llm)
        questions = [question for one in asked for question in questions_left(store, corpus_name, domain, one)]
        store.write_record(name, submit(llm, questions), indent=None)
    return look_at_batch(store, corpus_name)


def look_at_batch(store: Store, corpus_name: str) -> BatchState:
    """Return how far the run's batches on a corpus are; answers that came are in the cache then.

    Raises:
        InputError: nothing was submitted.
        ServiceError: the server does not answer.
    """
    name = batch_ticket(corpus_name)
    store.require(name, "benchmark")
    return collect(LLM(account=store.key), store.read_record(name, BatchTicket))

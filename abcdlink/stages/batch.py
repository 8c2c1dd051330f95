"""The first questions of LLM approaches, asked by the server's Batch API before the stage asks what is left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import Domain
from abcdlink.layout import batch_ticket
from abcdlink.linking.records import Approach, with_smaller
from abcdlink.llm.batch import NOTHING, BatchState, BatchTicket, collect, submit
from abcdlink.llm.profiles import names, profile
from abcdlink.llm.records import Question
from abcdlink.progress import Progress, silent
from abcdlink.stages.decide import checked_linker, llm_of, questions_left
from abcdlink.store import Store


def to_ask_by_batch(approaches: Iterable[Approach]) -> list[Approach]:
    """Return the approaches whose model is set to be asked by batch; never the larger model of a cascade."""
    return [one for one in with_smaller(approaches) if not one.smaller and profile(one.profile).llm_batch]


def ask_together(
    store: Store, corpus_name: str, domain: Domain, approaches: Iterable[Approach], progress: Progress = silent
) -> None:
    """Ask the first questions of some approaches about all pairs at once, where that is quicker than pair by pair.

    These are approaches whose model is an offline engine, and cascades: their larger model is asked little about any
    one pair, and what that is is known when the smaller one has decided. The answers are in the cache then, where the
    stage finds them; what follows from them it asks as usual.
    """
    by_model: dict[str, dict[Approach, None]] = {}
    for one in approaches:
        if one.smaller or profile(one.profile).llm_engine == "vllm":
            by_model.setdefault(one.profile, {})[one.asked] = None
    corpus = read_corpus_from(store, corpus_name) if by_model else None
    for asked in by_model.values():
        llm = llm_of(store, next(iter(asked)))
        questions: list[Question] = []
        for one in asked:
            if corpus and (left := questions_left(store, corpus_name, domain, one)):
                checked_linker(store, corpus_name, corpus, domain, one.larger, llm)
                questions += left
        llm.ask_many(questions, progress)


def ask_by_batch(store: Store, corpus_name: str, domain: Domain, approaches: Sequence[Approach]) -> BatchState:
    """Submit what approaches ask first on a corpus of the run, once, and look how far it is.

    The run keeps one ticket for each model and never submits for this corpus again: what an ended batch left open is
    asked as usual. A process that is killed in the middle submits nothing twice, see ``llm.batch``.
    The rankings must be there.

    Raises:
        BudgetError: the answers could cost more than the budget leaves.
        InputError: the prompt shows a sentence of the corpus as an example.
        ServiceError: the server has no Batch API, or does not answer.
    """
    by_model: dict[str, dict[Approach, None]] = {}
    for approach in approaches:
        by_model.setdefault(approach.profile, {})[approach.asked] = None
    corpus, state = read_corpus_from(store, corpus_name), NOTHING
    for model, asked in by_model.items():
        name, llm = batch_ticket(corpus_name, model), llm_of(store, next(iter(asked)))
        if not store.exists(name):
            for one in asked:
                checked_linker(store, corpus_name, corpus, domain, one, llm)
            questions = [question for one in asked for question in questions_left(store, corpus_name, domain, one)]
            store.write_record(name, submit(llm, questions), indent=None)
        state += collect(llm, store.read_record(name, BatchTicket))
    return state


def look_at_batch(store: Store, corpus_name: str) -> BatchState:
    """Return how far the run's batches on a corpus are, of all models; answers that came are in the cache then.

    Raises:
        InputError: nothing was submitted.
        ServiceError: a server does not answer.
    """
    from abcdlink.llm.client import LLM

    tickets = {name: batch_ticket(corpus_name, "" if name == "default" else name) for name in names()}
    there = {name: ticket for name, ticket in tickets.items() if store.exists(ticket)}
    if not there:
        store.require(batch_ticket(corpus_name), "benchmark")
    states = (
        collect(LLM(profile(name), account=store.key), store.read_record(ticket, BatchTicket))
        for name, ticket in there.items()
    )
    return sum(states, NOTHING)

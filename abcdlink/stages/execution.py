"""How a stage's work is executed: in this process, or as the caller decides (flows use Prefect tasks).

Initial questions to an LLM can be asked together, or by the server's Batch API, before the stage asks the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import Domain
from abcdlink.errors import AbcdlinkError, BudgetError, ServiceError
from abcdlink.layout import batch_ticket
from abcdlink.linking.records import Approach, steps, waves, with_smaller
from abcdlink.llm.batch import NOTHING, BatchState, BatchTicket, collect, submit
from abcdlink.llm.errors import ProfileError
from abcdlink.llm.profiles import names, profile
from abcdlink.llm.records import Question
from abcdlink.progress import Progress, silent
from abcdlink.retrieval import Retriever
from abcdlink.stages.decide import checked_linker, decide_part, llm_of, part_count, questions_left
from abcdlink.stages.rank import rank
from abcdlink.store import Store
from abcdlink.together import side_by_side


def to_ask_by_batch(approaches: Iterable[Approach]) -> list[Approach]:
    """Return the approaches whose model is to be asked by batch; never the larger model of a cascade."""
    return [one for one in with_smaller(approaches) if not one.smaller and profile(one.profile).llm_batch]


def ask_together(
    store: Store, corpus_name: str, domain: Domain, approaches: Iterable[Approach], progress: Progress = silent
) -> None:
    """Ask some approaches' initial questions about all pairs at once, if that is quicker than pair by pair.

    These are approaches whose model is an offline engine, and cascades: the larger model is asked little about any
    one pair, and its questions are known once the smaller one has decided. The answers are then in the cache, where the
    stage finds them; it asks follow-up questions as usual.
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
    """Submit approaches' initial questions on a corpus of the run, once, and return how far the batch is.

    The run keeps one ticket per model and never submits for this corpus again: what a finished batch left open is
    asked as usual. A killed process submits nothing twice, see ``llm.batch``.
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
    """Return how far the run's batches on a corpus are, for all models; answers so far are then in the cache.

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


T = TypeVar("T")


class AnswersPendingError(AbcdlinkError):
    """The LLM was asked by batch about a corpus of the run and has not answered yet."""

    def __init__(self, corpus: str) -> None:
        self.corpus = corpus
        problem = f"the LLM was asked about the {corpus} pairs by batch and has not answered yet"
        super().__init__(problem, "run this again later")


def each_model(
    approaches: Sequence[Approach], decide: Callable[[Sequence[Approach]], None]
) -> dict[str, AbcdlinkError]:
    """Let the approaches of all LLMs decide in parallel; if one model fails, the others continue.

    Cascades follow when all other approaches are done. Offline engines take turns, since only one fits in memory.

    Returns:
        Name of each approach that failed -> the error.

    Raises:
        AnswersPendingError: a batch has not been answered yet, and all other models are done.
    """
    errors: dict[str, AbcdlinkError] = {}
    pending: list[AnswersPendingError] = []

    def one_after_another(models: Sequence[str], by_model: Mapping[str, Sequence[Approach]]) -> None:
        for model in models:
            try:
                decide(by_model[model])
            except AnswersPendingError as error:
                pending.append(error)
            except (ServiceError, BudgetError, ProfileError) as error:
                errors.update(dict.fromkeys((one.name for one in by_model[model]), error))

    for wave in waves(approaches):
        by_model: dict[str, list[Approach]] = {}
        queues: dict[str, dict[str, None]] = {}
        for one in wave:
            if one.smaller and one.smaller.name in errors:
                errors[one.name] = errors[one.smaller.name]
                continue
            by_model.setdefault(one.model, []).append(one)
            engine = profile(one.profile).llm_engine
            queues.setdefault(one.model if engine == "server" else engine, {})[one.model] = None
        side_by_side([partial(one_after_another, list(models), by_model) for models in queues.values()])
        if pending:
            raise pending[0]
    return {one.name: errors[one.asked.name] for one in approaches if one.asked.name in errors}


class Execution(Protocol):
    """How a stage's work is executed. Finished work is never repeated, whatever the execution."""

    @property
    def progress(self) -> Progress:
        """Shows how far a step is."""

    def step(self, name: str, do: Callable[..., T], *arguments: Any, **options: Any) -> T:  # noqa: ANN401 - of any function
        """Call a function that does one step as a whole; ``name`` describes it to whoever watches."""

    def rank(self, store: Store, corpus_name: str, retrievers: Iterable[str]) -> None:
        """Rank a corpus of the run with each retriever.

        Raises:
            AbcdlinkError: the error of the first part that fails; finished parts are kept.
        """

    def decide(self, store: Store, corpus_name: str, domain: Domain, approaches: Sequence[Approach]) -> None:
        """Let the LLM decide a corpus of the run by each approach; the rankings must exist.

        Raises:
            AnswersPendingError: a batch has not been answered yet.
            AbcdlinkError: as ``decide_part`` says.
        """


class Here:
    """Everything in this process, one part after another; ``own``: retrievers that are not in the registry, by name."""

    def __init__(self, progress: Progress = silent, own: Mapping[str, Retriever] = MappingProxyType({})) -> None:
        self.progress, self._own = progress, own

    def step(self, name: str, do: Callable[..., T], *arguments: Any, **options: Any) -> T:  # noqa: ANN401, ARG002
        """Call the function."""
        return do(*arguments, **options)

    def rank(self, store: Store, corpus_name: str, retrievers: Iterable[str]) -> None:
        """Rank with one retriever after another."""
        for retriever in retrievers:
            rank(store, corpus_name, retriever, self.progress, self._own.get(retriever))

    def decide(self, store: Store, corpus_name: str, domain: Domain, approaches: Sequence[Approach]) -> None:
        """Decide one part after another."""
        for wave in waves(approaches):
            ask_together(store, corpus_name, domain, wave, self.progress)
            for approach, part in steps(wave, part_count(store, corpus_name)):
                decide_part(store, corpus_name, domain, approach, part, self.progress)


HERE = Here()

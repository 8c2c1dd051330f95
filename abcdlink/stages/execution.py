"""How the work of a stage is executed: in this process, or as its caller has it done (flows: as Prefect tasks)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from abcdlink.corpus.records import Refusal
from abcdlink.domain import Domain
from abcdlink.errors import AbcdlinkError, BudgetError, ServiceError
from abcdlink.linking.grid import steps
from abcdlink.linking.records import Approach
from abcdlink.llm.errors import ProfileError
from abcdlink.progress import Progress, silent
from abcdlink.retrieval import Retriever
from abcdlink.stages.batch import ask_together
from abcdlink.stages.decide import decide_part, part_count
from abcdlink.stages.rank import rank
from abcdlink.store import Store

T = TypeVar("T")


class AnswersPendingError(AbcdlinkError):
    """The LLM was asked by batch about a corpus of the run, and its answers are not there yet."""

    def __init__(self, corpus: str) -> None:
        self.corpus = corpus
        problem = f"the LLM was asked about the {corpus} pairs by batch, and its answers are not there yet"
        super().__init__(problem, "run this again later")


def each_model(approaches: Sequence[Approach], decide: Callable[[Sequence[Approach]], None]) -> tuple[Refusal, ...]:
    """Let the approaches of one LLM after another decide; where one model gives out, the others go on.

    Args:
        approaches: that ask an LLM.
        decide: lets approaches of one model decide.

    Returns:
        The approaches that could not be decided, each with the reason.

    Raises:
        AnswersPendingError: the answers to a batch are waited for, and all other models are done.
        AbcdlinkError: the first model's error, where all gave out.
    """
    by_model: dict[str, list[Approach]] = {}
    for approach in approaches:
        by_model.setdefault(approach.model, []).append(approach)
    errors: dict[str, AbcdlinkError] = {}
    pending: AnswersPendingError | None = None
    for model, some in by_model.items():
        try:
            decide(some)
        except AnswersPendingError as error:
            pending = error
        except (ServiceError, BudgetError, ProfileError) as error:
            errors[model] = error
    if pending:
        raise pending
    if errors and len(errors) == len(by_model):
        raise next(iter(errors.values()))
    given_up = [approach for approach in approaches if approach.model in errors]
    return tuple(
        Refusal(where=one.name, reason=errors[one.model].problem, hint=errors[one.model].hint) for one in given_up
    )


class Execution(Protocol):
    """How a stage has its work done. What the run holds is never done again, however it is executed."""

    @property
    def progress(self) -> Progress:
        """Shows how far a step is."""

    def step(self, name: str, do: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401 - those of any function
        """Call a function that does one undivided step; ``name`` says which, for whoever watches."""

    def rank(self, store: Store, corpus_name: str, retrievers: Iterable[str]) -> None:
        """Rank a corpus of the run with each retriever.

        Raises:
            AbcdlinkError: the error of the first part that fails; what is done by then is kept.
        """

    def decide(self, store: Store, corpus_name: str, domain: Domain, approaches: Sequence[Approach]) -> None:
        """Let the LLM decide a corpus of the run by each approach; the rankings must be there.

        Raises:
            AnswersPendingError: the answers to a batch are waited for.
            AbcdlinkError: as ``decide_part`` says.
        """


class Here:
    """Everything in this process, one part after another.

    Args:
        progress: shows how far it is.
        own: by name, retrievers that are not in the registry.
    """

    def __init__(self, progress: Progress = silent, own: Mapping[str, Retriever] = MappingProxyType({})) -> None:
        self.progress, self._own = progress, own

    def step(self, name: str, do: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401, ARG002
        """Call the function."""
        return do(*arguments)

    def rank(self, store: Store, corpus_name: str, retrievers: Iterable[str]) -> None:
        """Rank with one retriever after another."""
        for retriever in retrievers:
            rank(store, corpus_name, retriever, self.progress, self._own.get(retriever))

    def decide(self, store: Store, corpus_name: str, domain: Domain, approaches: Sequence[Approach]) -> None:
        """Decide one part after another."""
        ask_together(store, corpus_name, domain, approaches, self.progress)
        for approach, part in steps(approaches, part_count(store, corpus_name)):
            decide_part(store, corpus_name, domain, approach, part, self.progress)


HERE = Here()

"""How the work of a stage is executed: in this process, or as its caller has it done (flows: as Prefect tasks)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from abcdlink.domain import Domain
from abcdlink.errors import AbcdlinkError, BudgetError, ServiceError
from abcdlink.linking.records import Approach, steps, waves
from abcdlink.llm.errors import ProfileError
from abcdlink.llm.profiles import profile
from abcdlink.progress import Progress, silent
from abcdlink.retrieval import Retriever
from abcdlink.stages.batch import ask_together
from abcdlink.stages.decide import decide_part, part_count
from abcdlink.stages.rank import rank
from abcdlink.store import Store
from abcdlink.together import side_by_side

T = TypeVar("T")


class AnswersPendingError(AbcdlinkError):
    """The LLM was asked by batch about a corpus of the run, and its answers are not there yet."""

    def __init__(self, corpus: str) -> None:
        self.corpus = corpus
        problem = f"the LLM was asked about the {corpus} pairs by batch, and its answers are not there yet"
        super().__init__(problem, "run this again later")


def each_model(
    approaches: Sequence[Approach], decide: Callable[[Sequence[Approach]], None]
) -> dict[str, AbcdlinkError]:
    """Let the approaches of all LLMs decide side by side; where one model gives out, the others go on.

    Cascades follow when all other approaches are done. Models of an offline engine take turns: only one fits.

    Args:
        approaches: that ask an LLM.
        decide: lets approaches of one model decide.

    Returns:
        Name of each approach that could not be decided -> the error.

    Raises:
        AnswersPendingError: the answers to a batch are waited for, and all other models are done.
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
    """How a stage has its work done. What the run holds is never done again, however it is executed."""

    @property
    def progress(self) -> Progress:
        """Shows how far a step is."""

    def step(self, name: str, do: Callable[..., T], *arguments: Any, **options: Any) -> T:  # noqa: ANN401 - of any function
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

"""Learned linkers by name: built-in ones, and the interface for third-party ones, which work in all the same places."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue, TypeAdapter, ValidationError

from abcdlink.corpus.gold import linked_cells
from abcdlink.corpus.records import Corpus, Document, Pair
from abcdlink.errors import InputError
from abcdlink.linking.fitted import FittedOn
from abcdlink.plugins import find_class, installed, make
from abcdlink.progress import Progress, silent
from abcdlink.retrieval.base import Retriever, rank_pairs

if TYPE_CHECKING:
    import pandas as pd

LEARNERS = ("learned-logistic", "learned-boosting")
LEXICAL = ("jaccard", "bm25-stemmed")
DENSE = "all-minilm-l6-v2"
GROUP = "abcdlink.linkers"
"""Entry points of packages that add linkers."""
Matrix = NDArray[np.float64]
ScoreMatrices = dict[tuple[str, str], Matrix]
"""(Source document, target document) -> scores of shape (source sentences, target sentences)."""


class ScoredDocuments(Retriever):
    """Ranks scores that were computed earlier."""

    def __init__(self, name: str, scores: ScoreMatrices) -> None:
        self.name = name
        self._scores = scores

    def prepare(self, documents: Sequence[Document], progress: Progress = silent) -> None:
        """Do nothing."""

    def score(self, source: Document, target: Document) -> Matrix:
        """Return the scores of a pair of documents."""
        return self._scores[source.id, target.id]


class BaseScores:
    """The scores that several retrievers gave to the pairs of a corpus.

    ``retrievers``: the order of the returned matrices. Raises ``InputError`` when the rankings of a retriever
    are missing.
    """

    def __init__(self, retrievers: Sequence[str], rankings: Mapping[str, pd.DataFrame], corpus: Corpus) -> None:
        missing = [name for name in retrievers if name not in rankings]
        if missing:
            msg = f"a learned linker lacks the rankings of {corpus.name!r} by {' and '.join(missing)}"
            raise InputError(msg, f"rank the corpus with {', '.join(retrievers)} first")
        self._corpus = corpus
        self._tables = {name: _Table(rankings[name]) for name in retrievers}

    def of(self, pair: Pair) -> list[Matrix]:
        """Return one matrix (source sentences, target sentences) for each retriever.

        Raises:
            InputError: when the rankings do not contain every two sentences of the pair once.
        """
        source, target = self._corpus.source_of(pair), self._corpus.target_of(pair)
        matrices = []
        for name, table in self._tables.items():
            matrix = table.matrix(pair.id, source, target)
            if matrix is None:
                msg = f"the rankings by {name} do not contain every two sentences of the pair {pair.id!r} once"
                raise InputError(msg, f"rank the corpus {self._corpus.name!r} with {name} again")
            matrices.append(matrix)
        return matrices


class _Table:
    """One rankings table, its rows found by pair."""

    def __init__(self, rankings: pd.DataFrame) -> None:
        import pandas as pd

        pair, self._source, self._target = (pd.Categorical(rankings[name]) for name in ("pair", "source", "target"))
        self._score = rankings["score"].to_numpy(np.float64)
        self._order = np.argsort(pair.codes, kind="stable")
        self._pairs = {str(name): code for code, name in enumerate(pair.categories)}
        self._ends = np.searchsorted(pair.codes[self._order], np.arange(len(self._pairs) + 1))
        self._codes = {
            side: {str(name): code for code, name in enumerate(ids.categories)}
            for side, ids in (("source", self._source), ("target", self._target))
        }
        self._known: dict[tuple[str, str], tuple[NDArray[Any], NDArray[np.intp]]] = {}

    def matrix(self, pair: str, source: Document, target: Document) -> Matrix | None:
        """Return the scores of a pair, or ``None`` if some are missing."""
        code = self._pairs.get(pair)
        if code is None:
            return None
        rows = self._order[self._ends[code] : self._ends[code + 1]]
        shape = len(source.sentences), len(target.sentences)
        if len(rows) != shape[0] * shape[1]:
            return None
        row = self._places("source", source, self._source, rows)
        column = self._places("target", target, self._target, rows)
        place = row * shape[1] + column
        if min(row.min(), column.min()) < 0 or len(np.unique(place)) != len(place):
            return None
        matrix = np.empty(len(place))
        matrix[place] = self._score[rows]
        return matrix.reshape(shape)

    def _places(self, side: str, document: Document, ids: pd.Categorical, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return each row's sentence position in the document, -1 if it is not there."""
        key = (side, document.id)
        if key not in self._known:
            codes = np.array([self._codes[side].get(one.id, -1) for one in document.sentences])
            sorter = np.argsort(codes)
            self._known[key] = codes[sorter], sorter
        ordered, sorter = self._known[key]
        wanted = ids.codes[rows]
        found = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        return np.where(ordered[found] == wanted, sorter[found], -1)


class LearnerName(NamedTuple):
    """A learner and the retrievers whose scores it learns from: two lexical ones and one with a model."""

    learner: str
    retrievers: tuple[str, ...]


class Example(NamedTuple):
    """A pair of documents as a linker receives it.

    Attributes:
        source: the document whose sentences are linked.
        target: the document whose sentences they are linked to.
        scores: retriever -> its scores, higher is better, shape (source sentences, target sentences).
        linked: the gold links, same shape; all ``False`` when the linker has to score.
    """

    source: Document
    target: Document
    scores: dict[str, NDArray[np.float64]]
    linked: NDArray[np.bool_]


class Linker(ABC):
    """A linker fitted on pairs with gold links, which scores the target sentences of other pairs.

    What ``fit`` returns is stored as JSON in the run, so that reading it later runs no code.

    Attributes:
        retrievers: names of the retrievers whose scores it receives.
        probabilities: whether its scores are probabilities of a link, from 0 to 1, for any source,
            with or without links; ``expected-f1`` for all sources then uses them as is, and they can label a corpus.
    """

    retrievers: tuple[str, ...] = ("bm25",)
    probabilities: bool = False

    @abstractmethod
    def fit(self, examples: Sequence[Example]) -> JsonValue:
        """Learn from pairs with gold links; the result (numbers, strings, lists, dicts) is passed to ``score``."""

    @abstractmethod
    def score(self, fitted: JsonValue, example: Example) -> NDArray[np.float64]:
        """Return scores of shape (source sentences, target sentences), higher is better."""


class FittedLinker:
    """A third-party linker with what it learned from the pairs in ``fitted_on``, which it refuses to rank."""

    def __init__(self, name: str, linker: Linker, fitted_on: FittedOn, fitted: JsonValue) -> None:
        self.name = name
        self.linker = linker
        self.fitted_on = fitted_on
        self.fitted = fitted

    @classmethod
    def learn(cls, name: str, linker: Linker, rankings: Mapping[str, pd.DataFrame], corpus: Corpus) -> FittedLinker:
        """Let a linker learn from the annotated pairs of a corpus.

        Raises:
            InputError: when no source has links, rankings are missing, or what it returns is not JSON.
        """
        fitted_on = FittedOn.of(corpus)
        annotated = [pair for pair in corpus.pairs if pair.links is not None]
        learned = linker.fit(list(_examples(linker, rankings, corpus, annotated, gold=True)))
        try:
            fitted: JsonValue = TypeAdapter(JsonValue).validate_python(learned, strict=True)
        except ValidationError:
            msg = f"fit() of the linker {name!r} returned something that is not JSON: {learned!r:.200}"
            raise InputError(msg, "return only numbers, strings, lists and dicts, such as array.tolist()") from None
        return cls(name, linker, fitted_on, fitted)

    def scores(
        self, rankings: Mapping[str, pd.DataFrame], corpus: Corpus, pairs: Sequence[Pair], progress: Progress = silent
    ) -> ScoreMatrices:
        """Return the scores of pairs that it did not learn from.

        Raises:
            InputError: when it learned from the texts of one of these pairs, rankings are missing, or a
                score is missing or not a finite number.
        """
        self.fitted_on.refuse(corpus, [pair.id for pair in pairs], f"the linker {self.name!r}")
        found: ScoreMatrices = {}
        for example in progress(_examples(self.linker, rankings, corpus, pairs), f"rank ({self.name})", len(pairs)):
            given = np.asarray(self.linker.score(self.fitted, example), np.float64)
            if given.shape != example.linked.shape or not np.isfinite(given).all():
                wrong = "NaN or infinite" if given.shape == example.linked.shape else f"of shape {given.shape}"
                msg = f"scores of the linker {self.name!r} for {example.source.id!r}, {example.target.id!r} are {wrong}"
                raise InputError(msg, f"return finite numbers of shape {example.linked.shape} from score()")
            found[example.source.id, example.target.id] = given
        return found

    def rank(
        self,
        rankings: Mapping[str, pd.DataFrame],
        corpus: Corpus,
        pairs: Sequence[Pair] | None = None,
        progress: Progress = silent,
    ) -> pd.DataFrame:
        """Rank all target sentences for every source sentence, as ``LearnedLinker.rank``; errors as ``scores``."""
        pairs = corpus.pairs if pairs is None else pairs
        return rank_pairs(corpus, ScoredDocuments(self.name, self.scores(rankings, corpus, pairs, progress)), pairs)


def _examples(
    linker: Linker, rankings: Mapping[str, pd.DataFrame], corpus: Corpus, pairs: Sequence[Pair], *, gold: bool = False
) -> Iterator[Example]:
    base = BaseScores(linker.retrievers, rankings, corpus)
    for pair in pairs:
        scores = dict(zip(linker.retrievers, base.of(pair), strict=True))
        yield Example(corpus.source_of(pair), corpus.target_of(pair), scores, linked_cells(corpus, pair) & gold)


def is_learned(name: str) -> bool:
    """Tell whether a name is that of a learned linker, built-in (of a known learner or not) or third-party."""
    return name.startswith("learned-") or own_class(name) is not None


def base_retrievers(name: str) -> tuple[str, ...]:
    """Return the retrievers whose rankings a learned linker needs; raises ``InputError`` if there is no such linker."""
    own = own_linker(name)
    return own.retrievers if own else read_name(name).retrievers


def own_linker(name: str) -> Linker | None:
    """Return a linker installed as an entry point or named as ``module:Class``; ``None`` for a built-in one.

    Raises:
        InputError: when it cannot be loaded.
    """
    found = own_class(name)
    return make(found, name) if found else None


def own_class(name: str) -> type[Linker] | None:
    """Return the class of a third-party linker; errors as ``own_linker``."""
    if name.startswith("learned-"):
        return None
    return find_class(name, GROUP, Linker)  # type: ignore[type-abstract] # the check is of subclasses


def gives_probabilities(name: str) -> bool:
    """Tell whether the scores of a learned linker are probabilities of a link."""
    own = own_linker(name)
    return own.probabilities if own else is_learned(name)


def read_name(name: str) -> LearnerName:
    """Parse a name; raises ``InputError`` if there is no such learned linker."""
    learner, colon, dense = name.partition(":")
    if learner not in LEARNERS or (colon and not dense) or dense in LEXICAL:
        msg = f"there is no learned linker {name!r}"
        others = ", ".join((*LEARNERS[1:], *installed(GROUP), "module:Class"))
        raise InputError(msg, f"choose {LEARNERS[0]}, {others}, or another model's retriever as {LEARNERS[0]}:bge-m3")
    return LearnerName(learner, (*LEXICAL, dense or DENSE))

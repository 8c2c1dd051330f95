"""Where approaches fail: scores by kind of source sentence, and wrong links sorted into patterns.

Both are recomputed from the files of the run's benchmark. Where these are missing (the run was copied
in part, or a file was removed), the reason takes the place of the finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, TypeVar

from abcdlink.corpus.io import read_corpus_from
from abcdlink.errors import InputError
from abcdlink.evaluation.comparisons import Trait, break_down
from abcdlink.evaluation.errors import ErrorAnalysis, ErrorKind, ErrorPattern, LinkError
from abcdlink.evaluation.results import ApproachResult
from abcdlink.layout import SYNTHETIC
from abcdlink.stages.benchmark import read_scores
from abcdlink.stages.shortlist import errors_of
from abcdlink.store import Store

T = TypeVar("T")

MOST_EXAMPLES = 10
"""Errors of one approach to show; the command ``abcdlink errors`` shows all."""

TRAIT_WORDS = {
    Trait.LINKS: "By number of gold links",
    Trait.POSITION: "By position in its document",
    Trait.LENGTH: "By length of the target document",
}


class Breakdown(NamedTuple):
    """F1, failures as wrong, of some approaches on each kind of source sentence.

    ``bins``: (kind in words, number of sources). ``rows``: approach -> F1 for each bin.
    """

    title: str
    bins: list[tuple[str, int]]
    rows: dict[str, list[float]]


class Errors(NamedTuple):
    """All errors of one approach, and some to look at."""

    analysis: ErrorAnalysis
    examples: list[LinkError]

    @property
    def counts(self) -> list[tuple[ErrorPattern, list[int]]]:
        """Pattern -> how many errors of each kind, in the order of ``ErrorKind``, show it."""
        by_kind = self.analysis.counts()
        return [(pattern, [by_kind[kind][pattern] for kind in ErrorKind]) for pattern in ErrorPattern]

    @property
    def totals(self) -> list[int]:
        """How many errors of each kind there are."""
        return [sum(error.kind is kind for error in self.analysis.errors) for kind in ErrorKind]


@dataclass(frozen=True)
class Findings:
    """What was found, or the reason why it was not.

    ``errors``: shortlisted approach -> its errors.
    """

    breakdowns: list[Breakdown] | str
    errors: dict[str, Errors | str]


def find(store: Store, names: Sequence[str], shortlisted: Sequence[str]) -> Findings:
    """Return the findings on approaches of the run's benchmark; the run must have one.

    ``names`` are broken down by kind of source sentence; the errors of those ``shortlisted`` are analysed.
    """
    return Findings(
        breakdowns=_or_reason(lambda: _breakdowns(store, names)),
        errors={name: _or_reason(lambda name=name: _errors(store, name)) for name in shortlisted},  # type: ignore[misc]
    )


def notable(results: Iterable[ApproachResult], shortlisted: Sequence[str]) -> list[str]:
    """Return the names of the shortlisted approaches that were scored, and of the best of each kind.

    ``results``: best first.
    """
    scored = list(results)
    names = [result.approach.name for result in scored]
    best = {result.approach.kind: result.approach.name for result in reversed(scored)}
    of_kinds = sorted(best.values(), key=names.index)
    return list(dict.fromkeys([*(name for name in shortlisted if name in names), *of_kinds]))


def _or_reason(compute: Callable[[], T]) -> T | str:
    try:
        return compute()
    except InputError as error:
        return error.problem
    except FileNotFoundError as error:
        return f"a file is missing: {error.filename or error}"


def _breakdowns(store: Store, names: Sequence[str]) -> list[Breakdown]:
    table, corpus = read_scores(store), read_corpus_from(store, SYNTHETIC)
    scores = table[table["approach"].isin(names)]
    found = []
    for trait in Trait:
        bins: dict[str, int] = {}
        f1: dict[str, list[float]] = {name: [] for name in names}
        # All approaches were scored on the same sources, so each has the same bins in the same order.
        for row in break_down(scores, corpus, trait).to_dict("records"):
            bins[row["bin"]] = row["sources"]
            f1[row["approach"]].append(row["f1_of_all"])
        found.append(Breakdown(TRAIT_WORDS[trait], list(bins.items()), f1))
    return found


def _errors(store: Store, name: str) -> Errors:
    analysis = errors_of(store, name)
    return Errors(analysis, examples(analysis.errors, MOST_EXAMPLES))


def examples(errors: Iterable[LinkError], most: int) -> list[LinkError]:
    """Return at most ``most`` errors: each pattern and kind in turn, each source sentence once."""
    groups: dict[tuple[ErrorPattern, ErrorKind], dict[tuple[str, str], LinkError]] = {}
    for error in errors:
        group = groups.setdefault((error.patterns[0], error.kind), {})
        group.setdefault((error.pair, error.source), error)
    queues = [iter(group.values()) for _, group in sorted(groups.items(), key=itemgetter(0))]
    taken: dict[tuple[str, str], LinkError] = {}
    while queues and len(taken) < most:
        for queue in list(queues):
            fresh = next((one for one in queue if (one.pair, one.source) not in taken), None)
            if fresh is None:
                queues.remove(queue)
            else:
                taken[fresh.pair, fresh.source] = fresh
    return list(taken.values())[:most]

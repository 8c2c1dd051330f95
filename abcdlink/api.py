"""The functions that ``import abcdlink`` offers beside the library's classes: one call for one question."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from abcdlink.corpus.io import read_corpus
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError, counted
from abcdlink.evaluation.scores import Definition
from abcdlink.folders import open_folder
from abcdlink.interannotator.measures import Agreement
from abcdlink.interannotator.measures import agreement as agreement_of
from abcdlink.judgment_file import read_judgment_file
from abcdlink.judgments import Judgment
from abcdlink.linking.learners import Linker, base_retrievers, is_learned
from abcdlink.linking.records import Aim, CutoffRule
from abcdlink.plugins import MODULE_AND_CLASS
from abcdlink.progress import Progress, silent
from abcdlink.retrieval import RETRIEVERS, Retriever
from abcdlink.stages.benchmark import compare_approaches
from abcdlink.stages.benchmark_corpora import keep_corpus
from abcdlink.stages.execution import Here
from abcdlink.stages.plan import BenchmarkPlan, LLMPlan
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from abcdlink.evaluation.results import ApproachResult

Ranker = str | Retriever | type[Linker]
"""What can be benchmarked: a name, a retriever, or the class of a linker."""


def benchmark(  # noqa: PLR0913 - one name for each choice
    corpus: Corpus | str | Path,
    approaches: Sequence[Ranker],
    cutoffs: Sequence[int | str] = (1, 3),
    *,
    definition: Definition = "paper",
    folds: int = 5,
    aim: Aim | str = Aim.PAPER,
    group: Callable[[Pair], str] | None = None,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Score retrievers and learned linkers on a corpus with gold links.

    Linkers and cutoff rules are scored on folds of the pairs that they were not fitted on.

    Args:
        corpus: with gold links, or its folder.
        approaches: names, such as ``bm25`` or ``learned-logistic``, your own ``Retriever`` objects, or
            your own ``Linker`` classes.
        cutoffs: numbers k of top-ranked target sentences, and rules such as ``expected-f1``.
        definition: of precision at k: hits / min(k, target sentences) (``paper``), or hits / k (``common``).
        folds: number of folds of the pairs, where something is fitted.
        aim: what cutoff rules are fitted for: ``paper``, the mean F1 over sources with links; ``all-sources``, the F1
            over the links of all sources, including those without links.
        group: names the group of a pair, such as its topic; the pairs of a group are in one fold.
        progress: ``abcdlink.progress.terminal()`` shows bars.

    Returns:
        One row for each approach at each cutoff. Fractions of 1: ``precision``, ``recall``, ``f1`` (means over the
        source sentences with links), ``all_sources_precision``, ``all_sources_recall``, ``all_sources_f1``
        (over the links of all source sentences), ``false_link_rate`` (on source sentences without links;
        NaN where there are none) and ``calibration_error`` of its probabilities (NaN where it has none). Beside them
        ``approach`` (such as ``bm25@3``), ``retriever``, ``cutoff``, ``sources`` (with links) and ``seconds``.

    Raises:
        InputError: when there are no gold links, a name is unknown, or the pairs are too few for the folds.
    """
    import pandas as pd

    corpus = corpus if isinstance(corpus, Corpus) else read_corpus(corpus)
    own: dict[str, Retriever] = {}
    names = [_name_of(approach, own) for approach in approaches]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        msg = f"two approaches are called {twice!r}"
        raise InputError(msg, "give your retrievers different names")
    plan = plan_of([name for name in names if name not in own], list(own), cutoffs, definition, folds, aim)
    for name in plan.learned:
        base_retrievers(name)  # an unknown name is found before anything is ranked
    with TemporaryDirectory() as folder:
        store = Store(open_folder(folder), "benchmark")
        kept = keep_corpus(store, corpus, plan, group)
        found = compare_approaches(store, None, plan, Here(progress, own), kept)
    results = {result.approach.name: result for result in found.approaches}
    order = {name: place for place, name in enumerate(names)}
    rows = sorted(results.values(), key=lambda result: order[result.approach.retriever])
    return pd.DataFrame([_row(result) for result in rows])


def plan_of(
    names: Sequence[str],
    own: Sequence[str],
    cutoffs: Sequence[int | str],
    definition: Definition,
    folds: int,
    aim: Aim | str = Aim.PAPER,
    llm: LLMPlan | None = None,
) -> BenchmarkPlan:
    """Return the plan of a benchmark.

    ``own``: names of retrievers that are not in the registry; ``llm``: what LLMs are asked, ``None``: none is. All else
    is as for ``benchmark``.

    Raises:
        InputError: when one of them cannot be used; says which.
    """
    rules = [CutoffRule(cutoff) for cutoff in cutoffs if cutoff in set(CutoffRule)]
    numbers = [cutoff for cutoff in cutoffs if cutoff not in rules]
    for number in numbers:
        if not re.fullmatch(r"0*[1-9][0-9]*", str(number)):
            msg = f"{number!r} is not a cutoff"
            raise InputError(msg, f"give whole numbers from 1 and any of {', '.join(CutoffRule)}")
    if aim not in set(Aim):
        msg = f"{aim!r} is not an aim"
        raise InputError(msg, f"choose {' or '.join(Aim)}")
    for what, given in (("cutoff", cutoffs), ("retriever", [*names, *own])):
        if not given:
            msg = f"no {what} is given"
            raise InputError(msg, f"give at least one {what}; on the command line, separate several by commas")
    return BenchmarkPlan(
        retrievers=tuple(name for name in (*names, *own) if name in own or not is_learned(name)),
        learned=tuple(name for name in names if is_learned(name)),
        cutoffs=tuple(int(number) for number in numbers),
        rules=tuple(rules),
        folds=folds,
        aim=Aim(aim),
        definition=definition,
        llm=llm,
    )


def agreement(judgments: str | Path | Sequence[Judgment], overlap: int | None = None) -> Agreement:
    """Measure how far annotators agree: ``.kappa`` with ``.interval``, ``.observed``, ``.ac1``, ``.acceptance`` ...

    Args:
        judgments: the path of a ``judgments.jsonl`` or of a CSV with the columns ``document_id``, ``source_id``,
            ``target_id``, ``method``, ``annotator_1``, ``annotator_2`` ...; or the judgments themselves.
        overlap: judgments that a candidate needs; default: two, or one while there is one annotator.

    Raises:
        InputError: when the file cannot be read.

    Warns:
        UserWarning: when rows of a CSV have fewer than two judgments and were left out.
    """
    if not isinstance(judgments, str | Path):
        return agreement_of(judgments, overlap)
    file = read_judgment_file(judgments)
    if file.refused:
        msg = f"{counted(len(file.refused), 'row')} left out; the first: {file.refused[0].line}"
        warnings.warn(msg, stacklevel=2)
    return agreement_of(file.judgments, overlap)


def _name_of(approach: object, own: dict[str, Retriever]) -> str:
    if isinstance(approach, str):
        return approach
    if isinstance(approach, Retriever):
        name = getattr(approach, "name", "") or type(approach).__name__
        if name in RETRIEVERS:
            msg = f"your retriever {approach!r} has the name {name!r}, which belongs to a built-in one"
            raise InputError(msg, "give it another name")
        approach.name = name
        own[name] = approach
        return name
    if isinstance(approach, type) and issubclass(approach, Linker):
        name = f"{approach.__module__}:{approach.__qualname__}"
        if not MODULE_AND_CLASS.fullmatch(name):
            msg = f"the linker {name!r} cannot be found by its name"
            raise InputError(msg, "define its class at the top level of a module, not in a function")
        return name
    msg = f"{approach!r} cannot be benchmarked"
    raise InputError(msg, "give a name, a Retriever object, or a Linker class")


def _row(result: ApproachResult) -> dict[str, str | int | float]:
    everywhere, rate = result.all_sources, result.all_sources.false_link_rate
    cutoff = result.approach.cutoff
    return {
        "approach": result.approach.name,
        "precision": result.precision,
        "recall": result.recall,
        "f1": result.f1,
        "all_sources_precision": everywhere.precision,
        "all_sources_recall": everywhere.recall,
        "all_sources_f1": everywhere.f1,
        "false_link_rate": float("nan") if rate is None else rate,
        "calibration_error": result.calibration.error if result.calibration else float("nan"),
        "retriever": result.approach.retriever,
        "cutoff": cutoff if isinstance(cutoff, int) else str(cutoff),
        "sources": result.sources,
        "seconds": result.seconds,
    }

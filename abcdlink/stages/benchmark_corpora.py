"""The benchmark of any corpora with gold links: each is a corpus of a run, and the results are put side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from abcdlink.corpus.io import read_corpus, read_origin, write_corpus_to
from abcdlink.corpus.records import Corpus, Pair, Record
from abcdlink.domain import Domain, find_domain
from abcdlink.errors import InputError
from abcdlink.evaluation.comparisons import average_f1, by_cutoff
from abcdlink.evaluation.results import ApproachResult
from abcdlink.languages import guess_language
from abcdlink.layout import OVERVIEW, folds_file
from abcdlink.linking.records import Approach, ApproachKind
from abcdlink.stages.benchmark import Benchmark, best_ranker, rank_for, run_benchmark
from abcdlink.stages.execution import HERE, AnswersPendingError, Execution
from abcdlink.stages.once import alone, is_done
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.score import divide
from abcdlink.store import Store

PREFIX = "corpora/"
"""Prefix of the names of benchmarked corpora in a run; the rest of the name is shown."""


class Across(Record):
    """One approach on all corpora: means of its scores on each of them, in fractions of 1.

    ``name``: name of the approach, without the number of candidates if that differs between domains.
    ``f1``: an unanswered source counts as 0.
    """

    name: str
    kind: ApproachKind
    precision: float
    recall: float
    f1: float
    seconds_per_1000_pairs: float
    cost_per_1000_pairs: float

    @property
    def row(self) -> dict[str, str]:
        """The means, as a row of a table; scores in percent."""
        scores = {"P": self.precision, "R": self.recall, "F1": self.f1}
        return {
            "approach": self.name,
            **{name: f"{100 * value:.2f}" for name, value in scores.items()},
            "seconds / 1,000 pairs": f"{self.seconds_per_1000_pairs:.1f}",
            "cost / 1,000 pairs": f"{self.cost_per_1000_pairs:.4f}",
        }


class RetrieverRow(Record):
    """One retriever or learned linker on one corpus, or on all of them (means): as in the paper's tables.

    ``average_f1``: mean F1 over the cutoffs; ``None`` if it was not scored at all of them. ``recall``: cutoff
    -> recall.
    """

    retriever: str
    corpus: str
    average_f1: float | None
    recall: dict[int, float]


class Overview(Record):
    """Benchmark results on several corpora: by corpus, and means over the corpora.

    ``domains``: corpus -> its domain. ``across``: approaches that were scored on every corpus, best first.
    """

    corpora: dict[str, Benchmark]
    domains: dict[str, str]
    across: tuple[Across, ...]
    retrievers: tuple[RetrieverRow, ...]


def shown(corpus_name: str) -> str:
    """Return the name of a benchmarked corpus as people see it."""
    return corpus_name.removeprefix(PREFIX)


def group_by(expression: str, corpus: Corpus) -> Callable[[Pair], str] | None:
    """Return a function that gives a pair's group, from the beginning of its id; ``None`` for an empty expression.

    Raises:
        InputError: when the expression cannot be used, or does not match the beginning of an id.
    """
    if not expression:
        return None
    try:
        pattern = re.compile(expression)
    except re.error as error:
        msg = f"{expression!r} is not a valid regular expression: {error}"
        raise InputError(msg, "give an expression that matches the beginning of every pair's id") from None
    for pair in corpus.pairs:
        if not pattern.match(pair.id):
            msg = f"the id of the pair {pair.id!r} does not begin with {expression!r}"
            raise InputError(msg, "give an expression that matches the beginning of every pair's id")
    return lambda pair: pattern.match(pair.id).group()  # type: ignore[union-attr] # checked above


def keep_corpus(
    store: Store,
    corpus: Corpus,
    plan: BenchmarkPlan,
    group: Callable[[Pair], str] | None = None,
    language: str = "",
) -> str:
    """Copy a corpus with gold links into the run and return its name there.

    ``group``: gives the group of a pair; all pairs of a group are in one fold. ``None``: pairs that share a document.
    An empty language is guessed.

    Raises:
        InputError: when there are no gold links, or the pairs are too few for the folds.
    """
    if not corpus.source_count:
        msg = f"the corpus {corpus.name!r} has no gold links"
        raise InputError(msg, "benchmark a corpus with links, such as the synthetic one of a run")
    name = _name_of(corpus)
    if plan.learned or plan.rules:
        store.write_json(folds_file(name), divide(corpus, plan.folds, group))
    language = language or guess_language(text for document in corpus.used_documents() for text in document.texts)
    about = {"documents": len(corpus.documents), "pairs": len(corpus.pairs), "language": language}
    store.note_in("corpora", name, about)
    write_corpus_to(store, name, corpus)
    return name


def _name_of(corpus: Corpus) -> str:
    return f"{PREFIX}{re.sub(r'[^A-Za-z0-9._-]+', '-', corpus.name).strip('-.') or 'corpus'}"


def take_corpora(
    store: Store,
    folders: Sequence[str],
    domains: Sequence[str],
    plan: BenchmarkPlan,
    first_pairs: int | None = None,
    group: str = "",
) -> dict[str, Domain]:
    """Copy corpus folders into the run, once; return the domain of each by the corpus's name there.

    ``domains``: one for all corpora, or one for each. ``first_pairs``: only this many of each, in file order.
    ``group``: see ``group_by``.

    Raises:
        InputError: when a corpus is missing or has no gold links, two have the same name, or the run has others.
    """
    if len(domains) not in (1, len(folders)):
        msg = f"{len(domains)} domains are given for {len(folders)} corpora"
        raise InputError(msg, "give one domain for all corpora, or one for each, in order")
    of_each = domains if len(domains) == len(folders) else [domains[0]] * len(folders)
    found: dict[str, Domain] = {}
    for folder, reference in zip(folders, of_each, strict=True):
        domain = find_domain(reference)
        where = str(domain.sample_folder) if folder == "sample" else folder
        corpus = read_corpus(where)
        name = _name_of(corpus)
        if name in found:
            msg = f"two of the corpora are called {shown(name)!r}"
            raise InputError(msg, "rename the folder of one of them")
        asked = {"folder": where, "pairs": first_pairs, "domain": domain.label, "group": group}
        if not is_done(store, f"take {name}", f"{name}/pairs.jsonl", asked):
            some = corpus.first_pairs(first_pairs)
            keep_corpus(store, some, plan, group_by(group, some), str(read_origin(where).get("language") or ""))
        found[name] = domain
    return found


def prepare(store: Store, domains: Mapping[str, Domain], plan: BenchmarkPlan, execution: Execution) -> BenchmarkPlan:
    """Rank all corpora; return the plan with the retriever that its LLM decides on, if the plan names none.

    That is the one with the best mean F1 over cutoffs and corpora: one for all corpora, as in the paper.
    """
    for name in domains:
        rank_for(store, plan, execution, name)
    if plan.llm is None or plan.llm.retrievers:
        return plan
    best = execution.step("choose the base retriever", best_ranker, store, plan, list(domains))
    return plan.model_copy(update={"llm": plan.llm.model_copy(update={"retrievers": (best,)})})


def run_benchmarks(
    store: Store, domains: Mapping[str, Domain], plan: BenchmarkPlan, execution: Execution = HERE
) -> Overview:
    """Benchmark every corpus and put the results side by side; what is already done is not repeated.

    ``domains``: as ``take_corpora`` returns them.

    Raises:
        AnswersPendingError: the LLM was asked by batch, about all corpora; call this again when the batches are over.
    """
    with alone(store, "benchmarks", execution.progress):
        plan = prepare(store, domains, plan, execution)
        results: dict[str, Benchmark] = {}
        pending: AnswersPendingError | None = None
        for name, domain in domains.items():
            try:
                results[name] = run_benchmark(store, domain, plan, execution, name)
            except AnswersPendingError as error:
                pending = error
        if pending:
            raise pending
        overview = overview_of({shown(name): one for name, one in results.items()}, domains)
        store.write_record(OVERVIEW, overview)
        return overview


def overview_of(results: Mapping[str, Benchmark], domains: Mapping[str, Domain]) -> Overview:
    """Put benchmarks side by side, by the shown name of the corpus."""
    groups: dict[str, dict[str, ApproachResult]] = {}
    for corpus, benchmark in results.items():
        for result in benchmark.approaches:
            groups.setdefault(_group(result.approach, results), {})[corpus] = result
    everywhere = {name: list(of.values()) for name, of in groups.items() if len(of) == len(results)}
    across = [
        Across(
            name=name,
            kind=found[0].approach.kind,
            precision=fmean(one.precision for one in found),
            recall=fmean(one.recall for one in found),
            f1=fmean(one.f1_of_all for one in found),
            seconds_per_1000_pairs=fmean(one.seconds_per_1000_pairs for one in found),
            cost_per_1000_pairs=fmean(one.cost_per_1000_pairs for one in found),
        )
        for name, found in everywhere.items()
    ]
    return Overview(
        corpora=dict(results),
        domains={shown(name): domain.label for name, domain in domains.items()},
        across=tuple(sorted(across, key=lambda one: -one.f1)),
        retrievers=tuple(_retriever_rows(results)),
    )


def _group(approach: Approach, results: Mapping[str, Benchmark]) -> str:
    """Return the name of an approach that is the same on all corpora.

    If each corpus has one number of candidates, but not the same one, the number is left out.
    """
    if approach.kind is not ApproachKind.LLM or not approach.retriever:
        return approach.name
    numbers = [
        {one.approach.cutoff for one in benchmark.approaches if one.approach.prompt_mode and one.approach.retriever}
        for benchmark in results.values()
    ]
    if all(len(of_one) == 1 for of_one in numbers) and len(set.union(*numbers)) > 1:
        return approach.name.replace(f"{approach.retriever}@{approach.cutoff}", approach.retriever, 1)
    return approach.name


def _retriever_rows(results: Mapping[str, Benchmark]) -> Iterator[RetrieverRow]:
    """Yield the rows of each corpus, then those of the means over the corpora."""
    rows: list[RetrieverRow] = []
    for corpus, benchmark in results.items():
        averages = average_f1(benchmark.approaches, benchmark.cutoffs) if benchmark.cutoffs else {}
        recalls = by_cutoff(benchmark.approaches, "recall").to_dict("index")
        rows += [
            RetrieverRow(retriever=str(name), corpus=corpus, average_f1=averages.get(str(name)), recall=recall)
            for name, recall in recalls.items()
        ]
    yield from rows
    for name in dict.fromkeys(row.retriever for row in rows):
        own = [row for row in rows if row.retriever == name]
        if len(own) < len(results) or len(results) == 1:
            continue
        averages_of_own = [row.average_f1 for row in own if row.average_f1 is not None]
        yield RetrieverRow(
            retriever=name,
            corpus="",
            average_f1=fmean(averages_of_own) if len(averages_of_own) == len(own) else None,
            recall={k: fmean(row.recall[k] for row in own) for k in own[0].recall},
        )

"""Commands ``benchmark``, on any corpora with gold links, and ``run benchmark``, on a run's synthetic pairs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from abcdlink.cli.benchmark_tables import (
    as_json,
    print_corpus,
    print_overview,
    say_cost,
    write_pictures,
)
from abcdlink.cli.llm import ModesOption, ScoringsOption, SetupsOption, llm_choices
from abcdlink.cli.output import (
    JsonOption,
    RunArgument,
    RunDomainOption,
    SettingOption,
    listed,
    print_json,
    print_rows,
    say,
)
from abcdlink.errors import InputError
from abcdlink.evaluation.scores import Definition
from abcdlink.linking.records import Aim
from abcdlink.progress import terminal

if TYPE_CHECKING:
    from abcdlink.store import Store


RetrieversOption = Annotated[str, typer.Option(help="Comma-separated names of retrievers and learned linkers.")]
FoldsOption = Annotated[int, typer.Option(min=3, help="Number of folds of the pairs, where something is fitted.")]
AimOption = Annotated[
    Aim,
    typer.Option(
        help="What cutoff rules are fitted for: mean F1 over source sentences with links (paper), or F1 over the links "
        "of all source sentences, including those without links (all-sources)."
    ),
]


def benchmark(
    corpora: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS...", help="Corpus folders with gold links, as `abcdlink import` writes them."),
    ],
    retrievers: RetrieversOption = "bm25,all-minilm-l6-v2,hybrid",
    cutoffs: Annotated[
        str, typer.Option(help="Comma-separated values of k and rules: threshold, share, gap, softmax, expected-f1.")
    ] = "1,3,5,7,10,20",
    definition: Annotated[
        Definition,
        typer.Option(help="Definition of precision at k: hits / min(k, target sentences), or hits / k (common)."),
    ] = "paper",
    aim: AimOption = Aim.PAPER,
    folds: FoldsOption = 5,
    group: Annotated[
        str,
        typer.Option(
            help="Regular expression; pairs whose ids begin with the same match go into one fold. Default: pairs that "
            "share a document do."
        ),
    ] = "",
    first_pairs: Annotated[int | None, typer.Option(min=1, help="Only the first N pairs in file order.")] = None,
    llm: Annotated[
        str, typer.Option(help="LLM profiles that decide on candidates, comma-separated; `default`: ABCDLINK_LLM_...")
    ] = "",
    domain: Annotated[str, typer.Option(help="Domain of the corpora, or one for each, comma-separated.")] = "news",
    setting: SettingOption = None,
    base: Annotated[
        str, typer.Option(help="Retriever whose candidates LLMs decide on; default: the one with the best average F1.")
    ] = "",
    candidates: Annotated[str, typer.Option(help="Number of candidates; default: the domain's.")] = "",
    setups: SetupsOption = "listwise",
    modes: ModesOption = "4",
    scorings: ScoringsOption = "answer",
    sources: Annotated[
        int | None, typer.Option(min=1, help="Ask LLMs about at most N source sentences of each corpus, at random.")
    ] = None,
    linked_only: Annotated[
        bool, typer.Option("--linked-only", help="Ask LLMs only about source sentences that have gold links.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw for --sources.")] = 13,
    run: Annotated[
        str, typer.Option(help="Run in which to keep everything, and to continue; required when an LLM is asked.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what the LLMs would cost without asking them.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Score retrievers, learned linkers and LLMs on corpora with gold links.

    Learned linkers and cutoff rules are scored on folds of a corpus that they were not fitted on. What LLMs will
    cost is printed before they are asked. After an interruption run the same command again: nothing is asked twice.

    Example: `abcdlink benchmark ecb f1000 --domain news,reviews --setting paper --llm phi-4,gpt-4o --run llms`
    """
    from abcdlink.api import plan_of
    from abcdlink.domain import in_setting
    from abcdlink.linking.learners import base_retrievers
    from abcdlink.stages.benchmark_corpora import prepare, run_benchmarks, take_corpora
    from abcdlink.stages.estimate import estimate_corpora
    from abcdlink.stages.execution import Here
    from abcdlink.stages.plan import LLMPlan

    if bool(llm) and not run:
        msg = "asking an LLM needs a run to keep its decisions in"
        raise InputError(msg, "name one with --run; the same name continues an earlier run")
    asked = None
    if llm:
        choices = llm_choices(llm, base, candidates, setups, modes, scorings)
        asked = LLMPlan(sources=sources, linked_only=linked_only, seed=seed).model_copy(update=choices).chosen()
    plan = plan_of(listed(retrievers), (), listed(cutoffs), definition, folds, aim, asked)
    for name in plan.all_learned:
        base_retrievers(name)  # an unknown name is found before anything is ranked
    references = [in_setting(reference, setting) for reference in listed(domain)]
    with terminal() as progress, _place(run) as store:
        execution = Here(progress)
        domains = take_corpora(store, [_absolute(one) for one in corpora], references, plan, first_pairs, group)
        if asked:
            plan = prepare(store, domains, plan, execution)
            cost = estimate_corpora(store, domains, plan, timed=not dry_run)
            say_cost(cost, run)
            if dry_run:
                if json:
                    print_json(cost.model_dump(mode="json"))
                return
        overview = run_benchmarks(store, domains, plan, execution)
        if run:
            write_pictures(store, overview)
    if json:
        print_json(as_json(overview, plan, definition, domains))
        return
    for corpus, one in overview.corpora.items():
        print_corpus(corpus, one, plan, definition)
    print_overview(overview)


def run_benchmark(
    run: RunArgument,
    domain: RunDomainOption = "",
    retrievers: RetrieversOption = "bm25,all-minilm-l6-v2,hybrid,learned-logistic",
    cutoffs: Annotated[
        str, typer.Option(help="Comma-separated values of k, and rules, as in `abcdlink benchmark`.")
    ] = "1,3,5,7,10,20,expected-f1",
    aim: AimOption = Aim.PAPER,
    folds: FoldsOption = 5,
    llm: Annotated[bool, typer.Option(help="Also let the LLM decide on the candidates of the best retriever.")] = True,
    json: JsonOption = False,
) -> None:
    """Benchmark the synthetic pairs of a run in this process, without Prefect; a flow goes on from there.

    Example: `abcdlink run benchmark spring-news --retrievers bm25,hybrid --cutoffs 1,3 --no-llm`
    """
    from abcdlink.api import plan_of
    from abcdlink.domain import domain_of
    from abcdlink.stages import benchmark as stage
    from abcdlink.stages.execution import Here
    from abcdlink.stages.plan import LLMPlan
    from abcdlink.store import existing_run

    store = existing_run(run)
    plan = plan_of(listed(retrievers), (), listed(cutoffs), "paper", folds, aim)
    plan = plan.model_copy(update={"llm": LLMPlan() if llm else None})
    with terminal() as progress:
        result = stage.run_benchmark(store, domain_of(store, domain), plan, Here(progress))
    if json:
        print_json(result.model_dump(mode="json"))
        return
    title = f"{run}: {result.pairs} synthetic pairs, {result.sources} sources with links; percent"
    print_rows(title, [one.row for one in result.approaches])
    for note in result.notes:
        say(note)


@contextmanager
def _place(run: str) -> Iterator[Store]:
    """Open the run, or one in a temporary folder."""
    from abcdlink.folders import open_folder
    from abcdlink.locks import remove_locks
    from abcdlink.store import Store, open_run

    if run:
        yield open_run(run)
        return
    with TemporaryDirectory() as folder:
        key = f"temporary-{Path(folder).name}"
        try:
            yield Store(open_folder(folder), key)
        finally:
            remove_locks(key)


def _absolute(corpus: str) -> str:
    return corpus if corpus == "sample" or "://" in corpus else str(Path(corpus).expanduser().absolute())

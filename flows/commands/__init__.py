"""Commands that start and steer flows: ``run``, ``demo``.

Prefect is imported inside the commands: it takes seconds, and ``--help`` must not.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from abcdlink.candidates.pools import Next, PoolMode
from abcdlink.cli.benchmark import AimOption, FoldsOption
from abcdlink.cli.output import (
    ByOption,
    CorpusOption,
    DomainOption,
    JsonOption,
    OnlyOption,
    RunArgument,
    RunDomainOption,
    SettingOption,
    ShortestOption,
    SizeOption,
    TargetsOption,
    conditions,
    corpus_folder,
    listed,
    print_json,
    print_table,
    say,
)
from abcdlink.cli.pools import (
    ApproachesOption,
    AuditOption,
    DistractorsOption,
    HoursOption,
    JudgmentsOption,
    KindsOption,
    ModeOption,
    NextOption,
    WantedLinksOption,
    kinds_of,
)
from abcdlink.domain import domain_of, find_domain, in_setting
from abcdlink.generation import Strategy
from abcdlink.linking.records import Aim
from abcdlink.progress import terminal
from abcdlink.store import existing_run, open_run
from flows.commands import annotate, feedback, people, qualify, starting
from flows.commands.starting import (
    AutoFeedbackOption,
    BatchesOption,
    Goal,
    OverlapOption,
    PreviewOption,
    WaitOption,
    start_flow,
    use_local_server,
)


class Annotators(StrEnum):
    """Who judges in the demonstration."""

    SIMULATED = "simulated"
    HUMAN = "human"


AnnotatorsOption = Annotated[
    Annotators, typer.Option(help="simulated: programs; human: stop when it is people's turn and say what to open.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    run = typer.Typer(help="Start a flow on the Prefect server, or do stages here.", no_args_is_help=True)
    run.command("bootstrap")(run_bootstrap)
    run.command("benchmark")(run_benchmark)
    run.command("reconcile")(run_reconcile)
    run.command("drops")(run_drops)
    app.command("start")(start)
    app.add_typer(run, name="run")
    app.command("demo")(demo)
    starting.register(app)
    annotate.register(app)
    feedback.register(app)
    qualify.register(app)
    people.register(app)


def start(
    run: RunArgument,
    corpus: Annotated[
        str,
        typer.Option(
            "--corpus",
            help="Folder of your documents, from `abcdlink import`; `sample`: invented ones.",
            callback=corpus_folder,
        ),
    ],
    domain: DomainOption = "news",
    annotators: Annotated[int, typer.Option(min=1, max=10, help="How many people judge each candidate.")] = 2,
    goal: Annotated[
        Goal,
        typer.Option(
            help="compare methods: which approach is better; find links: all that either proposes (two "
            "retrievers, where only the embedded LLM is there); quick try: BM25 alone, one batch, no LLM."
        ),
    ] = Goal.COMPARE,
    budget: Annotated[float, typer.Option(min=0, help="Most that this run may spend on the LLM; 0: as set.")] = 0.0,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Start or continue a job: from your documents to batches in front of annotators.

    `abcdlink run bootstrap` does the same with every setting.

    Example: `abcdlink start spring-news --corpus corpus --domain news`
    """
    asked = {"run": run, "corpus": corpus, "domain": domain, "annotators": annotators, "goal": goal.value}
    start_flow("start/start", {**asked, "budget": budget}, json, wait)


def run_bootstrap(
    run: RunArgument,
    domain: DomainOption = "news",
    setting: SettingOption = None,
    corpus: CorpusOption = "sample",
    targets: TargetsOption = "",
    sample: SizeOption = None,
    shortest: ShortestOption = None,
    by: ByOption = "",
    only: OnlyOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is drawn at random.")] = 13,
    strategy: Annotated[Strategy, typer.Option(help="How a source document is written.")] = Strategy.SENTENCE,
    documents: Annotated[int | None, typer.Option(min=1, help="Only the first N target documents.")] = None,
    pairs: Annotated[int | None, typer.Option(min=1, help="Only the first N natural pairs.")] = None,
    batches: BatchesOption = 2,
    overlap: OverlapOption = None,
    approaches: ApproachesOption = "",
    kinds: KindsOption = "",
    mode: ModeOption = PoolMode.COMPARISON,
    distractors: DistractorsOption = None,
    judgments: JudgmentsOption = None,
    hours: HoursOption = None,
    links: WantedLinksOption = None,
    audit: AuditOption = 0.1,
    following: NextOption = Next.RANDOM,
    auto_feedback: AutoFeedbackOption = False,
    preview: PreviewOption = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Skip generation and benchmark, ask no LLM: BM25 alone proposes candidates.")
    ] = False,
    in_process: Annotated[
        bool, typer.Option("--here", help="Do the stages up to the candidates in this process, without Prefect.")
    ] = False,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Do the whole job: generate, validate, benchmark, shortlist, candidates, annotate.

    Example: `abcdlink run bootstrap spring-news --corpus corpus --domain news`
    """
    parameters = {
        "run": run,
        "domain": in_setting(domain, setting),
        "corpus": corpus,
        "pairs": pairs,
        "quick": quick,
        "targets": {
            "folder": targets,
            "only": conditions(only),
            "shortest": shortest,
            "size": sample,
            "by": by,
            "seed": seed,
        },
        "generation": {"strategy": strategy.value, "documents": documents, "seed": seed},
        "shortlist": {"approaches": listed(approaches), "kinds": kinds_of(kinds)},
        "annotation": {
            "batches": batches,
            "overlap": overlap,
            "auto_feedback": auto_feedback,
            "preview": preview,
            "mode": mode.value,
            "distractors": distractors,
            "budget": {
                "judgments": judgments,
                "hours": hours,
                "links": links,
                "audit": audit,
                "next": following.value,
                "seed": seed,
            },
        },
    }
    if in_process:
        bootstrap_here(parameters, json)
        return
    start_flow("bootstrap/bootstrap", parameters, json, wait)


def bootstrap_here(parameters: dict[str, Any], json: bool) -> None:
    """Do what the flow ``bootstrap`` does up to the candidates, from the same parameters, and say what came of it."""
    from abcdlink.evaluation.shortlist import ShortlistRule
    from abcdlink.stages.execution import Here
    from abcdlink.stages.whole import up_to_candidates
    from flows.parameters import (
        AnnotationParameters,
        GenerationParameters,
        TargetParameters,
        whole_job,
    )

    job = whole_job(
        parameters["corpus"],
        parameters["pairs"],
        TargetParameters.model_validate(parameters["targets"]),
        GenerationParameters.model_validate(parameters["generation"]),
        None,
        ShortlistRule.model_validate(parameters["shortlist"]),
        AnnotationParameters.model_validate(parameters["annotation"]),
        parameters["quick"],
    )
    store, domain = open_run(parameters["run"]), find_domain(parameters["domain"])
    with terminal() as progress:
        counts = up_to_candidates(store, domain, job, Here(progress), lambda _stage, _result: None)
    if json:
        print_json(counts.model_dump(mode="json"))
        return
    say(f"{counts.pools} source sentences with {counts.candidates} candidates are ready for annotators.")
    say(f"Put them in front of people with `abcdlink up` and `abcdlink annotate start {store.key}`.")


def run_benchmark(
    run: RunArgument,
    domain: RunDomainOption = "",
    retrievers: Annotated[
        str, typer.Option(help="Comma-separated names of retrievers and learned linkers.")
    ] = "bm25,all-minilm-l6-v2,hybrid,learned-logistic",
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
    from abcdlink.cli.benchmark_tables import COLUMNS, row_of
    from abcdlink.stages import benchmark as stage
    from abcdlink.stages.execution import Here
    from abcdlink.stages.plan import LLMPlan

    store = existing_run(run)
    plan = plan_of(listed(retrievers), (), listed(cutoffs), "paper", folds, aim)
    plan = plan.model_copy(update={"llm": LLMPlan() if llm else None})
    with terminal() as progress:
        result = stage.run_benchmark(store, domain_of(store, domain), plan, Here(progress))
    if json:
        print_json(result.model_dump(mode="json"))
        return
    title = f"{run}: {result.pairs} synthetic pairs, {result.sources} sources with links; percent"
    print_table(title, COLUMNS, map(row_of, result.approaches))
    for note in result.notes:
        say(note)


def run_reconcile(json: JsonOption = False) -> None:
    """Check all waiting runs now instead of at the next scheduled time.

    Example: `abcdlink run reconcile`
    """
    start_flow("reconcile/reconcile", {}, json)


def run_drops(json: JsonOption = False) -> None:
    """Take in new data now instead of at the next scheduled time.

    Example: `abcdlink run drops`
    """
    start_flow("drops/drops", {}, json)


def demo(
    run: Annotated[
        str, typer.Option(help="Run key; the same key continues what is there. Default: demo, or demo-human.")
    ] = "",
    domain: Annotated[str, typer.Option(help="Name or path of a domain.")] = "news",
    pairs: Annotated[int, typer.Option(min=2, help="Natural pairs to annotate, half of them in each batch.")] = 4,
    documents: Annotated[int, typer.Option(min=1, help="Target documents to generate for.")] = 3,
    annotators: AnnotatorsOption = Annotators.SIMULATED,
) -> None:
    """Start everything and run the whole job on the shipped sample, with SIMULATED annotators or with people.

    Example: `abcdlink demo`
    """
    from services.commands import start_servers

    # The first start generates the password of Prefect, which its client reads when it is imported.
    stack = start_servers()
    use_local_server()
    from flows.demo import run_demo

    people = annotators is Annotators.HUMAN
    run_demo(stack, run or ("demo-human" if people else "demo"), domain, pairs, documents, people)

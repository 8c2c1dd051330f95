"""Commands that start or continue a whole job: ``start``, ``run bootstrap`` and ``continue``."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abcdlink.candidates.pools import Next, PoolMode
from abcdlink.cli.output import (
    ByOption,
    CorpusOption,
    DomainOption,
    FirstDocumentsOption,
    FirstPairsOption,
    JsonOption,
    OnlyOption,
    RunArgument,
    SeedOption,
    SettingOption,
    ShortestOption,
    SizeOption,
    TargetsOption,
    conditions,
    corpus_folder,
    listed,
    print_json,
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
from abcdlink.domain import find_domain, in_setting
from abcdlink.errors import InputError
from abcdlink.generation import Strategy
from abcdlink.progress import terminal
from abcdlink.store import existing_run, open_run
from abcdlink.waiting import WaitsFor, all_waiting
from flows.commands.status import WaitOption, show_now, use_local_server

if TYPE_CHECKING:
    from abcdlink.stages.whole import WholeJob


class Goal(StrEnum):
    """What the job is for."""

    COMPARE = "compare methods"
    FIND = "find links"
    TRY = "quick try"


BatchesOption = Annotated[int, typer.Option("--batches", min=1, max=20, help="Number of annotation batches.")]
OverlapOption = Annotated[
    int | None, typer.Option("--overlap", min=1, max=10, help="Annotators per task; default: as the domain says.")
]
AutoFeedbackOption = Annotated[
    bool,
    typer.Option(
        "--auto-feedback", help="Start the next batch at once: no feedback round, no waiting for the coordinator."
    ),
]
PreviewOption = Annotated[
    bool | None,
    typer.Option(
        "--preview/--no-preview", help="Wait for your Go before each batch; default: as ABCDLINK_PREVIEW says."
    ),
]


def start_flow(
    deployment: str,
    parameters: dict[str, Any],
    json: bool,
    wait: bool = False,
    begin: Callable[[], object] = lambda: None,
) -> str:
    """Start a run of a deployment, print its page and return its id; with ``wait``, also its state in the end.

    ``begin``: does what the flow does first, which then finds it done: what it refuses is refused here, at once.
    """
    use_local_server()
    from tasks.runs import page_of, reach_server, start, wait_while_working

    reach_server()
    begin()
    flow_run = start(deployment, parameters)
    if not (json and wait):
        if json:
            print_json({"flow_run": str(flow_run.id), "name": flow_run.name, "url": page_of(flow_run)})
        else:
            say(f"Started: {page_of(flow_run)}")
    if wait:
        store = open_run(str(parameters["run"]))
        wait_while_working(store, str(flow_run.id))
        show_now(store, json)
    return str(flow_run.id)


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
    """Start or continue a job: from your documents to batches for annotators.

    `abcdlink run bootstrap` does the same with every setting.

    Example: `abcdlink start spring-news --corpus corpus --domain news`
    """
    asked = {"run": run, "corpus": corpus, "domain": domain, "annotators": annotators, "goal": goal.value}

    def begin() -> None:
        from flows.bootstrap import job_for

        begin_job(run, domain, job_for(goal, corpus, annotators)[0], annotators)

    start_flow("start/start", {**asked, "budget": budget}, json, wait, begin)


def begin_job(run: str, domain: str, job: WholeJob, overlap: int | None) -> None:
    """Take the corpus of a whole job, or refuse it, or another number of annotators than the run began with."""
    from abcdlink.stages.candidates import overlap_of
    from abcdlink.stages.execution import Here
    from abcdlink.stages.whole import begin

    store, chosen = open_run(run), find_domain(domain)
    overlap_of(store, chosen, overlap)
    begin(store, chosen, job, Here())


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
    seed: SeedOption = 13,
    strategy: Annotated[Strategy, typer.Option(help="How a source document is written.")] = Strategy.SENTENCE,
    documents: FirstDocumentsOption = None,
    pairs: FirstPairsOption = None,
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
        bool, typer.Option("--quick", help="Skip generation and benchmark, use no LLM: only BM25 proposes candidates.")
    ] = False,
    in_process: Annotated[
        bool, typer.Option("--here", help="Run the stages up to the candidates in this process, without Prefect.")
    ] = False,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Do the whole job: generate, validate, benchmark, shortlist, candidates, annotate.

    Example: `abcdlink run bootstrap spring-news --corpus corpus --domain news`
    """
    parameters: dict[str, Any] = {
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

    def begin() -> None:
        begin_job(run, parameters["domain"], _job(parameters), overlap)

    start_flow("bootstrap/bootstrap", parameters, json, wait, begin)


def _job(parameters: dict[str, Any]) -> WholeJob:
    """Return the job that the flow ``bootstrap`` does with these parameters."""
    from abcdlink.evaluation.shortlist import ShortlistRule
    from abcdlink.stages.generate import Generating
    from flows.parameters import AnnotationParameters, TargetParameters, whole_job

    return whole_job(
        parameters["corpus"],
        parameters["pairs"],
        TargetParameters.model_validate(parameters["targets"]),
        Generating.model_validate(parameters["generation"]),
        None,
        ShortlistRule.model_validate(parameters["shortlist"]),
        AnnotationParameters.model_validate(parameters["annotation"]),
        parameters["quick"],
    )


def bootstrap_here(parameters: dict[str, Any], json: bool) -> None:
    """Do what the flow ``bootstrap`` does up to the candidates, with the same parameters, and print the result."""
    from abcdlink.stages.execution import Here
    from abcdlink.stages.whole import up_to_candidates

    job = _job(parameters)
    store, domain = open_run(parameters["run"]), find_domain(parameters["domain"])
    with terminal() as progress:
        counts = up_to_candidates(store, domain, job, Here(progress), lambda _stage, _result: None)
    if json:
        print_json(counts.model_dump(mode="json"))
        return
    say(f"{counts.pools} source sentences with {counts.candidates} candidates are ready for annotators.")
    say(f"Give them to annotators with `abcdlink up` and `abcdlink annotate start {store.key}`.")


def go_on(run: RunArgument, wait: WaitOption = False, json: JsonOption = False) -> None:
    """Restart a run's failed or cancelled flows with their original settings.

    They resume where they stopped: nothing is done or paid for twice.

    Example: `abcdlink continue spring-news`
    """
    store = existing_run(run)
    stopped = [(flow, waiting) for flow, waiting in all_waiting(store) if waiting.kind is WaitsFor.FIX]
    if not stopped:
        msg = f"no flow of run {run!r} failed"
        raise InputError(msg, f"`abcdlink status {run}` says where it stands")
    use_local_server()
    from tasks.runs import parameters_of

    for flow, waiting in stopped:
        start_flow(f"{flow}/{flow}", parameters_of(waiting.flow_run), json, wait)

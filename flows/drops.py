"""The flow drops: new data is imported, ranked by the shortlisted approaches, and shown to annotators."""

from __future__ import annotations

from filelock import Timeout
from prefect import flow, get_run_logger

from abcdlink.candidates.pools import PoolMode
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.domain import domain_of, find_domain
from abcdlink.drops import DropResult, State, open_ledger, open_source, settle, take
from abcdlink.errors import counted
from abcdlink.folders import Folder
from abcdlink.locks import DROPS, lock_of
from abcdlink.settings import get_settings
from abcdlink.stages.candidates import NothingToAnnotateError, PoolPlan, plan_of
from abcdlink.stages.intake import base_of_drops, open_drop
from abcdlink.store import Store, existing_run
from flows.bootstrap import start_annotation
from flows.parameters import AnnotationParameters, OptionalRunKey
from flows.stages import candidates
from tasks.running import key, table

LEDGER = "drops"
"""Folder beside the runs that records which data has been imported."""
COLUMNS = ("file", "what", "pairs", "why")
DUPLICATE = "another file has the same content"


@flow(name="drops")
def drops(
    run: OptionalRunKey = "",
    source: str = "",
    domain: str = "",
    annotation: AnnotationParameters | None = None,
) -> list[str]:
    """Import new data and open one annotation batch for it; returns the keys of the runs that were started.

    A file is marked as done only after its annotation has started: if the flow is killed before that, the next run
    imports the same file again, under the same run key.

    Args:
        run: run key whose shortlist is used; empty: ABCDLINK_DROPS_RUN.
        source: folder or s3:// prefix; empty: ABCDLINK_DROPS_SOURCE.
        domain: name or path of the domain; empty: the one that the run was started with.
        annotation: which candidates annotators see, and how they annotate them; empty: as in the run, in one batch.
    """
    run, source = run or get_settings().drops_run, source or get_settings().drops_source
    open_source(source)  # whether one is set
    base = base_of_drops(run)
    domain = domain_of(base, domain).reference
    annotation = annotation or annotation_of_drops(base)
    try:
        # Prefect's own limits are no substitute: a run that dies with its worker keeps its slot.
        with lock_of(DROPS).acquire(timeout=0):
            return take_all(run, source, domain, annotation)
    except Timeout:
        get_run_logger().info("Another run of this flow is active: nothing to do.")
        return []


def annotation_of_drops(base: Store) -> AnnotationParameters:
    """Return which candidates of a drop annotators see, and how many people judge each: as in the run, in one batch.

    A budget was for the run's own pairs: all links of the linker that spent it are shown instead.
    """
    asked = plan_of(base) or PoolPlan()
    mode = PoolMode.SINGLE if asked.mode is PoolMode.BUDGET else asked.mode
    overlap = base.manifest.get("annotation", {}).get("overlap")
    return AnnotationParameters(batches=1, overlap=overlap, seed=asked.seed, mode=mode, distractors=asked.distractors)


def take_all(run: str, source: str, domain: str, annotation: AnnotationParameters) -> list[str]:
    """Import what is new, part by part; returns the keys of the runs that were started."""
    begun: list[str] = []
    segmenter, cleaning = get_segmenter(existing_run(run).language), find_domain(domain).settings.cleaning
    more = True
    while more:
        result = take(open_source(source), ledger_of(source), segmenter, remove=cleaning.line_patterns)
        if result.corpus.pairs:
            key_of_drop = annotate_drop(run, domain, annotation, result)
            if key_of_drop is None:
                return begun
            begun.append(key_of_drop)
        settle(ledger_of(source), result)
        show_drop(result)
        more = result.more
    return begun


def ledger_of(source: str) -> Folder:
    """Return the ledger of a source, beside the runs."""
    return open_ledger(f"{get_settings().runs_root.rstrip('/')}/.{LEDGER}", key(source), source)


def annotate_drop(base: str, domain: str, annotation: AnnotationParameters, result: DropResult) -> str | None:
    """Build the pools of a drop and start its annotation; returns its run key (``None``: it waits for the LLM)."""
    store = open_drop(existing_run(base), result, find_domain(domain))
    try:
        if candidates(store.key, domain, annotation.pools()) is None:
            get_run_logger().info("Drop %s waits for the LLM batch; a later run of this flow continues it.", store.key)
            return None
    except NothingToAnnotateError as error:  # shown on the run page; the drop itself is finished
        get_run_logger().warning("%s", error)
    else:
        start_annotation(store.key, domain, annotation)
    return store.key


def show_drop(result: DropResult) -> None:
    """Show what was imported, what waits, and what was refused or quarantined, if anything."""
    shown = [
        (t.name, "taken", t.pairs, f"{counted(t.bad_lines, 'bad line')}, {counted(t.unchanged, 'pair')} taken before")
        for t in result.taken
    ]
    shown += [(e.name, "duplicate", 0, DUPLICATE) for e in result.entries if e.state is State.DUPLICATE]
    shown += [(w.name, "waits", 0, w.reason) for w in result.waiting]
    unused = [(r.where, "refused", 0, r.reason) for r in result.corpus.refused]
    unused += [(q.name, "quarantine", 0, q.text) for q in result.quarantined]
    shown += [*(("", "note", 0, str(note)) for note in result.corpus.notes), *unused]
    if shown:
        table("drops", [dict(zip(COLUMNS, row, strict=True)) for row in shown], "Data drops")
    if unused:
        name, _, _, why = unused[0]
        get_run_logger().warning("%d lines or files cannot be used; the first: %s, %s", len(unused), name, why)

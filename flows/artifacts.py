"""What the coordinator sees on a run page: tables, texts and links."""

from __future__ import annotations

from typing import Any

from prefect.artifacts import create_link_artifact

from abcdlink.cli.agreement_details import details_lines, multiple_lines
from abcdlink.corpus.io import read_corpus_from
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.feedback import FeedbackOutcome
from abcdlink.feedback.memos import cases_text
from abcdlink.interannotator.measures import Agreement
from abcdlink.layout import NATURAL, batch_file
from abcdlink.report.pictures import as_image
from abcdlink.report.pictures.of_benchmark import benchmark_pictures
from abcdlink.report.pictures.of_people import validation_pictures
from abcdlink.stages.annotate import details_so_far
from abcdlink.stages.batch_preview import PREVIEW_PAGE, BatchPreview
from abcdlink.stages.benchmark import Benchmark
from abcdlink.stages.benchmark_corpora import Overview
from abcdlink.stages.candidates import PoolCounts
from abcdlink.stages.feedback import Feedback
from abcdlink.stages.gains import Gains
from abcdlink.stages.generate import Generation
from abcdlink.store import Store
from abcdlink.validation import Validation
from labelstudio_config.run import PushedProject
from tasks.running import key, show_text, table


def show_generation(run: str, result: Generation) -> None:
    """Show how many pairs were generated, and why others were refused."""
    rows: list[dict[str, Any]] = [
        {"what": name, "count": getattr(result, name)} for name in ("documents", "pairs", "links", "refused", "dropped")
    ]
    rows += [{"what": f"refused or dropped: {reason}", "count": count} for reason, count in result.reasons.items()]
    rows += [
        {"what": one.measure, "count": round(one.reached, 2), "wanted": round(one.wanted, 2), "met": one.met}
        for one in result.shape
    ]
    if look := result.second_look:
        rows += [
            {"what": f"links confirmed by {look.model}", "count": look.links_confirmed, "wanted": look.links},
            {"what": "unlinked sentences confirmed", "count": look.unlinked_confirmed, "wanted": look.unlinked},
            {"what": "not answered in the second look", "count": look.unknown},
        ]
    usage = result.usage
    written = f"{usage.completion_tokens} completion ({usage.thinking_tokens} thinking)"
    description = (
        f"Synthetic corpus by {result.model}, strategy {result.strategy}: {usage.calls} calls; tokens: "
        f"{usage.prompt_tokens} prompt ({usage.cached_tokens} cached), {written}"
    )
    table(key(run, "generation"), rows, description)


def show_validation(run: str, result: Validation) -> None:
    """Compare the synthetic corpus with natural documents: measures, distributions, links, what is out of bounds."""
    rows = [{"measure": name, "value": value} for name, value in result.measures.items()]
    flags = "; ".join((*result.flags, *result.notes)) or "nothing out of bounds"
    table(key(run, "validation"), rows, f"Synthetic against natural documents: {flags}")
    differences = [one.row for one in result.differences]
    table(key(run, "validation", "style"), differences, "Style, document by document; delta 0: no difference")
    counts = {name: one.rows for name, one in result.counts.items()}
    names = next(iter(counts.values()), {})
    table(
        key(run, "validation", "links"),
        [{"what": what, **{name: found[what] for name, found in counts.items()}} for what in names],
        "Documents and links in numbers",
    )
    pictures = validation_pictures(result)
    if pictures:
        shown = "\n\n".join(f"![{name}]({as_image(made)})" for name, made in pictures.items())
        show_text(key(run, "validation", "picture"), shown, "Style and links by corpus")


def show_benchmark(run: str, result: Benchmark) -> None:
    """Show the results of every approach, best first, what was left out, the comparisons, and a picture."""
    order = sorted(result.approaches, key=lambda row: -row.f1_of_all)
    rows: list[dict[str, Any]] = []
    for one in order:
        llm = one.llm_row(result.usage.get(one.approach.asked.name)) if one.outcomes else {}
        rows.append({**one.row, "fitted": one.fitted, **llm})
    rows += [{"approach": one.where, "left out": one.reason} for one in (*result.left_out, *result.undecided)]
    told = f"{result.pairs} pairs, {result.sources} sources with links, macro mean in percent"
    told = " ".join([f"{told}.", *result.notes])
    table(key(run, "benchmark"), rows, told)
    compared = [*result.against_best, *result.llm_against_retriever]
    rows = [{"F1 of": one.a, **one.row} for one in compared]
    table(key(run, "comparisons"), rows, "Differences in mean F1, in points of 100; p corrected by Holm")
    pictures = benchmark_pictures(order)
    if pictures:
        shown = "\n\n".join(f"![{name}]({as_image(picture)})" for name, picture in pictures.items())
        show_text(key(run, "benchmark", "picture"), shown, "F1 and recall by cutoff, by prompt mode")


def show_overview(run: str, overview: Overview) -> None:
    """Show the benchmark of each corpus, and the means over several corpora."""
    for corpus, result in overview.corpora.items():
        show_benchmark(f"{run}-{corpus}", result)
    rows = [one.row for one in overview.across]
    names = ", ".join(overview.corpora)
    told = f"Means of {len(overview.corpora)} corpora: {names}; unanswered questions count as wrong"
    table(key(run, "overview"), rows, told)


def show_shortlist(run: str, result: Shortlist) -> None:
    """Show the chosen approaches and why they were chosen."""
    names = "\n".join(f"1. `{approach.name}`" for approach in result.approaches)
    text = f"# Shortlist\n\n{names}\n\n" + "\n".join(f"- {reason}" for reason in result.reasons)
    show_text(key(run, "shortlist"), text, "The approaches that propose candidates")


def show_candidates(run: str, counts: PoolCounts) -> None:
    """Show how many pools and candidates there are, without revealing which is which."""
    rows = [{"what": what, "count": count} for what, count in counts.rows]
    table(key(run, "candidates"), rows, f"{counts.pools} pools with {counts.candidates} candidates, mode {counts.mode}")


def show_preview(store: Store, preview: BatchPreview) -> None:
    """Show what a batch contains, to the coordinator only: candidates by method, hours, filters, what is left out."""
    batch, page = preview.batch, store.where(batch_file(preview.batch, PREVIEW_PAGE))
    told = [*preview.rows, ("tasks as annotators will see them", page)]
    rows = [{"what": what, "value": value} for what, value in told]
    table(key(store.key, "preview", batch), rows, f"Preview of batch {batch}: {preview.size}; {preview.time}")


def show_gains(run: str, gains: Gains | None) -> None:
    """Show what each batch by budget yielded, and whether another is worth it."""
    if gains:
        table(key(run, "gains"), gains.rows, gains.words or "What each batch yielded")


def show_project(run: str, pushed: PushedProject) -> None:
    """Link to the Label Studio project that annotators share, or to each annotator's own."""
    for number, one in enumerate(pushed.projects, start=1):
        create_link_artifact(
            key=key(run, pushed.slug, *([str(number)] if len(pushed.projects) > 1 else [])),
            link=one.url,
            link_text=f"{one.title} in Label Studio",
            description=f"{len(pushed.task_keys)} tasks; annotators per task: {pushed.overlap}",
        )


def show_agreement(store: Store, batch: int, result: Agreement, *, partial: bool = False) -> None:
    """Show a batch's acceptance rates and agreement, and the figures so far: differences, times, early stop.

    ``partial``: they are those of the answers so far.
    """
    name, so_far = ("partial", " so far") if partial else ("agreement", "")
    acceptance = {f"method {method}": one for method, one in result.acceptance.items()}
    parts = {
        "all": result,
        **{f"method {method}": one for method, one in result.methods.items()},
        **result.annotator_pairs,
    }
    rows = [
        {"candidates": which, **one.row, **(acceptance[which].row if which in acceptance else {})}
        for which, one in parts.items()
    ]
    kappa = result.note if result.kappa is None else f"{result.kappa:.4f}"
    judged = f"{result.judged} candidates judged by all, {result.incomplete} by fewer"
    table(key(store.key, name, batch), rows, f"Batch {batch}{so_far}: {judged}, kappa {kappa}")
    lines = multiple_lines(result.multiple) if result.multiple else []
    lines += details_lines(details_so_far(store, batch, partial=partial))
    show_text(
        key(store.key, name, batch, "details"),
        "\n".join([f"# Batch {batch}{so_far}", "", *(f"- {line}" for line in lines)]),
        f"Differences, times, and how many more pairs would be needed, after batch {batch}{so_far}",
    )


def show_feedback(store: Store, batch: int, feedback: Feedback) -> None:
    """Show what a feedback round starts with: each annotator's memo, the borderline cases, and the draft."""
    for annotator, memo in feedback.memos.items():
        show_text(key(store.key, "feedback", batch, annotator), memo, f"Memo for {annotator} after batch {batch}")
    show_text(
        key(store.key, "feedback", batch, "cases"),
        cases_text(feedback.cases, read_corpus_from(store, NATURAL)),
        f"Borderline cases of batch {batch}",
    )
    show_text(
        key(store.key, "feedback", batch, "draft"),
        feedback.draft,
        f"Drafted clarifications after batch {batch}, to be edited where this run is resumed",
    )


def show_outcome(store: Store, batch: int, outcome: FeedbackOutcome) -> None:
    """Show the outcome of a feedback round; the batch's kappa stays that of the first answers."""
    rows: list[dict[str, Any]] = [
        {"what": "disagreements shown", "value": outcome.cases},
        {"what": "judged again by two or more", "value": outcome.answered},
        {"what": "resolved", "value": outcome.resolved},
        {"what": "read the guidelines", "value": ", ".join(outcome.acknowledged)},
        {"what": "did not confirm that they read them", "value": ", ".join(outcome.missing)},
        {"what": "still have a question", "value": ", ".join(outcome.questions)},
    ]
    table(key(store.key, "feedback", batch, "outcome"), rows, f"Feedback after batch {batch}")


def show_results(store: Store, results: dict[str, Any], report: str) -> None:
    """Say where the data set and the report are."""
    text = (
        f"# Run {store.key} is complete\n\n- {results['judgments']} judgments\n- data set: `{results['dataset'][0]}`\n"
        f"- report: `{report}` (or `abcdlink report {store.key} --open`)"
    )
    show_text(key(store.key, "results"), text, "Data set and report")

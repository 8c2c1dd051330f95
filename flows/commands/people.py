"""Commands of ``rate``, ``adjudicate``, ``exhaustive``, ``coding`` and ``boundaries``."""

from __future__ import annotations

from typing import Annotated

import typer

from abcdlink.cli.output import (
    CorpusOption,
    DomainOption,
    JsonOption,
    RunArgument,
    RunDomainOption,
    print_json,
    print_rows,
    say,
)
from abcdlink.cli.results import show_recall
from abcdlink.domain import domain_of, find_domain
from abcdlink.judgments import Annotator
from abcdlink.layout import RATE_SLUG, SYNTHETIC
from abcdlink.store import existing_run, open_run
from flows.commands.coding import show_coding, start_coding
from flows.commands.starting import OverlapOption, start_flow
from flows.commands.status import WaitOption, answers_so_far, group, say_who


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group(app, "rate", "Rate the synthetic documents.", start=start_rating, show=show_ratings)
    group(
        app,
        "adjudicate",
        "Decide where annotators disagree, by a third person or together.",
        start=start_adjudication,
        show=show_adjudication,
    )
    group(
        app,
        "exhaustive",
        "Judge every target sentence of a sample: true recall.",
        start=start_exhaustive,
        show=show_recall,
    )
    group(app, "coding", "Sort wrong predictions into patterns.", start=start_coding, show=show_coding)
    group(
        app,
        "boundaries",
        "Check and correct the sentence boundaries of a corpus before it is used.",
        start=start_boundaries,
        show=show_boundaries,
    )


def start_rating(
    run: RunArgument,
    domain: RunDomainOption = "",
    synthetic: Annotated[int, typer.Option(min=1, help="Synthetic documents, at most.")] = 30,
    natural: Annotated[int, typer.Option(min=0, help="Natural documents mixed in, at most.")] = 30,
    same_targets: Annotated[
        bool, typer.Option("--same-targets", help="Use natural documents on the same targets as the synthetic ones.")
    ] = False,
    overlap: Annotated[
        int | None, typer.Option(min=1, max=10, help="Raters for each document. Default: as the domain says.")
    ] = None,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Have people rate synthetic documents, with natural ones among them.

    Example: `abcdlink rate start spring-news --synthetic 20 --natural 10`
    """
    store = existing_run(run)
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    meaning = domain_of(store, domain)
    rating = {"synthetic": synthetic, "natural": natural, "same_targets": same_targets, "overlap": overlap}

    def begin() -> None:
        from abcdlink.rate import prepare
        from flows.parameters import RatingParameters

        seed = RatingParameters.model_validate(rating).seed
        prepare(store, meaning, synthetic, natural, seed, same_targets=same_targets)

    start_flow("rate/rate", {"run": run, "domain": domain, "rating": rating}, json, wait, begin)


def show_ratings(run: RunArgument, json: JsonOption = False) -> None:
    """Show the mean ratings of synthetic and natural documents, and how far raters agree; while they work, so far.

    Example: `abcdlink rate show spring-news`
    """
    from abcdlink.rate import RATERS, RATINGS, kept_criteria, ratings_of, rows_of, sample_of, summarise

    store, so_far = existing_run(run), ""
    if snapshot := answers_so_far(store, RATE_SLUG, RATINGS):
        from labelstudio_config.pages.rate import ratings_in

        known, so_far = store.find_records(RATERS, Annotator), " so far"
        summaries = summarise(ratings_in(snapshot, sample_of(store), kept_criteria(store), known).ratings)
    else:
        summaries = summarise(ratings_of(store))
    if json:
        print_json({"criteria": [one.model_dump(mode="json") for one in summaries]})
        return
    if summaries:
        print_rows(f"{run}: ratings{so_far}", rows_of(summaries), texts=2)
    else:
        say(f"Nobody rated a document{so_far}.")
    say_who(run, "rate", so_far)


def start_adjudication(
    run: RunArgument,
    domain: RunDomainOption = "",
    batch: Annotated[
        list[int] | None, typer.Option(min=1, help="Only this batch; repeatable. Default: all so far.")
    ] = None,
    settled_too: Annotated[
        bool, typer.Option("--settled-too", help="Also ask about disagreements that a feedback round settled.")
    ] = False,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Ask a third person, or the annotators together, to decide where annotators disagree.

    Example: `abcdlink adjudicate start spring-news`
    """
    from abcdlink.stages.annotate import judged_so_far

    store, batches = existing_run(run), sorted(set(batch or []))
    domain_of(store, domain)
    judged_so_far(store, batches)
    parameters = {"run": run, "domain": domain, "batches": batches, "settled_too": settled_too}
    start_flow("adjudicate/adjudicate", parameters, json, wait)


def show_adjudication(run: RunArgument, json: JsonOption = False) -> None:
    """Show how disagreements were decided, by method, and which annotators the decisions followed.

    Example: `abcdlink adjudicate show spring-news`
    """
    from abcdlink.adjudicate import followed_rows, rows_of
    from abcdlink.stages.annotate import summary_of

    summary = summary_of(existing_run(run))
    if json:
        print_json(summary.model_dump(mode="json"))
        return
    print_rows(f"{run}: adjudication", rows_of(summary))
    print_rows(f"{run}: whom the decisions followed", followed_rows(summary))
    for one in summary.adjudicators:
        say(one.words)
    if summary.moot:
        say(f"{summary.moot} decisions are on candidates that are no longer disputed.")


def start_boundaries(
    run: RunArgument,
    corpus: CorpusOption = "sample",
    domain: DomainOption = "news",
    documents: Annotated[int | None, typer.Option(min=1, help="Only the first N documents.")] = None,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Have people join, split or remove sentences of a corpus. Use a run key of its own for this.

    Example: `abcdlink boundaries start spring-boundaries --corpus corpus`
    """
    from abcdlink.boundaries import prepare
    from abcdlink.stages.intake import take_corpus

    parameters = {"run": run, "corpus": corpus, "domain": domain, "documents": documents}

    def begin() -> None:
        store = open_run(run)
        take_corpus(store, corpus, find_domain(domain))
        prepare(store, documents)

    start_flow("boundaries/boundaries", parameters, json, wait, begin)


def show_boundaries(run: RunArgument, json: JsonOption = False) -> None:
    """Show what was changed and where the corrected corpus is.

    Example: `abcdlink boundaries show spring-boundaries`
    """
    from abcdlink.boundaries import (
        ASKED,
        CORRECTED,
        FOLDER,
        SEGMENTATION,
        AskedDocument,
        changed_documents,
        read_segmentations,
    )
    from abcdlink.corpus.io import read_corpus_from
    from abcdlink.layout import ANOMALIES

    store = existing_run(run)
    done, made = read_segmentations(store), read_corpus_from(store, CORRECTED)
    anomalies = store.read_json(f"{FOLDER}/{ANOMALIES}", list[str])
    if json:
        print_json(
            {
                "documents": len(done),
                "changed": changed_documents(store),
                "anomalies": anomalies,
                "corpus": store.where(CORRECTED),
                "segmentation": store.where(SEGMENTATION),
            }
        )
        return
    asked = len(store.read_records(ASKED, AskedDocument))
    say(f"Documents checked: {len(done)} of {asked}; with changed sentences: {len(changed_documents(store))}.")
    for refusal in made.refused:
        say(f"Left as it was: {refusal.where}: {refusal.reason}.")
    for anomaly in anomalies:
        say(f"Looks wrong: {anomaly}.")
    say(f"Corrected corpus: {store.where(CORRECTED)}")
    say(f"For a new import: --segmentation {store.where(SEGMENTATION)}")


def start_exhaustive(
    run: RunArgument,
    domain: RunDomainOption = "",
    share: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=1, help="Share of the source sentences. Default: 0.1; with --links at most 1,000 sentences."
        ),
    ] = None,
    number: Annotated[int | None, typer.Option(min=1, help="Number of source sentences, instead of a share.")] = None,
    links: Annotated[int | None, typer.Option(min=1, help="Stop once annotators have found this many links.")] = None,
    overlap: OverlapOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the sample.")] = 13,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Have people judge every target sentence of a random sample of source sentences.

    Example: `abcdlink exhaustive start spring-news --share 0.1`
    """
    store = existing_run(run)
    meaning = domain_of(store, domain)
    judging = {"share": share, "number": number, "links": links, "overlap": overlap, "seed": seed}

    def begin() -> None:
        from abcdlink.stages.exhaustive import make_sample
        from flows.parameters import ExhaustiveParameters

        make_sample(store, meaning, *ExhaustiveParameters.model_validate(judging).sampling(meaning))

    start_flow("exhaustive/exhaustive", {"run": run, "domain": domain, "judging": judging}, json, wait, begin)

"""Commands that run one stage here, without Prefect: ``generate``, ``validate``, ``benchmark``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from abcdlink.cli.output import (
    DomainOption,
    JsonOption,
    RunArgument,
    RunDomainOption,
    listed,
    print_json,
    print_table,
    say,
)
from abcdlink.errors import InputError
from abcdlink.generation import Strategy
from abcdlink.progress import terminal

if TYPE_CHECKING:
    from abcdlink.evaluation.scores import Scores


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("generate")(generate)
    app.command("validate")(validate)
    app.command("benchmark")(benchmark)


def generate(
    run: RunArgument,
    domain: DomainOption = "news",
    corpus: Annotated[str, typer.Option(help="Corpus folder; `sample`: the domain's shipped sample.")] = "sample",
    strategy: Annotated[Strategy, typer.Option(help="How a source document is written.")] = Strategy.SENTENCE,
    documents: Annotated[int | None, typer.Option(min=1, help="Only the first N target documents.")] = None,
    pairs: Annotated[int | None, typer.Option(min=1, help="Only the first N natural pairs.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the choice of target sentences.")] = 13,
    json: JsonOption = False,
) -> None:
    """Write a synthetic source document for each natural target document of a corpus.

    Example: `abcdlink generate spring-news --corpus corpus --strategy document`
    """
    from abcdlink.domain import find_domain
    from abcdlink.stages.generate import plan_generation, run_generation
    from abcdlink.stages.intake import take_corpus
    from abcdlink.store import open_run

    chosen, store = find_domain(domain), open_run(run)
    take_corpus(store, corpus, chosen, pairs)
    with terminal() as progress:
        result = run_generation(store, chosen, plan_generation(store, strategy, seed, documents), progress)
    if json:
        print_json(result.model_dump(mode="json"))
        return
    say(f"{result.pairs} of {result.documents} pairs, {result.links} links, in {store.where('synthetic')}")
    for reason, count in result.reasons.items():
        say(f"  refused {count}: {reason}")


def validate(run: RunArgument, domain: RunDomainOption = "", json: JsonOption = False) -> None:
    """Measure the synthetic corpus of a run against its natural one.

    Example: `abcdlink validate spring-news`
    """
    from abcdlink.stages.intake import domain_of
    from abcdlink.stages.validate import run_validation
    from abcdlink.store import existing_run

    store = existing_run(run)
    result = run_validation(store, domain_of(store, domain))
    if json:
        print_json(result.model_dump(mode="json"))
        return
    print_table(f"{run}: synthetic against natural documents", ("measure", "value"), result.measures.items())
    for flag in result.flags:
        say(f"Out of bounds: {flag}")


def benchmark(
    corpus: Annotated[Path, typer.Argument(help="Corpus folder with gold links, as `abcdlink import` writes it.")],
    retrievers: Annotated[str, typer.Option(help="Comma-separated names.")] = "bm25,all-minilm-l6-v2,hybrid",
    cutoffs: Annotated[str, typer.Option(help="Comma-separated values of k.")] = "1,3,5,7,10,20",
    definition: Annotated[
        Literal["paper", "common"],
        typer.Option(help="Of precision at k: hits / min(k, target sentences), or hits / k (common)."),
    ] = "paper",
    first_pairs: Annotated[int | None, typer.Option(min=1, help="Only the first N pairs in file order.")] = None,
    json: JsonOption = False,
) -> None:
    """Score retrievers on a corpus with gold links.

    Example: `abcdlink benchmark corpus --retrievers bm25,hybrid --cutoffs 1,3,5 --definition common`
    """
    from abcdlink.corpus.io import read_corpus
    from abcdlink.evaluation.scores import macro_by_cutoff, score_ranking
    from abcdlink.retrieval import get_retriever, rank_corpus

    chosen, at = [get_retriever(name) for name in listed(retrievers)], whole_numbers(cutoffs)
    data = read_corpus(corpus).first_pairs(first_pairs)
    if data.source_count == 0:
        msg = f"{corpus} holds no gold links"
        raise InputError(msg, "benchmark a corpus with links, such as the synthetic one of a run")
    with terminal() as progress:
        scores = {
            retriever.name: macro_by_cutoff(score_ranking(data, rank_corpus(data, retriever, progress), at, definition))
            for retriever in chosen
        }
    if json:
        print_json(
            {
                "dataset": data.name,
                "pairs": len(data.pairs),
                "sources": data.source_count,
                "definition": definition,
                "retrievers": {name: {str(k): measures(s) for k, s in by.items()} for name, by in scores.items()},
            }
        )
        return
    rows = [
        (f"{name}@{k}", *(f"{100 * value:.2f}" for value in measures(s).values()))
        for name, by in scores.items()
        for k, s in by.items()
    ]
    title = (
        f"{data.name}: {len(data.pairs)} pairs, {data.source_count} sources with links; percent, P@k as {definition}"
    )
    print_table(title, ("approach", "precision", "recall", "F1"), rows)


def measures(scores: Scores) -> dict[str, float]:
    """Return precision, recall and F1 as fractions of 1."""
    return {"precision": scores.precision, "recall": scores.recall, "f1": scores.f1}


def whole_numbers(text: str) -> list[int]:
    """Return a comma-separated list of whole numbers from 1; ``InputError`` says which part is none."""
    numbers = []
    for part in listed(text):
        if not part.isdecimal() or int(part) < 1:
            msg = f"{part!r} is no cutoff"
            raise InputError(msg, "give whole numbers from 1, separated by commas")
        numbers.append(int(part))
    if not numbers:
        msg = "no cutoff is given"
        raise InputError(msg, "give whole numbers from 1, separated by commas")
    return numbers

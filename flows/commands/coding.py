"""Commands of ``coding``."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from abcdlink.cli.output import JsonOption, RunArgument, RunDomainOption, print_json, print_rows, say
from abcdlink.domain import domain_of
from abcdlink.judgments import Annotator
from abcdlink.layout import CODERS, CODES, CODING_SLUG
from abcdlink.store import existing_run
from flows.commands.starting import start_flow
from flows.commands.status import WaitOption, answers_so_far, say_who


def start_coding(
    run: RunArgument,
    domain: RunDomainOption = "",
    most: Annotated[
        int, typer.Option("--errors", min=1, max=5000, help="Wrong predictions to code, drawn at random.")
    ] = 100,
    overlap: Annotated[int, typer.Option(min=1, max=10, help="Number of coders; each has their own project.")] = 2,
    pattern: Annotated[
        list[str] | None,
        typer.Option(help="Pattern to choose from, as 'NAME: MEANING'; repeatable. Default: the usual ones."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the draw.")] = 13,
    wait: WaitOption = False,
    json: JsonOption = False,
) -> None:
    """Have people say, independently of each other, why wrong links were proposed and links were missed.

    Best after the last batch and adjudication: only candidates on which people agree, or that were adjudicated, count.

    Example: `abcdlink coding start spring-news --errors 100`
    """
    from abcdlink.coding import patterns_in
    from abcdlink.stages.annotate import judged_so_far
    from abcdlink.stages.coding import prepare_coding

    store = existing_run(run)
    domain_of(store, domain)
    judged_so_far(store)
    patterns_in(pattern or ())
    coding = {"most": most, "overlap": overlap, "patterns": pattern or [], "seed": seed}
    begin = partial(prepare_coding, store, most, overlap, seed, pattern or ())
    start_flow("coding/coding", {"run": run, "domain": domain, "coding": coding}, json, wait, begin)


def show_coding(run: RunArgument, json: JsonOption = False) -> None:
    """Show which patterns the mistakes of each method have, and how far coders agree; while they work, so far.

    Example: `abcdlink coding show spring-news`
    """
    from abcdlink.coding import agreement_in_words, rows_of
    from abcdlink.stages.coding import coding_of, coding_summary

    store, codes = existing_run(run), None
    if snapshot := answers_so_far(store, CODING_SLUG, CODES):
        from abcdlink.stages.annotate import annotators_of
        from labelstudio_config.pages.coding import codes_in

        coding, coders = coding_of(store), store.find_records(CODERS, Annotator)
        codes = codes_in(snapshot, coding.errors, coding.patterns, annotators_of(store), coders).codes
    summary, so_far = coding_summary(store, codes), "" if codes is None else " so far"
    if json:
        print_json(summary.model_dump(mode="json"))
        return
    if summary.coded:
        print_rows(f"{run}: patterns of wrong predictions{so_far}", rows_of(summary))
    drawn = f"{summary.coded + summary.incomplete} wrong predictions that were drawn from {summary.found}"
    say(f"All coders have coded {summary.coded} of the {drawn}{so_far}.")
    say(f"{agreement_in_words(summary)}.")
    say_who(run, "coding", so_far)

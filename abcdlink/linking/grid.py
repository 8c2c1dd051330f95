"""Many approaches at once: every combination of retrievers, cutoffs, set-ups, prompt modes and scorings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.linking.records import CASCADE, Approach, ApproachKind, CutoffRule, Scoring, Setup

SAMPLES = 5
"""Answers that vote: an odd number, so that none of two sides has half of the votes."""


class HowToScore(Record):
    """How an LLM's links are scored, and by which rule the scores are cut; see ``Approach``."""

    scoring: Scoring = Scoring.ANSWER
    samples: int = 1
    rule: CutoffRule | None = None


def llm_grid(
    retrievers: Sequence[str],
    cutoffs: Sequence[int],
    setups: Sequence[Setup],
    modes: Sequence[int],
    scorings: Sequence[HowToScore] = (HowToScore(),),
    models: Sequence[str] = ("",),
) -> list[Approach]:
    """Return every combination once, in an order that keeps questions with the same beginning together.

    Approaches with the same model, set-up and prompt mode show it the same instructions and the same
    documents, so they stand next to each other. An LLM alone has no retriever and no cutoff, and
    comes once for each mode and scoring, however many of these there are.

    Args:
        retrievers: whose best targets are offered.
        cutoffs: how many of them.
        setups: what one question is about.
        modes: prompt modes, 1 to 4.
        scorings: what links come from.
        models: LLM profiles that are asked; empty: the one of the environment.

    Raises:
        InputError: when a list is empty (an LLM alone needs no retrievers and cutoffs), or a combination
            cannot be an approach.
    """
    offers = [setup for setup in setups if setup is not Setup.LLM_ONLY]
    needed = {"set-up": setups, "prompt mode": modes, "scoring": scorings, "model": models}
    if offers:
        needed |= {"retriever": retrievers, "cutoff": cutoffs}
    for what, values in needed.items():
        if not values:
            msg = f"a grid of LLM approaches needs at least one {what}"
            raise InputError(msg, f"name one {what} or more")
    grid: dict[str, Approach] = {}
    for model, setup, mode in product(models, setups, modes):
        places = [("", None)] if setup is Setup.LLM_ONLY else list(product(retrievers, cutoffs))
        # Where a model is unsure is told by scores alone, so a cascade leaves out the plain answer.
        hows = [how for how in scorings if CASCADE not in model or how.scoring is not Scoring.ANSWER]
        for (retriever, cutoff), how in product(places, hows or scorings):
            approach = Approach(
                kind=ApproachKind.LLM,
                retriever=retriever,
                cutoff=cutoff,
                prompt_mode=mode,
                setup=setup,
                model=model,
                **how.model_dump(),
            )
            grid.setdefault(approach.name, approach)
    return list(grid.values())


def with_smaller(approaches: Iterable[Approach]) -> list[Approach]:
    """Return what has to be asked for approaches, in this order: what the smaller model of a cascade decides first."""
    found: dict[str, Approach] = {}
    for approach in approaches:
        for one in (approach.smaller, approach.asked):
            if one:
                found.setdefault(one.name, one)
    return list(found.values())


def waves(approaches: Iterable[Approach]) -> list[list[Approach]]:
    """Return what has to be asked for approaches, cut where answers are needed: cascades come last.

    Only when the smaller model of a cascade has decided everything is it known what the larger one is asked.
    """
    asked = with_smaller(approaches)
    return [wave for wave in ([a for a in asked if not a.smaller], [a for a in asked if a.smaller]) if wave]


def steps(approaches: Iterable[Approach], parts: int) -> Iterator[tuple[Approach, int]]:
    """Yield (approach that is asked, number of a part), each once, in the order in which to decide them.

    Approaches that differ in their rule only ask the same and come once; what the smaller model of a
    cascade decides comes before the cascade. Neighbours with the same
    model, set-up and prompt mode take turns part by part, so that their questions on one pair follow each
    other closely.

    Args:
        approaches: as ``llm_grid`` orders them.
        parts: how many parts the pairs are cut into.
    """
    asked = {one.name: one for one in with_smaller(approaches)}
    for _, same in groupby(asked.values(), key=lambda approach: (approach.model, approach.setup, approach.prompt_mode)):
        together = list(same)
        yield from ((approach, part) for part in range(parts) for approach in together)

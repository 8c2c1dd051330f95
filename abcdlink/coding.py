"""Wrong predictions, coded by people: why was a link proposed that people reject, or a link missed?

A wrong prediction is a property of a method and a candidate. What people said about the candidate counts where it is
clear: all said the same, or an adjudicator decided. What a method proposed is what annotators were shown of it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from pydantic import Field

from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError
from abcdlink.evaluation.errors import ErrorKind
from abcdlink.interannotator.measures import mean_kappa
from abcdlink.interannotator.multiple import AgreementEstimate, alpha_estimate
from abcdlink.judgments import BOTH, RANDOM, AtPlace, Label, Place, Pool, in_reading_order, opaque_id

OTHER = "other"
"""The pattern that says nothing without a comment."""
PATTERNS = (
    "scattered targets: the source is linked to sentences that are far apart, and each covers part of what it says",
    "ambiguous source: the source says too little, or too many things, for anyone to know what it is about",
    "near-identical candidates: other sentences of document B say almost the same",
    "context needed: only the sentences around show whether the two belong together",
    "same words, another thing: the two share words or a topic, but are about different things",
    "other words, same thing: the two say the same thing in words that have little in common",
    "annotators are wrong: the prediction is right",
    f"{OTHER}: say what in the comment",
)
"""The default patterns: the paper's three, and others that people see."""


class CodingPattern(Record):
    """A pattern that coders choose from: its name, and what it means."""

    name: str = Field(min_length=1, max_length=60)
    meaning: str = ""


def patterns_in(lines: Sequence[str]) -> tuple[CodingPattern, ...]:
    """Read patterns, each as ``name: meaning`` or a name alone; none given: ``PATTERNS``.

    Raises:
        InputError: when a name is empty, longer than 60 characters or given twice, or there is one pattern only.
    """
    found = []
    for number, line in enumerate(lines or PATTERNS, start=1):
        name, _, meaning = (part.strip() for part in line.partition(":"))
        if not 0 < len(name) <= 60:  # noqa: PLR2004 - as the record says
            msg = f"pattern {number}, {line!r}, has no name of 1 to 60 characters"
            raise InputError(msg, "write it as 'name: meaning'")
        found.append(CodingPattern(name=name, meaning=meaning))
    names = Counter(one.name for one in found)
    if twice := [name for name, count in names.items() if count > 1]:
        msg = f"the pattern {twice[0]!r} is given twice"
        raise InputError(msg, "give each pattern a different name")
    if len(found) == 1:
        msg = f"{found[0].name!r} is the only pattern, so there is nothing to choose from"
        raise InputError(msg, "give two patterns or more; 'other' may be one of them")
    return tuple(found)


class WrongPrediction(AtPlace):
    """A candidate on which methods were wrong; ``key``: opaque name of its task, ``methods``: those that were."""

    key: str
    kind: ErrorKind
    methods: tuple[str, ...]


class Coding(Record):
    """What is coded. ``found``: how many wrong predictions there are; ``errors``: those that were drawn of them."""

    patterns: tuple[CodingPattern, ...]
    found: int
    errors: tuple[WrongPrediction, ...]


class Code(Record):
    """The pattern that one coder saw in a wrong prediction; ``key``: of its task."""

    key: str
    coder: str
    pattern: str
    comment: str = ""


def wrong_predictions(pools: Sequence[Pool], links: Mapping[Place, bool], run_key: str) -> list[WrongPrediction]:
    """Return the candidates on which at least one method was wrong, in the order of ``links``.

    A rejected candidate is a false link of every method that proposed it, a link one that every other method missed.
    ``links``: whether people call a candidate a link; no method need have proposed it.
    """
    proposed = {(pool.pair, pool.source, one.target): one.method for pool in pools for one in pool.candidates}
    methods = sorted({*proposed.values()} - {BOTH, RANDOM}) or [BOTH]
    found = []
    for at, link in links.items():
        by = proposed.get(at, "")
        wrong = tuple(method for method in methods if (by in (BOTH, method)) is not link)
        if wrong:
            kind = ErrorKind.MISSED_LINK if link else ErrorKind.FALSE_LINK
            key = opaque_id(run_key, "coding", *at)
            found.append(WrongPrediction(key=key, pair=at[0], source=at[1], target=at[2], kind=kind, methods=wrong))
    return found


def drawn(errors: Sequence[WrongPrediction], most: int, corpus: Corpus, seed: int) -> list[WrongPrediction]:
    """Draw up to ``most`` wrong predictions at random; returns them in the order of the documents."""
    chosen = random.Random(seed).sample(list(errors), min(most, len(errors)))  # noqa: S311 - no secret
    by_place = {one.at: one for one in chosen}
    return [by_place[place] for place in in_reading_order(by_place, corpus)]


class MethodErrors(Record):
    """The wrong predictions of one kind of one method.

    ``errors``: those that all who were asked have coded. ``shares``: pattern -> the share of their codes, a fraction
    of 1. ``agreed``: pattern -> errors for which every coder chose it.
    """

    method: str
    kind: ErrorKind
    errors: int
    shares: dict[str, float]
    agreed: dict[str, int]


class CodingSummary(Record):
    """The result of a coding.

    ``coded``: wrong predictions that all who were asked have coded; ``incomplete``: the others, which are in no figure.
    ``kappa``: Cohen's, the mean over pairs of coders, ``None`` where undefined. ``alpha``: Krippendorff's, over all
    patterns, and ``by_pattern``, each against all others. ``observed``: share of pairs of codes that are the same.
    """

    found: int
    coded: int
    incomplete: int
    coders: tuple[str, ...]
    kappa: float | None
    alpha: AgreementEstimate
    observed: float | None
    by_pattern: dict[str, AgreementEstimate]
    rows: tuple[MethodErrors, ...]


def summarise(coding: Coding, codes: Sequence[Code], needed: int) -> CodingSummary:
    """Summarise codes by method and kind of error, and say how far coders agree.

    Of several codes by one coder on one error the last counts. ``needed``: coders of each error.
    """
    by_error: dict[str, dict[str, str]] = {one.key: {} for one in coding.errors}
    for code in codes:
        if code.key in by_error:
            by_error[code.key][code.coder] = code.pattern
    done = [(one, by_error[one.key]) for one in coding.errors if len(by_error[one.key]) >= needed]
    names = [one.name for one in coding.patterns]
    groups: dict[tuple[str, ErrorKind], list[dict[str, str]]] = {}
    for error, said in done:
        for method in error.methods:
            groups.setdefault((method, error.kind), []).append(said)
    sources = [(error.pair, error.source) for error, _ in done]
    return CodingSummary(
        found=coding.found,
        coded=len(done),
        incomplete=len(coding.errors) - len(done),
        coders=tuple(sorted({code.coder for code in codes})),
        kappa=_kappa([said for _, said in done]),
        alpha=_alpha([said for _, said in done], [{name} for name in names], sources),
        observed=_observed([said for _, said in done]),
        by_pattern={name: _alpha([said for _, said in done], [{name}, {*names} - {name}], sources) for name in names},
        rows=tuple(_row(*at, groups[at], names) for at in sorted(groups)),
    )


def _row(method: str, kind: ErrorKind, said: Sequence[Mapping[str, str]], names: Sequence[str]) -> MethodErrors:
    given = Counter(pattern for one in said for pattern in one.values())
    agreed = Counter(next(iter(one.values())) for one in said if len({*one.values()}) == 1)
    return MethodErrors(
        method=method,
        kind=kind,
        errors=len(said),
        shares={name: given[name] / given.total() for name in names},
        agreed={name: agreed[name] for name in names},
    )


def _alpha(
    said: Sequence[Mapping[str, str]], labels: Sequence[Collection[str]], sources: Sequence[tuple[str, str]]
) -> AgreementEstimate:
    """Return alpha, with the patterns grouped into labels."""
    counts = [[sum(pattern in label for pattern in one.values()) for label in labels] for one in said]
    return alpha_estimate(counts, sources)


def _observed(said: Sequence[Mapping[str, str]]) -> float | None:
    same = [first == second for one in said for first, second in combinations(one.values(), 2)]
    return sum(same) / len(same) if same else None


def _kappa(said: Sequence[Mapping[str, str]]) -> float | None:
    by_coders: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for one in said:
        for first, second in combinations(sorted(one), 2):
            by_coders.setdefault((first, second), []).append((one[first], one[second]))
    return mean_kappa(by_coders.values())


def rows_of(summary: CodingSummary) -> list[dict[str, object]]:
    """Return the patterns as rows of a table: their shares by method and kind of error, and their agreement."""
    return [
        {
            "pattern": name,
            **{f"{row.method}: {row.kind.value} ({row.errors})": f"{row.shares[name]:.0%}" for row in summary.rows},
            "alpha": None if alpha.value is None else f"{alpha.value:.2f}",
        }
        for name, alpha in summary.by_pattern.items()
    ]


def agreement_in_words(summary: CodingSummary) -> str:
    """Say how far coders agree, in one sentence without its full stop."""
    alpha, kappa = summary.alpha, "undefined" if summary.kappa is None else f"{summary.kappa:.2f}"
    if summary.observed is None:
        return "Agreement is undefined: no wrong prediction was coded by two people"
    if alpha.value is None:
        return f"Agreement of {len(summary.coders)} coders is {alpha.note}"
    span = f" ({alpha.interval[0]:.2f} to {alpha.interval[1]:.2f})" if alpha.interval else ""
    return f"Agreement of {len(summary.coders)} coders: kappa {kappa}, Krippendorff's alpha {alpha.value:.2f}{span}"


def clear_links(
    groups: Mapping[Place, Collection[Label]], decided: Mapping[Place, Label], needed: int
) -> dict[Place, bool]:
    """Return candidate -> whether it is a link, where that is clear: all say the same, or somebody adjudicated."""
    found = {}
    for at, labels in groups.items():
        said = {*labels} if len({*labels}) == 1 else {*filter(None, [decided.get(at)])}
        if len(labels) >= needed and said:
            found[at] = said == {Label.LINK}
    return found

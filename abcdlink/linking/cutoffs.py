"""How many of a source's ranked targets are links: a fixed number, or a rule fitted on gold links."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abcdlink.corpus.gold import Gold, Match
from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from abcdlink.linking.cutoff_rules import (
    LEAST,
    choose_expected_f1,
    choose_gap,
    choose_share,
    choose_softmax,
    choose_threshold,
    choose_with_least,
    fit_expected_f1,
    fit_gap,
    fit_least,
    fit_share,
    fit_softmax,
    fit_threshold,
    link_probabilities,
)
from abcdlink.linking.fitted import FittedCutoff, FittedOn, Folds, fold_numbers, pairs_of
from abcdlink.linking.records import Aim, CutoffRule
from abcdlink.linking.rows import Mask, Rows, Truth, Values

if TYPE_CHECKING:
    import pandas as pd


class CrossFitted(NamedTuple):
    """Links decided by cross-validation.

    ``chosen``: whether a row of the rankings is one. ``fits``: by fold. ``probability``: of a link for each row, if the
    rule gives one for all sources; else ``None``.
    """

    chosen: Mask
    fits: list[FittedCutoff]
    probability: Values | None = None

    @property
    def words(self) -> str:
        """Return a note on what was fitted on which pairs, for a result."""
        return cross_fitted_words(self.fits[0].fitted_on.corpus, len(self.fits), self.fits[0].aim)


def cross_fitted_words(corpus: str, folds: int, aim: Aim | None = None) -> str:
    """Return a note on cross-validation, for a result. ``aim``: objective of a rule; ``None`` for a linker alone."""
    goal = {Aim.PAPER: "for the paper's score ", Aim.ALL_SOURCES: "for all sources ", None: ""}[aim]
    return (
        f"fitted {goal}on {corpus} by cross-validation, each of {folds} folds decided by a fit on the other {folds - 1}"
    )


def fit_cutoff(
    rule: CutoffRule,
    rankings: pd.DataFrame,
    corpus: Corpus,
    *,
    aim: Aim = Aim.PAPER,
    probabilities: bool = False,
) -> FittedCutoff:
    """Fit a rule's parameters for the highest F1 by the aim; pairs without annotation are left out.

    ``probabilities``: whether the scores are probabilities of a link, as a learned linker gives them. For all sources,
    ``expected-f1`` then has nothing to fit; for the paper's score, it fits the probabilities of sources that have
    links.

    Raises:
        InputError: when the rankings contain no source with links, or no gold link.
    """
    seen = set(pairs_of(rankings))
    annotated = [pair for pair in corpus.pairs if pair.id in seen and pair.links is not None]
    part = corpus.model_copy(update={"pairs": annotated})
    fitted_on = FittedOn.of(part)
    log_odds = rule is CutoffRule.EXPECTED_F1 and probabilities
    if log_odds and aim is Aim.ALL_SOURCES:
        return FittedCutoff(rule=rule, parameters={}, fitted_on=fitted_on, aim=aim)
    table = _of_pairs(rankings, {pair.id for pair in annotated})
    rows = Rows(table, log_odds=log_odds)
    match = Gold(part).match(table)
    if not match.hit.any():
        msg = f"no gold link of {corpus.name!r} is in the rankings, so no cutoff can be fitted"
        raise InputError(msg, "rank the corpus that the links belong to")
    parameters = _parameters(rule, rows, match, aim)
    return FittedCutoff(rule=rule, parameters=parameters, fitted_on=fitted_on, aim=aim, log_odds=log_odds)


def _parameters(rule: CutoffRule, rows: Rows, match: Match, aim: Aim) -> dict[str, float]:
    truth = Truth(rows, match, aim)
    if rule is CutoffRule.THRESHOLD:
        return fit_threshold(rows, truth)
    if rule is CutoffRule.EXPECTED_F1:
        return fit_expected_f1(rows, truth, aim)
    # The number of links is learned from sources that have some; which sources those are, from all.
    fit = {CutoffRule.SHARE: fit_share, CutoffRule.GAP: fit_gap, CutoffRule.SOFTMAX: fit_softmax}[rule]
    parameters = fit(rows, Truth(rows, match))
    if aim is Aim.ALL_SOURCES:
        parameters |= fit_least(rows, truth, _choose(rule, rows, parameters, aim))
    return parameters


def chosen(rankings: pd.DataFrame, cutoff: int | FittedCutoff, corpus: Corpus) -> Mask:
    """Decide which rows of rankings are links.

    A number takes the top k of every source. A rule fitted for the paper's score decides at least one link for
    every source, unless it is ``threshold``; one fitted for all sources may decide none. ``cutoff``: k, or a fitted
    rule; the texts of the corpus show whether it was fitted on one of these pairs.

    Returns:
        A boolean per row of the rankings, shape (rows,).

    Raises:
        InputError: when the rule was fitted on the texts of one of these pairs, under any id.
    """
    if isinstance(cutoff, int):
        return (rankings["rank"] <= cutoff).to_numpy()
    cutoff.fitted_on.refuse(corpus, pairs_of(rankings), f"the cutoff {cutoff.rule.value!r}")
    rows = Rows(rankings, log_odds=cutoff.log_odds)
    return rows.in_table(_choose(cutoff.rule, rows, cutoff.parameters, cutoff.aim))


def cross_fitted(
    rule: CutoffRule,
    rankings: pd.DataFrame,
    corpus: Corpus,
    folds: Folds,
    *,
    aim: Aim = Aim.PAPER,
    probabilities: bool = False,
) -> CrossFitted:
    """Decide each pair with parameters fitted on the other folds.

    A learned linker's rankings must be its ``out_of_fold`` ones with the same folds. ``folds``: of all pairs in the
    rankings, see ``make_folds``; ``aim`` and ``probabilities``: as in ``fit_cutoff``. Raises ``InputError`` when a pair
    has no fold, the other folds of one have no gold link, or two folds hold the same texts.
    """
    pairs = pairs_of(rankings)
    fold_of = rankings["pair"].map(dict(zip(pairs, fold_numbers(folds, pairs), strict=True))).to_numpy()
    mask, p, fits = np.zeros(len(rankings), bool), np.zeros(len(rankings)), []
    calibrated = rule is CutoffRule.EXPECTED_F1 and aim is Aim.ALL_SOURCES
    for fold in np.unique(fold_of):
        here = fold_of == fold
        fits.append(fit_cutoff(rule, rankings[~here], corpus, aim=aim, probabilities=probabilities))
        mask[here] = chosen(rankings[here], fits[-1], corpus)
        if calibrated:
            rows = Rows(rankings[here])
            p[here] = rows.in_table(link_probabilities(rows, fits[-1].parameters))
    return CrossFitted(mask, fits, p if calibrated else None)


def _of_pairs(rankings: pd.DataFrame, pairs: set[str]) -> pd.DataFrame:
    keep = rankings["pair"].isin(pairs).to_numpy()
    return rankings if keep.all() else rankings[keep]


def _choose(rule: CutoffRule, rows: Rows, parameters: dict[str, float], aim: Aim) -> Mask:
    given = {name: value for name, value in parameters.items() if name != LEAST}
    match rule:
        case CutoffRule.THRESHOLD:
            mask = choose_threshold(rows, **given)
        case CutoffRule.SHARE:
            mask = choose_share(rows, **given)
        case CutoffRule.GAP:
            mask = choose_gap(rows, **given)
        case CutoffRule.SOFTMAX:
            mask = choose_softmax(rows, **given)
        case CutoffRule.EXPECTED_F1:
            mask = choose_expected_f1(rows, link_probabilities(rows, given), aim)
    return choose_with_least(rows, mask, parameters[LEAST]) if LEAST in parameters else mask

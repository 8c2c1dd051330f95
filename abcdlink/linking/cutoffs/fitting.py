"""Fits rules on pairs with gold links, and decides links on other pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abcdlink.corpus.gold import Gold
from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from abcdlink.linking.cutoffs.rows import Mask, Rows, Truth
from abcdlink.linking.cutoffs.rules import (
    choose_expected_f1,
    choose_gap,
    choose_share,
    choose_softmax,
    choose_threshold,
    fit_expected_f1,
    fit_gap,
    fit_share,
    fit_softmax,
    fit_threshold,
)
from abcdlink.linking.fitted import FittedCutoff, FittedOn, Folds, fold_numbers, pairs_of
from abcdlink.linking.records import CutoffRule

if TYPE_CHECKING:
    import pandas as pd


class CrossFitted(NamedTuple):
    """Links decided by cross-validation.

    Attributes:
        chosen: whether a row of the rankings is a decided link.
        fits: what each fold was decided by, in the order of the folds.
    """

    chosen: Mask
    fits: list[FittedCutoff]

    @property
    def words(self) -> str:
        """Say what was fitted where, for a result."""
        return cross_fitted_words(self.fits[0].fitted_on.corpus, len(self.fits))


def cross_fitted_words(corpus: str, folds: int) -> str:
    """Say that something was fitted by cross-validation, for a result."""
    return f"fitted on {corpus} by cross-validation, each of {folds} folds decided by a fit on the other {folds - 1}"


def fit_cutoff(
    rule: CutoffRule, rankings: pd.DataFrame, corpus: Corpus, *, probabilities: bool = False
) -> FittedCutoff:
    """Fit a rule's parameters for the highest macro F1 on the sources with links of a corpus.

    Args:
        rule: what is fitted.
        rankings: of the corpus, all pairs or some; those that are not annotated are left out.
        corpus: gives the gold links.
        probabilities: whether the scores are probabilities of a link, as a learned linker gives them:
            ``expected-f1`` then takes them as they are and has nothing to fit.

    Raises:
        InputError: when no source with links, or no gold link, is in the rankings.
    """
    seen = set(pairs_of(rankings))
    annotated = [pair for pair in corpus.pairs if pair.id in seen and pair.links is not None]
    part = corpus.model_copy(update={"pairs": annotated})
    fitted_on = FittedOn.of(part)
    if rule is CutoffRule.EXPECTED_F1 and probabilities:
        return FittedCutoff(rule=rule, parameters={}, fitted_on=fitted_on)
    table = _of_pairs(rankings, {pair.id for pair in annotated})
    rows = Rows(table)
    truth = Truth(rows, Gold(part).match(table))
    if not truth.hit.any():
        msg = f"no gold link of {corpus.name!r} is in the rankings, so that no cutoff can be fitted on them"
        raise InputError(msg, "rank the same corpus whose links are given")
    fits = {
        CutoffRule.THRESHOLD: fit_threshold,
        CutoffRule.SHARE: fit_share,
        CutoffRule.GAP: fit_gap,
        CutoffRule.SOFTMAX: fit_softmax,
        CutoffRule.EXPECTED_F1: fit_expected_f1,
    }
    return FittedCutoff(rule=rule, parameters=fits[rule](rows, truth), fitted_on=fitted_on)


def chosen(rankings: pd.DataFrame, cutoff: int | FittedCutoff, corpus: Corpus) -> Mask:
    """Decide which rows of rankings are links.

    A number takes the top k of every source. Of the rules, ``threshold`` may decide no link for a
    source, all others decide one at least.

    Args:
        rankings: of pairs of the corpus.
        cutoff: k, or a fitted rule.
        corpus: whose texts tell whether the rule was fitted on one of these pairs.

    Returns:
        One truth value per row of the rankings, shape (rows,).

    Raises:
        InputError: when the rule was fitted on the texts of one of these pairs, under whatever id.
    """
    if isinstance(cutoff, int):
        mask: Mask = (rankings["rank"] <= cutoff).to_numpy()
        return mask
    cutoff.fitted_on.refuse(corpus, pairs_of(rankings), f"the cutoff {cutoff.rule.value!r}")
    return _apply(rankings, cutoff)


def cross_fitted(
    rule: CutoffRule, rankings: pd.DataFrame, corpus: Corpus, folds: Folds, *, probabilities: bool = False
) -> CrossFitted:
    """Decide each pair by parameters that were fitted on the other folds.

    Rankings of a learned linker are to be its ``out_of_fold`` ones with the same folds.

    Args:
        rule: what is fitted.
        rankings: of pairs of the corpus.
        corpus: gives the gold links.
        folds: of all pairs in the rankings, see ``make_folds``.
        probabilities: as in ``fit_cutoff``.

    Raises:
        InputError: when a pair has no fold, the other folds of one have no gold link, or two folds
            hold the same texts.
    """
    pairs = pairs_of(rankings)
    fold_of = rankings["pair"].map(dict(zip(pairs, fold_numbers(folds, pairs), strict=True))).to_numpy()
    mask, fits = np.zeros(len(rankings), bool), []
    for fold in np.unique(fold_of):
        here = fold_of == fold
        fits.append(fit_cutoff(rule, rankings[~here], corpus, probabilities=probabilities))
        mask[here] = chosen(rankings[here], fits[-1], corpus)
    return CrossFitted(mask, fits)


def _of_pairs(rankings: pd.DataFrame, pairs: set[str]) -> pd.DataFrame:
    keep = rankings["pair"].isin(pairs).to_numpy()
    return rankings if keep.all() else rankings[keep]


def _apply(rankings: pd.DataFrame, cutoff: FittedCutoff) -> Mask:
    rows, parameters = Rows(rankings), cutoff.parameters
    match cutoff.rule:
        case CutoffRule.THRESHOLD:
            mask = choose_threshold(rows, **parameters)
        case CutoffRule.SHARE:
            mask = choose_share(rows, **parameters)
        case CutoffRule.GAP:
            mask = choose_gap(rows, **parameters)
        case CutoffRule.SOFTMAX:
            mask = choose_softmax(rows, **parameters)
        case CutoffRule.EXPECTED_F1:
            mask = choose_expected_f1(rows, parameters)
    return rows.in_table(mask)

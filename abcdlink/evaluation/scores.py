"""Precision, recall and F1 against gold links, by the paper's definitions.

For every source with links, P, R and F1 are taken per source; a corpus's score is their macro
mean over the sources of all pairs. Beside it, ``all_sources`` counts false links everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.gold import Gold, Match
from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError
from abcdlink.linking.records import Decision
from abcdlink.statistics import Counts, bootstrap_mean

if TYPE_CHECKING:
    import pandas as pd


Definition = Literal["paper", "common"]
"""Precision at k divides by min(k, target sentences) in the paper, by k in common use."""

PAPER_CUTOFFS = (1, 3, 5, 7, 10, 20)
MEASURES = ("precision", "recall", "f1")


class Scores(Record):
    """Macro means over the answered sources, in fractions of 1; zeros when none was answered.

    ``sources``: all sources with links. ``answered``: those that could be answered; the others
    are in no mean and are reported by this number.
    """

    precision: float
    recall: float
    f1: float
    sources: int
    answered: int


class AllSources(Record):
    """Link-level scores over every answered source sentence of the annotated pairs.

    ``precision``, ``recall``, ``f1``: micro, over links. ``false_link_rate``: share of the sources
    without links for which at least one link was decided; ``None`` when there is no such source.
    """

    precision: float
    recall: float
    f1: float
    false_link_rate: float | None
    sources: int
    answered: int


def score_ranking(
    corpus: Corpus, rankings: pd.DataFrame, cutoffs: Sequence[int], definition: Definition = "paper"
) -> pd.DataFrame:
    """Score rankings at each cutoff k, per source with links.

    R@k = hits in the top k / gold; P@k = hits / min(k, target sentences) (``paper``) or hits / k
    (``common``); F1 from these two.

    Args:
        corpus: pairs with gold links; pairs without are left out.
        rankings: the columns ``pair``, ``source``, ``target`` and ``rank`` of ``rank_corpus``.
        cutoffs: values of k.
        definition: of precision, see ``Definition``.

    Returns:
        One row per (cutoff, source with links): pair, source, cutoff, precision, recall, f1.

    Raises:
        InputError: when a cutoff is below 1, or a source with links is not in the rankings.
    """
    import pandas as pd

    if not cutoffs or min(cutoffs) < 1:
        msg = f"the cutoffs {list(cutoffs)} cannot be used"
        raise InputError(msg, "give one or more whole numbers of at least 1")
    gold = Gold(corpus)
    top = rankings[(rankings["rank"] <= max(cutoffs)).to_numpy()]
    match = gold.match(top)
    match.require(gold.with_links)
    names, rank = gold.names, top["rank"].to_numpy()
    frames = []
    for k in cutoffs:
        hits = match.count(match.hit & (rank <= k))
        shown = np.minimum(k, gold.target_sizes) if definition == "paper" else np.full(len(hits), k)
        frames.append(names.assign(cutoff=k, **_measures(gold, hits, shown)))
    return pd.concat(frames, ignore_index=True)


def score_chosen(corpus: Corpus, rankings: pd.DataFrame, chosen: NDArray[np.bool_]) -> pd.DataFrame:
    """Score the chosen rows of rankings as decided links, per source with links.

    Pairs without gold links are left out. ``chosen``: whether a row is a decided link, shape (rows,).

    Returns:
        One row per source with links: pair, source, precision, recall, f1; zeros where no row was chosen.

    Raises:
        InputError: when a source with links is not in the rankings.
    """
    gold = Gold(corpus)
    match = gold.match(rankings)
    match.require(gold.with_links)
    return gold.names.assign(**_measures(gold, match.count(match.hit & chosen), match.count(chosen)))


def score_decisions(corpus: Corpus, decisions: Sequence[Decision]) -> pd.DataFrame:
    """Score the decided links of one approach as sets, per source with links.

    A source for which no link was decided has zeros. A source that was not answered (by its
    outcome, or because there is no decision on it) has ``answered`` false and the scores of what
    is known; ``macro`` leaves it out and counts it.

    Returns:
        One row per source with links: pair, source, precision, recall, f1, answered.

    Raises:
        InputError: when a source has two decisions or a decision's pair is not in the corpus.
    """
    gold = Gold(corpus)
    hits, decided, answered = _count_decisions(gold, corpus, decisions)
    return gold.names.assign(**_measures(gold, hits, decided), answered=answered[gold.with_links])


def macro(frame: pd.DataFrame) -> Scores:
    """Return the macro means of a table of ``score_decisions``, or of ``score_ranking`` at one cutoff.

    Raises:
        InputError: when the table holds several cutoffs (use ``macro_by_cutoff``).
    """
    if "cutoff" in frame and len(set(frame["cutoff"].tolist())) > 1:
        msg = "these scores are from several cutoffs"
        raise InputError(msg, "take the mean of each cutoff separately")
    answered = frame[frame["answered"]] if "answered" in frame else frame
    means = {name: float(answered[name].mean()) if len(answered) else 0.0 for name in MEASURES}
    return Scores(**means, sources=len(frame), answered=len(answered))


def f1_interval(frame: pd.DataFrame) -> tuple[float, float] | None:
    """Return the 95 % bootstrap interval over sources of mean F1; a source that was not answered counts as 0.

    ``None`` when there is no source.
    """
    if frame.empty:
        return None
    f1 = frame["f1"].where(frame["answered"], 0.0) if "answered" in frame else frame["f1"]
    found = bootstrap_mean(f1.to_numpy())
    return found.low, found.high


def macro_by_cutoff(frame: pd.DataFrame) -> dict[int, Scores]:
    """Return the macro means of a table of ``score_ranking`` by cutoff, in increasing order."""
    return {cutoff: macro(frame[frame["cutoff"] == cutoff]) for cutoff in sorted(set(frame["cutoff"].tolist()))}


def all_sources(corpus: Corpus, decisions: Sequence[Decision]) -> AllSources:
    """Score one approach over every source sentence of the annotated pairs, also those without links.

    Raises:
        InputError: when a source has two decisions or a decision's pair is not in the corpus.
    """
    gold = Gold(corpus)
    return _all_sources(gold, *_count_decisions(gold, corpus, decisions))


def all_sources_chosen(corpus: Corpus, rankings: pd.DataFrame, chosen: NDArray[np.bool_]) -> AllSources:
    """Score the chosen rows of rankings as decided links over every source sentence of the annotated pairs.

    ``chosen``: whether a row is a decided link, shape (rows,). Raises ``InputError`` when a source sentence of an
    annotated pair is not in the rankings.
    """
    return _all_sources_of(_match_all(corpus, rankings), chosen)


def all_sources_by_cutoff(corpus: Corpus, rankings: pd.DataFrame, cutoffs: Sequence[int]) -> dict[int, AllSources]:
    """Score the top k of rankings, for each k, as ``all_sources_chosen`` does; errors as there."""
    match, rank = _match_all(corpus, rankings), rankings["rank"].to_numpy()
    return {k: _all_sources_of(match, rank <= k) for k in cutoffs}


def _match_all(corpus: Corpus, rankings: pd.DataFrame) -> Match:
    """Lay the gold links over rankings that must hold every source sentence of the annotated pairs."""
    match = Gold(corpus).match(rankings)
    match.require(np.arange(len(match.gold.sources)))
    return match


def _all_sources_of(match: Match, chosen: NDArray[np.bool_]) -> AllSources:
    answered = np.ones(len(match.gold.sources), bool)
    return _all_sources(match.gold, match.count(match.hit & chosen), match.count(chosen), answered)


def _measures(gold: Gold, hits: Counts, shown: Counts) -> dict[str, NDArray[np.float64]]:
    """Return precision, recall and F1 of the sources with links; precision is 0 where nothing was shown."""
    hits, shown, links = (counts[gold.with_links] for counts in (hits, shown, gold.link_counts))
    precision, recall = hits / np.maximum(shown, 1), hits / links
    f1 = 2 * precision * recall / np.where(hits > 0, precision + recall, 1)
    return dict(zip(MEASURES, (precision, recall, f1), strict=True))


def _all_sources(gold: Gold, hits: Counts, decided: Counts, answered: NDArray[np.bool_]) -> AllSources:
    hit, shown, links = (int(counts[answered].sum()) for counts in (hits, decided, gold.link_counts))
    without = answered & (gold.link_counts == 0)
    return AllSources(
        precision=hit / max(shown, 1),
        recall=hit / max(links, 1),
        f1=2 * hit / max(shown + links, 1),
        false_link_rate=float((decided[without] > 0).mean()) if without.any() else None,
        sources=len(answered),
        answered=int(answered.sum()),
    )


def _count_decisions(
    gold: Gold, corpus: Corpus, decisions: Sequence[Decision]
) -> tuple[Counts, Counts, NDArray[np.bool_]]:
    """Return hits, decided links and whether it was answered of each source sentence."""
    import pandas as pd

    by_source = _by_source(corpus, decisions)
    rows = [(*source, target) for source, decision in by_source.items() for target in dict.fromkeys(decision.targets)]
    match = gold.match(pd.DataFrame(rows, columns=["pair", "source", "target"], dtype=str))
    answered = [source in by_source and by_source[source].outcome.answered for source in gold.sources]
    return match.count(match.hit), match.count(np.ones(len(rows), bool)), np.array(answered, bool)


def _by_source(corpus: Corpus, decisions: Sequence[Decision]) -> dict[tuple[str, str], Decision]:
    pairs = {pair.id for pair in corpus.pairs}
    by_source: dict[tuple[str, str], Decision] = {}
    for decision in decisions:
        key = (decision.pair, decision.source)
        if decision.pair not in pairs:
            msg = (
                f"{decision.approach} decided on the pair {decision.pair!r}, which is not in the corpus {corpus.name!r}"
            )
            raise InputError(msg, "score decisions against the corpus they were made on")
        if key in by_source:
            msg = f"the source {decision.source!r} of the pair {decision.pair!r} has two decisions"
            raise InputError(msg, "score one approach at a time")
        by_source[key] = decision
    return by_source

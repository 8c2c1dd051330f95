"""Precision, recall and F1 against gold links, by the paper's definitions.

For every source with links, P, R and F1 are taken per source; a corpus's score is their macro
mean over the sources of all pairs. Beside it, ``all_sources`` counts false links everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError
from abcdlink.linking.records import Decision

if TYPE_CHECKING:
    import pandas as pd

Definition = Literal["paper", "common"]
"""Precision at k divides by min(k, target sentences) in the paper, by k in common use."""


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
        raise InputError(msg, "give one or more whole numbers from 1")
    gold = _Gold(corpus)
    hit_of, hit_rank = gold.hits(rankings, max(cutoffs))
    frames = []
    for k in cutoffs:
        hits = np.bincount(hit_of[hit_rank <= k], minlength=len(gold.sources)).astype(np.float64)
        shown = np.minimum(k, gold.target_sizes) if definition == "paper" else np.full(len(hits), k)
        frames.append(
            pd.DataFrame({**gold.columns(), "cutoff": k, **_measures(hits, shown, gold.link_counts)}),
        )
    return pd.concat(frames, ignore_index=True)


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
    import pandas as pd

    gold = _Gold(corpus)
    by_source = _by_source(corpus, decisions)
    decided = [by_source.get(source) for source in gold.sources]
    hits = [len(links & set(d.targets)) if d else 0 for links, d in zip(gold.links, decided, strict=True)]
    shown = np.array([len(set(d.targets)) if d else 0 for d in decided], np.float64)
    answered = np.array([d is not None and d.outcome.answered for d in decided], bool)
    measures = _measures(np.array(hits, np.float64), shown, gold.link_counts)
    return pd.DataFrame({**gold.columns(), **measures, "answered": answered})


def macro(frame: pd.DataFrame) -> Scores:
    """Return the macro means of a table of ``score_decisions``, or of ``score_ranking`` at one cutoff.

    Raises:
        InputError: when the table holds several cutoffs (use ``macro_by_cutoff``).
    """
    if "cutoff" in frame and len(set(frame["cutoff"].tolist())) > 1:
        msg = "these scores are of several cutoffs"
        raise InputError(msg, "take the mean of each cutoff on its own")
    answered = frame[frame["answered"]] if "answered" in frame else frame
    means = {name: float(answered[name].mean()) if len(answered) else 0.0 for name in ("precision", "recall", "f1")}
    return Scores(**means, sources=len(frame), answered=len(answered))


def macro_by_cutoff(frame: pd.DataFrame) -> dict[int, Scores]:
    """Return the macro means of a table of ``score_ranking`` by cutoff, in increasing order."""
    return {cutoff: macro(frame[frame["cutoff"] == cutoff]) for cutoff in sorted(set(frame["cutoff"].tolist()))}


def all_sources(corpus: Corpus, decisions: Sequence[Decision]) -> AllSources:
    """Score one approach over every source sentence of the annotated pairs, also those without links.

    Raises:
        InputError: when a source has two decisions or a decision's pair is not in the corpus.
    """
    by_source = _by_source(corpus, decisions)
    hits = decided = gold = sources = answered = without = false = 0
    for pair in corpus.pairs:
        if pair.links is None:
            continue
        for sentence in corpus.source_of(pair).sentences:
            sources += 1
            decision = by_source.get((pair.id, sentence.id))
            if decision is None or not decision.outcome.answered:
                continue
            answered += 1
            links, targets = set(pair.links.get(sentence.id, ())), set(decision.targets)
            hits, decided, gold = hits + len(links & targets), decided + len(targets), gold + len(links)
            without += not links
            false += not links and bool(targets)
    return AllSources(
        precision=hits / max(decided, 1),
        recall=hits / max(gold, 1),
        f1=2 * hits / max(decided + gold, 1),
        false_link_rate=false / without if without else None,
        sources=sources,
        answered=answered,
    )


def _measures(
    hits: NDArray[np.float64], shown: NDArray[Any], links: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return precision, recall and F1 per source; precision is 0 where nothing was shown."""
    precision, recall = hits / np.maximum(shown, 1), hits / links
    f1 = 2 * precision * recall / np.where(hits > 0, precision + recall, 1)
    return {"precision": precision, "recall": recall, "f1": f1}


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


class _Gold:
    """The sources with links of a corpus, one below the other, with what scores need of each."""

    def __init__(self, corpus: Corpus) -> None:
        self.sources: list[tuple[str, str]] = []
        self.links: list[set[str]] = []
        sizes: list[int] = []
        for pair in corpus.pairs:
            for source, targets in pair.sources_with_links.items():
                self.sources.append((pair.id, source))
                self.links.append(set(targets))
                sizes.append(len(corpus.target_of(pair).sentences))
        self.target_sizes = np.array(sizes, np.int64)
        self.link_counts = np.array([len(links) for links in self.links], np.float64)

    def columns(self) -> dict[str, list[str]]:
        """Return the columns that name the source."""
        return {"pair": [pair for pair, _ in self.sources], "source": [source for _, source in self.sources]}

    def hits(self, rankings: pd.DataFrame, depth: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return (index of the source, rank) of each gold link that is ranked at ``depth`` or better.

        Ids become numbers, and a (pair, source, target) becomes one number, so that links are
        found by one search in a sorted array.
        """
        import pandas as pd

        top = rankings[(rankings["rank"] <= depth).to_numpy()]
        pairs, sources, targets = (pd.Categorical(top[name]) for name in ("pair", "source", "target"))
        wide, deep = len(sources.categories) + 1, len(targets.categories) + 1
        owner = pairs.codes.astype(np.int64) * wide + sources.codes
        ranked_links = owner * deep + targets.codes

        pair_code, source_code, target_code = (
            {name: code for code, name in enumerate(column.categories)} for column in (pairs, sources, targets)
        )
        own = np.array(
            [pair_code.get(pair, -1) * wide + source_code.get(source, wide - 1) for pair, source in self.sources],
            np.int64,
        )
        absent = ~np.isin(own, owner)
        if absent.any():
            pair, source = self.sources[int(absent.argmax())]
            msg = f"the rankings lack the source {source!r} of the pair {pair!r}"
            raise InputError(msg, "rank the same corpus that is scored")
        index_of = np.repeat(np.arange(len(self.sources)), self.link_counts.astype(np.int64))
        codes = [target_code.get(target, deep - 1) for links in self.links for target in links]
        gold = own[index_of] * deep + np.array(codes, np.int64)

        order = np.argsort(gold)
        place = np.searchsorted(gold[order], ranked_links)
        place[place == len(gold)] = 0
        hit = gold[order][place] == ranked_links if len(gold) else np.zeros(len(top), bool)
        return index_of[order][place[hit]], top["rank"].to_numpy()[hit].astype(np.int64)

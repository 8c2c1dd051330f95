"""Linkers fitted again on judgments."""

from __future__ import annotations

import numpy as np
import pytest

from abcdlink.corpus.gold import Gold
from abcdlink.errors import InputError
from abcdlink.evaluation.results import calibration_of
from abcdlink.linking.learned import JudgedCandidate, RankedCorpus, refit
from abcdlink.linking.saving import from_bytes, to_bytes
from tests.helpers.learnable import made_corpus


@pytest.fixture(scope="module")
def strict(made):
    """Return a corpus with rankings in which people call only some of the equally similar pairs a link."""
    corpus, rankings = made_corpus(seed=2, pairs=24, name="strict")
    pairs = [
        pair.model_copy(update={"links": dict(list(pair.links.items())[: 1 + n % 2])})
        for n, pair in enumerate(corpus.pairs)
    ]
    return corpus.model_copy(update={"pairs": pairs}), rankings


def judged(corpus, table, pairs, seed=0):
    """Return judgments on all likely candidates and 40 % of the others."""
    gold = {(pair.id, s, t) for pair in corpus.pairs for s, targets in pair.links.items() for t in targets}
    drawn, said = np.random.default_rng(seed), []
    for pair, source, target, p in zip(*(table[c] for c in ("pair", "source", "target", "score")), strict=True):
        chance = 1.0 if p >= 0.2 else 0.4
        if pair in pairs and drawn.random() < chance:
            said.append(JudgedCandidate((pair, source, target), (pair, source, target) in gold, chance))
    return said


@pytest.mark.parametrize(("name", "left"), [("learned-logistic", 0.6), ("learned-boosting", 0.7)])
def test_judgments_lower_the_calibration_error_on_unjudged_pairs(made, learned, strict, name, left):
    (before, rankings), _ = made
    corpus, base = strict
    first = learned(name)
    table = first.rank(base, corpus)
    half = {pair.id for pair in corpus.pairs[::2]}
    rest = [pair for pair in corpus.pairs if pair.id not in half]
    second = refit(name, RankedCorpus(before, rankings), RankedCorpus(corpus, base), judged(corpus, table, half))
    errors = [
        calibration_of(Gold(corpus).match(one), one["score"].to_numpy()).error
        for one in (linker.rank(base, corpus, rest) for linker in (first, second))
    ]
    assert errors[1] < left * errors[0]
    assert from_bytes(to_bytes(second), "x").fitted_on == second.fitted_on
    with pytest.raises(InputError, match="was fitted on the texts of the pair"):
        second.rank(base, corpus, corpus.pairs[:1])
    with pytest.raises(InputError, match="was fitted on the texts of the pair"):
        second.rank(rankings, before)


def test_too_few_judgments_and_foreign_linkers_are_refused(made, strict):
    (before, rankings), _ = made
    corpus, base = strict
    said = judged(corpus, base["jaccard"], {"p0", "p1"})
    with pytest.raises(InputError, match=r"links and \d+ other candidates are too few to learn from"):
        refit("learned-logistic", RankedCorpus(before, rankings), RankedCorpus(corpus, base), said)
    with pytest.raises(InputError, match="learns only from gold links"):
        refit("tests.helpers.labels:WordOverlap", RankedCorpus(before, rankings), RankedCorpus(corpus, base), said)


def test_probabilities_fit_all_candidates_though_few_of_the_others_were_judged(made, strict):
    (before, rankings), _ = made
    corpus, base = strict
    half = [pair.id for pair in corpus.pairs[:12]]
    linked, drawn = Gold(corpus).match(base["jaccard"]).hit, np.random.default_rng(0)
    places = zip(*(base["jaccard"][c] for c in ("pair", "source", "target")), linked.tolist(), strict=True)
    said = [
        JudgedCandidate((pair, *place), link, 1.0 if link else 0.1)
        for pair, *place, link in places
        if pair in half and (link or drawn.random() < 0.1)
    ]
    table = refit("learned-logistic", RankedCorpus(before, rankings), RankedCorpus(corpus, base), said).rank(
        base, corpus, corpus.pairs[12:]
    )
    links = sum(len(targets) for pair in corpus.pairs[12:] for targets in pair.links.values())
    assert table["score"].sum() == pytest.approx(links, rel=0.3)

"""Cutoffs by rule: the formulas against plain loops, the best parameters, and no pair decided by its own links."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.gold import Gold
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.evaluation.results import calibration_of
from abcdlink.evaluation.scores import all_sources_chosen, macro, score_chosen
from abcdlink.linking.cutoffs import chosen, cross_fitted, fit_cutoff
from abcdlink.linking.fitted import FittedCutoff, FittedOn, make_folds
from abcdlink.linking.records import Aim, CutoffRule
from abcdlink.retrieval import rank_corpus
from tests.helpers.scripted import Scripted, scripted_document

NOTHING = FittedOn(corpus="other", sources=1, pairs=())
PARAMETERS = {
    CutoffRule.THRESHOLD: {"threshold": 0.05},
    CutoffRule.SHARE: {"share": 0.6180339},
    CutoffRule.GAP: {"first": 3.0},
    CutoffRule.SOFTMAX: {"temperature": 0.7, "weight": 0.5, "threshold": 0.2},
    CutoffRule.EXPECTED_F1: {},
}


def by_hand(rule, matrix):
    """Return the chosen (row, column) of a score matrix without ties, by the formulas in words."""
    links = set()
    rows, columns = range(len(matrix)), range(len(matrix[0]))
    low = min(map(min, matrix))
    for i in rows:
        order = sorted(columns, key=lambda j: -matrix[i][j])
        scores = [matrix[i][j] for j in order]
        if rule is CutoffRule.THRESHOLD:
            k = sum(score >= 0.05 for score in scores)
        elif rule is CutoffRule.SHARE:
            k = sum(score - low >= 0.6180339 * (scores[0] - low) for score in scores)
        elif rule is CutoffRule.GAP:
            gaps = [scores[n] - scores[n + 1] for n in range(min(3, len(scores) - 1))]
            k = 1 + gaps.index(max(gaps)) if gaps else 1
        elif rule is CutoffRule.EXPECTED_F1:
            p = [min(max(score, 0), 1) for score in scores]
            expected = [2 * sum(p[:n]) / (n + max(1, sum(p))) for n in range(1, len(p) + 1)]
            k = next(n for n, value in enumerate(expected, start=1) if value > max(expected) - 1e-9)
        else:
            over_targets = [math.exp(s / 0.7) / sum(math.exp(matrix[i][j] / 0.7) for j in columns) for s in scores]
            over_sources = [
                math.exp(matrix[i][j] / 0.7) / sum(math.exp(matrix[n][j] / 0.7) for n in rows) for j in order
            ]
            p = [a * b**0.5 for a, b in zip(over_targets, over_sources, strict=True)]
            links |= {(i, j) for j, value in zip(order, p, strict=True) if value >= 0.2}
            k = 1
        links |= {(i, j) for j in order[:k]}
    return links


@st.composite
def matrices(draw):
    """Draw distinct scores of a pair whose differences are exact and never tie with a share of one another."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    numbers = st.lists(st.integers(-300, 300), min_size=rows * columns, max_size=rows * columns, unique=True)
    return (np.array(draw(numbers)).reshape(rows, columns) / 256).tolist()


@given(st.lists(matrices(), min_size=1, max_size=3), st.sampled_from(list(CutoffRule)))
def test_rules_follow_their_formulas(scores, rule):
    documents = {}
    for n, matrix in enumerate(scores):
        documents[f"a{n}"], documents[f"b{n}"] = (
            scripted_document(f"{side}{n}", [f"{side}{n} {i}" for i in range(size)])
            for side, size in (("a", len(matrix)), ("b", len(matrix[0])))
        )
    pairs = [Pair(id=f"p{n}", source=f"a{n}", target=f"b{n}") for n in range(len(scores))]
    corpus = Corpus(name="random", documents=documents, pairs=pairs)
    table = rank_corpus(corpus, Scripted({(f"a{n}", f"b{n}"): matrix for n, matrix in enumerate(scores)}))
    table = table.sample(frac=1, random_state=0)
    cutoff = FittedCutoff(rule=rule, parameters=PARAMETERS[rule], fitted_on=NOTHING)
    links = table[chosen(table, cutoff, corpus)]
    found = {
        (pair, int(source[1:]), int(target[1:]))
        for pair, source, target in zip(links["pair"], links["source"], links["target"], strict=True)
    }
    assert found == {(f"p{n}", *link) for n, matrix in enumerate(scores) for link in by_hand(rule, matrix)}


def test_expected_f1_is_exact_far_down_a_long_table():
    """Two targets at one half are both taken, whatever comes before them."""
    size = 2000
    documents = {"a": scripted_document("a", map(str, range(size))), "b": scripted_document("b", ["x", "y", "z"])}
    corpus = Corpus(name="long", documents=documents, pairs=[Pair(id="p", source="a", target="b")])
    table = rank_corpus(corpus, Scripted({("a", "b"): [[0.9, 0.1 + n / size / 10, 0.0] for n in range(size)]}))
    cutoff = FittedCutoff(rule=CutoffRule.EXPECTED_F1, parameters={}, fitted_on=NOTHING)
    counts = np.bincount(table["source"].cat.codes[chosen(table, cutoff, corpus)])
    # 2 * 0.9 / (1 + 1) = 0.9 against 2 * (0.9 + p) / (2 + max(1, 0.9 + p)): one link is better for all p <= 0.2.
    assert counts.tolist() == [1] * size


def made_corpus(seed=0, pairs=12):
    """Return a corpus and a copy of its rankings."""
    corpus, table = ranked(seed, pairs)
    return corpus, table.copy()


@cache
def ranked(seed, pairs):
    """Return a corpus and rankings; links have higher scores, and sources differ in how many they have."""
    random = np.random.default_rng(seed)
    documents, rows, scores = {}, [], {}
    for n in range(pairs):
        for side, size in (("a", 5), ("b", 8)):
            documents[f"{side}{n}"] = scripted_document(f"{side}{n}", [f"{side}{n} {seed} {i}" for i in range(size)])
        gold = random.random((5, 8)) < random.choice([0.05, 0.3], size=(5, 1))
        links = {f"s{i}": tuple(f"s{j}" for j in np.flatnonzero(gold[i])) for i in range(5)}
        rows.append(Pair(id=f"p{n}", source=f"a{n}", target=f"b{n}", links=links))
        scores[f"a{n}", f"b{n}"] = (gold + random.normal(0, 0.4, gold.shape)).tolist()
    corpus = Corpus(name="made", documents=documents, pairs=rows)
    return corpus, rank_corpus(corpus, Scripted(scores))


def f1(corpus, table, mask):
    return macro(score_chosen(corpus, table, mask)).f1


@pytest.mark.parametrize("rule", list(CutoffRule))
def test_fitted_parameters_beat_every_fixed_cutoff_on_unseen_pairs(rule):
    corpus, table = made_corpus()
    other, other_table = made_corpus(seed=1, pairs=30)
    cutoff = fit_cutoff(rule, table, corpus)
    by_rule = f1(other, other_table, chosen(other_table, cutoff, other))
    fixed = max(f1(other, other_table, chosen(other_table, k, other)) for k in range(1, 9))
    # With a varying number of links, a rule based on scores wins; the widest gap is often the first.
    assert by_rule > fixed - (0.1 if rule is CutoffRule.GAP else 0)
    count = corpus.source_count
    assert cutoff.fitted_on.words == f"fitted on the corpus 'made': 12 pairs, {count} source sentences with links"
    assert FittedCutoff.model_validate_json(cutoff.model_dump_json()) == cutoff
    assert fit_cutoff(rule, table.sample(frac=1, random_state=1), corpus).parameters == pytest.approx(cutoff.parameters)


@pytest.mark.parametrize(("rule", "name"), [(CutoffRule.THRESHOLD, "threshold"), (CutoffRule.SHARE, "share")])
def test_a_fitted_threshold_is_the_best_possible(rule, name):
    corpus, table = made_corpus()
    fitted = fit_cutoff(rule, table, corpus)
    copy = corpus.model_copy(update={"documents": {k: changed(d) for k, d in corpus.documents.items()}})

    def at(value):
        cutoff = fitted.model_copy(update={"parameters": {name: value}})
        return f1(copy, table, chosen(table, cutoff, copy))

    tried = np.quantile(table["score"], np.linspace(0, 1, 60)) if name == "threshold" else np.linspace(0, 1, 60)
    assert at(fitted.parameters[name]) >= max(map(at, tried)) - 0.02


def changed(one):
    return scripted_document(one.id, [f"{text}!" for text in one.texts])


@pytest.mark.parametrize("aim", list(Aim))
@pytest.mark.parametrize("rule", list(CutoffRule))
def test_decisions_in_a_fold_do_not_depend_on_its_links(rule, aim):
    corpus, table = made_corpus()
    folds = make_folds(corpus, 3)
    mask, fits, _ = cross_fitted(rule, table, corpus, folds, aim=aim)
    turned = corpus.model_copy(
        update={
            "pairs": [
                pair if folds[pair.id] else pair.model_copy(update={"links": {"s0": ("s7",), "s1": ("s0", "s1")}})
                for pair in corpus.pairs
            ]
        }
    )
    other, other_fits, _ = cross_fitted(rule, table, turned, folds, aim=aim)
    here = table["pair"].map(folds).to_numpy() == 0
    assert (mask[here] == other[here]).all()
    assert fits[0].parameters == other_fits[0].parameters
    assert fits[1].parameters != other_fits[1].parameters


def test_cross_fitting_describes_what_was_fitted_where():
    corpus, table = made_corpus()
    result = cross_fitted(CutoffRule.SHARE, table, corpus, make_folds(corpus, 4))
    assert (
        result.words
        == "fitted for the paper's score on made by cross-validation, each of 4 folds decided by a fit on the other 3"
    )
    assert [len(fit.fitted_on.pairs) for fit in result.fits] == [9, 9, 9, 9]


def test_a_cutoff_refuses_the_pairs_it_was_fitted_on_under_any_id():
    corpus, table = made_corpus()
    cutoff = fit_cutoff(CutoffRule.SHARE, table, corpus)
    with pytest.raises(InputError, match=r"'p0' of 'made'.*cross-validate"):
        chosen(table, cutoff, corpus)
    documents = {f"new {n}": d.model_copy(update={"id": f"new {n}"}) for n, d in corpus.documents.items()}
    pairs = [
        Pair(id=f"new {pair.id}", source=f"new {pair.source}", target=f"new {pair.target}") for pair in corpus.pairs
    ]
    renamed = Corpus(name="renamed", documents=documents, pairs=pairs)
    table = table.assign(pair=table["pair"].cat.rename_categories(lambda name: f"new {name}"))
    with pytest.raises(InputError, match="'new p0' of 'renamed'"):
        chosen(table, cutoff, renamed)


def test_two_folds_with_the_same_texts_are_refused():
    corpus, table = made_corpus()
    again = [pair.model_copy(update={"id": f"again {pair.id}"}) for pair in corpus.pairs]
    doubled = corpus.model_copy(update={"pairs": [*corpus.pairs, *again]})
    table_again = table.assign(pair=table["pair"].astype(str).radd("again "))
    import pandas as pd

    both = pd.concat([table.assign(pair=table["pair"].astype(str)), table_again], ignore_index=True)
    folds = {pair.id: int(pair.id.startswith("again")) for pair in doubled.pairs}
    with pytest.raises(InputError, match="was fitted on the texts"):
        cross_fitted(CutoffRule.SHARE, both, doubled, folds)


def test_probabilities_are_used_unchanged_when_all_sources_count():
    corpus, table = made_corpus()
    fitted = fit_cutoff(CutoffRule.EXPECTED_F1, table, corpus, aim=Aim.ALL_SOURCES, probabilities=True)
    assert fitted.parameters == {}
    # For the paper's score they become those of sources with links, and any monotonic transformation will do.
    conditional = fit_cutoff(
        CutoffRule.EXPECTED_F1, table.assign(score=table["score"].clip(0, 1)), corpus, probabilities=True
    )
    assert conditional.parameters
    assert conditional.log_odds
    assert fit_cutoff(CutoffRule.SHARE, table, corpus, probabilities=True) == fit_cutoff(
        CutoffRule.SHARE, table, corpus
    )


def test_pairs_with_unknown_links_are_decided_but_not_fitted_on():
    corpus, table = made_corpus()
    pairs = [pair.model_copy(update={"links": None}) if pair.id == "p0" else pair for pair in corpus.pairs]
    partly = corpus.model_copy(update={"pairs": pairs})
    cutoff = fit_cutoff(CutoffRule.SHARE, table, partly)
    assert len(cutoff.fitted_on.pairs) == len(pairs) - 1
    one = table[(table["pair"] == "p0").to_numpy()]
    assert chosen(one, cutoff, partly).any()


def test_impossible_fits_are_refused_with_a_hint():
    corpus, table = made_corpus()
    bare = corpus.model_copy(update={"pairs": [p.model_copy(update={"links": {}}) for p in corpus.pairs]})
    with pytest.raises(InputError, match="no source with links"):
        fit_cutoff(CutoffRule.GAP, table, bare)
    foreign = table.assign(target=table["target"].cat.rename_categories(lambda name: f"x{name}"))
    with pytest.raises(InputError, match="no gold link of 'made'"):
        fit_cutoff(CutoffRule.GAP, foreign, corpus)
    with pytest.raises(InputError, match="'p0' is not in the corpus 'made'"):
        chosen(table, fit_cutoff(CutoffRule.GAP, table, corpus), corpus.model_copy(update={"pairs": corpus.pairs[1:]}))
    with pytest.raises(InputError, match="'p0' is in no fold"):
        cross_fitted(CutoffRule.GAP, table, corpus, {"p1": 0})


@pytest.mark.parametrize("aim", list(Aim))
@pytest.mark.parametrize("rule", list(CutoffRule))
def test_identical_scores_are_handled(rule, aim):
    corpus, table = made_corpus()
    table["score"] = 0.5
    cutoff = fit_cutoff(rule, table, corpus, aim=aim)
    assert all(map(math.isfinite, cutoff.parameters.values()))
    other, other_table = made_corpus(seed=1)
    assert chosen(other_table, cutoff, other).dtype == bool


@pytest.mark.parametrize("rule", list(CutoffRule))
def test_a_rule_fitted_for_all_sources_leaves_unlinked_ones_alone(rule):
    corpus, table = made_corpus(pairs=24)
    other, other_table = made_corpus(seed=1, pairs=40)
    scores = {}
    for aim in Aim:
        mask = chosen(other_table, fit_cutoff(rule, table, corpus, aim=aim), other)
        scores[aim] = all_sources_chosen(other, other_table, mask)
    assert scores[Aim.ALL_SOURCES].f1 >= scores[Aim.PAPER].f1
    assert scores[Aim.ALL_SOURCES].false_link_rate < 0.8
    if rule is not CutoffRule.THRESHOLD:
        assert scores[Aim.PAPER].false_link_rate == 1
        assert scores[Aim.ALL_SOURCES].f1 > scores[Aim.PAPER].f1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_expected_f1_over_all_sources_is_the_best_by_the_formula(p):
    documents = {"a": scripted_document("a", ["x"]), "b": scripted_document("b", [f"y{j}" for j in range(len(p))])}
    corpus = Corpus(name="one", documents=documents, pairs=[Pair(id="p", source="a", target="b")])
    table = rank_corpus(corpus, Scripted({("a", "b"): [p]}))
    cutoff = FittedCutoff(rule=CutoffRule.EXPECTED_F1, parameters={}, fitted_on=NOTHING, aim=Aim.ALL_SOURCES)
    k = int(chosen(table, cutoff, corpus).sum())
    ordered, none = sorted(p, reverse=True), math.prod(1 - one for one in p)
    links = max(1, sum(p) / max(1 - none, 1e-9))
    values = [none, *(2 * sum(ordered[:n]) / (n + links) for n in range(1, len(p) + 1))]
    assert values[k] >= max(values) - 1e-6


def test_cross_fitting_returns_the_probabilities_behind_its_links():
    corpus, table = made_corpus(pairs=24)
    folds = make_folds(corpus, 3)
    assert cross_fitted(CutoffRule.EXPECTED_F1, table, corpus, folds).probability is None
    found = cross_fitted(CutoffRule.EXPECTED_F1, table, corpus, folds, aim=Aim.ALL_SOURCES)
    assert found.words.startswith("fitted for all sources on made by")
    measured = calibration_of(Gold(corpus).match(table), found.probability)
    assert measured.expected == pytest.approx(measured.links, rel=0.1)
    assert measured.links == sum(len(targets) for pair in corpus.pairs for targets in pair.links.values())
    assert measured.error < 0.5


@pytest.mark.parametrize("cutoff", [1, 3, 99])
def test_a_numeric_cutoff_takes_the_top_of_every_source(cutoff):
    corpus, table = made_corpus()
    assert (chosen(table, cutoff, corpus) == (table["rank"] <= cutoff)).all()

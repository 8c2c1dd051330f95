"""Learned linkers on a small synthetic corpus: better than their parts, without leakage."""

from __future__ import annotations

import pandas as pd
import pytest

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.evaluation.scores import macro, score_ranking
from abcdlink.linking.fitted import make_folds
from abcdlink.linking.learned import learn, out_of_fold
from abcdlink.linking.learners import LEARNERS, base_retrievers
from abcdlink.retrieval import rank_corpus
from tests.helpers.learnable import BASE
from tests.helpers.scripted import Scripted, scripted_document


def f1(corpus, table):
    return macro(score_ranking(corpus, table, [1])).f1


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learned_linker_ranks_unseen_pairs_better_than_its_parts(made, learned, name):
    (corpus, rankings), (other, other_rankings) = made
    parts = max(f1(corpus, table) for table in rankings.values())
    assert f1(corpus, out_of_fold(name, rankings, corpus, make_folds(corpus, 3))) >= parts
    table = learned(name).rank(other_rankings, other)
    assert f1(other, table) >= max(f1(other, one) for one in other_rankings.values())
    # Probabilities add up to about the number of links, here one for each of the first four sources of a pair.
    assert table["score"].between(0, 1).all()
    assert table["score"].sum() == pytest.approx(4 * len(other.pairs), rel=0.25)
    best = table[(table["rank"] == 1).to_numpy()]
    without = (best["source"] == "s4").to_numpy()
    assert best["score"][without].mean() < 0.6 * best["score"][~without].mean()


def test_the_table_is_like_a_retrievers_and_ties_keep_document_order(made, linker):
    _, (other, rankings) = made
    table = linker.rank(rankings, other)
    like = rankings["jaccard"]
    assert table.dtypes.astype(str).to_dict() == like.dtypes.astype(str).to_dict()
    for column in ("pair", "source", "rank"):
        assert table[column].tolist() == like[column].tolist()
    rounded = table.assign(score=table["score"].round(6)).groupby(["pair", "source"], observed=True)["score"]
    assert rounded.is_monotonic_decreasing.all()
    texts = ["Fire in Rome.", "Fire in Rome.", "A vote."]
    twins = Corpus(
        name="twins",
        documents={"a": scripted_document("a", ["Fire in Rome."]), "b": scripted_document("b", [*texts, *texts])},
        pairs=[Pair(id="p", source="a", target="b")],
    )
    flat = rank_corpus(twins, Scripted({("a", "b"): [[0.5] * 6]}))
    again = linker.rank(dict.fromkeys(BASE, flat), twins)
    order = [int(target[1:]) for target in again["target"]]
    scores = again["score"].round(6).tolist()
    assert all(a < b for (a, b, x, y) in zip(order, order[1:], scores, scores[1:], strict=False) if x == y)


def test_the_ranking_of_a_fold_does_not_depend_on_its_links(made):
    (corpus, rankings), _ = made
    folds = make_folds(corpus, 3)
    turned = corpus.model_copy(
        update={
            "pairs": [
                pair if folds[pair.id] else pair.model_copy(update={"links": {"s4": ("s0", "s6"), "s0": ("s1",)}})
                for pair in corpus.pairs
            ]
        }
    )
    one, two = (out_of_fold("learned-logistic", rankings, c, folds) for c in (corpus, turned))
    here = (one["pair"].map(folds) == 0).to_numpy()
    pd.testing.assert_frame_equal(one[here], two[here])
    assert not one[~here].equals(two[~here])


def test_pairs_it_has_learned_from_are_refused_under_any_id(made, linker):
    (corpus, rankings), _ = made
    with pytest.raises(InputError, match=r"'learned-logistic' was fitted on the texts of the pair 'p0'.*cross-valid"):
        linker.rank(rankings, corpus)
    pairs = [pair.model_copy(update={"id": f"new {pair.id}"}) for pair in corpus.pairs]
    renamed = {
        name: table.assign(pair=table["pair"].cat.rename_categories(lambda pair: f"new {pair}"))
        for name, table in rankings.items()
    }
    with pytest.raises(InputError, match="'new p8'"):
        linker.rank(renamed, corpus.model_copy(update={"pairs": pairs}), pairs[-1:])


def test_two_folds_with_the_same_texts_are_refused(made):
    (corpus, rankings), _ = made
    pairs = [*corpus.pairs, corpus.pairs[0].model_copy(update={"id": "again"})]
    folds = {pair.id: n % 3 for n, pair in enumerate(corpus.pairs)} | {"again": 1}
    again = {name: _with_again(table) for name, table in rankings.items()}
    with pytest.raises(InputError, match="of another fold was fitted on the texts of the pair"):
        out_of_fold("learned-logistic", again, corpus.model_copy(update={"pairs": pairs}), folds)


def _with_again(table):
    table = table.assign(pair=table["pair"].astype(str))
    return pd.concat([table, table[table["pair"] == "p0"].assign(pair="again")], ignore_index=True)


def test_a_subset_of_pairs_is_ranked_as_among_all_in_any_row_order(made, linker):
    _, (other, rankings) = made
    whole = linker.rank(rankings, other)
    part = linker.rank(
        {name: table.sample(frac=1, random_state=0) for name, table in rankings.items()}, other, other.pairs[2:4]
    )
    expected = whole[whole["pair"].isin(["p2", "p3"]).to_numpy()]
    for column in ("pair", "source", "target", "rank"):
        assert part[column].tolist() == expected[column].tolist()
    assert part["score"].to_numpy() == pytest.approx(expected["score"].to_numpy())


def test_missing_and_incomplete_rankings_are_named(made, linker):
    (corpus, rankings), (other, other_rankings) = made
    with pytest.raises(InputError, match=r"by bm25-stemmed and all-minilm-l6-v2\. rank the corpus with jaccard, "):
        learn("learned-logistic", {"jaccard": rankings["jaccard"]}, corpus)
    for broken in (other_rankings["jaccard"][:-1], other_rankings["jaccard"][lambda t: (t["pair"] != "p1").to_numpy()]):
        with pytest.raises(InputError, match=r"by jaccard do not contain every two sentences of the pair 'p[81]' once"):
            linker.rank(other_rankings | {"jaccard": broken}, other)
    foreign = other_rankings["jaccard"].assign(target="s0")
    with pytest.raises(InputError, match="'p0' once"):
        linker.rank(other_rankings | {"jaccard": foreign}, other)


def test_too_little_training_data_is_refused_with_a_hint(made):
    (corpus, rankings), _ = made
    with pytest.raises(InputError, match="fewer folds"):
        learn("learned-logistic", rankings, corpus.first_pairs(2))
    bare = corpus.model_copy(update={"pairs": [p.model_copy(update={"links": {}}) for p in corpus.pairs]})
    with pytest.raises(InputError, match="no source with links"):
        learn("learned-logistic", rankings, bare)
    everything = {f"s{i}": tuple(f"s{j}" for j in range(7)) for i in range(5)}
    full = corpus.model_copy(update={"pairs": [p.model_copy(update={"links": everything}) for p in corpus.pairs]})
    with pytest.raises(InputError, match="links every target"):
        learn("learned-logistic", rankings, full)
    with pytest.raises(InputError, match="at least 3 folds"):
        out_of_fold("learned-logistic", rankings, corpus, make_folds(corpus, 2))
    with pytest.raises(InputError, match="'p0' is in no fold"):
        out_of_fold("learned-logistic", rankings, corpus, {"p1": 0})


def test_pairs_with_unknown_links_are_ranked_but_not_learned_from(made):
    (corpus, rankings), _ = made
    pairs = [p.model_copy(update={"links": None}) if p.id == "p0" else p for p in corpus.pairs]
    partly = corpus.model_copy(update={"pairs": pairs})
    linker = learn("learned-logistic", rankings, partly)
    assert set(linker.rank(rankings, partly, pairs[:1])["pair"]) == {"p0"}
    assert len(out_of_fold("learned-logistic", rankings, partly, make_folds(partly, 3))) == len(rankings["jaccard"])


def test_names_say_what_a_linker_needs():
    assert base_retrievers("learned-logistic") == BASE
    assert base_retrievers("learned-boosting:bge-m3") == ("jaccard", "bm25-stemmed", "bge-m3")
    assert base_retrievers("learned-boosting:st:some/model") == ("jaccard", "bm25-stemmed", "st:some/model")
    for wrong in ("learned", "learned-by-heart", "learned-logistic:", "learned-logistic:jaccard", "bm25"):
        with pytest.raises(InputError, match="choose learned-logistic, learned-boosting"):
            base_retrievers(wrong)

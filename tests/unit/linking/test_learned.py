"""Learned linkers on a small synthetic corpus: better than their parts, no leakage, safe files."""

from __future__ import annotations

import io
import pickle
import sys
import zipfile
from functools import cache

import numpy as np
import pandas as pd
import pytest

from abcdlink.corpus.gold import Gold
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.evaluation.results import calibration_of
from abcdlink.evaluation.scores import macro, score_ranking
from abcdlink.linking import saving, training
from abcdlink.linking.fitted import make_folds
from abcdlink.linking.learned import Known, Said, learn, out_of_fold, refit
from abcdlink.linking.learners import LEARNERS, base_retrievers
from abcdlink.linking.saving import from_bytes, to_bytes
from abcdlink.retrieval import get_retriever, rank_corpus
from tests.helpers.forked import forked
from tests.helpers.scripted import Scripted, document

BASE = ("jaccard", "bm25-stemmed", "all-minilm-l6-v2")
WORDS = [
    *("river", "storm", "court", "vote", "fire", "train", "market", "school"),
    *("doctor", "bridge", "tower", "garden", "engine", "letter", "island", "harbour"),
]


def made_corpus(seed=0, pairs=9, name="made"):
    """Return a corpus and its base rankings: linked sentences have words in common, and the dense scores have noise."""
    random = np.random.default_rng(seed)
    documents, rows, dense = {}, [], {}
    for n in range(pairs):
        topics = random.permutation(WORDS)[:6]
        noise = [" ".join(random.choice(WORDS, 3)) for _ in range(12)]
        sources = [f"The {topics[i]} of {topics[i].title()} in {n} {noise[i]}." for i in range(5)]
        order = random.permutation(7)
        targets = [
            f"A {topics[i]} at {topics[i].title()} {noise[5 + i]}." if i < 5 else f"And {noise[5 + i]}." for i in order
        ]
        gold = {f"s{i}": (f"s{int(np.flatnonzero(order == i)[0])}",) for i in range(4)}
        documents |= {f"a{n}": document(f"a{n}", sources), f"b{n}": document(f"b{n}", targets)}
        rows.append(Pair(id=f"p{n}", source=f"a{n}", target=f"b{n}", links=gold))
        linked = np.array([[j in {int(t[1:]) for t in gold.get(f"s{i}", ())} for j in range(7)] for i in range(5)])
        dense[f"a{n}", f"b{n}"] = (0.5 * linked + random.normal(0, 0.4, linked.shape)).tolist()
    corpus = Corpus(name=name, documents=documents, pairs=rows)
    rankings = {retriever: rank_corpus(corpus, get_retriever(retriever)) for retriever in BASE[:2]}
    return corpus, rankings | {BASE[2]: rank_corpus(corpus, Scripted(dense))}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("ABCDLINK_HOME", str(tmp_path_factory.mktemp("home")))
    # Enough for so few sentences.
    patch.setattr(training, "BOOSTING", training.BOOSTING | {"max_iter": 25, "max_bins": 15})
    yield made_corpus(), made_corpus(seed=1, name="other")
    patch.undo()


@pytest.fixture(scope="module")
def learned(made):
    """The linker of a name, fitted on the first corpus once."""
    (corpus, rankings), _ = made
    return cache(lambda name: learn(name, rankings, corpus))


@pytest.fixture
def linker(learned):
    return learned("learned-logistic")


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
        documents={"a": document("a", ["Fire in Rome."]), "b": document("b", [*texts, *texts])},
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


@pytest.mark.parametrize("name", LEARNERS)
def test_fitting_is_deterministic_and_a_saved_linker_ranks_as_before(made, learned, name):
    (corpus, rankings), (other, other_rankings) = made
    one, two = learned(name), learn(name, rankings, corpus)
    table = one.rank(other_rankings, other)
    pd.testing.assert_frame_equal(two.rank(other_rankings, other), table)
    read = from_bytes(to_bytes(one), "file")
    pd.testing.assert_frame_equal(read.rank(other_rankings, other), table)
    assert read.fitted_on == one.fitted_on
    with pytest.raises(InputError, match="was fitted on"):
        read.rank(rankings, corpus)


def test_reading_a_linker_does_not_load_torch(tmp_path):
    """In a fork, where skops looks through scikit-learn as it does when it is loaded for the first time."""
    asked = tmp_path / "asked"

    class Torch:
        def find_spec(self, name, *_):
            if name.partition(".")[0] == "torch":
                asked.touch()

    def read():
        for name in tuple(sys.modules):
            if name.startswith(("skops", "torch", "sklearn.externals.array_api_compat")):
                del sys.modules[name]
        sys.meta_path.insert(0, Torch())
        with pytest.raises(InputError, match="cannot be read"):
            from_bytes(b"no linker", "file")
        assert "skops.io" in sys.modules

    process = forked(read)
    process.join()
    assert (process.exitcode, asked.exists()) == (0, False)


class Stranger:
    """A class that no linker contains, and that complains when it is instantiated."""

    made = 0

    def __init__(self):
        Stranger.made += 1


def _dumped(content):
    from skops.io import dumps

    return dumps(content)


def _function():
    """Return a file whose model consists of trusted parts, one of which calls a function when used."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    return _dumped({"about": "{}", "model": make_pipeline(FunctionTransformer(np.abs))})


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (lambda: b"", "cannot be read"),
        (lambda: b"not a zip file", "cannot be read"),
        (lambda: pickle.dumps({"model": 1}), "cannot be read"),
        (lambda: _dumped({"about": "{}", "model": Stranger()}), r"it contains .*Stranger"),
        (lambda: _dumped({"about": "{}", "model": [1, 2]}), "not one that this program creates"),
        (_function, "not one that this program creates"),
        (lambda: _dumped([1, 2]), "not one that this program creates"),
    ],
)
def test_foreign_files_are_refused_without_loading_them(data, problem):
    content = data()
    before = Stranger.made
    with pytest.raises(InputError, match=rf"models/x cannot be used as a learned linker.*{problem}.*fit it again"):
        from_bytes(content, "models/x")
    assert Stranger.made == before


def test_a_changed_file_is_refused(linker):
    good = to_bytes(linker)
    with pytest.raises(InputError, match="cannot be read"):
        from_bytes(good[: len(good) // 2], "file")
    for old, new in (
        (b"sklearn.calibration", b"os.path"),
        (b"_CalibratedClassifier", b"system"),
        (b'\\"position\\": false', b'\\"position\\": 7.5'),
        (b'\\"position\\":false', b'\\"position\\":7.5'),
        (b"learned-logistic", b"learned-by-heart"),
    ):
        changed = _rewritten(good, old, new)
        if changed is not None:
            with pytest.raises(InputError, match="file cannot be used as a learned linker"):
                from_bytes(changed, "file")


def _rewritten(data, old, new):
    """Return a zip file with bytes replaced in its schema; ``None`` if they are not in it."""
    source, target = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    found = False
    with zipfile.ZipFile(target, "w") as out:
        for name in source.namelist():
            content = source.read(name)
            found |= old in content
            out.writestr(name, content.replace(old, new))
    return target.getvalue() if found else None


def test_a_file_of_another_version_of_scikit_learn_is_refused(linker, monkeypatch):
    good = to_bytes(linker)
    monkeypatch.setattr(saving, "version", lambda _: "0.1")
    with pytest.raises(InputError, match=r"made with scikit-learn .* but this is 0\.1"):
        from_bytes(good, "file")


def test_names_say_what_a_linker_needs():
    assert base_retrievers("learned-logistic") == BASE
    assert base_retrievers("learned-boosting:bge-m3") == ("jaccard", "bm25-stemmed", "bge-m3")
    assert base_retrievers("learned-boosting:st:some/model") == ("jaccard", "bm25-stemmed", "st:some/model")
    for wrong in ("learned", "learned-by-heart", "learned-logistic:", "learned-logistic:jaccard", "bm25"):
        with pytest.raises(InputError, match="choose learned-logistic, learned-boosting"):
            base_retrievers(wrong)


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
            said.append(Said((pair, source, target), (pair, source, target) in gold, chance))
    return said


@pytest.mark.parametrize(("name", "left"), [("learned-logistic", 0.6), ("learned-boosting", 0.7)])
def test_judgments_lower_the_calibration_error_on_unjudged_pairs(made, learned, strict, name, left):
    (before, rankings), _ = made
    corpus, base = strict
    first = learned(name)
    table = first.rank(base, corpus)
    half = {pair.id for pair in corpus.pairs[::2]}
    rest = [pair for pair in corpus.pairs if pair.id not in half]
    second = refit(name, Known(before, rankings), Known(corpus, base), judged(corpus, table, half))
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
        refit("learned-logistic", Known(before, rankings), Known(corpus, base), said)
    with pytest.raises(InputError, match="learns only from gold links"):
        refit("tests.helpers.labels:WordOverlap", Known(before, rankings), Known(corpus, base), said)


def test_probabilities_fit_all_candidates_though_few_of_the_others_were_judged(made, strict):
    (before, rankings), _ = made
    corpus, base = strict
    half = [pair.id for pair in corpus.pairs[:12]]
    linked, drawn = Gold(corpus).match(base["jaccard"]).hit, np.random.default_rng(0)
    places = zip(*(base["jaccard"][c] for c in ("pair", "source", "target")), linked.tolist(), strict=True)
    said = [
        Said((pair, *place), link, 1.0 if link else 0.1)
        for pair, *place, link in places
        if pair in half and (link or drawn.random() < 0.1)
    ]
    table = refit("learned-logistic", Known(before, rankings), Known(corpus, base), said).rank(
        base, corpus, corpus.pairs[12:]
    )
    links = sum(len(targets) for pair in corpus.pairs[12:] for targets in pair.links.values())
    assert table["score"].sum() == pytest.approx(links, rel=0.3)

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.candidates.pools import (
    NO_BATCH,
    REPEATS,
    PoolMode,
    PoolResult,
    PoolRules,
    Proposals,
    build_pools,
    sampled,
    split_batches,
    task_key,
)
from abcdlink.candidates.pools import given as given_distractors
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.domain import PoolSizes, SourceFilter
from abcdlink.errors import InputError
from abcdlink.linking.records import Decision
from tests.helpers import builders
from tests.helpers.builders import document

LABELS = ("retriever", "llm")
SOURCES = {"s0": "A long enough first sentence.", "s1": "Too short.", "s2": "As shown in Figure 2 of that paper."}


def rules(
    first: int = 2, second: int = 2, mode: PoolMode = PoolMode.COMPARISON, min_words: int = 4, **of_sources: Any
) -> PoolRules:
    sources = SourceFilter(min_words=min_words, **of_sources)
    return PoolRules(mode=mode, sizes=PoolSizes(first=first, second=second), sources=sources)


def corpus_of(targets: list[str] | None = None) -> Corpus:
    texts = targets if targets is not None else [f"Target sentence number {n}." for n in range(10)]
    pair = Pair(id="p", source="a", target="b")
    return builders.corpus([pair], document("a", SOURCES.values(), "s{n}"), document("b", texts, "t{n}"))


def decision(targets: tuple[str, ...], source: str = "s0", pair: str = "p", approach: str = "x@2") -> Decision:
    return Decision(approach=approach, pair=pair, source=source, targets=targets)


def build(first: list[Decision], second: list[Decision] | None, labels=LABELS, **changes: Any) -> PoolResult:
    lists = [first] if second is None else [first, second]
    arguments: dict[str, Any] = {
        "corpus": corpus_of(),
        "proposals": [Proposals(label, one) for label, one in zip(labels, lists, strict=False)],
        "rules": rules(),
        "distractors": sampled(1, 1),
        "run_key": "run",
        "batch_of": {"p": 1},
    }
    return build_pools(**{**arguments, **changes})


def shown(result: PoolResult, place: int = 0) -> dict[str, str]:
    return {c.target: c.method for c in result.pools[place].candidates}


def test_filters_are_counted_by_reason():
    everything = [decision(("t1",), source) for source in SOURCES]
    result = build(everything, [], rules=rules(exclude=(r"\bFigure \d",)))
    assert [pool.source for pool in result.pools] == ["s0"]
    assert result.filtered == {"fewer than 4 words": 1, r"matches the excluded pattern \bFigure \d": 1}


def test_a_pair_in_no_batch_is_counted():
    assert build([decision(("t1",))], [], batch_of={}).filtered == {NO_BATCH: 3}


def test_a_pair_that_repeats_both_texts_of_another_is_not_asked_about_again():
    once = corpus_of()
    copies = [document(f"{name}2", once.documents[name].texts, f"{name}{{n}}") for name in "ab"]
    pairs = [*once.pairs, Pair(id="q", source="a2", target="b2")]
    twice = builders.corpus(pairs, *once.documents.values(), *copies)
    first = [decision(("t1",)), decision(("b1",), source="a0", pair="q")]
    result = build(first, [], corpus=twice, batch_of={"p": 1, "q": 1})
    assert [pool.pair for pool in result.pools] == ["p"]
    assert result.filtered[REPEATS] == 3


def test_unknown_ids_are_refused_and_the_rest_is_kept():
    first = [decision(("nowhere", "t1")), decision(("t1",), source="s9"), decision(("t1",), pair="q")]
    result = build(first, [])
    assert len(result.refused) == 3
    assert "nowhere" in result.refused[0].reason
    assert "t1" in {c.target for c in result.pools[0].candidates}


def test_a_repeat_of_a_proposed_sentence_is_not_a_distractor():
    result = build([decision(("t0",))], [], corpus=corpus_of(["Same words.", " Same words. ", "Other words."]))
    assert [(c.target, c.method) for c in result.pools[0].candidates] == [("t0", "retriever"), ("t2", "random")]


def test_a_short_target_document_gives_as_many_distractors_as_it_can():
    result = build([decision(("t0",))], [], corpus=corpus_of(["Only one."]), distractors=sampled(5, 1))
    assert len(result.pools[0].candidates) == 1


def test_keys_are_opaque_and_differ_by_run_pair_and_source():
    keys = {task_key(r, p, s) for r in "ab" for p in "cd" for s in "ef"}
    assert len(keys) == 8
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys)


def test_pools_are_the_same_in_every_process():
    """Python's hashes of strings differ from process to process; these values do not."""
    result = build([decision(("t1",))], [decision(("t2",))], distractors=sampled(4, 1))
    random = dict.fromkeys(("t0", "t3", "t4", "t5"), "random")
    assert shown(result) == {"t1": "retriever", "t2": "llm", **random}
    assert list(shown(result)) == sorted(shown(result))
    assert result.pools[0].key == "e165ba4887716d93"


def test_another_seed_gives_different_distractors():
    pools = {build([decision(("t1",))], [], distractors=sampled(1, seed)).pools[0].candidates for seed in range(20)}
    assert len(pools) > 1


@given(
    first=st.lists(st.integers(0, 9), unique=True),
    second=st.lists(st.integers(0, 9), unique=True),
    sizes=st.tuples(*[st.integers(0, 4)] * 3),
    seed=st.integers(0, 1000),
)
def test_every_pool_is_well_formed(first: list[int], second: list[int], sizes: tuple[int, int, int], seed: int):
    lists = [tuple(f"t{n}" for n in numbers) for numbers in (first, second)]
    result = build(
        [decision(lists[0])], [decision(lists[1])], rules=rules(*sizes[:2]), distractors=sampled(sizes[2], seed)
    )
    top = [set(lists[0][: sizes[0]]), set(lists[1][: sizes[1]])]
    assert bool(result.pools) == bool(top[0] | top[1])
    for pool in result.pools:
        targets = [c.target for c in pool.candidates]
        assert targets == sorted(set(targets))
        for c in pool.candidates:
            expected = {
                (True, True): "both",
                (True, False): "retriever",
                (False, True): "llm",
                (False, False): "random",
            }
            assert c.method == expected[c.target in top[0], c.target in top[1]]


@given(count=st.integers(0, 40), batches=st.integers(1, 5))
def test_batches_are_even_and_in_order(count: int, batches: int):
    pairs = [Pair(id=str(n), source="a", target="b") for n in range(count)]
    assigned = list(split_batches(pairs, batches).values())
    assert assigned == sorted(assigned)
    sizes = [assigned.count(batch) for batch in range(1, batches + 1)]
    assert sum(sizes) == count
    assert max(sizes) - min(sizes) <= 1


FIRST, SECOND = ("t7", "t3", "t1", "t8"), ("t3", "t5", "t9", "t1")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (PoolMode.COMPARISON, {"t3": "both", "t5": "llm", "t7": "retriever"}),
        (PoolMode.SINGLE, {"t1": "retriever", "t3": "retriever", "t7": "retriever", "t8": "retriever"}),
        (PoolMode.INTERSECTION, {"t1": "both", "t3": "both"}),
        (
            PoolMode.UNION,
            {"t1": "both", "t3": "both", "t5": "llm", "t7": "retriever", "t8": "retriever", "t9": "llm"},
        ),
    ],
)
def test_only_a_comparison_is_limited_to_the_sizes_of_the_domain(mode: PoolMode, expected: dict[str, str]):
    second = None if mode is PoolMode.SINGLE else [decision(SECOND)]
    result = build([decision(FIRST)], second, rules=rules(mode=mode), distractors=sampled(0, 1))
    assert list(shown(result).items()) == list(expected.items())


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (PoolMode.COMPARISON, "nothing proposed by either approach"),
        (PoolMode.SINGLE, "nothing proposed by the approach"),
        (PoolMode.INTERSECTION, "nothing proposed by both approaches"),
        (PoolMode.UNION, "nothing proposed by either approach"),
    ],
)
def test_each_mode_says_why_a_source_has_no_pool(mode: PoolMode, reason: str):
    """The first approach proposes for s0 and the second for s2: together they propose nothing."""
    second = None if mode is PoolMode.SINGLE else [decision(("t2",), "s2")]
    result = build([decision(("t1",))], second, rules=rules(mode=mode))
    pools = {PoolMode.SINGLE: 1, PoolMode.INTERSECTION: 0}.get(mode, 2)
    assert len(result.pools) == pools
    assert result.filtered.get(reason, 0) == 2 - pools


@pytest.mark.parametrize("mode", [PoolMode.INTERSECTION, PoolMode.UNION, PoolMode.COMPARISON])
def test_no_proposal_of_an_approach_becomes_a_distractor_even_if_not_shown(mode: PoolMode):
    result = build([decision(FIRST)], [decision(SECOND)], rules=rules(1, 1, mode), distractors=sampled(10, 1))
    assert {t for t, m in shown(result).items() if m == "random"} == {"t0", "t2", "t4", "t6"}


@pytest.mark.parametrize("mode", [mode for mode in PoolMode if mode is not PoolMode.BUDGET])
def test_a_mode_requires_its_number_of_approaches(mode: PoolMode):
    second = [decision(("t1",))] if mode is PoolMode.SINGLE else None
    with pytest.raises(InputError, match=f"the mode '{mode.value}' needs {mode.approaches} approach"):
        build([decision(("t1",))], second, rules=rules(mode=mode))


@pytest.mark.parametrize("labels", [("llm", "llm"), ("both", "llm"), ("llm", "random")])
def test_labels_that_would_mix_methods_are_refused(labels: tuple[str, str]):
    with pytest.raises(InputError, match="are not all different"):
        build([decision(("t1",))], [decision(("t2",))], labels=labels)


def test_a_target_named_twice_by_one_approach_is_not_proposed_by_both():
    assert shown(build([decision(("t1", "t1", "t2"))], []))["t1"] == "retriever"


def test_given_distractors_are_used_and_unknown_ones_refused():
    picks = {("p", "s0"): ("t9", "t1", "nowhere"), ("p", "s1"): ("t2",)}
    result = build([decision(("t1",))], [], distractors=given_distractors(picks))
    assert shown(result) == {"t1": "retriever", "t9": "random"}
    assert len(result.pools) == 1
    (refusal,) = result.refused
    assert "distractor on pair 'p', source 's0'" in refusal.where
    assert "'nowhere'" in refusal.reason


def test_sources_without_proposals_get_only_distractors_if_the_domain_says_so():
    first = [decision(("t1",))]
    result = build(first, [], rules=rules(unproposed=True))
    assert [pool.source for pool in result.pools] == ["s0", "s2"]
    assert list(shown(result, 1).values()) == ["random"]
    silent = build(first, [], rules=rules(unproposed=True), distractors=sampled(0, 1))
    assert [pool.source for pool in silent.pools] == ["s0"]


def test_distractors_of_a_source_do_not_depend_on_other_pairs_or_filters():
    first = [decision(("t1",)), decision(("t1",), "s2")]
    both, one = build(first, []), build(first, [], rules=rules(exclude=("Figure",)))
    assert one.pools == both.pools[:1]

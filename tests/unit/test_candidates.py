from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from abcdlink.candidates import NO_BATCH, NOTHING_PROPOSED, build_pools, split_batches, task_key
from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.domain import Domain, PoolSizes, SourceFilter
from abcdlink.linking.records import Decision

LABELS = ("retriever", "llm")
SOURCES = {"s0": "A long enough first sentence.", "s1": "Too short.", "s2": "As shown in Figure 2 of that paper."}


def domain(first: int = 2, second: int = 2, random: int = 1, exclude: tuple[str, ...] = ()) -> Domain:
    pool = PoolSizes(first=first, second=second, random=random)
    settings = SimpleNamespace(pool=pool, sources=SourceFilter(min_words=4, exclude=exclude))
    return cast("Domain", SimpleNamespace(settings=settings))


def corpus(targets: list[str] | None = None) -> Corpus:
    texts = targets if targets is not None else [f"Target sentence number {n}." for n in range(10)]
    source = Document(id="a", sentences=tuple(Sentence(id=i, text=t) for i, t in SOURCES.items()))
    target = Document(id="b", sentences=tuple(Sentence(id=f"t{n}", text=t) for n, t in enumerate(texts)))
    return Corpus(name="c", documents={"a": source, "b": target}, pairs=[Pair(id="p", source="a", target="b")])


def decision(targets: tuple[str, ...], source: str = "s0", pair: str = "p", approach: str = "x@2") -> Decision:
    return Decision(approach=approach, pair=pair, source=source, targets=targets)


def build(first: list[Decision], second: list[Decision], **changes: Any) -> Any:
    arguments = {
        "corpus": corpus(),
        "decisions": (first, second),
        "labels": LABELS,
        "domain": domain(),
        "run_key": "run",
        "seed": 1,
        "batch_of": {"p": 1},
    }
    return build_pools(**{**arguments, **changes})


def test_pool_is_the_union_of_both_top_lists_in_document_order_with_distractors():
    result = build([decision(("t7", "t3", "t1"))], [decision(("t3", "t5", "t9"))])
    (pool,) = result.pools
    methods = {c.target: c.method for c in pool.candidates}
    assert {t: m for t, m in methods.items() if m != "random"} == {"t7": "retriever", "t3": "both", "t5": "llm"}
    assert list(methods) == sorted(methods)
    distractors = {t for t, m in methods.items() if m == "random"}
    assert len(distractors) == 1
    assert not distractors & {"t7", "t3", "t1", "t5", "t9"}  # also not what was decided below the cut
    assert result.methods == {"retriever": 1, "both": 1, "llm": 1, "random": 1}


def test_source_that_no_approach_links_has_no_pool_and_is_counted():
    result = build([decision(())], [])
    assert result.pools == ()
    assert result.filtered[NOTHING_PROPOSED] == 2  # s0 and s2; s1 is too short


def test_filters_are_counted_by_reason():
    everything = [decision(("t1",), source) for source in SOURCES]
    result = build(everything, [], domain=domain(exclude=(r"\bFigure \d",)))
    assert [pool.source for pool in result.pools] == ["s0"]
    assert result.filtered == {"fewer than 4 words": 1, r"matches the excluded pattern \bFigure \d": 1}


def test_pair_in_no_batch_is_counted():
    assert build([decision(("t1",))], [], batch_of={}).filtered == {NO_BATCH: 3}


def test_foreign_ids_are_refused_and_the_rest_is_kept():
    first = [decision(("nowhere", "t1")), decision(("t1",), source="s9"), decision(("t1",), pair="q")]
    result = build(first, [])
    assert len(result.refused) == 3
    assert "nowhere" in result.refused[0].reason
    assert "t1" in {c.target for c in result.pools[0].candidates}


def test_a_repetition_of_a_decided_sentence_is_no_distractor():
    result = build([decision(("t0",))], [], corpus=corpus(["Same words.", " Same words. ", "Other words."]))
    assert [(c.target, c.method) for c in result.pools[0].candidates] == [("t0", "retriever"), ("t2", "random")]


def test_short_target_document_gives_as_many_distractors_as_it_has():
    result = build([decision(("t0",))], [], corpus=corpus(["Only one."]), domain=domain(random=5))
    assert len(result.pools[0].candidates) == 1


def test_keys_are_opaque_and_differ_by_run_pair_and_source():
    keys = {task_key(r, p, s) for r in "ab" for p in "cd" for s in "ef"}
    assert len(keys) == 8
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys)


def test_pools_are_the_same_in_another_process(tmp_path: Path):
    here = build([decision(("t1",))], [decision(("t2",))], domain=domain(random=4))
    code = (
        "from tests.unit.test_candidates import *;"
        "print(build([decision(('t1',))],[decision(('t2',))],domain=domain(random=4)).model_dump_json())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(Path(__file__).parents[2])}
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, env=environment)
    assert answer.stdout.strip() == here.model_dump_json()


def test_another_seed_gives_other_distractors():
    pools = {build([decision(("t1",))], [], seed=seed).pools[0].candidates for seed in range(20)}
    assert len(pools) > 1


@settings(deadline=None)
@given(
    first=st.lists(st.integers(0, 9), unique=True),
    second=st.lists(st.integers(0, 9), unique=True),
    sizes=st.tuples(*[st.integers(0, 4)] * 3),
    seed=st.integers(0, 1000),
)
def test_every_pool_is_well_formed(first: list[int], second: list[int], sizes: tuple[int, int, int], seed: int):
    lists = [tuple(f"t{n}" for n in numbers) for numbers in (first, second)]
    result = build([decision(lists[0])], [decision(lists[1])], domain=domain(*sizes), seed=seed)
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


@settings(deadline=None)
@given(count=st.integers(0, 40), batches=st.integers(1, 5))
def test_batches_are_even_and_in_order(count: int, batches: int):
    pairs = [Pair(id=str(n), source="a", target="b") for n in range(count)]
    assigned = list(split_batches(pairs, batches).values())
    assert assigned == sorted(assigned)
    sizes = [assigned.count(batch) for batch in range(1, batches + 1)]
    assert sum(sizes) == count
    assert max(sizes) - min(sizes) <= 1

"""The shortlist: two kinds, the best of each, and reasons that name them."""

from __future__ import annotations

import pytest

from abcdlink.errors import InputError
from abcdlink.evaluation import ApproachResult, Shortlist, shortlist
from abcdlink.linking.records import Approach, ApproachKind


def result(kind, cutoff, f1, answered=100, retriever="bm25"):
    mode = 4 if kind == "llm" else None
    approach = Approach(kind=ApproachKind(kind), retriever=retriever, cutoff=cutoff, prompt_mode=mode)
    return ApproachResult(approach=approach, precision=f1, recall=f1, f1=f1, sources=100, answered=answered)


def test_the_best_of_each_kind_is_taken_also_when_one_kind_is_better_throughout():
    chosen = shortlist(
        [result("llm", 7, 0.8), result("llm", 5, 0.7), result("retriever", 1, 0.4), result("retriever", 3, 0.5)]
    )
    assert (chosen.first.name, chosen.second.name) == ("bm25@3", "bm25@7+llm-listwise-4")
    text = " ".join(chosen.reasons)
    assert all(word in text for word in ("bm25@3 has", "50.0 %", "80.0 %", "Next to bm25@3: bm25@1, 40.0 %"))
    assert Shortlist.model_validate_json(chosen.model_dump_json()) == chosen


def test_an_approach_does_not_win_by_answering_only_the_easy_sources():
    chosen = shortlist([result("retriever", 3, 0.5), result("llm", 7, 0.9, answered=10), result("llm", 5, 0.6)])
    assert chosen.second.cutoff == 5


def test_sources_that_were_not_answered_are_said():
    chosen = shortlist([result("retriever", 3, 0.5), result("llm", 7, 0.9, answered=98)])
    assert any("did not answer 2 source(s)" in reason for reason in chosen.reasons)


def test_among_equals_the_smaller_cutoff_then_the_first_name_is_taken():
    equals = [result("retriever", 5, 0.5), result("retriever", 3, 0.5, retriever="hybrid"), result("retriever", 3, 0.5)]
    for results in (equals, equals[::-1]):
        assert shortlist([*results, result("llm", 7, 0.1)]).first.name == "bm25@3"


@pytest.mark.parametrize("kind", ["retriever", "llm"])
def test_one_kind_alone_is_an_error(kind):
    with pytest.raises(InputError, match="holds no"):
        shortlist([result(kind, 3, 0.5)])

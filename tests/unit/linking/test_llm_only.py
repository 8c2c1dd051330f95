"""An LLM alone: every target sentence is answered, in windows if the document does not fit."""

import json
from itertools import groupby

import pytest

from abcdlink.corpus import Document, Sentence
from abcdlink.linking.records import Setup
from abcdlink.llm.records import Outcome
from tests.helpers.fake_llm import error, fits, says
from tests.helpers.linking import TOO_LONG, A, B, approach, corpus_of, decide, document, shown

LLM_ONLY = approach(Setup.LLM_ONLY)
EVERYTHING = {source: tuple(B.position) for source in A.position}
ONE = {"a3": tuple(B.position)}
SHORT = document("a", 3)
FEW = {source: tuple(B.position) for source in SHORT.position}


def source(request):
    return request.prompt.rpartition("Source sentence: [")[2].split("]")[0]


def links_of(request, links):
    """Answer by gold links: source -> targets."""
    return says(json.dumps({i: i in links.get(source(request), ()) for i in request.schema["required"]}))


def fitting(most, links, of=B):
    """Refuse prompts that show more than ``most`` sentences of a document."""
    return lambda request: TOO_LONG if len(shown(request, of)) > most else links_of(request, links)


def accepted(asked, most):
    return [request for request in asked if len(shown(request, B)) <= most]


def test_every_target_sentence_is_answered_for_every_source_sentence(isolated_home):
    links = {"a0": ("b19", "b3"), "a7": ("b0",)}
    decisions, asked = decide(isolated_home, LLM_ONLY, EVERYTHING, lambda r: links_of(r, links))
    assert {d.source: set(d.targets) for d in decisions if d.targets} == {k: set(v) for k, v in links.items()}
    assert all((d.offered, d.unknown, d.outcome) == (tuple(B.position), (), Outcome.OK) for d in decisions)
    assert [d.source for d in decisions] == [source(request) for request in asked] == list(A.position)
    assert all(request.schema["required"] == list(B.position) for request in asked)
    assert "Candidates" not in asked[0].body["messages"][1]["content"]
    assert decisions[0].approach == "llm-only-4"


@pytest.mark.parametrize("most", [1, 3, 7, 10, 19])
def test_an_overlong_document_is_asked_about_in_consecutive_windows(isolated_home, most):
    links = {"a0": ("b0", "b9", "b10", "b19"), "a2": ("b4", "b5")}
    decisions, asked = decide(isolated_home, LLM_ONLY, FEW, fitting(most, links), corpus=corpus_of(SHORT, B))
    assert {d.source: d.targets for d in decisions if d.targets} == links
    assert all((d.unknown, d.outcome) == ((), Outcome.OK) for d in decisions)
    for one in FEW:
        windows = [shown(request, B) for request in accepted(asked, most) if source(request) == one]
        each = [i for window in windows for i in window]
        assert sorted(each, key=B.position.get) == list(B.position)  # each sentence is in one window
        for window in windows:
            start = B.position[window[0]]
            assert window == list(B.position)[start : start + len(window)]
    assert all(request.schema["required"] == shown(request, B) for request in asked)
    assert all(shown(request, SHORT) == list(SHORT.position) for request in asked)


def test_windows_are_found_once_and_questions_about_one_stay_together(isolated_home):
    _, asked = decide(isolated_home, LLM_ONLY, FEW, fitting(5, {}), corpus=corpus_of(SHORT, B))
    refused = [request for request in asked if len(shown(request, B)) > 5]
    assert {source(request) for request in refused} == {"a0"}
    assert len(refused) == 3  # the whole document and its two halves
    others = [(tuple(shown(request, B)), source(request)) for request in asked if source(request) != "a0"]
    together = [[one for _, one in group] for _, group in groupby(others, key=lambda pair: pair[0])]
    assert together == [["a1", "a2"]] * 4


def test_a_longer_source_sentence_gets_smaller_windows(isolated_home):
    def answer(request):
        most = 5 if source(request) == "a7" else 10
        return TOO_LONG if len(shown(request, B)) > most else links_of(request, {"a7": ("b1", "b12")})

    decisions, _ = decide(isolated_home, LLM_ONLY, EVERYTHING, answer)
    assert {d.source: d.targets for d in decisions if d.targets} == {"a7": ("b1", "b12")}
    assert all(d.outcome is Outcome.OK for d in decisions)


def test_a_window_that_failed_leaves_its_ids_unknown(isolated_home):
    def answer(request):
        window = shown(request, B)
        if len(window) > 10:
            return TOO_LONG
        return error(500) if "b0" in window else links_of(request, {"a3": ("b2", "b15")})

    decisions, _ = decide(isolated_home, LLM_ONLY, ONE, answer)
    assert decisions[0].targets == ("b15",)
    assert decisions[0].unknown == tuple(f"b{i}" for i in range(10))
    assert decisions[0].outcome is Outcome.FAILED
    assert decisions[0].detail.startswith("1 of 2 questions: ")


def test_a_longer_source_document_is_shortened_before_the_target_is_cut(isolated_home):
    a = document("a", 30)
    decisions, asked = decide(
        isolated_home, LLM_ONLY, {"a10": tuple(B.position)}, fitting(7, {}, of=a), corpus=corpus_of(a, B)
    )
    assert [len(shown(request, B)) for request in asked] == [20, 20]
    assert shown(asked[1], a) == [f"a{i}" for i in range(7, 14)]
    assert decisions[0].outcome is Outcome.OK


def test_a_question_that_never_fits_ends_as_too_long_and_unknown(isolated_home):
    b = document("b", 3)
    decisions, asked = decide(isolated_home, LLM_ONLY, {"a3": ("b0", "b1", "b2")}, TOO_LONG, corpus=corpus_of(A, b))
    assert (decisions[0].outcome, decisions[0].targets) == (Outcome.TOO_LONG, ())
    assert decisions[0].unknown == ("b0", "b1", "b2")
    prompts = [request.prompt for request in asked]
    assert len(set(prompts)) == len(prompts) <= 10  # never the same request again
    assert [shown(request, b) for request in asked[-2:]] == [["b0"], ["b1"]]


def test_missing_ids_are_asked_again_with_the_same_window(isolated_home):
    def answer(request):
        asked = request.schema["required"]
        return says(json.dumps({i: i == "b4" for i in asked if len(asked) == 2 or i not in ("b4", "b8")}))

    decisions, asked = decide(isolated_home, LLM_ONLY, ONE, answer)
    assert [request.schema["required"] for request in asked] == [list(B.position), ["b4", "b8"]]
    assert shown(asked[1], B) == list(B.position)
    assert asked[1].prompt.endswith("Decide on these sentences of B only: [b4], [b8].")
    assert (decisions[0].targets, decisions[0].unknown, decisions[0].outcome) == (("b4",), (), Outcome.OK)


def test_a_document_of_one_sentence_is_not_a_special_case(isolated_home):
    one = Document(id="b", sentences=(Sentence(id="b0", text="b says 0."),))
    decisions, asked = decide(isolated_home, LLM_ONLY, {"a0": ("b0",)}, fits, corpus=corpus_of(A, one))
    assert len(asked) == 1
    assert (decisions[0].targets, decisions[0].unknown) == ((), ())

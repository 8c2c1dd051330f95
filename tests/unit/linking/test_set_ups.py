"""Set-ups: one candidate a question, reasoning before the decision, and every target sentence without a retriever."""

from __future__ import annotations

import json
from itertools import groupby

import pytest

from abcdlink.corpus import Document, Sentence
from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.linking.linker import linker_for
from abcdlink.linking.records import Scoring, Setup
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Outcome
from tests.helpers.fake_llm import error, fits, says
from tests.helpers.linking import TOO_LONG, A, B, approach, corpus_of, decide, numbered_document, shown

PAIRWISE = approach(Setup.PAIRWISE)
YES, NO = says('{"related": true}'), says('{"related": false}')


def candidate(request):
    return request.prompt.rpartition("\nCandidate: [")[2].split("]")[0]


def by_candidate(answers, otherwise=NO):
    return lambda request: answers.get(candidate(request), otherwise)


def test_every_candidate_is_one_question_with_the_documents_first(isolated_home):
    decisions, asked = decide(isolated_home, PAIRWISE, {"a1": ("b7", "b5", "b2")}, by_candidate({"b2": YES, "b7": YES}))
    assert [(d.source, d.targets, d.unknown, d.outcome) for d in decisions] == [("a1", ("b7", "b2"), (), Outcome.OK)]
    assert [candidate(request) for request in asked] == ["b7", "b5", "b2"]
    for request in asked:
        assert request.schema == {
            "type": "object",
            "properties": {"related": {"type": "boolean"}},
            "required": ["related"],
            "additionalProperties": False,
        }
        assert shown(request, A) == list(A.position)
        assert shown(request, B) == list(B.position)
        assert request.prompt.index("Document B") < request.prompt.index("Source sentence: [a1]")
    assert asked[0].prompt.endswith('Source sentence: [a1] "a says 1."\nCandidate: [b7] "b says 7."')


def test_a_failed_candidate_is_unknown_and_the_others_stay_known(isolated_home):
    script = by_candidate({"b1": YES, "b2": error(500), "b3": says("I cannot say")})
    decisions, _ = decide(isolated_home, PAIRWISE, {"a0": ("b1", "b2", "b3", "b4")}, script)
    assert (decisions[0].targets, decisions[0].unknown) == (("b1",), ("b2", "b3"))
    assert decisions[0].outcome is Outcome.FAILED  # the worst of them
    assert decisions[0].detail.startswith("1 of 4 questions: HTTP 500")


def test_a_repaired_answer_marks_the_whole_decision(isolated_home):
    script = by_candidate({"b1": says("```\n{'related': True}\n```")})
    decisions, _ = decide(isolated_home, PAIRWISE, {"a0": ("b1", "b2")}, script)
    assert (decisions[0].targets, decisions[0].unknown, decisions[0].outcome) == (("b1",), (), Outcome.REPAIRED)


def test_only_the_unanswered_candidate_is_asked_again_once(isolated_home):
    asked_before = []

    def answer(request):
        again = candidate(request) in asked_before
        asked_before.append(candidate(request))
        return YES if again or candidate(request) == "b1" else says("{}")

    decisions, asked = decide(isolated_home, PAIRWISE, {"a0": ("b1", "b2")}, answer)
    assert [candidate(request) for request in asked] == ["b1", "b2", "b2"]
    assert asked[1].body["seed"] != asked[2].body["seed"]
    assert (decisions[0].targets, decisions[0].outcome) == (("b1", "b2"), Outcome.OK)

    decisions, asked = decide(
        isolated_home / "2", PAIRWISE, {"a0": ("b1", "b2")}, by_candidate({"b2": says("{}")}, YES)
    )
    assert [candidate(request) for request in asked] == ["b1", "b2", "b2"]
    assert (decisions[0].targets, decisions[0].unknown) == (("b1",), ("b2",))
    assert decisions[0].outcome is Outcome.MISSING_IDS


def test_an_overlong_question_is_shortened_once_around_its_two_sentences(isolated_home):
    def answer(request):
        return TOO_LONG if len(shown(request, A)) > 7 else YES

    decisions, asked = decide(isolated_home, PAIRWISE, {"a9": ("b1", "b15")}, answer)
    assert (decisions[0].targets, decisions[0].outcome) == (("b1", "b15"), Outcome.OK)
    assert [shown(request, B) for request in asked[2:]] == [["b0", "b1", "b2"], ["b14", "b15", "b16"]]
    assert shown(asked[2], A) == ["a6", "a7", "a8", "a9", "a10", "a11"]

    decisions, asked = decide(isolated_home / "2", PAIRWISE, {"a9": ("b1",)}, TOO_LONG)
    assert len(asked) == 2
    assert (decisions[0].outcome, decisions[0].unknown) == (Outcome.TOO_LONG, ("b1",))


def test_the_room_for_an_answer_does_not_depend_on_the_candidates(isolated_home):
    _, asked = decide(isolated_home, PAIRWISE, {"a0": tuple(B.position)}, fits)
    assert len({json.dumps(request.schema) for request in asked}) == 1
    assert len({request.body["max_completion_tokens"] for request in asked}) == 1


TWO_STEP = approach(Setup.TWO_STEP)
OFFERED = {"a0": ("b1", "b2")}


def test_thoughts_come_first_and_are_not_part_of_the_decision(isolated_home):
    answer = says('{"thoughts": "b1 says the same, b2 does not.", "b1": true, "b2": false}')
    decisions, asked = decide(isolated_home, TWO_STEP, OFFERED, answer)
    assert (decisions[0].targets, decisions[0].unknown, decisions[0].outcome) == (("b1",), (), Outcome.OK)
    assert list(asked[0].schema["properties"]) == asked[0].schema["required"] == ["thoughts", "b1", "b2"]
    _, plain = decide(isolated_home, approach(), OFFERED, says('{"b1": true, "b2": false}'))
    room = [request.body["max_completion_tokens"] for request in (*asked, *plain)]
    assert room[0] > room[1]
    assert decisions[0].approach == "bm25@3+llm-two-step-4"


def test_an_answer_without_thoughts_counts_and_missing_ids_are_asked_for_again(isolated_home):
    script = says('{"b1": true}'), says('{"thoughts": "hm", "b2": true}')
    decisions, asked = decide(isolated_home, TWO_STEP, OFFERED, *script)
    assert (decisions[0].targets, decisions[0].outcome) == (("b1", "b2"), Outcome.OK)
    assert asked[1].schema["required"] == ["thoughts", "b2"]


def test_a_decision_within_the_thoughts_does_not_count(isolated_home):
    written = [
        ('{"thoughts": "', {}),
        ("'b1': true, no", {}),
        ('", "b1": ', {}),
        ("false", {"true": 0.2, "false": 0.8}),
        (', "b2": ', {}),
        ("true", {"true": 0.7, "false": 0.3}),
        ("}", {}),
    ]
    answer = says("".join(text for text, _ in written), written=written)
    one = approach(Setup.TWO_STEP, scoring=Scoring.PROBABILITY)
    decisions, _ = decide(isolated_home, one, OFFERED, answer)
    assert decisions[0].scores == pytest.approx({"b1": 0.2, "b2": 0.7})


def test_the_key_of_the_thoughts_is_never_a_sentence_id(isolated_home):
    named = Document(id="b", sentences=tuple(Sentence(id=i, text=f"It says {i}.") for i in ("thoughts", "b")))
    answer = says('{"thoughts_": "hm", "thoughts": true, "b": false}')
    decisions, asked = decide(
        isolated_home, TWO_STEP, {"a0": ("thoughts", "b")}, answer, corpus=corpus_of(numbered_document("a", 1), named)
    )
    assert decisions[0].targets == ("thoughts",)
    assert asked[0].schema["required"] == ["thoughts_", "thoughts", "b"]
    assert '{"thoughts_": "..."' in asked[0].prompt


def test_without_schemas_the_form_is_described_in_words(isolated_home):
    from abcdlink.llm.request import in_words

    linker = linker_for(find_domain("news"), LLM(), TWO_STEP)
    (piece,) = linker.pieces("a0", ("b1",))
    schema = linker.question(piece, A, B).json_schema
    assert in_words(schema).endswith('{"thoughts": "...", "b1": true or false}')


def test_the_papers_setting_has_no_such_set_up():
    with pytest.raises(InputError, match="paper has no prompts for the set-up two-step"):
        linker_for(find_domain("news@paper"), LLM(), TWO_STEP)


LLM_ONLY = approach(Setup.LLM_ONLY)
EVERYTHING = {source_of: tuple(B.position) for source_of in A.position}
ONE = {"a3": tuple(B.position)}
SHORT = numbered_document("a", 3)
FEW = {source_of: tuple(B.position) for source_of in SHORT.position}


def source_of(request):
    return request.prompt.rpartition("Source sentence: [")[2].split("]")[0]


def links_of(request, links):
    """Answer by gold links: source_of -> targets."""
    return says(json.dumps({i: i in links.get(source_of(request), ()) for i in request.schema["required"]}))


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
    assert [d.source for d in decisions] == [source_of(request) for request in asked] == list(A.position)
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
        windows = [shown(request, B) for request in accepted(asked, most) if source_of(request) == one]
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
    assert {source_of(request) for request in refused} == {"a0"}
    assert len(refused) == 3  # the whole document and its two halves
    others = [(tuple(shown(request, B)), source_of(request)) for request in asked if source_of(request) != "a0"]
    together = [[one for _, one in group] for _, group in groupby(others, key=lambda pair: pair[0])]
    assert together == [["a1", "a2"]] * 4


def test_a_longer_source_sentence_gets_smaller_windows(isolated_home):
    def answer(request):
        most = 5 if source_of(request) == "a7" else 10
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
    a = numbered_document("a", 30)
    decisions, asked = decide(
        isolated_home, LLM_ONLY, {"a10": tuple(B.position)}, fitting(7, {}, of=a), corpus=corpus_of(a, B)
    )
    assert [len(shown(request, B)) for request in asked] == [20, 20]
    assert shown(asked[1], a) == [f"a{i}" for i in range(7, 14)]
    assert decisions[0].outcome is Outcome.OK


def test_a_question_that_never_fits_ends_as_too_long_and_unknown(isolated_home):
    b = numbered_document("b", 3)
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

"""The pairwise linker: one question per candidate, and one decision from all of them."""

import json

from abcdlink.linking.records import Setup
from abcdlink.llm.records import Outcome
from tests.helpers.fake_llm import error, fits, says
from tests.helpers.linking import TOO_LONG, A, B, approach, decide, shown

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

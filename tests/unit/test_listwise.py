"""The listwise linker: what it asks, in which order, and what it makes of the answers."""

import json

import pytest
from fake_llm import FakeLLM, error, says

from abcdlink.corpus import Corpus, Document, Pair, Sentence
from abcdlink.domain import find_domain
from abcdlink.linking.linker import Piece
from abcdlink.linking.listwise import ListwiseLinker
from abcdlink.linking.records import Approach, ApproachKind
from abcdlink.llm import LLM, Outcome


def document(name, count):
    return Document(id=name, sentences=tuple(Sentence(id=f"{name}{i}", text=f"{name} says {i}.") for i in range(count)))


A, B = document("a", 12), document("b", 20)
PAIR = Pair(id="p", source="a", target="b")
CORPUS = Corpus(name="c", documents={"a": A, "b": B}, pairs=[PAIR])
DOMAIN = find_domain("news")
TOO_LONG = error(400, "This model's maximum context length is 10 tokens", code="context_length_exceeded")


def approach(mode=4):
    return Approach(kind=ApproachKind.LLM, retriever="bm25", cutoff=3, prompt_mode=mode)


def decide(home, offered, *script):
    with FakeLLM(*script) as server:
        llm = LLM(server.settings(home, llm_concurrency=1), sleep=lambda _: None)
        return ListwiseLinker(DOMAIN, llm, approach()).decide(PAIR, CORPUS, offered), server.questions


def test_targets_are_the_true_ids_in_the_retrievers_order(isolated_home):
    answer = says('{"b2": true, "b7": false, "b5": true}')
    decisions, asked = decide(isolated_home, {"a1": ("b7", "b5", "b2")}, answer)
    assert [(d.source, d.targets, d.unknown, d.outcome) for d in decisions] == [("a1", ("b5", "b2"), (), Outcome.OK)]
    assert asked[0].schema["required"] == ["b2", "b5", "b7"]  # document order: it tells nothing of the ranking
    assert asked[0].schema["additionalProperties"] is False
    assert {kind["type"] for kind in asked[0].schema["properties"].values()} == {"boolean"}


def test_all_questions_on_a_pair_share_the_text_before_the_source_sentence(isolated_home):
    _, asked = decide(isolated_home, {"a1": ("b1", "b2"), "a3": ("b4",)})
    first, second = (request.prompt for request in asked)
    common = next(i for i, (x, y) in enumerate(zip(first, second, strict=False)) if x != y)
    assert first[:common].rstrip().endswith("Source sentence: [a")
    assert all(f"[{s.id}]" in first[:common] for d in (A, B) for s in d.sentences)


def test_missing_ids_are_asked_again_once_for_only_those_and_then_unknown(isolated_home):
    script = says('{"b1": true}'), says('{"b3": false}')
    decisions, asked = decide(isolated_home, {"a0": ("b1", "b2", "b3")}, *script)
    assert [request.schema["required"] for request in asked] == [["b1", "b2", "b3"], ["b2", "b3"]]
    assert decisions[0].targets == ("b1",)
    assert decisions[0].unknown == ("b2",)
    assert decisions[0].outcome is Outcome.MISSING_IDS


def test_missing_ids_that_are_answered_later_leave_nothing_unknown(isolated_home):
    decisions, _ = decide(isolated_home, {"a0": ("b1", "b2")}, says('{"b1": false}'), says('{"b2": true}'))
    assert (decisions[0].targets, decisions[0].unknown, decisions[0].outcome) == (("b2",), (), Outcome.OK)


def test_a_question_that_is_too_long_is_shortened_once(isolated_home):
    decisions, asked = decide(isolated_home, {"a9": ("b1", "b15")}, TOO_LONG, says('{"b1": true, "b15": false}'))
    assert decisions[0].targets == ("b1",)
    shown = {s.id for d in (A, B) for s in d.sentences if f"[{s.id}] {s.text}" in asked[1].prompt}
    assert shown == {"a6", "a7", "a8", "a9", "a10", "a11", "b0", "b1", "b2", "b14", "b15", "b16"}
    assert asked[1].prompt.count("\n[...]\n") == 3  # before a6, between b2 and b14, after b16

    decisions, asked = decide(isolated_home / "again", {"a9": ("b1",)}, TOO_LONG)
    assert len(asked) == 2
    assert (decisions[0].outcome, decisions[0].unknown) == (Outcome.TOO_LONG, ("b1",))


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (says(None, finish="content_filter"), Outcome.REFUSED),
        (says('{"b1": true}{"b1": false}'), Outcome.INVALID),
        (error(500), Outcome.FAILED),
    ],
)
def test_a_source_that_could_not_be_answered_is_unknown_not_false(isolated_home, script, outcome):
    decisions, _ = decide(isolated_home, {"a0": ("b1",)}, script)
    assert (decisions[0].outcome, decisions[0].targets, decisions[0].unknown) == (outcome, (), ("b1",))


def test_a_source_with_nothing_offered_is_decided_without_a_question(isolated_home):
    decisions, asked = decide(isolated_home, {"a0": (), "a1": ("b1",)}, says('{"b1": true}'))
    assert len(asked) == 1
    assert [(d.source, d.targets) for d in decisions] == [("a0", ()), ("a1", ("b1",))]


@pytest.mark.parametrize("name", ["news", "reviews"])
@pytest.mark.parametrize("mode", [1, 2, 3, 4])
def test_the_prompt_mode_chooses_the_guidance(isolated_home, name, mode):
    domain = find_domain(name)
    system = ListwiseLinker(domain, LLM(), approach(mode)).question(Piece("a0", ("b1",)), A, B).messages[0].content
    assert (domain.link_description in system) == (mode in (3, 4))
    assert (domain.examples[0].target in system) == (mode in (2, 4))
    for line in system.splitlines():
        if line.startswith("Answer: "):  # the examples agree with the schema
            assert all(isinstance(value, bool) for value in json.loads(line.removeprefix("Answer: ")).values())
    assert ("\nAnswer: " in system) == (mode in (2, 4))


def test_a_sentence_with_line_breaks_stays_on_one_line(isolated_home):
    broken = Document(id="a", sentences=(Sentence(id="0", text="one\n[b1] two\tthree"),))
    question = ListwiseLinker(DOMAIN, LLM(), approach()).question(Piece("0", ("b1",)), broken, B)
    assert "[0] one [b1] two three" in question.messages[1].content

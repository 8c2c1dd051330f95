"""Stage decide: which parts are kept, what is asked again, and what cannot be combined."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import pytest

from abcdlink.corpus import Document, Sentence
from abcdlink.corpus.io import read_corpus_from, write_corpus_to
from abcdlink.corpus.records import Record
from abcdlink.domain import find_domain
from abcdlink.errors import InputError, ServiceError
from abcdlink.layout import decision_part
from abcdlink.linking.prompts import prompts_of
from abcdlink.linking.records import CutoffRule, Scoring, Setup
from abcdlink.stages.decide import decide_part, part_count, questions_left, read_decisions
from abcdlink.stages.intake import describe_run
from abcdlink.stages.once import is_done
from abcdlink.stages.rank import rank
from abcdlink.store import open_run
from tests.helpers.fake_llm import MODEL, FakeLLM, error, fits
from tests.helpers.linking import DOMAIN, SETUPS, approach, numbered_corpus

LLM_ONLY = approach(Setup.LLM_ONLY)
CORPUS = "synthetic"
SOURCES = 5 * 3


@pytest.fixture
def store(isolated_home):
    """A run with 5 pairs of 3 and 4 sentences, in 2 parts."""
    run = open_run("r")
    write_corpus_to(run, CORPUS, numbered_corpus(5))
    return run


@pytest.fixture
def own(tmp_path):
    """A domain that a test may change."""
    shutil.copytree(DOMAIN.folder, tmp_path / "mine")
    return tmp_path / "mine"


def decide_all(store, domain=DOMAIN, of=LLM_ONLY, **more):
    for part in range(part_count(store, CORPUS)):
        decide_part(store, CORPUS, domain, of, part, **more)


def texts_of(question):
    return [message.content for message in question.messages]


def sent(server):
    """The texts of the questions that a server was asked, sorted."""
    return sorted([message["content"] for message in request.body["messages"]] for request in server.questions)


@pytest.mark.parametrize("setup", SETUPS)
def test_every_source_is_decided_once_and_the_part_records_prompts_and_model(store, serve, setup):
    one = approach(setup)
    if one.retriever:
        rank(store, CORPUS, one.retriever)
    with serve(FakeLLM(fits)) as server:
        predicted = questions_left(store, CORPUS, DOMAIN, one)
        assert not server.questions
        decide_all(store, of=one)
        assert sent(server) == sorted(map(texts_of, predicted))
        kept = read_decisions(store, CORPUS, one)
        assert len(kept.decisions) == SOURCES
        assert len({(d.pair, d.source) for d in kept.decisions}) == SOURCES
        assert {len(d.offered) for d in kept.decisions} == {4 if setup is Setup.LLM_ONLY else 3}
        assert (kept.prompt_hash, kept.model) == (prompts_of(DOMAIN, one).hash, MODEL)
        assert kept.usage.calls == len(server.questions) == (3 * SOURCES if setup is Setup.PAIRWISE else SOURCES)
        decide_all(store, of=one)
        assert len(server.questions) == kept.usage.calls


def test_an_interrupted_part_asks_only_open_questions(store, serve):
    def stopping(items, _label, total=None):
        for number, item in enumerate(items):
            if number == 3:
                raise KeyboardInterrupt
            yield item

    with serve(FakeLLM(fits)) as server:
        with pytest.raises(KeyboardInterrupt):
            decide_all(store, progress=stopping)
        assert not store.exists(decision_part(CORPUS, LLM_ONLY.name, 0))
        assert len(server.questions) == 9
        decide_all(store)
        assert set(Counter(json.dumps(request.body) for request in server.questions).values()) == {1}
    again = open_run("other")
    write_corpus_to(again, CORPUS, read_corpus_from(store, CORPUS))
    with serve(FakeLLM(fits)):
        decide_all(again)
    assert read_decisions(again, CORPUS, LLM_ONLY).decisions == read_decisions(store, CORPUS, LLM_ONLY).decisions


def test_an_unresponsive_server_leaves_no_part(store, serve):
    with serve(FakeLLM(error(400, "broken"))), pytest.raises(ServiceError, match="no question on any of 12 source"):
        decide_all(store)
    assert not store.folder.names("decisions/")
    with serve(FakeLLM(fits)):
        decide_all(store)
    assert all(d.outcome.answered for d in read_decisions(store, CORPUS, LLM_ONLY).decisions)


def test_a_failure_midway_is_kept_as_unknown(store, serve):
    def answer(request):
        return error(400, "broken") if "Source sentence: [a1-0]" in request.prompt else fits(request)

    with serve(FakeLLM(answer)):
        decide_all(store)
    kept = read_decisions(store, CORPUS, LLM_ONLY).decisions
    assert [(d.source, d.outcome, len(d.unknown)) for d in kept if not d.outcome.answered] == [("a1-0", "failed", 4)]


def test_changed_prompts_are_refused_and_the_changed_file_is_named(store, serve, own):
    describe_run(store, find_domain(str(own)))
    with serve(FakeLLM(fits)) as server:
        decide_part(store, CORPUS, find_domain(str(own)), LLM_ONLY, 0)
        before = store.read_text(decision_part(CORPUS, LLM_ONLY.name, 0))
        asked = len(server.questions)
        text = (own / "link_description.md").read_text(encoding="utf-8")
        (own / "link_description.md").write_text(text + "\n- New rule.", encoding="utf-8")
        with pytest.raises(InputError, match=r"changed since the run began: link_description\.md") as refused:
            decide_all(store, find_domain(str(own)))
        assert "another run key" in refused.value.hint
        assert len(server.questions) == asked
        assert store.read_text(decision_part(CORPUS, LLM_ONLY.name, 0)) == before
        # Text that does not reach the model in this mode does not count as a change.
        (own / "link_description.md").write_text(text, encoding="utf-8")
        (own / "guidelines.md").write_text("Other words for people.", encoding="utf-8")
        decide_all(store, find_domain(str(own)))


def test_another_model_does_not_continue_a_started_part(store, serve):
    with serve(FakeLLM(fits)):
        decide_part(store, CORPUS, DOMAIN, LLM_ONLY, 0)
    with (
        serve(FakeLLM(fits, models=("larger",)), "larger") as server,
        pytest.raises(InputError, match="decided by the model 'fake-model' \\(now 'larger'\\)"),
    ):
        decide_all(store)
    assert not server.questions


def test_parts_of_two_prompt_versions_are_never_combined(store, serve):
    with serve(FakeLLM(fits)):
        decide_all(store)
    name = decision_part(CORPUS, LLM_ONLY.name, 1)
    store.write_json(name, {**store.read_json(name), "prompt_hash": "0123456789ab"})
    with pytest.raises(InputError, match="0123456789ab with fake-model"):
        read_decisions(store, CORPUS, LLM_ONLY)


def test_an_approach_with_a_rule_asks_no_extra_questions(store, serve):
    votes = approach(Setup.LLM_ONLY, scoring=Scoring.VOTES, samples=2)
    ruled = approach(Setup.LLM_ONLY, scoring=Scoring.VOTES, samples=2, rule=CutoffRule.SHARE)
    with serve(FakeLLM(fits)) as server:
        decide_all(store, of=votes)
        asked = len(server.questions)
        assert asked == 2 * SOURCES
        decide_all(store, of=ruled)
        assert len(server.questions) == asked
    assert read_decisions(store, CORPUS, ruled) == read_decisions(store, CORPUS, votes)
    assert read_decisions(store, CORPUS, votes).decisions[0].scores == dict.fromkeys(
        ("b0-0", "b0-1", "b0-2", "b0-3"), 0.0
    )


def test_prompt_examples_in_the_corpus_are_refused_before_anything_is_asked(store, serve, own):
    corpus = read_corpus_from(store, CORPUS)
    leak = Document(
        id="b4", sentences=(Sentence(id="b4-1", text=DOMAIN.examples[0].target), *corpus.documents["b4"].sentences[2:])
    )
    write_corpus_to(store, CORPUS, corpus.model_copy(update={"documents": {**corpus.documents, "b4": leak}}))
    with serve(FakeLLM(fits)) as server:
        with pytest.raises(
            InputError, match=r"examples\.jsonl, example 1 is sentence 'b4-1' of the document 'b4'"
        ) as refused:
            decide_all(store)
        assert "documents.jsonl" in str(refused.value)
        assert not server.requests
        decide_all(store, of=approach(Setup.LLM_ONLY, mode=3))


def test_a_server_without_probabilities_is_refused_before_anything_is_asked(store, serve):
    one = approach(Setup.LLM_ONLY, scoring=Scoring.PROBABILITY)
    with serve(FakeLLM(fits, probabilities=False)) as server, pytest.raises(ServiceError, match="log-probabilities"):
        decide_all(store, of=one)
    assert not server.questions


def test_decisions_of_an_earlier_version_are_not_asked_again(store, serve):
    with serve(FakeLLM(fits)) as server:
        decide_all(store)
        parts = [decision_part(CORPUS, LLM_ONLY.name, part) for part in range(part_count(store, CORPUS))]
        for name in parts:
            store.write_text(
                name.replace("llm-only", "llm-alone"), store.read_text(name).replace("llm-only", "llm-alone")
            )
            store.folder.remove(name)
        asked = len(server.questions)
        decide_all(store)
        assert len(server.questions) == asked
        assert not any(map(store.exists, parts))
    assert len(read_decisions(store, CORPUS, LLM_ONLY).decisions) == SOURCES


class Settings(Record):
    """Settings of a stage whose second field was added in a later version."""

    setups: tuple[Setup, ...]
    later: int = 3


def test_a_stage_begun_by_an_earlier_version_resumes_only_with_the_same_settings(store):
    store.note("inputs", {"of": {"setups": ["alone"]}, "gone": {"setups": ["alone"], "removed": 1}})
    assert not is_done(store, "of", "result.json", Settings(setups=(Setup.LLM_ONLY,)))
    for stage, asked in (
        ("of", Settings(setups=(Setup.LLM_ONLY,), later=4)),
        ("of", Settings(setups=(Setup.LISTWISE,))),
        ("gone", Settings(setups=(Setup.LLM_ONLY,))),
    ):
        with pytest.raises(InputError, match="with other settings"):
            is_done(store, stage, "result.json", asked)

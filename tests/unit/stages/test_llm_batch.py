"""A run's questions by batch: asked once, only if useful, and never waited for endlessly."""

from __future__ import annotations

import pytest

from abcdlink.corpus.io import write_corpus_to
from abcdlink.errors import InputError, ServiceError
from abcdlink.linking.records import CutoffRule, Scoring, Setup
from abcdlink.stages.decide import decide_part, part_count, read_decisions
from abcdlink.stages.execution import ask_by_batch, look_at_batch
from abcdlink.store import open_run
from tests.helpers.fake_batch import FakeBatch
from tests.helpers.fake_llm import fits
from tests.helpers.linking import DOMAIN, approach, numbered_corpus

CORPUS = "synthetic"
LLM_ONLY = approach(Setup.LLM_ONLY)
VOTES = [approach(Setup.LLM_ONLY, scoring=Scoring.VOTES, samples=3, rule=rule) for rule in (None, CutoffRule.SHARE)]


@pytest.fixture
def store(isolated_home):
    """A run with 2 pairs of 3 and 4 sentences."""
    run = open_run("r")
    write_corpus_to(run, CORPUS, numbered_corpus(2))
    return run


def decide_all(store, of):
    for part in range(part_count(store, CORPUS)):
        decide_part(store, CORPUS, DOMAIN, of, part)
    return read_decisions(store, CORPUS, of).decisions


def lines(server):
    return [line for job in server.jobs.values() for line in server.files[job["input_file_id"]].splitlines()]


def test_shared_questions_are_asked_once_and_the_stage_finds_all_answers(store, serve):
    with serve(FakeBatch(fits)) as server:
        assert ask_by_batch(store, CORPUS, DOMAIN, VOTES).waiting == 3 * 6
        assert not ask_by_batch(store, CORPUS, DOMAIN, VOTES).done
        assert len(lines(server)) == 3 * 6
        server.end()
        assert look_at_batch(store, CORPUS).done
        assert len(decide_all(store, VOTES[0])) == 6
        assert server.questions == []


@pytest.mark.parametrize("status", ["failed", "expired"])
def test_a_failed_batch_is_not_resent_and_the_stage_asks_directly(store, serve, status):
    with serve(FakeBatch(fits)) as server:
        ask_by_batch(store, CORPUS, DOMAIN, [LLM_ONLY])
        server.end(status, answered=0)
        for _ in range(2):
            state = ask_by_batch(store, CORPUS, DOMAIN, [LLM_ONLY])
            assert (state.done, state.open) == (True, 6)
        assert len(server.jobs) == 1
        assert all(one.outcome.answered for one in decide_all(store, LLM_ONLY))
        assert len(server.questions) == 6


def test_with_everything_answered_nothing_is_sent_or_waited_for(store, serve):
    with serve(FakeBatch(fits)) as server:
        decide_all(store, LLM_ONLY)
        assert ask_by_batch(store, CORPUS, DOMAIN, [LLM_ONLY]).done
        assert not server.jobs


def test_what_the_stage_would_refuse_is_refused_before_paying(store, serve):
    one = approach(Setup.LLM_ONLY, scoring=Scoring.PROBABILITY)
    with serve(FakeBatch(fits, probabilities=False)) as server, pytest.raises(ServiceError, match="log-probabilities"):
        ask_by_batch(store, CORPUS, DOMAIN, [one])
    assert not server.jobs
    with pytest.raises(InputError, match=r"has no llm/synthetic-batch\.json yet"):
        look_at_batch(store, CORPUS)

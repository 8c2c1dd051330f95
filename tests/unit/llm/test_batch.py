"""Questions sent as a batch: sent once, read once answered, found by whoever asks later."""

from __future__ import annotations

import json
import os
import signal

import pytest

from abcdlink.errors import BudgetError, InputError, ServiceError
from abcdlink.llm import batch
from abcdlink.llm.batch import BatchTicket, collect, submit
from abcdlink.llm.batch_files import BatchStore
from abcdlink.llm.budget import Sum
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Outcome
from tests.helpers.fake_batch import FakeBatch
from tests.helpers.fake_llm import FakeLLM, Response, error, hangs_up, says
from tests.helpers.forked import forked
from tests.helpers.llm_batch import YES_NO, question

PRICES = {"llm_price_prompt": 10.0, "llm_price_completion": 100.0}
TEXTS = ["a", "b", "c"]


def pending(llm: LLM) -> set[str]:
    """Return the batches whose answers have not been read yet."""
    store = BatchStore(llm.cache.root / "batches", llm.endpoint.shown_url)
    return {batch.name for batch in store.batches() if not batch.ended}


def asked(texts=TEXTS, **changed):
    return [question(text, **changed) for text in texts]


def lines_sent(server: FakeBatch) -> list[dict]:
    return [
        json.loads(line) for job in server.jobs.values() for line in server.files[job["input_file_id"]].splitlines()
    ]


def test_answers_of_a_batch_are_found_by_whoever_asks(isolated_home):
    with FakeBatch(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home, **PRICES))
        ticket = submit(llm, asked())
        waiting = collect(llm, ticket)
        assert (waiting.waiting, waiting.done, waiting.statuses) == (3, False, {"validating": 1})
        server.end()
        state = collect(llm, ticket)
        again = collect(llm, BatchTicket.model_validate_json(ticket.model_dump_json()))
        answers = LLM(server.settings(isolated_home)).ask_many(asked())
    assert (state.answered, state.open, state.done, state.reasons) == (3, 0, True, {})
    assert state.usage.calls == 3
    assert state.usage.cost == pytest.approx(3 * (100 * 10 + 10 * 100) / 1e6 / 2), "half the price"
    assert again == state
    assert all(answer.from_cache and answer.outcome is Outcome.OK for answer in answers)
    assert server.questions == []


def test_a_batch_asks_exactly_what_single_requests_would(isolated_home, tmp_path):
    with FakeBatch(says(YES_NO)) as server:
        submit(LLM(server.settings(isolated_home)), asked(["é \u2028 a", "b"], seed=7))
        LLM(server.settings(tmp_path / "other", llm_concurrency=1)).ask_many(asked(["é \u2028 a", "b"], seed=7))
        sent = lines_sent(server)
    assert [line["body"] for line in sent] == [request.body for request in server.questions]
    assert {(line["method"], line["url"]) for line in sent} == {("POST", "/v1/chat/completions")}
    assert len({line["custom_id"] for line in sent}) == 2
    (job,) = server.jobs.values()
    assert (job["endpoint"], job["completion_window"]) == ("/v1/chat/completions", "24h")


def test_only_questions_neither_answered_nor_pending_are_sent(isolated_home):
    with FakeBatch(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home))
        llm.ask(question("a"))
        first = submit(llm, asked(["a", "b", "b"]))
        second = submit(LLM(server.settings(isolated_home)), asked(["b", "c"]))
        assert submit(llm, asked(["a"])) == BatchTicket(batches=())
        assert [line["body"]["messages"][0]["content"] for line in lines_sent(server)] == ["b", "c"]
        assert set(first.batches) < set(second.batches)
        assert pending(llm) == set(second.batches)
        server.end()
        assert collect(llm, second).answered == 2
        assert pending(llm) == set()
        assert submit(llm, asked()) == BatchTicket(batches=())


def test_a_large_batch_is_sent_in_several_files(isolated_home, monkeypatch):
    monkeypatch.setattr("abcdlink.llm.batch.MOST_QUESTIONS", 2)
    with FakeBatch(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home))
        ticket = submit(llm, asked("abcde"))
        assert len(ticket.batches) == len(server.jobs) == 3
        server.end()
        assert collect(llm, ticket).answered == 5


@pytest.mark.parametrize(
    ("status", "answered", "reasons"),
    [
        ("expired", 2, {"batch_expired": 1}),
        ("cancelled", 1, {"cancelled": 2}),
        ("completed", 1, {"completed": 2}),
        ("expired", 0, {"batch_expired": 3}),
    ],
)
def test_questions_that_a_batch_leaves_open_are_counted_and_asked_as_usual(isolated_home, status, answered, reasons):
    with FakeBatch(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home))
        ticket = submit(llm, asked())
        server.end(status, answered)
        state = collect(llm, ticket)
        answers = llm.ask_many(asked())
    assert (state.done, state.answered, state.open) == (True, answered, 3 - answered)
    assert state.reasons == reasons
    assert [answer.from_cache for answer in answers] == [True] * answered + [False] * (3 - answered)


def test_a_failed_batch_says_why_and_can_be_resent(isolated_home):
    with FakeBatch(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home))
        ticket = submit(llm, asked())
        server.end("failed", 0, errors=[{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}])
        assert collect(llm, ticket).reasons == {"token_limit_exceeded": 3}
        assert submit(llm, asked()) != ticket
    assert len(server.jobs) == 2


def test_every_outcome_is_kept_except_temporary_ones(isolated_home):
    script = {
        "good": says(YES_NO),
        "invalid": says("no"),
        "refused": says(None, refusal="no"),
        "missing": says('{"11": true}'),
        "truncated": says("{", finish="length"),
        "too long": error(400, code="context_length_exceeded"),
        "failed": error(500, "broken"),
        "empty": Response(200, b"{}"),
    }
    with FakeBatch(lambda request: script[request.prompt]) as server:
        llm = LLM(server.settings(isolated_home))
        ticket = submit(llm, asked(script))
        server.end()
        state = collect(llm, ticket)
        kept = {text: llm.kept(question(text)) for text in script}
    assert (state.answered, state.open) == (4, 4)
    assert state.usage.calls == 5, "the truncated one was paid for too"
    assert state.reasons == {
        "truncated": 1,
        "context_length_exceeded": 1,
        "broken": 1,
        "the reply contains no choices": 1,
    }
    assert {text: answer.outcome for text, answer in kept.items() if answer} == {
        "good": Outcome.OK,
        "invalid": Outcome.INVALID,
        "refused": Outcome.REFUSED,
        "missing": Outcome.MISSING_IDS,
    }


def test_unreadable_lines_leave_their_questions_open(isolated_home):
    with FakeBatch(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home))
        ticket = submit(llm, asked())
        server.end()
        (job,) = server.jobs.values()
        lines = server.files[job["output_file_id"]].splitlines()
        server.files[job["output_file_id"]] = (
            f"{lines[0]}\n{{half\n[]\nnull\n{lines[2].replace('custom_id', 'other')}\n"
        )
        state = collect(llm, ticket)
    assert (state.answered, state.open) == (1, 2)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_killed_while_submitting_sends_nothing_twice(isolated_home, when):
    with FakeBatch(says(YES_NO)) as server:

        def submit_and_die() -> None:
            name = "_send" if when == "before" else "_sent"
            setattr(batch, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            submit(LLM(server.settings(isolated_home)), asked())

        process = forked(submit_and_die)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert len(server.jobs) == (when == "after")
        llm = LLM(server.settings(isolated_home))
        ticket = submit(llm, asked())
        assert len(server.jobs) == 1
        assert len(lines_sent(server)) == 3
        server.end()
        assert collect(llm, ticket).answered == 3


@pytest.mark.parametrize("lost", ["POST /batches", "POST /files"])
def test_after_a_lost_reply_the_server_is_checked_before_resending(isolated_home, lost):
    with FakeBatch(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home))
        server.before[lost] = hangs_up()
        if lost == "POST /batches":
            with pytest.raises(ServiceError):
                submit(llm, asked())
        ticket = submit(llm, asked())
        server.end()
        assert collect(llm, ticket).answered == 3
    assert len(server.jobs) == 1


def test_a_batch_that_the_server_rejects_is_not_waited_for(isolated_home):
    with FakeBatch(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home), account="run")
        server.before["POST /batches"] = error(400, "no such model for batches")
        with pytest.raises(ServiceError, match="no such model for batches"):
            submit(llm, asked())
        assert pending(llm) == set()
        assert llm.budget.sums()[1] == (0, 0)
        assert submit(llm, asked()).batches


def test_a_server_without_a_batch_api_is_reported(isolated_home):
    with FakeLLM() as server, pytest.raises(ServiceError) as without:
        submit(LLM(server.settings(isolated_home)), asked())
    assert "without a batch" in without.value.hint


def test_an_unknown_ticket_is_reported(isolated_home):
    with FakeBatch() as server, pytest.raises(InputError, match="'x'"):
        collect(LLM(server.settings(isolated_home)), BatchTicket(batches=("x",)))


def test_a_batch_reserves_budget_at_half_price_and_is_then_booked(isolated_home):
    with FakeBatch(says(YES_NO)) as server:
        settings = server.settings(isolated_home, llm_budget=1.0, **PRICES)
        llm = LLM(settings, account="run")
        llm.ask(question("first, so that the small question is paid"))
        spent, _ = llm.budget.sums()
        most = sum(llm.endpoint.most(llm.content(each)).cost for each in asked())
        ticket = submit(llm, asked())
        assert llm.budget.sums()[1].cost == pytest.approx(most / 2)
        server.end(answered=2)
        state = collect(LLM(settings), ticket)
    assert llm.budget.sums() == (Sum(spent.tokens + 220, pytest.approx(spent.cost + state.usage.cost)), Sum(0, 0))


def test_a_batch_beyond_the_budget_is_not_sent(isolated_home):
    with FakeBatch(says(YES_NO)) as server:
        llm = LLM(server.settings(isolated_home, llm_budget_tokens=1500), account="run")
        with pytest.raises(BudgetError):
            submit(llm, asked())
        assert pending(llm) == set()
    assert (server.jobs, server.files) == ({}, {})

"""What the terminal shows: ``abcdlink --help``, quick and in panels, and tables in which nothing is cut off."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from abcdlink.cli.app import OVERVIEW, PANELS, help_only, make_app, overview_of
from abcdlink.cli.output import print_table
from abcdlink.layout import GENERATION
from abcdlink.progress import terminal
from abcdlink.store import open_run
from tests.helpers.fake_llm import FakeLLM, Request, Response, by_rule, error, says
from tests.helpers.forked import forked_command

UPDATE = "python -c 'from abcdlink.cli.app import write_overview; write_overview()'"


def test_the_overview_is_up_to_date() -> None:
    assert json.loads(OVERVIEW.read_text(encoding="utf-8")) == overview_of(make_app()), f"update it: {UPDATE}"


def test_the_overview_matches_the_help_of_every_command() -> None:
    shown = [CliRunner().invoke(app, ["--help"]).stdout for app in (help_only(), make_app())]
    assert shown[0] == shown[1]
    places = [shown[0].index(f" {panel} ─") for panel in (*PANELS, "Expert")]
    assert places == sorted(places)


def test_help_takes_less_than_half_a_second_of_cpu() -> None:
    command = Path(sys.executable).with_name("abcdlink")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([command, "--help"], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "annotate" in done.stdout
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


WORD = st.text("ab[1]-@", min_size=1, max_size=24)
ROWS = st.integers(2, 7).flatmap(lambda n: st.lists(st.lists(WORD, min_size=n, max_size=n), min_size=1, max_size=3))


@given(ROWS, st.integers(20, 160), st.lists(st.sampled_from(["cost, at most", "F1", "calls"]), min_size=7, max_size=7))
def test_names_figures_and_title_are_never_cut_off(rows: list[list[str]], width: int, heads: list[str]) -> None:
    told = io.StringIO()
    title = "what the LLMs have still to be asked, in a title that is longer than many a table"
    console = Console(file=told, width=width)
    print_table(title, heads[: len(rows[0])], rows, to=console)
    shown = told.getvalue()
    assert title in shown
    for row in rows:
        assert all(f" {cell} " in shown for cell in row)
    for word in " ".join(heads[: len(rows[0])]).split():
        assert word in shown


QUESTIONS = 3
UNDER_WAY = 4
"""Most pending questions of a command."""


def test_an_interrupted_command_says_that_work_is_saved_and_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted = threading.Event()

    def held_back(_: Request) -> Response:
        if len(server.questions) >= QUESTIONS:
            interrupted.wait(60)
        return says('{"sentence": "The road stays shut, officials said."}')

    with FakeLLM(held_back) as server:
        server.use(monkeypatch)
        process, stderr = forked_command("generate", "spring")
        while len(server.questions) < QUESTIONS:
            assert process.is_alive()
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        interrupted.set()
        with stderr:
            said = stderr.read()
        process.join()
    assert process.exitcode == 130
    assert "Completed work is saved" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("again", [False, True])
def test_after_ctrl_c_no_call_is_tried_again_and_a_second_one_stops_at_once(
    again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = threading.Event()

    def held_back(_: Request) -> Response:
        interrupted.wait(60)
        return error(503)

    with FakeLLM(held_back) as server:
        server.use(monkeypatch)
        process, stderr = forked_command("generate", "spring")
        while not server.questions:
            assert process.is_alive()
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        with stderr:
            assert next(line for line in stderr if "Stopping when the calls under way have ended" in line)
            if again:
                os.kill(process.pid, signal.SIGINT)
            else:
                interrupted.set()
            assert "Completed work is saved" in stderr.read()
        process.join()
        interrupted.set()
    assert process.exitcode == 130
    assert len(server.questions) <= UNDER_WAY


@pytest.mark.parametrize("moment", [1, 9])
def test_a_full_disk_is_one_error_and_no_answer_is_paid_for_twice(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a question on, no file of the command can grow (the kernel's limit): databases, answers, results."""

    def asked(request: Request) -> Response:
        if len(server.questions) == moment:
            _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, most))
        return by_rule(request)

    with FakeLLM(asked) as server:
        server.use(monkeypatch)
        arguments = ["generate", "spring", "--documents", "3"]
        process, stderr = forked_command(*arguments)
        with stderr:
            said = stderr.read()
        process.join()
        assert process.exitcode in {1, 2}, said
        assert "Traceback" not in said, said
        assert re.search(r"cannot (write|be recorded)|full|too large", said), said
        before = len(server.questions)
        moment = -1
        done = CliRunner().invoke(make_app(), arguments)
    assert done.exit_code == 0, done.output
    questions = Counter(json.dumps(request.body, sort_keys=True) for request in server.questions)
    assert before < len(server.questions)
    # Questions answered when nothing could be stored any more.
    assert sum(count - 1 for count in questions.values()) <= UNDER_WAY
    assert open_run("spring").exists(GENERATION)


def test_the_time_left_does_not_go_by_answers_that_came_together(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    now = 0
    monkeypatch.setattr("rich.console.monotonic", lambda: float(now))
    with terminal() as progress:
        for done in progress(range(100), "asking"):
            now += 0 if done % 4 else 100  # four at a time answer in a hundred seconds
            if done == 40:
                break
    assert "40/100 0:18:20 0:2" in capfd.readouterr().err

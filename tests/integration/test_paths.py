"""The files between `abcdlink run bootstrap` and its effects: few, and listed in the developer guide."""

from __future__ import annotations

import gc
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sklearn.metrics
from prefect.settings import PREFECT_API_URL, temporary_settings

from abcdlink.interannotator.measures import cohen_kappa
from abcdlink.settings import get_settings
from abcdlink.stages.generate import Generating
from flows.annotate import annotate
from flows.bootstrap import bootstrap
from flows.commands.starting import run_bootstrap
from flows.parameters import BenchmarkParameters, PeopleParameters
from labelstudio_config.pages import annotate as page
from tests import ROOT
from tests.helpers.fake_llm import Request, Response
from tests.helpers.stack import SMALL, Stack

OURS = ("abcdlink", "flows", "tasks", "labelstudio_config", "services")
HANDED = {"abcdlink/stages/execution.py", "abcdlink/together.py"}
"""On the stack, but not stations on the way: they call what they are given, concurrently or as a step."""
STEP = "tasks/execution.py"

KEY = "paths"


class StopHereError(Exception):
    """Raised once the event to be traced has happened."""


class Traced(dict[str, set[str]]):
    """Event -> our files that were on the stack of some thread every time it happened."""

    def note(self, what: str, *, within: str = "") -> None:
        stacks = [traceback.extract_stack(frame) for frame in sys._current_frames().values()]
        paths = {Path(line.filename) for stack in stacks for line in stack}
        found = {str(path.relative_to(ROOT)) for path in paths if path.is_relative_to(ROOT)}
        found = {name for name in found if name.startswith(tuple(f"{folder}/" for folder in OURS))}
        if within in found or not within:
            # Other threads may be busy elsewhere at one such moment; those that lead there are present at every one.
            self[what] = self.get(what, found) & found

    def request(self, path: str) -> None:
        """Note who sends a request; a flow that is to be started never is."""
        if path.endswith("/create_flow_run"):
            self.note("annotation" if "command" in self else "command")
            raise StopHereError
        if path.endswith("/import"):
            self.note("sent")


@pytest.fixture
def traced(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traced]:
    """Run flows in this process, and record the files at work when a request is sent or kappa is computed."""
    found, send, send_async, task_data = Traced(), httpx.Client.send, httpx.AsyncClient.send, page.task_data

    def sent(client: httpx.Client, request: httpx.Request, **more: Any) -> httpx.Response:
        found.request(request.url.path)
        return send(client, request, **more)

    async def sent_async(client: httpx.AsyncClient, request: httpx.Request, **more: Any) -> httpx.Response:
        found.request(request.url.path)
        return await send_async(client, request, **more)

    def told(*arguments: Any) -> dict[str, Any]:
        found.note("task")
        return task_data(*arguments)

    def computed(*_: Any, **__: Any) -> float:
        found.note("kappa")
        raise StopHereError

    respond = stack.llm.respond

    def asked(request: Request) -> Response:
        found.note("LLM", within="abcdlink/stages/benchmark.py")
        return respond(request)

    for name, value in stack.prefect.environment.items():
        if name.startswith(("ABCDLINK_", "PREFECT_")):
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(httpx.Client, "send", sent)
    monkeypatch.setattr(httpx.AsyncClient, "send", sent_async)
    monkeypatch.setattr(stack.llm, "respond", asked)
    monkeypatch.setattr(page, "task_data", told)
    monkeypatch.setattr(sklearn.metrics, "cohen_kappa_score", computed)
    cohen_kappa.cache_clear()
    get_settings.cache_clear()
    # Python 3.11 can hang when it collects garbage while it lists the frames of all threads (CPython issue 106883).
    gc.disable()
    with temporary_settings({PREFECT_API_URL: stack.prefect.api}):
        yield found
    gc.enable()
    get_settings.cache_clear()


def listed(what: str) -> list[str]:
    """Return the files that the developer guide lists."""
    guide = (ROOT / "docs" / "developer.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {what} \|(.*)\|$", guide, re.MULTILINE)
    return re.findall(r"`([^`]+\.py)`", row)


def test_the_files_behind_the_command_are_few_and_those_that_the_guide_lists(stack: Stack, traced: Traced) -> None:
    with pytest.raises(StopHereError):
        run_bootstrap(KEY)
    generation = Generating.model_validate(SMALL["generation"])
    benchmark = BenchmarkParameters.model_validate({**SMALL["benchmark"], "learned": [], "rules": []})
    with pytest.raises(StopHereError):
        bootstrap(run=KEY, generation=generation, benchmark=benchmark)
    people = PeopleParameters(batches=1)
    with pytest.raises(RuntimeError):  # it cannot be suspended for people: no deployment started it
        annotate(run=KEY, annotation=people)
    stack.simulate(KEY, 1)
    with pytest.raises(StopHereError):
        annotate(run=KEY, annotation=people)

    to_annotate = traced["command"] | traced["annotation"]
    ways = {
        "a question to an LLM": (traced["command"] | traced["LLM"] - HANDED, 10),
        "a task in Label Studio": (to_annotate | traced["task"] | traced["sent"], 8),
        "kappa of a batch": (to_annotate | traced["kappa"] - {STEP}, 5),
    }
    for what, (on_the_way, most) in ways.items():
        assert sorted(on_the_way) == sorted(listed(what)), what
        assert len(on_the_way) <= most, what

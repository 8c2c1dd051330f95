"""An example run on disk and its report, made once; imports are made in them, since most tests need neither."""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple
from unittest.mock import MagicMock

import pytest
import typer.testing
from _pytest.runner import runtestprotocol

from abcdlink.settings import get_settings
from tests.helpers.homes import configure
from tests.helpers.plugin import install_plugin

TOGETHER = {
    "tests/unit/cli/test_pools.py": "stages",
    "tests/unit/cli": "cli",
    "tests/unit/bad_inputs": "data sets",
    "tests/unit/corpus/test_formats": "data sets",
    "tests/unit/export": "data sets",
    "tests/unit/labelstudio_config": "data sets",
    "tests/unit/retrieval": "data sets",
    "tests/unit/test_store.py": "data sets",
    "tests/unit/flows": "prefect",
    "tests/unit/tasks": "prefect",
    "tests/unit/stages": "stages",
    "tests/unit/labels": "stages",
    "tests/unit/linking/test_cutoffs.py": "stages",
    "tests/unit/linking/test_learned": "stages",
    "tests/unit/report": "stages",
    "tests/unit/test_api.py": "stages",
    "tests/unit/test_own_domain.py": "stages",
    "tests/unit/test_validation.py": "stages",
}
"""Tests that share things made once per process: packages that take long to import, runs, a report."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each process whole files, and some folders together."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return next((name for start, name in TOGETHER.items() if file.startswith(start)), file)

    return Scheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Report what a test did, but not that its fixtures went well: each report takes a message between processes."""
    place = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**place)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(**place)
    return True


def pytest_collection_finish():
    """Collect garbage rarely, and never in modules: it would take a tenth of the time of this tier."""
    gc.freeze()
    gc.set_threshold(100_000, 20)


def pytest_sessionfinish():
    """Skip pytest's five last garbage collections, since the process ends anyway."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def one_command_line():
    """Build Typer's commands once for all tests: that takes longer than most commands."""
    with pytest.MonkeyPatch.context() as patch:
        get_command = cache(typer.main.get_command)
        patch.setattr("typer.main.get_command", get_command)
        patch.setattr("typer.testing._get_command", get_command)
        yield


class Said(NamedTuple):
    """The exit code of a command and its output."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch, capfd):
    """Call the command line as the shell would."""
    from abcdlink.cli import app, output

    # The width is fixed when a console is created, which another test may already have done.
    monkeypatch.setattr(output.out, "_width", 200)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["abcdlink", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            app.main()
        return Said(int(stop.value.code or 0), *capfd.readouterr())

    return call


@pytest.fixture(scope="session", autouse=True)
def few_resamples():
    """Make the bootstrap quick: a tenth of its resamples is enough where a test does not look at an interval."""
    from abcdlink import statistics

    usual = statistics.RESAMPLES
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "RESAMPLES", usual // 10)
        yield usual


@pytest.fixture
def all_resamples(few_resamples, monkeypatch):
    """For a test that looks at an interval."""
    monkeypatch.setattr("abcdlink.statistics.RESAMPLES", few_resamples)


@pytest.fixture(scope="session", autouse=True)
def drawn():
    """Leave pictures empty, since drawing takes most of the time of a report; in a context of this, they are drawn."""
    from abcdlink.report import pictures

    as_they_are = pictures.blank, pictures.rendered

    @contextmanager
    def use(blank, rendered):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pictures, "blank", blank)
            patch.setattr(pictures, "rendered", rendered)
            yield

    with use(MagicMock(), lambda _: '<svg viewBox="0 0 9 9"></svg>'):
        yield lambda: use(*as_they_are)


@pytest.fixture
def drawing(drawn):
    """For a test that looks at the pictures."""
    with drawn():
        yield


@pytest.fixture
def news():
    """The bundled domain ``news``, a new copy that the test may change."""
    from abcdlink.domain import find_domain

    return find_domain("news")


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The store of the complete example run; for reading only."""
    from tests.helpers.example_run import example_run

    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        configure(patch, home=folder / "home")
        store = example_run(folder)
    get_settings.cache_clear()
    return store


@pytest.fixture(scope="session")
def complete(finished, drawn):
    """The report of the complete example run, as HTML with all its pictures."""
    from abcdlink.report import render
    from abcdlink.report.content import gather

    with drawn():
        return render(gather(finished))


@pytest.fixture(scope="session")
def plugin(tmp_path_factory):
    """The folder of an installed package that adds a retriever and a linker."""
    return install_plugin(tmp_path_factory.mktemp("plugin"))

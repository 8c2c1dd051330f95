"""What the terminal shows: ``abcdlink --help``, quick and in panels, and tables in which nothing is cut off."""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from abcdlink.cli.app import OVERVIEW, PANELS, help_only, make_app, overview_of
from abcdlink.cli.output import print_table

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

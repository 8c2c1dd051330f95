"""``abcdlink --help``: quick, in panels, and consistent with the help of each command."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from abcdlink.cli.app import OVERVIEW, PANELS, help_only, make_app, overview_of

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

"""Commands called in this process."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from abcdlink.cli.app import make_app


def call(*words: object) -> str:
    """Run a command; returns its output (for JSON only stdout) and raises what it raises."""
    done = CliRunner().invoke(make_app(), [str(word) for word in words])
    if done.exception is not None:
        raise done.exception
    return done.stdout if "--json" in words else done.output


def called(*words: object) -> Any:
    """Run a command with ``--json`` and return what it printed."""
    return json.loads(call(*words, "--json"))

"""The command ``abcdlink``: puts the commands together and turns errors into one clear message."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.models import CommandInfo, TyperInfo

from abcdlink import __version__
from abcdlink.cli import (
    annotators,
    benchmark,
    corpora,
    documents,
    estimate,
    label,
    pools,
    reproduce,
    results,
    scores,
    stages,
)
from abcdlink.cli.output import complain, say
from abcdlink.errors import AbcdlinkError

INTERRUPTED = 130
"""Exit status after Ctrl-C."""
STOPPED = "Stopped. Completed work is saved: run the same command again to continue."
PANELS = {
    "Start": ("up", "init", "import", "start", "status", "runs", "continue", "demo", "doctor", "down"),
    "People": ("qualify", "annotate", "feedback", "adjudicate", "exhaustive", "rate", "boundaries", "annotators"),
    "Results": ("report", "links", "export", "agreement", "scores", "compare", "errors", "label", "labels", "stats"),
}
"""Panel of ``--help`` -> its commands, in the order of the work; all others are for experts."""
COMMANDS_GROUP = "abcdlink.commands"
"""Entry points that add commands which need Label Studio or Prefect; the library itself needs neither."""


def _show_version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


def make_app() -> typer.Typer:
    """Return the command line with all installed commands."""
    app = typer.Typer(
        name="abcdlink",
        help="From nothing to a human-labelled data set of sentence-level links between documents.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
    )

    @app.callback()
    def _options(
        version: Annotated[
            bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
        ] = False,
    ) -> None:
        """From nothing to a human-labelled data set of sentence-level links between documents."""

    groups = (corpora, documents, stages, benchmark, estimate, scores, pools, results, annotators, label, reproduce)
    for group in groups:
        group.register(app)
    for entry in sorted(entry_points(group=COMMANDS_GROUP), key=lambda entry: entry.name):
        entry.load()(app)
    _arrange(app)
    return app


def _arrange(app: typer.Typer) -> None:
    """Sort the commands into their panels."""
    panels = [*PANELS, "Expert"]
    place = {name: (panel, number) for panel, names in enumerate(PANELS.values()) for number, name in enumerate(names)}

    def order(name: str) -> tuple[int, int, str]:
        return *place.get(name, (len(PANELS), 0)), name

    class Arranged(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - of a private package of Typer
            return sorted(super().list_commands(ctx), key=order)

    app.info.cls = Arranged
    named: list[CommandInfo | TyperInfo] = [*app.registered_commands, *app.registered_groups]
    for one in named:
        one.rich_help_panel = panels[order(str(one.name))[0]]


def main() -> None:
    """Run the command line; an error a person can act on is one message, not a traceback."""
    # A retriever or linker named as module:Class may be in the current folder; nothing there hides what is installed.
    sys.path.append(str(Path.cwd()))
    try:
        make_app()()
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            say(STOPPED)
        raise
    except AbcdlinkError as error:
        complain(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say(STOPPED)
        sys.exit(INTERRUPTED)

"""The command ``abcdlink``: puts the commands together and turns errors into one clear message."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.models import CommandInfo, TyperInfo

from abcdlink import __version__
from abcdlink.errors import AbcdlinkError, fault_in
from abcdlink.together import ENDING

STDERR = 2
INTERRUPTED = 130
"""Exit status after Ctrl-C."""
STOPPING = "Stopping when the calls under way have ended; Ctrl-C again stops at once."
SHOW_CURSOR = "\x1b[?25h"
"""What a terminal takes for: show the cursor, which a progress bar has hidden."""
STOPPED = "Stopped. Completed work is saved: run the same command again to continue."
PANELS = {
    "Start": ("up", "init", "import", "start", "status", "runs", "continue", "demo", "doctor", "down"),
    "People": (
        "qualify",
        "annotate",
        "feedback",
        "adjudicate",
        "exhaustive",
        "coding",
        "rate",
        "boundaries",
        "annotators",
    ),
    "Results": ("report", "links", "export", "agreement", "scores", "compare", "errors", "label", "labels", "stats"),
}
"""Panel of ``--help`` -> its commands, in the order of the work; the rest are for experts."""
COMMANDS_GROUP = "abcdlink.commands"
"""Entry points that add commands which need Label Studio or Prefect; the library itself needs neither."""


def _show_version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


def _bare_app() -> typer.Typer:
    """Return the command line without commands."""
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

    return app


@cache
def make_app() -> typer.Typer:
    """Return the command line with all installed commands."""
    from abcdlink.cli import benchmark, corpora, documents, llm, pools, results, scores, stages

    app = _bare_app()
    for command in (
        benchmark.benchmark,
        corpora.init,
        documents.clean,
        documents.pair,
        documents.drop,
        documents.restore,
        documents.sample,
        documents.stats,
        llm.estimate,
        llm.models,
        pools.candidates,
        pools.shortlist,
        results.accept,
        results.agreement,
        results.export,
        results.links,
        results.report,
        scores.compare,
        scores.errors,
        scores.reproduce,
        scores.scores,
        stages.generate,
        stages.label,
        stages.validate,
    ):
        app.command(command.__name__)(command)
    app.command("import")(corpora.import_documents)
    _add(app, "domain", "Manage a domain.", check=corpora.check_domain)
    what = "Labels made by `abcdlink label`: show them, or have a sample judged."
    _add(app, "labels", what, show=stages.show_labels, audit=stages.audit_labels)
    what = "Accounts and pseudonyms; removal of personal data."
    _add(app, "annotators", what, show=results.show_people, forget=results.forget)
    for entry in sorted(entry_points(group=COMMANDS_GROUP), key=lambda entry: entry.name):
        entry.load()(app)
    _arrange(app)
    return app


def _add(app: typer.Typer, name: str, what: str, **commands: Callable[..., None]) -> None:
    group = typer.Typer(help=what, no_args_is_help=True)
    for called, command in commands.items():
        group.command(called)(command)
    app.add_typer(group, name=name)


def _arrange(app: typer.Typer) -> None:
    """Sort the commands into their panels."""
    panels = [*PANELS, "Expert"]
    place = {name: (panel, number) for panel, names in enumerate(PANELS.values()) for number, name in enumerate(names)}

    def order(name: str) -> tuple[int, int, str]:
        return *place.get(name, (len(PANELS), 0)), name

    class Arranged(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - of a private package of Typer
            return sorted(super().list_commands(ctx), key=order)

        def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
            try:
                return super().invoke(ctx)
            except typer.BadParameter as error:
                from pydantic import ValidationError

                if isinstance(error.__cause__, ValidationError):
                    error.message = fault_in(error.__cause__)
                raise

    app.info.cls = Arranged
    named: list[CommandInfo | TyperInfo] = [*app.registered_commands, *app.registered_groups]
    for one in named:
        one.rich_help_panel = panels[order(str(one.name))[0]]


OURS = {"flows", "labelstudio", "services"}
"""Entry points of this project: where there are others, ``--help`` asks them what they add."""
OVERVIEW = Path(__file__).with_name("overview.json")
"""What ``abcdlink --help`` shows: [name, help, panel] of each command. A test keeps it up to date."""


def overview_of(app: typer.Typer) -> list[list[str]]:
    """Return name, help and panel of each command, as ``OVERVIEW`` has them."""
    group = typer.main.get_group(app)
    commands = [(name, group.commands[name]) for name in group.list_commands(None)]  # type: ignore[arg-type] # no context
    return [
        [name, str(one.help).partition("\n\n")[0], str(getattr(one, "rich_help_panel", ""))] for name, one in commands
    ]


def write_overview() -> None:
    """Bring ``OVERVIEW`` up to date."""
    text = json.dumps(overview_of(make_app()), indent=1, ensure_ascii=False)
    OVERVIEW.write_text(f"{text}\n", encoding="utf-8")


def help_only() -> typer.Typer:
    """Return a command line with names and help only: loading every module takes a second, this does not."""
    app = _bare_app()

    def nothing() -> None:
        """Do nothing: only the help of this command line is used."""

    for name, text, panel in json.loads(OVERVIEW.read_text(encoding="utf-8")):
        app.command(name, help=text, rich_help_panel=panel)(nothing)
    _arrange(app)
    return app


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """Stop after what is under way, such as answers that are paid for; the second time at once."""
    again = ENDING.is_set()
    ENDING.set()
    in_terminal = os.isatty(STDERR)
    text = f"{STOPPED if again else STOPPING}\n"
    # Whatever else writes may be in the middle of it, so this goes around Python's buffers.
    os.write(STDERR, f"\n{SHOW_CURSOR if again else ''}{text}".encode() if in_terminal else text.encode())
    if again:
        os._exit(INTERRUPTED)
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; an error a person can act on is one message, not a traceback."""
    # A retriever or linker named as module:Class may be in the current folder; nothing there hides what is installed.
    sys.path.append(str(Path.cwd()))
    if sys.argv[1:] in ([], ["--help"]) and {one.name for one in entry_points(group=COMMANDS_GROUP)} <= OURS:
        help_only()()
    from abcdlink.cli.output import complain, say

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # background jobs of a shell ignore it
        signal.signal(signal.SIGINT, _interrupt)
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

"""What commands print: one JSON object or a table on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from abcdlink.domain import Setting
from abcdlink.errors import AbcdlinkError, InputError

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def _domain_folder(name: str) -> str:
    """Return a reference to a domain that works in every process; ``InputError`` when there is none."""
    from abcdlink.domain import find_domain

    return find_domain(name).reference if name else ""


def corpus_folder(corpus: str) -> str:
    """Return a corpus folder as an absolute path, for other processes; ``InputError`` when there is none."""
    if corpus == "sample" or "://" in corpus:
        return corpus
    folder = Path(corpus).expanduser().resolve()
    if not folder.is_dir():
        msg = f"there is no corpus folder {folder}"
        raise InputError(msg, "make one with `abcdlink import`, or use `sample`")
    return str(folder)


def require_out_or_check(out: str, *, check: bool) -> None:
    """Raise ``InputError`` unless a command is told where to write a corpus, or else to write nothing."""
    if out and check:
        msg = f"--out {out} writes a corpus, but --check writes nothing"
        raise InputError(msg, "leave out one of the two")
    if not out and not check:
        msg = "neither --out nor --check is given"
        raise InputError(msg, "give --out FOLDER to write a corpus, or --check to look first")


DomainOption = Annotated[str, typer.Option("--domain", help="Name or path of a domain.", callback=_domain_folder)]
SettingOption = Annotated[
    Setting | None,
    typer.Option("--setting", help="paper: prompts and numbers as in the paper. Default: the domain's."),
]
RunDomainOption = Annotated[
    str,
    typer.Option("--domain", help="Domain; default: the one the run was started with.", callback=_domain_folder),
]
CorpusOption = Annotated[
    str,
    typer.Option("--corpus", help="Corpus folder; `sample`: the domain's shipped sample.", callback=corpus_folder),
]
OptionalCorpusOption = Annotated[
    str,
    typer.Option(
        "--corpus",
        help="Corpus folder of natural pairs; `sample`: the domain's shipped sample, the default without --targets.",
        callback=lambda folder: corpus_folder(folder) if folder else "",
    ),
]
TargetsOption = Annotated[
    str,
    typer.Option(
        "--targets",
        help="Corpus folder of documents to generate for; --corpus is then only annotated.",
        callback=lambda folder: corpus_folder(folder) if folder else "",
    ),
]
SizeOption = Annotated[int | None, typer.Option("--sample", min=1, help="Draw N at random.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of all random choices.")]
FirstDocumentsOption = Annotated[int | None, typer.Option(min=1, help="Only the first N target documents.")]
FirstPairsOption = Annotated[int | None, typer.Option(min=1, help="Only the first N natural pairs.")]
ShortestOption = Annotated[
    int | None, typer.Option("--shortest", min=1, help="Only the N shortest target documents, before the draw.")
]
ByOption = Annotated[str, typer.Option("--by", help="Metadata field; the draw keeps the proportions of its values.")]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", help="FIELD=VALUE or FIELD=VALUE,VALUE: only documents with such metadata; repeatable."),
]


def _run_key(key: str) -> str:
    """Refuse an invalid run key before anything is done."""
    from abcdlink.run_keys import require_run_key

    require_run_key(key)
    return key


def _begun(incomplete: str) -> list[str]:
    """Return the existing runs that complete a key."""
    from abcdlink.store import all_runs

    return [store.key for store in all_runs() if store.key.startswith(incomplete)]


RunArgument = Annotated[
    str, typer.Argument(help="Run key: the name of the whole job.", callback=_run_key, autocompletion=_begun)
]

WIDEST = 10_000

out = Console()
err = Console(stderr=True)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object on stdout and nothing else."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], texts: int = 1, to: Console = out
) -> None:
    """Print a table, on stdout by default; the first ``texts`` columns are text, the others are right-aligned."""
    cells = [[str(cell) for cell in row] for row in rows]
    table = _table(columns, cells, texts, narrow=False)
    if Measurement.get(to, to.options.update(max_width=WIDEST), table).maximum > to.width:
        table = _table(columns, cells, texts, narrow=True)
    size = Measurement.get(to, to.options.update(max_width=WIDEST), table)
    to.print(f"[table.title]{escape(title)}[/]", soft_wrap=True)
    # Where even the narrowest form does not fit, lines exceed the terminal's width rather than being cut.
    (to if size.minimum <= to.width else Console(width=size.maximum, file=to.file)).print(table)


def _table(columns: Sequence[str], cells: Sequence[Sequence[str]], texts: int, *, narrow: bool) -> Table:
    """Make a table; names and figures stay whole, as people copy them into the next command. Other words are folded.

    ``narrow``: the heads of those columns are folded too.
    """
    table = Table()
    for index, column in enumerate(columns):
        longest = max((len(line) for row in cells for line in row[index].split("\n")), default=0)
        whole = narrow and (index == 0 or index >= texts)
        width = max(longest, *map(len, column.split()), 1)
        table.add_column(
            escape(fill(column, width) if whole else column),
            justify="left" if index < texts else "right",
            min_width=width if whole else None,
            no_wrap=whole,
            overflow="fold",
        )
    for row in cells:
        table.add_row(*map(escape, row))
    return table


def print_rows(title: str, rows: Sequence[Mapping[str, object]], texts: int = 1, to: Console = out) -> None:
    """Print rows that all have the same columns; a missing value is an empty cell."""
    cells = [["" if value is None else value for value in row.values()] for row in rows]
    print_table(title, list(rows[0]) if rows else [], cells, texts, to)


def shown(name: str, value: float | None) -> str:
    """Return a number as a table shows it."""
    if value is None:
        return "-"
    if name.startswith("share"):
        return f"{value:.1%}"
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def say(text: str) -> None:
    """Print a plain text on stderr."""
    err.print(escape(text), soft_wrap=True)


def complain(error: AbcdlinkError) -> None:
    """Print an error on stderr: the problem, then the hint."""
    err.print(f"[bold red]Error:[/] {escape(error.problem)}.", soft_wrap=True)
    if error.hint:
        err.print(f"[bold]Hint:[/] {escape(error.hint)}.", soft_wrap=True)


def conditions(only: Iterable[str] | None) -> dict[str, tuple[str, ...]]:
    """Read ``--only``: field -> the values that are taken; ``InputError`` when there is no ``=``."""
    found: dict[str, tuple[str, ...]] = {}
    for condition in only or ():
        field, equals, values = condition.partition("=")
        if not equals or not field.strip() or not listed(values):
            msg = f"{condition!r} is not a condition"
            raise InputError(msg, "write FIELD=VALUE, for example topic=sports,politics")
        found[field.strip()] = (*found.get(field.strip(), ()), *listed(values))
    return found


def listed(text: str) -> list[str]:
    """Split a comma-separated option; blanks are dropped."""
    return [part.strip() for part in text.split(",") if part.strip()]

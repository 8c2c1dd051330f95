"""Commands that make and check domains, and make corpora: ``init``, ``domain check`` and ``import``."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abcdlink.cli.output import (
    DomainOption,
    JsonOption,
    OnlyOption,
    conditions,
    print_json,
    print_table,
    require_out_or_check,
    say,
)
from abcdlink.corpus.io import REFUSED, REMOVED_LINES
from abcdlink.corpus.plain_text import LineEnds
from abcdlink.errors import InputError

if TYPE_CHECKING:
    from abcdlink.corpus.records import Corpus
    from abcdlink.preview import Preview

MEGABYTE = 1_000_000
LARGE = 50
"""Megabytes from which the summary says how long an import took and how much memory."""
NEXT_ROLE = re.compile(r"\s*,\s*(?=\w+\s*=|$)")
SHOWN = 5
"""Items of each kind that the summary lists."""


def _column_names(text: str) -> dict[str, str]:
    """Read ``--columns``: role -> column, whose name may contain commas; ``InputError`` when there is no ``=``."""
    named = {}
    for part in filter(None, NEXT_ROLE.split(text)):
        role, equals, column = (piece.strip() for piece in part.partition("="))
        if not (role and equals and column):
            msg = f"{part!r} names no column"
            raise InputError(msg, "write ROLE=COLUMN, for example --columns text=body,id=url")
        named[role] = column
    return named


def init(
    name: Annotated[str, typer.Argument(help="Name of the new domain.")],
    like: Annotated[str, typer.Option(help="The domain whose texts are the starting point.")] = "news",
) -> None:
    """Make a domain to edit: settings, link description, examples, guidelines.

    Example: `abcdlink init patents --like reviews`
    """
    from abcdlink.domain import make_domain

    made = make_domain(name, like)
    say(f"Wrote {made.folder}, a copy of the domain {like!r}. Edit its files, then run `abcdlink domain check {name}`.")


def check_domain(
    name: Annotated[str, typer.Argument(help="Name or path of the domain.")],
    show: Annotated[bool, typer.Option("--show", help="Print every prompt in full.")] = False,
    json: JsonOption = False,
) -> None:
    """Render every prompt of a domain on a sample, count tokens, and report problems in its settings and texts.

    Exits with status 1 when the domain cannot be used. Example: `abcdlink domain check patents --show`
    """
    from abcdlink import domain_check
    from abcdlink.domain import find_domain

    found = domain_check.check_domain(find_domain(name))
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        if show:
            for prompt in found.prompts:
                typer.echo(f"=== {prompt.name}\n{prompt.text}\n")
        rows = [(prompt.name, prompt.tokens) for prompt in found.prompts]
        print_table(f"{found.domain}: prompts on a sample ({found.method})", ("prompt", "tokens"), rows)
        for remark in found.remarks:
            say(f"Worth a look: {remark}.")
        for fault in found.faults:
            say(f"Cannot be used: {fault}.")
        say("The domain cannot be used." if found.faults else "The domain can be used.")
    if found.faults:
        raise typer.Exit(1)


def import_documents(
    format_name: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="text, jsonl, csv, parquet, hf, abcd-link, f1000rd, ecb-plus, nlpeer, wikinewssum or spiced.",
        ),
    ],
    source: Annotated[Path, typer.Argument(help="Folder or file in that format; for hf also a data set's name.")],
    out: Annotated[str, typer.Option(help="Corpus folder to write, or an s3:// prefix.")] = "",
    check: Annotated[bool, typer.Option("--check", help="Write nothing; only show what would be imported.")] = False,
    domain: DomainOption = "news",
    language: Annotated[
        str, typer.Option(help="ISO code of the documents' language, e.g. en, zh, hi; guessed if omitted.")
    ] = "",
    lines: Annotated[
        LineEnds,
        typer.Option(
            help="Line breaks in plain text: join wrapped lines, keep each line as a sentence, or decide by the text."
        ),
    ] = LineEnds.AUTO,
    entities: Annotated[bool, typer.Option(help="Remove HTML tags and decode HTML entities in plain text.")] = True,
    all_lines: Annotated[
        bool,
        typer.Option(
            "--all-lines",
            help="Keep page numbers, running heads, quoted mail, signatures, code, stack traces and time stamps.",
        ),
    ] = False,
    as_released: Annotated[
        bool, typer.Option("--as-released", help="ecb-plus, spiced: NEWS-ECB+ or NEWS-HE as released.")
    ] = False,
    columns: Annotated[
        str,
        typer.Option(
            help="csv, parquet, hf, jsonl: column names as ROLE=COLUMN, separated by commas; roles: text, id, source, "
            "target, source_id, target_id, pair."
        ),
    ] = "",
    only: OnlyOption = None,
    targets: Annotated[
        bool, typer.Option("--targets", help="Import only target documents to generate for, without pairs.")
    ] = False,
    segmentation: Annotated[
        str, typer.Option(help="File of sentence boundaries corrected by people (`abcdlink boundaries`) to apply.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a corpus in --out that came from elsewhere.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Read documents and pairs in another format and write a corpus folder, with a preview to look at.

    Example: `abcdlink import text my-documents --out corpus`
    """
    from abcdlink.boundaries import apply_segmentations, read_segmentation_file
    from abcdlink.corpus.counts import remarks
    from abcdlink.corpus.formats import import_corpus
    from abcdlink.corpus.formats.files import ImportChoices
    from abcdlink.corpus.io import refuse_to_replace, write_corpus
    from abcdlink.corpus.segmentation import get_segmenter
    from abcdlink.domain import find_domain
    from abcdlink.languages import guess_language
    from abcdlink.preview import preview, write_preview

    require_out_or_check(out, check=check)
    origin: dict[str, Any] = {
        "format": f"{format_name} as released" if as_released else format_name,
        "imported_from": source.name,
    }
    replaced = out and not force and refuse_to_replace(out, origin, "give another --out, or --force to replace it")
    of_domain = find_domain(domain)
    choices = ImportChoices(
        as_released=as_released, targets=targets, columns=_column_names(columns), only=conditions(only)
    )

    corrections = read_segmentation_file(segmentation) if segmentation else []

    def read(language: str) -> Corpus:
        segmenter = get_segmenter(language)
        read = import_corpus(
            format_name,
            source,
            segmenter,
            lines=lines,
            entities=entities,
            remove=None if all_lines else of_domain.settings.cleaning.line_patterns,
            choices=choices,
        )
        return apply_segmentations(read, corrections) if corrections else read

    began, size = time.monotonic(), _size_of(source)
    usual = of_domain.settings.language
    corpus = read(language or usual)
    if guessed := not language:
        texts = (text for document in corpus.documents.values() for text in document.texts)
        language = guess_language(texts, usual)
        if language != usual and get_segmenter(usual).documents_cut:  # their sentences end elsewhere
            del corpus, texts  # two large corpora would not fit
            corpus = read(language)
    corpus.notes.extend(remarks(corpus))
    segmenter = get_segmenter(language)
    view = preview(corpus, of_domain, language, segmenter.name)
    origin |= {
        "language": language,
        "segmentation": segmenter.name,
        "notes": [note.model_dump(mode="json") for note in corpus.notes],
    }
    if out:
        write_preview(view, out)
        write_corpus(view.corpus, out, origin)  # last, and its pairs last of all: a folder with pairs is complete
    megabytes, seconds = size / MEGABYTE, time.monotonic() - began
    cost = {"megabytes": round(megabytes, 1), "seconds": round(seconds, 1), "peak_memory_megabytes": _peak_memory()}
    if as_json:
        print_json(
            {"corpus": out or None, **_counts(view), "language": language, "segmentation": segmenter.name, **cost}
        )
    else:
        if replaced:
            say(f"Replaced an earlier import of {source.name} in {out}.")
        _say_what_is_imported(view, out, guessed=guessed)
        if megabytes >= LARGE:
            rate = megabytes / max(seconds, 0.001)
            say(f"Read {megabytes:,.0f} MB in {seconds:,.0f} s ({rate:.1f} MB/s), peak memory {_peak_memory():,} MB.")


def _size_of(source: Path) -> int:
    """Return the bytes of a file or of all files in a folder; 0 for a name."""
    files = source.rglob("*") if source.is_dir() else [source]
    return sum(file.stat().st_size for file in files if file.is_file())


def _peak_memory() -> int:
    """Return the most memory that this process had, in MB."""
    return round(getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MEGABYTE)


def _counts(view: Preview) -> dict[str, Any]:
    corpus = view.corpus
    return {
        "documents": len(corpus.documents),
        "sentences": view.sentences,
        "pairs": len(corpus.pairs),
        "links": sum(len(targets) for pair in corpus.pairs for targets in (pair.links or {}).values()),
        "tasks": view.tasks,
        "hours": round(view.hours, 2),
        "left_out": dict(view.left_out),
        "targets_left_out": dict(view.targets_left_out),
        "doubtful": {why: doubt.count for why, doubt in view.doubts.items()},
        "notes": [str(note) for note in corpus.notes],
        "refused": len(corpus.refused),
    }


def _say_what_is_imported(view: Preview, out: str, *, guessed: bool) -> None:
    from abcdlink.folders import open_folder
    from abcdlink.preview import PREVIEW

    folder = open_folder(out)
    corpus, counts = view.corpus, _counts(view)
    sizes = ", ".join(f"{name}: {counts[name]}" for name in ("documents", "sentences", "pairs", "links"))
    say(f"{f'Wrote {out}' if out else 'Would import'}: {sizes}. Segmentation: {view.segmentation}.")
    say(
        f"Language: {view.language_name} ({view.language})" + (", guessed; set it with --language." if guessed else ".")
    )
    if corpus.pairs:
        needed = f", about {view.time} for each of {view.domain.settings.overlap} annotators" if view.tasks else ""
        reasons = "".join(f"\n  {count}: {why}" for why, count in view.left_out.most_common(SHOWN))
        say(
            f"Tasks: at most {view.tasks}{needed}. Source sentences left out in the domain {view.domain.name!r}: "
            f"{view.left_out.total()}{reasons}"
        )
    else:
        place = out or "FOLDER"
        say(
            f"No pairs. `abcdlink generate RUN --targets {place}` writes a source document for each of these; "
            f"`abcdlink pair {place}` finds pairs among them."
        )
    if view.targets_left_out:
        reasons = "".join(f"\n  {count}: {why}" for why, count in view.targets_left_out.most_common(SHOWN))
        say(f"Target sentences left out: {view.targets_left_out.total()}{reasons}")
    if view.doubtful:
        among = f" (in {view.looked_at} documents looked at)" if view.looked_at < len(corpus.documents) else ""
        say(
            f"Sentences with doubtful boundaries{among}: {view.doubtful}"
            + "".join(f"\n  {doubt.count}: {why}, e.g. {doubt.excerpt(80)}" for why, doubt in view.doubts.items())
        )
    for note in corpus.notes:
        say(str(note))
    if corpus.removed_lines:
        listed = f"listed in {folder.where(REMOVED_LINES)}; " if out else ""
        say(f"Removed lines: {listed}--all-lines keeps them.")
    if corpus.refused:
        kept = f", listed in {folder.where(REFUSED)}" if out else ""
        more = f"\n  and {len(corpus.refused) - SHOWN} more" + ("" if out else f"; --out FOLDER lists all in {REFUSED}")
        say(
            f"Refused: {len(corpus.refused)}{kept}"
            + "".join(f"\n  {refusal.line}" for refusal in corpus.refused[:SHOWN])
            + (more if len(corpus.refused) > SHOWN else "")
        )
    if out:
        say(f"Preview: {folder.where(PREVIEW)}")

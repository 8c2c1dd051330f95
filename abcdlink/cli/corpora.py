"""Commands that make domains and corpora: ``init`` and ``import``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated

import typer

from abcdlink.cli.output import JsonOption, print_json, say
from abcdlink.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("init")(init)
    app.command("import")(import_documents)


def init(
    name: Annotated[str, typer.Argument(help="Name of the new domain.")],
    like: Annotated[str, typer.Option(help="The domain whose texts are the starting point.")] = "news",
) -> None:
    """Make a domain to edit: settings, link description, examples, guidelines.

    Example: `abcdlink init patents --like reviews`
    """
    from abcdlink.domain import find_domain

    model = find_domain(like)
    folder = Path("prompts") / name
    if folder.exists():
        msg = f"{folder} is there already"
        raise InputError(msg, "edit it, or choose another name")
    if Path(name).name != name or name in {"", ".", ".."}:
        msg = f"{name!r} cannot be the name of a domain"
        raise InputError(msg, "use a plain folder name")
    shutil.copytree(model.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    say(f"Wrote {folder}, a copy of the domain {model.name!r}. Edit its files, then use --domain {name}.")


def import_documents(
    format_name: Annotated[str, typer.Argument(metavar="FORMAT", help="jsonl, abcd-link, text, f1000rd or ecb-plus.")],
    source: Annotated[Path, typer.Argument(help="Folder (or file) in that format.")],
    out: Annotated[Path, typer.Option(help="Corpus folder to write.")],
    language: Annotated[str, typer.Option(help="Language of plain text, for the segmentation.")] = "en",
    as_json: JsonOption = False,
) -> None:
    """Read documents and pairs in an outside format and write a corpus folder.

    Example: `abcdlink import text my-documents --out corpus`
    """
    from abcdlink.corpus.formats import import_corpus
    from abcdlink.corpus.io import write_corpus
    from abcdlink.folders import write_atomically
    from abcdlink.layout import ORIGIN
    from abcdlink.segmentation import get_segmenter

    segmenter = get_segmenter(language)
    corpus = import_corpus(format_name, source, segmenter)
    write_corpus(corpus, out)
    origin = {"format": format_name, "segmentation": segmenter.name, "imported_from": source.name}
    write_atomically(out / ORIGIN, json.dumps(origin).encode())
    links = sum(len(targets) for pair in corpus.pairs for targets in (pair.links or {}).values())
    counts = {
        "corpus": str(out),
        "documents": len(corpus.documents),
        "pairs": len(corpus.pairs),
        "links": links,
        "refused": len(corpus.refused),
        "segmentation": segmenter.name,
    }
    if as_json:
        print_json(counts)
        return
    say(f"Wrote {out}: {counts['documents']} documents, {counts['pairs']} pairs, {links} links.")
    if corpus.refused:
        first = corpus.refused[0]
        kept = out / "refused.jsonl"
        say(f"Refused {len(corpus.refused)} items, kept in {kept}; the first: {first.where}: {first.reason}")

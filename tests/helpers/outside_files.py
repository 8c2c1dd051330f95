"""Files in other people's formats, written for the tests of imports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from abcdlink.corpus import Corpus
from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.formats.files import ImportChoices
from abcdlink.corpus.segmentation import get_segmenter

A = {"0": "The bridge closed.", "1": "Nobody was hurt."}
B = {"0": "A bridge was shut.", "10": "The mayor spoke.", "2": "It rained."}


def load(format_name: str, source: Path, **options: Any) -> Corpus:
    named = {name: options.pop(name) for name in ImportChoices.model_fields if name in options}
    return import_corpus(format_name, source, get_segmenter(), choices=ImportChoices(**named), **options)


def released(folder: Path, docs: object, links: object = None) -> Path:
    (folder / "docs.json").write_text(json.dumps(docs), encoding="utf-8")
    if links is not None:
        (folder / "any_links.json").write_text(json.dumps(links), encoding="utf-8")
    return folder


def files(folder: Path, contents: dict[str, str | bytes]) -> Path:
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def lines(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def reasons(corpus: Corpus) -> list[str]:
    return [refusal.reason for refusal in corpus.refused]

"""Standoff as brat reads it: one text and one ``.ann`` per pair, and the configuration that names the types."""

from __future__ import annotations

import re
from collections.abc import Iterator

from abcdlink.export.dataset import Dataset, Files, JudgedPair
from abcdlink.export.plain import Cleaner, PairText, Side, file_stem, judged_sentences, lay_out, said

FOLDER = "brat"
TYPES = {Side.SOURCE: "Source", Side.TARGET: "Target"}
CONFIGURATION = """\
[entities]
Source
Target

[relations]
Link\tArg1:Source, Arg2:Target

[events]

[attributes]
"""

ENDS_LINE = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""What ends a field or a line of an annotation file, or a line of the text as brat shows it."""


def files(dataset: Dataset) -> Files:
    """Return ``annotation.conf`` and a ``.txt`` and ``.ann`` per judged pair.

    The sentences that were judged are entities, the links relations; notes name ids and provenance.
    """
    clean = Cleaner(ENDS_LINE, " ", "line breaks or tabs: replaced by spaces")
    contents = {f"{FOLDER}/annotation.conf": CONFIGURATION.encode()}
    for judged in dataset.by_pair():
        laid_out = lay_out(judged, dataset.corpus, clean.visible)
        stem = f"{FOLDER}/{file_stem(judged)}"
        contents[f"{stem}.txt"] = laid_out.text.encode()
        contents[f"{stem}.ann"] = "".join(f"{line}\n" for line in _lines(judged, laid_out, clean)).encode()
    return Files(contents, +clean.changes)


def _lines(judged: JudgedPair, laid_out: PairText, clean: Cleaner) -> Iterator[str]:
    names = {}
    notes = []
    for number, (at, document) in enumerate(judged_sentences(judged.candidates).items(), start=1):
        names[at] = f"T{number}"
        begin, end = laid_out.places[at]
        yield f"T{number}\t{TYPES[at[0]]} {begin} {end}\t{laid_out.text[begin:end]}"
        notes.append((names[at], f"{document}, sentence {at[1]}"))
    links = [candidate for candidate in judged.candidates if candidate.link]
    for number, candidate in enumerate(links, start=1):
        source, target = names[Side.SOURCE, candidate.source], names[Side.TARGET, candidate.target]
        yield f"R{number}\tLink Arg1:{source} Arg2:{target}"
        simulated = " (simulated)" if candidate.simulated else ""
        about = (
            f"{candidate.provenance}, rule {candidate.rule}; {said(candidate)}{simulated}; method {candidate.method}"
        )
        notes.append((f"R{number}", about))
    for number, (name, note) in enumerate(notes, start=1):
        yield f"#{number}\tAnnotatorNotes {name}\t{clean(note)}"

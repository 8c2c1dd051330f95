"""A small run with every kind of text that could trip up a layout of the data set."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from abcdlink.adjudicate import Adjudication, disputed
from abcdlink.corpus.io import write_corpus_to
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.domain import find_domain
from abcdlink.folders import LocalFolder
from abcdlink.judgments import Annotator, Judgment, Label
from abcdlink.layout import ADJUDICATIONS, ADJUDICATORS
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store
from tests.helpers.builders import document, judgment

TEXTS = [
    "A plain sentence.",
    "two\nlines\r\nand\ra\ttab",
    "\N{REPLACEMENT CHARACTER} was there before",
    '"quoted", \'single\'; <b onclick="alert(1)">&amp; ]]> {{ head }} | cell | # head',
    "nul \x00 bell \x07 escape \x1b vertical \x0b form \x0c separators \x1c\x1d\x1e delete \x7f",
    "not characters \ufffe \uffff",
    "separators \u2028 \u2029 \x85 inside",
    "\N{FACE WITH TEARS OF JOY} beyond the basic plane \N{MUSICAL SYMBOL G CLEF} twice",
    "=HYPERLINK(1),+1",
    "",
    " \t \n ",
    "\N{ZERO WIDTH SPACE}",
    "  white space around  ",
    "e\N{COMBINING ACUTE ACCENT} \N{RIGHT-TO-LEFT OVERRIDE}turned",
    "A plain sentence.",
]
PAIRS = ("../../etc/passwd", 'a,"b"\n<c>&\x01 \N{FACE WITH TEARS OF JOY}')
ACCOUNTS = ("rosa.luchs@example.org", "otto.dachs@example.org", "ida.marder@example.org")


def sentence_id(number: int | str) -> str:
    return f's{number} "é",\n<{number}>\x02'


def hostile_corpus() -> Corpus:
    documents = {name: document(name, TEXTS, sentence_id("{n}")) for name in ("A doc: é", "B\tdoc")}
    # Each document is the source of one pair and the target of the other; one pair was never judged.
    pairs = [
        Pair(id=PAIRS[0], source="A doc: é", target="B\tdoc"),
        Pair(id="unjudged", source="A doc: é", target="A doc: é"),
        Pair(id=PAIRS[1], source="B\tdoc", target="A doc: é"),
    ]
    return Corpus(name="natural", documents=documents, pairs=pairs)


def hostile_judgments() -> list[Judgment]:
    """Three annotators; labels in all combinations, on sentences in turn."""
    votes = ["LLL", "LLN", "LNN", "NNN", "LL", "LN", "NN", "L"]
    judgments = []
    for place, pair in enumerate(PAIRS):
        for number in range(len(TEXTS)):
            for step, vote in enumerate(votes[number % 4 :: 2]):
                judgments += [
                    judgment(
                        (pair, sentence_id(number), sentence_id((number + 4 * step) % len(TEXTS))),
                        (2, 9, 10)[index],
                        said == "L",
                        batch=1 + place,
                        method=("both", "retriever", "random")[step % 3],
                        seconds=3.25,
                        flags=("unsure",),
                    )
                    for index, said in enumerate(vote)
                ]
    return judgments


def hostile_adjudications() -> list[Adjudication]:
    """Two of three disputed candidates decided, Link and No Link in turn; one by an annotator, with a comment."""
    return [
        Adjudication(
            batch=1 + PAIRS.index(pair),
            pair=pair,
            source=source,
            target=target,
            adjudicator="annotator-10" if number == 0 else "adjudicator-1",
            label=Label.LINK if number % 2 else Label.NO_LINK,
            comment="ask marder",
            consensus=number == 0,
        )
        for number, (pair, source, target) in enumerate(disputed(hostile_judgments(), 2))
        if number % 3 < 2
    ]


def hostile_run(folder: Path) -> Store:
    """Return the store of an annotated and partly adjudicated run; ``annotator-9`` is a program.

    Made once and copied for each test.
    """
    shutil.copytree(Path(_made().name) / "hostile", folder / "hostile")
    return Store(LocalFolder(folder / "hostile"), "hostile")


@cache
def _made() -> TemporaryDirectory[str]:
    folder = TemporaryDirectory(prefix="abcdlink-hostile-")
    store = Store(LocalFolder(Path(folder.name) / "hostile"), "hostile")
    describe_run(store, find_domain("news"))
    write_corpus_to(store, "natural", hostile_corpus())
    names = ("annotator-2", "annotator-9", "annotator-10")
    people = zip(names, ACCOUNTS, strict=True)
    store.write_records("annotators.jsonl", [Annotator(annotator=n, account=a, simulated="9" in n) for n, a in people])
    store.write_records("judgments.jsonl", hostile_judgments())
    decided_by = Annotator(annotator="adjudicator-1", account="adjudicator.luchs@example.org", simulated=False)
    store.write_records(ADJUDICATORS, [decided_by])
    store.write_records(ADJUDICATIONS, hostile_adjudications())
    return folder

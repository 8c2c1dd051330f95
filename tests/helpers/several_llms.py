"""Three LLMs that answer alike every time: one exact, one at chance, one that refuses a tenth; and corpora for them."""

from __future__ import annotations

import json
import re
import zlib

from abcdlink.corpus import Corpus, Document, Pair
from abcdlink.corpus.io import write_corpus_to
from tests.helpers.builders import document
from tests.helpers.fake_llm import FakeLLM, error, says

SOURCES, TARGETS = 3, 6
MODELS = ("exact", "chance", "shy")


def gold(source: str) -> set[str]:
    """``p-s0`` has a link to the target sentence ``p-t0``, ``p-s1`` to ``p-t1`` and ``p-t2``; the last one has none."""
    pair, number = source.split("-s")
    first = int(number)
    return set() if first == SOURCES - 1 else {f"{pair}-t{n}" for n in range(first, 2 * first + 1)}


def asked(request) -> tuple[str, list[str]]:
    """Return the source sentence and the target sentences of a question."""
    return re.search(r"Source sentence: \[(\S+)\]", request.prompt)[1], list(request.schema["properties"])


def tossed(source: str, target: str) -> bool:
    return zlib.crc32(f"{source} {target}".encode()) % 2 == 1


def refused(source: str) -> bool:
    return zlib.crc32(source.encode()) % 10 == 0


def exact(request):
    source, targets = asked(request)
    return says(json.dumps({target: target in gold(source) for target in targets}))


def chance(request):
    source, targets = asked(request)
    return says(json.dumps({target: tossed(source, target) for target in targets}))


def shy(request):
    source, _ = asked(request)
    return error(400, "filtered", code="content_filter") if refused(source) else exact(request)


SCRIPTS = {"exact": exact, "chance": chance, "shy": shy}


def pair_of(name: str) -> tuple[Pair, list[Document]]:
    documents = [
        document(f"{name}-{end}s", (f"{name} {end} says {n}." for n in range(count)), f"{name}-{end}{{n}}")
        for end, count in (("s", SOURCES), ("t", TARGETS))
    ]
    links = {f"{name}-s{n}": tuple(sorted(gold(f"{name}-s{n}"))) for n in range(SOURCES - 1)}
    return Pair(id=name, source=documents[0].id, target=documents[1].id, links=links), documents


def write(store, corpus_name, names):
    pairs, documents = zip(*map(pair_of, names), strict=True)
    corpus = Corpus(name=corpus_name, documents={d.id: d for some in documents for d in some}, pairs=list(pairs))
    write_corpus_to(store, corpus_name, corpus)


class Servers(dict[str, FakeLLM]):
    """Three servers under three profiles of the settings file."""

    def __init__(self, home, stack):
        super().__init__({name: stack.enter_context(FakeLLM(do, models=(name,))) for name, do in SCRIPTS.items()})
        self.home = home

    def settle(self, **more):
        """Write the settings file; ``more`` are further lines for some models."""
        tables = [
            f'[llm.{name}]\nbase_url = "{server.base_url}"\nmodel = "{name}"\ntimeout = 30\n{more.get(name, "")}\n'
            for name, server in self.items()
        ]
        self.home.mkdir(exist_ok=True)
        (self.home / "abcdlink.toml").write_text("".join(tables))

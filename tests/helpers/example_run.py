"""A small, complete run folder with invented documents, for tests of whatever is made from a run."""

from __future__ import annotations

import random
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from abcdlink.candidates.pools import PoolMode, PoolRules, Proposals, build_pools, sampled, split_batches
from abcdlink.corpus.io import read_corpus_from, write_corpus_to
from abcdlink.corpus.records import Corpus, Document, Pair, PairKind, Refusal
from abcdlink.domain import find_domain
from abcdlink.folders import LocalFolder
from abcdlink.judgments import Annotator, Judgment, Skip
from abcdlink.layout import decision_part
from abcdlink.linking.records import Decision
from abcdlink.stages.candidates import PoolCounts, PoolPlan, run_candidates
from abcdlink.stages.intake import describe_run
from abcdlink.stages.shortlist import quick_shortlist
from abcdlink.store import Store, open_run
from abcdlink.validation import Validation, style, validate
from tests.helpers.builders import document, judged
from tests.helpers.example_benchmark import benchmark

KEY = "harbour"
HOSTILE = "<img src=x onerror=alert(1)> \"quoted\" & 'single' $x$ | *stars*"
FACTS = [
    "The harbour council voted on Tuesday to close the old swing bridge for nine months.",
    "Ferries will carry passengers across the basin every ten minutes, free of charge.",
    "Engineers found cracks in two of the four bearings that let the bridge turn.",
    "Shop owners on the east bank fear that fewer visitors will come before the winter.",
    "The repair is expected to cost 4.2 million, of which the region pays half.",
    "Cyclists must use the road bridge two kilometres upstream until the works end.",
    "A spokeswoman said that the bridge had never been closed for longer than a week.",
    "Local schools will start fifteen minutes later to make room for the longer way.",
    HOSTILE,
    "Nobody was hurt when a barge touched the eastern pier in March.",
]


def _corpus(kind: PairKind, chooser: random.Random, count: int = 6) -> Corpus:
    pairs, documents = [], {}
    for number in range(count):
        source, target = (
            document(f"{kind}-{number}-{side}", [chooser.choice(FACTS) for _ in range(8)]) for side in "ab"
        )
        documents |= {source.id: source, target.id: target}
        links = {"0": ("1", "7"), "4": ("2",), "7": ("0", "1", "3")} if kind is PairKind.SYNTHETIC else None
        pairs.append(Pair(id=f"{kind}-{number}", source=source.id, target=target.id, kind=kind, links=links))
    refused = [Refusal(where=f"{kind}.jsonl, line 7", reason=f"no sentences {HOSTILE}", hint="give it text")]
    return Corpus(name=kind, documents=documents, pairs=pairs, refused=refused)


def take_in(store: Store, pairs: int = 6) -> Corpus:
    """Stage intake."""
    corpus = _corpus(PairKind.NATURAL, random.Random(1), pairs)
    write_corpus_to(store, "natural", corpus)
    store.note("inputs", {"intake": {"corpus": "sample", "domain": "news"}})
    store.note("counts", {"documents": 12, "pairs": 6, "note": HOSTILE})
    return corpus


def write_synthetic(store: Store) -> None:
    """Write the synthetic pairs alone."""
    write_corpus_to(store, "synthetic", _corpus(PairKind.SYNTHETIC, random.Random(2)))


def generate(store: Store, model: str = "smollm2-135m-instruct") -> None:
    """Stages generate and validate."""
    usage = {"calls": 61, "prompt_tokens": 24310, "cached_tokens": 20001, "completion_tokens": 2112, "seconds": 48.2}
    write_synthetic(store)
    result = {"strategy": "sentence", "model": model, "documents": 7, "pairs": 6, "links": 36, "refused": 1}
    result |= {"dropped": 0, "reasons": {}, "usage": usage}
    store.write_json("generation.json", result)
    found = _validation(len(read_corpus_from(store, "natural").pairs))
    store.write_record("validation.json", found.model_copy(update={"flags": (f"too long {HOSTILE}",)}))


@cache
def _validation(pairs: int) -> Validation:
    """Compare the synthetic pairs with this many natural ones."""
    corpora = _corpus(PairKind.SYNTHETIC, random.Random(2)), _corpus(PairKind.NATURAL, random.Random(1), pairs)
    with patch.multiple(style, flesch=_characters, lexicon_subjectivity=_characters, mtld=_characters):
        return validate(*corpora, find_domain("news"))


def _characters(document: Document, _: str = "") -> float:
    """Stand in for measures whose dictionaries take a second to load."""
    return float(sum(map(len, document.texts)))


def make_pools(store: Store, corpus: Corpus) -> list[Judgment]:
    """Stage candidates; returns the judgments that two annotators of different strictness give."""
    chooser = random.Random(1)
    decisions: tuple[list[Decision], list[Decision]] = ([], [])
    for pair in corpus.pairs:
        for source in corpus.source_of(pair).sentences:
            for place in range(2):
                targets = tuple(chooser.sample([str(n) for n in range(8)], chooser.randint(0, 3)))
                decision = Decision(approach=f"x@{place}", pair=pair.id, source=source.id, targets=targets)
                decisions[place].append(decision)
    for part, calls in enumerate((7, 5)):
        kept = {"decisions": [], "usage": {"calls": calls, "prompt_tokens": 1000}}
        store.write_json(decision_part("natural", "hybrid@7+llm-listwise-4", part), kept)
    proposals = [Proposals("retriever", decisions[0]), Proposals("llm", decisions[1])]
    result = build_pools(corpus, proposals, PoolRules(), sampled(2, 13), store.key, split_batches(corpus.pairs))
    store.write_records("candidates.jsonl", result.pools)
    counts = PoolCounts.of(result.pools, PoolMode.COMPARISON, filtered=result.filtered)
    store.write_record("candidates.json", counts)
    chance = {"both": 0.8, "retriever": 0.45, "llm": 0.55, "random": 0.06}
    judgments = []
    for pool in result.pools:
        for candidate in pool.candidates:
            linked = chooser.random() < chance[candidate.method]
            for annotator, slip in (("annotator-1", 0.14), ("annotator-2", 0.1)):
                said = linked != (chooser.random() < slip / pool.batch)
                judgments.append(judged(pool, candidate, annotator, said, seconds=12.0 + 3 * pool.batch))
    return judgments


def proposed_run(key: str) -> Store:
    """Make a run whose candidates BM25 proposes, by the stage itself; simulated annotators have gold links."""
    store, domain = open_run(key), find_domain("news")
    describe_run(store, domain)
    corpus = take_in(store)
    gold = {"0": ("1",), "4": ("2",)}
    pairs = [pair.model_copy(update={"links": gold}) for pair in corpus.pairs]
    write_corpus_to(store, "natural", corpus.model_copy(update={"pairs": pairs}))
    quick_shortlist(store, domain)
    run_candidates(store, domain, PoolPlan(mode=PoolMode.SINGLE, batches=2, distractors=2))
    return store


def annotate(store: Store, judgments: list[Judgment], batches: tuple[int, ...] = (1, 2)) -> None:
    """Stage annotate, up to the last of the given batches."""
    people = [Annotator(annotator=f"annotator-{n}", account=f"s{n}@simulated.invalid", simulated=True) for n in (1, 2)]
    store.write_records("annotators.jsonl", people)
    for batch in batches:
        own = [judgment for judgment in judgments if judgment.batch == batch]
        store.write_records(f"batches/{batch}/judgments.jsonl", own)
        store.write_records(f"batches/{batch}/skips.jsonl", [Skip(batch=batch, key="k", annotator="annotator-1")])
        store.write_json(f"batches/{batch}/anomalies.json", [f"a task vanished {HOSTILE}"])
    if batches == (1, 2):
        store.write_records("judgments.jsonl", judgments)


@cache
def _made() -> TemporaryDirectory[str]:
    folder = TemporaryDirectory(prefix="abcdlink-example-")
    store = Store(LocalFolder(Path(folder.name) / KEY), KEY)
    corpus = take_in(store)
    generate(store)
    benchmark(store)
    annotate(store, make_pools(store, corpus))
    return folder


def example_run(folder: Path) -> Store:
    """Return the store of a complete run: made once and copied for each test."""
    shutil.copytree(Path(_made().name) / KEY, folder / KEY)
    return Store(LocalFolder(folder / KEY), KEY)

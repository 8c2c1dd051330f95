"""The page of links: every pair side by side with its candidates, and everything said about each.

One file for few pairs; for many an index and files of 20 pairs each. Nothing is loaded from elsewhere: the only script
is in the page, and the page's policy allows no other (by its hash).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel

from abcdlink.adjudicate import Adjudication
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.export.dataset import judgments_needed, labelled_candidates
from abcdlink.judgments import Judgment, Label, LabelRule, Place, Pool, by_candidate
from abcdlink.layout import ADJUDICATIONS, JUDGMENTS, NATURAL, POOLS
from abcdlink.stages.feedback import second_answers
from abcdlink.stages.once import parts_of
from abcdlink.stages.rank import read_rankings
from abcdlink.store import Store
from abcdlink.templates import html_environment

if TYPE_CHECKING:
    from jinja2 import Environment

R = TypeVar("R", bound=BaseModel)

PAIRS_IN_A_FILE = 20
AGREEMENTS = ("agree", "differ", "decided", "incomplete", "not judged")
PAGE, FOLDER = "links.html", "links"
"""The page, or its index; and the folder of the files of many pairs."""


class KnownCandidate(NamedTuple):
    """One candidate with all that is known about it.

    ``votes`` and ``again``: annotator -> what they said, at first and after the feedback. ``decided``: who decided, and
    what. ``link``: the label of the data set, ``None`` where there is none yet. ``agreement``: in one word.
    ``probability``: by the learned linker of the run, where it ranked the natural pairs.
    """

    source: str
    target: str
    source_text: str
    target_text: str
    method: str
    batch: int
    probability: float | None
    votes: Mapping[str, Label] = MappingProxyType({})
    again: Mapping[str, Label] = MappingProxyType({})
    decided: tuple[str, Label] | None = None
    link: bool | None = None
    agreement: str = "not judged"

    @property
    def label(self) -> str:
        """The label in words; none where there is none yet."""
        return "none" if self.link is None else "Link" if self.link else "No Link"


class KnownPair(NamedTuple):
    """One pair: its documents as (sentence id, text, numbers of its candidates), and the candidates."""

    id: str
    source: str
    target: str
    source_sentences: list[tuple[str, str, list[int]]]
    target_sentences: list[tuple[str, str, list[int]]]
    candidates: list[KnownCandidate]

    @property
    def text(self) -> str:
        """All words of both documents, for the search."""
        return " ".join(text.lower() for _, text, _ in (*self.source_sentences, *self.target_sentences))

    @property
    def kinds(self) -> list[dict[str, str]]:
        """What kinds of candidates it has, for the filters; each kind once."""
        found = {(one.method, one.label, one.agreement, str(one.batch)) for one in self.candidates}
        return [dict(zip(("method", "label", "agreement", "batch"), kind, strict=True)) for kind in sorted(found)]

    @property
    def links(self) -> int:
        """How many candidates are links."""
        return sum(bool(one.link) for one in self.candidates)

    @property
    def disagreements(self) -> int:
        """On how many candidates annotators differ."""
        return sum(len(set(one.votes.values())) > 1 for one in self.candidates)


def write_links(store: Store) -> str:
    """Write the page of all links of a run and return where it is.

    Raises:
        InputError: when the run has no candidates yet.
    """
    store.require(POOLS, "candidates")
    pairs = list(known_pairs(store))
    parts = parts_of(pairs, PAIRS_IN_A_FILE)
    if len(parts) <= 1:
        store.write_text(PAGE, _render(store, pairs))
        return store.where(PAGE)
    names = [f"{FOLDER}/{number:04d}.html" for number in range(1, len(parts) + 1)]
    for name, part in zip(names, parts, strict=True):
        store.write_text(name, _render(store, part, name=name, names=names))
    found = [(pair, name) for name, part in zip(names, parts, strict=True) for pair in part]
    index = _environment("links_index.js").get_template("links_index.html.j2")
    store.write_text(PAGE, index.render(run=store.key, pairs=found, **_choices(pairs)))
    return store.where(PAGE)


def _choices(pairs: Sequence[KnownPair]) -> dict[str, list[Any]]:
    """Return what can be filtered by."""
    known = [one for pair in pairs for one in pair.candidates]
    return {
        "methods": sorted({one.method for one in known}),
        "agreements": [word for word in AGREEMENTS if any(one.agreement == word for one in known)],
        "batches": sorted({one.batch for one in known}),
    }


def known_pairs(store: Store) -> Iterator[KnownPair]:
    """Yield the pairs that have candidates, in the order of the corpus."""
    corpus = read_corpus_from(store, NATURAL)
    candidates: dict[str, list[KnownCandidate]] = {}
    for pair_id, known in _candidates(store, corpus):
        candidates.setdefault(pair_id, []).append(known)
    for pair in corpus.pairs:
        if pair.id in candidates:
            yield _pair(corpus, pair, candidates[pair.id])


def _pair(corpus: Corpus, pair: Pair, candidates: list[KnownCandidate]) -> KnownPair:
    source, target = corpus.source_of(pair), corpus.target_of(pair)
    candidates = sorted(candidates, key=lambda one: (source.position[one.source], target.position[one.target]))
    of_source: dict[str, list[int]] = {}
    of_target: dict[str, list[int]] = {}
    for number, one in enumerate(candidates):
        of_source.setdefault(one.source, []).append(number)
        of_target.setdefault(one.target, []).append(number)
    return KnownPair(
        id=pair.id,
        source=source.id,
        target=target.id,
        source_sentences=[(one.id, one.text, of_source.get(one.id, [])) for one in source.sentences],
        target_sentences=[(one.id, one.text, of_target.get(one.id, [])) for one in target.sentences],
        candidates=candidates,
    )


def _candidates(store: Store, corpus: Corpus) -> Iterator[tuple[str, KnownCandidate]]:
    """Yield (pair, candidate): those that were judged, then those that nobody has judged yet."""
    judgments, decisions = of_batches(store, JUDGMENTS, Judgment), store.find_records(ADJUDICATIONS, Adjudication)
    again = by_candidate(second_answers(store))
    needed = judgments_needed(store.manifest, judgments) if judgments else None
    rule = LabelRule.ADJUDICATED if decisions else LabelRule.BOTH
    probabilities = probabilities_in(store)
    for one in labelled_candidates(judgments, corpus, rule, needed, adjudications=decisions):
        at = (one.pair, one.source, one.target)
        decided = (one.adjudicator, one.adjudication) if one.adjudicator and one.adjudication else None
        known = KnownCandidate(
            **one.model_dump(include={"source", "target", "source_text", "target_text", "method", "batch", "link"}),
            votes=one.judgments,
            again={who: later.label for who, later in again.get(at, {}).items()},
            decided=decided,
            agreement=_agreement(list(one.judgments.values()), needed, decided=decided is not None),
            probability=probabilities.get(at),
        )
        yield one.pair, known
    yield from _not_judged(store, corpus, {one.at for one in judgments}, probabilities)


def _agreement(said: Sequence[Label], needed: int | None, *, decided: bool) -> str:
    if len(set(said)) > 1:
        return "decided" if decided else "differ"
    return "agree" if len(said) >= (needed or 1) else "incomplete"


def _not_judged(
    store: Store, corpus: Corpus, judged: set[Place], probabilities: Mapping[Place, float]
) -> Iterator[tuple[str, KnownCandidate]]:
    pairs = {pair.id: pair for pair in corpus.pairs}
    for pool in store.read_records(POOLS, Pool):
        for one in pool.candidates:
            at = (pool.pair, pool.source, one.target)
            if at in judged:
                continue
            pair = pairs[pool.pair]
            texts = corpus.source_of(pair).text_of(pool.source), corpus.target_of(pair).text_of(one.target)
            known = KnownCandidate(
                source=pool.source,
                target=one.target,
                source_text=texts[0],
                target_text=texts[1],
                method=one.method,
                batch=pool.batch,
                probability=probabilities.get(at),
            )
            yield pool.pair, known


def of_batches(store: Store, name: str, kind: type[R]) -> list[R]:
    """Return the records of a run's file, or of the same file in each batch while they are not merged yet."""
    if store.exists(name):
        return store.read_records(name, kind)
    parts = [part for part in store.folder.names("batches/") if part.split("/")[2:] == [name]]
    return [record for part in parts for record in store.read_records(part, kind)]


def probabilities_in(store: Store) -> dict[Place, float]:
    """Return candidate -> probability of a link, by the first learned linker that ranked the natural pairs, if any."""
    names = store.folder.names(f"rankings/{NATURAL}/learned")
    linker = next((name.split("/")[2] for name in names if name.endswith("/plan.json")), None)
    if linker is None:
        return {}
    table = read_rankings(store, NATURAL, unquote(linker)).table
    rows = zip(table["pair"], table["source"], table["target"], table["score"], strict=True)
    return {(str(pair), str(source), str(target)): float(score) for pair, source, target, score in rows}


def _environment(script_file: str) -> Environment:
    environment = html_environment("abcdlink.report")
    script = files("abcdlink.report").joinpath(f"templates/{script_file}").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(f"\n{script}\n".encode()).digest()).decode()
    environment.globals |= {"script": script, "policy": f"script-src 'sha256-{digest}'"}
    return environment


def _render(store: Store, pairs: Sequence[KnownPair], name: str = PAGE, names: Sequence[str] = ()) -> str:
    place = list(names).index(name) if names else 0
    around = {"before": names[place - 1] if place else "", "after": names[place + 1] if place + 1 < len(names) else ""}
    return (
        _environment("links.js")
        .get_template("links.html.j2")
        .render(
            run=store.key,
            pairs=pairs,
            part=place + 1 if names else 0,
            parts=len(names),
            **_choices(pairs),
            **{which: file.split("/")[-1] for which, file in around.items()},
        )
    )

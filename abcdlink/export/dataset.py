"""What is exported, put together once for all layouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from abcdlink.adjudicate import Adjudication
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.export.candidates import LabelledCandidate, labelled_candidates, natural_order
from abcdlink.interannotator import required_judgments
from abcdlink.judgments import Annotator, Judgment, LabelRule
from abcdlink.layout import ADJUDICATIONS, ADJUDICATORS, ANNOTATORS, JUDGMENTS, NATURAL
from abcdlink.store import Store


@dataclass(frozen=True)
class Files:
    """The files of one layout by name, and how many texts had to be changed for it, by reason."""

    contents: dict[str, bytes]
    changes: Counter[str] = field(default_factory=Counter)


class JudgedPair(NamedTuple):
    """A pair with its judged candidates, and a name for its files; ``number`` counts from 1."""

    number: int
    pair: Pair
    candidates: list[LabelledCandidate]


@dataclass(frozen=True)
class Dataset:
    """A run's judged candidates with what belongs to them.

    ``needed``: judgments that a candidate needs to be labelled; ``simulated``: annotators and adjudicators
    behind whom a program stands; ``licence``: as the coordinator gave it, empty when none was given.
    """

    store: Store
    corpus: Corpus
    judgments: list[Judgment]
    rule: LabelRule
    needed: int
    simulated: frozenset[str]
    adjudications: list[Adjudication]
    licence: str = ""

    @cached_property
    def candidates(self) -> list[LabelledCandidate]:
        """The judged candidates in the order of the corpus."""
        return labelled_candidates(
            self.judgments, self.corpus, self.rule, self.needed, self.simulated, self.adjudications
        )

    @cached_property
    def annotators(self) -> list[str]:
        """The pseudonyms of those who judged."""
        return sorted({judgment.annotator for judgment in self.judgments}, key=natural_order)

    @cached_property
    def judged(self) -> Corpus:
        """The corpus cut to the pairs in which something was judged, and to their documents."""
        names = {candidate.pair for candidate in self.candidates}
        cut = self.corpus.model_copy(update={"pairs": [pair for pair in self.corpus.pairs if pair.id in names]})
        return cut.model_copy(update={"documents": {document.id: document for document in cut.used_documents()}})

    def by_pair(self) -> Iterator[JudgedPair]:
        """Yield the judged pairs in the order of the corpus."""
        pairs = {pair.id: pair for pair in self.corpus.pairs}
        groups = groupby(self.candidates, key=lambda candidate: candidate.pair)
        for number, (pair_id, candidates) in enumerate(groups, start=1):
            yield JudgedPair(number, pairs[pair_id], list(candidates))


def gather(store: Store, rule: LabelRule, licence: str) -> Dataset:
    """Read a run's judgments, adjudications and corpus.

    Raises:
        InputError: when the run has no judgments yet, or no adjudications for the rule that needs them, or
            they name accounts instead of pseudonyms.
    """
    store.require(JUDGMENTS, "annotate")
    if rule is LabelRule.ADJUDICATED:
        store.require(ADJUDICATIONS, "adjudicate")
    judgments = store.read_records(JUDGMENTS, Judgment)
    adjudications = store.find_records(ADJUDICATIONS, Adjudication)
    people = [
        person
        for name in (ANNOTATORS, ADJUDICATORS)
        if store.exists(name)
        for person in store.read_records(name, Annotator)
    ]
    _refuse_accounts(store, JUDGMENTS, "judgment", [judgment.annotator for judgment in judgments], people)
    _refuse_accounts(store, ADJUDICATIONS, "adjudication", [one.adjudicator for one in adjudications], people)
    return Dataset(
        store=store,
        corpus=read_corpus_from(store, NATURAL),
        judgments=judgments,
        rule=rule,
        needed=judgments_needed(store, judgments),
        simulated=frozenset(person.annotator for person in people if person.simulated),
        adjudications=adjudications,
        licence=licence.strip(),
    )


def judgments_needed(store: Store, judgments: Sequence[Judgment]) -> int:
    """Return how many judgments a candidate of the run needs to be labelled."""
    asked_for: int | None = store.manifest.get("annotation", {}).get("overlap")
    return asked_for or required_judgments(judgments)


def _refuse_accounts(store: Store, file: str, what: str, names: list[str], people: list[Annotator]) -> None:
    """Raise ``InputError`` when a record tells who gave it: personal data never leave the run."""
    accounts = {person.account for person in people}
    for number, name in enumerate(names, start=1):
        if name in accounts or "@" in name:
            msg = f"{store.where(file)}, {what} {number}, names an account where a pseudonym belongs"
            raise InputError(msg, "write a pseudonym such as annotator-1 in its place")

"""What is exported: every judged candidate with its label by each rule, put together once for all layouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from abcdlink.adjudicate import Adjudication, by_place
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Pair, Record
from abcdlink.errors import InputError
from abcdlink.interannotator.groups import required_judgments
from abcdlink.judgments import (
    Annotator,
    Judgment,
    Label,
    LabelRule,
    Provenance,
    by_candidate,
    in_reading_order,
    verdict,
)
from abcdlink.layout import ADJUDICATIONS, ADJUDICATORS, ANNOTATORS, JUDGMENTS, NATURAL
from abcdlink.store import Store


class LabelledCandidate(Record):
    """One candidate as people judged it.

    ``judgments``: annotator -> Link or No Link; ``link``: the label by ``rule``, ``None`` where there
    is none; ``provenance``: where the label comes from, or why there is none; both again by each rule,
    whichever was asked for. ``adjudication``: what the ``adjudicator`` said, if anybody decided;
    ``consensus``: the adjudicator is one of those who judged it. ``simulated``: a program, not a person,
    gave at least one of the judgments, or decided.
    """

    batch: int
    pair: str
    source_document: str
    target_document: str
    source: str
    target: str
    source_text: str
    target_text: str
    method: str
    judgments: dict[str, Label]
    link: bool | None
    rule: LabelRule
    provenance: Provenance
    link_both: bool | None
    provenance_both: Provenance
    link_majority: bool | None
    provenance_majority: Provenance
    link_adjudicated: bool | None
    provenance_adjudicated: Provenance
    adjudicator: str | None
    adjudication: Label | None
    consensus: bool | None
    simulated: bool


def labelled_candidates(
    judgments: Sequence[Judgment],
    corpus: Corpus,
    rule: LabelRule = LabelRule.BOTH,
    needed: int | None = None,
    simulated: Collection[str] = (),
    adjudications: Sequence[Adjudication] = (),
) -> list[LabelledCandidate]:
    """Put the judgments on each candidate together; ordered by pair, source and target in the corpus.

    ``needed``: judgments that a candidate needs to be labelled; default ``required_judgments``. ``simulated``:
    annotators and adjudicators that are programs. ``adjudications``: at most one for each candidate.

    Raises:
        InputError: when a judgment is on a sentence that is not in the corpus.
    """
    pairs = {pair.id: pair for pair in corpus.pairs}
    enough = required_judgments(judgments) if needed is None else needed
    decided = by_place(adjudications)
    found = {}
    for (pair_id, source, target), group in by_candidate(judgments).items():
        at = pair_id, source, target
        pair = _checked(pairs.get(pair_id), corpus, at)
        first, decision = next(iter(group.values())), decided.get(at)
        said, outcome = [j.label for j in group.values()], decision.label if decision else None
        labels = {each: verdict(said, each, enough, outcome) for each in LabelRule}
        found[at] = LabelledCandidate(
            batch=first.batch,
            pair=pair_id,
            source_document=pair.source,
            target_document=pair.target,
            source=source,
            target=target,
            source_text=corpus.source_of(pair).text_of(source),
            target_text=corpus.target_of(pair).text_of(target),
            method=first.method,
            judgments={annotator: group[annotator].label for annotator in sorted(group, key=natural_order)},
            link=labels[rule].link,
            rule=rule,
            provenance=labels[rule].provenance,
            link_both=labels[LabelRule.BOTH].link,
            provenance_both=labels[LabelRule.BOTH].provenance,
            link_majority=labels[LabelRule.MAJORITY].link,
            provenance_majority=labels[LabelRule.MAJORITY].provenance,
            link_adjudicated=labels[LabelRule.ADJUDICATED].link,
            provenance_adjudicated=labels[LabelRule.ADJUDICATED].provenance,
            adjudicator=decision.adjudicator if decision else None,
            adjudication=outcome,
            consensus=decision.consensus if decision else None,
            simulated=any(name in simulated for name in (*group, *([decision.adjudicator] if decision else []))),
        )
    return [found[at] for at in in_reading_order(found, corpus)]


def natural_order(annotator: str) -> tuple[str, int, str]:
    """Sort key of pseudonyms: ``annotator-2`` comes before ``annotator-10``."""
    stem = annotator.rstrip("0123456789")
    number = annotator[len(stem) :]
    return stem, int(number or 0), annotator


def _checked(pair: Pair | None, corpus: Corpus, judged: tuple[str, str, str]) -> Pair:
    pair_id, source, target = judged
    if pair is None or source not in corpus.source_of(pair).position or target not in corpus.target_of(pair).position:
        where = f"pair {pair_id!r}, source {source!r}, target {target!r}"
        msg = f"{JUDGMENTS} has a judgment on {where}, which is not in the run's corpus"
        raise InputError(msg, "export with the corpus that was annotated")
    return pair


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
    that are programs; ``licence``: as the coordinator gave it, empty when none was given.
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


def gather(store: Store, rule: LabelRule, licence: str, needed: int | None = None) -> Dataset:
    """Read a run's judgments, adjudications and corpus; ``needed``: see ``judgments_needed``, the default.

    Raises:
        InputError: when the run has no judgments yet, or no adjudications for the rule that needs them, or
            they name accounts instead of pseudonyms, or more judgments are needed than were asked for.
    """
    store.require(JUDGMENTS, "annotate")
    if rule is LabelRule.ADJUDICATED:
        store.require(ADJUDICATIONS, "adjudicate")
    judgments = store.read_records(JUDGMENTS, Judgment)
    adjudications = store.find_records(ADJUDICATIONS, Adjudication)
    asked = judgments_needed(store.manifest, judgments)
    if needed and needed > asked:
        msg = f"{needed} judgments are more than the {asked} that each candidate of run {store.key!r} was to get"
        raise InputError(msg, f"take {asked} or fewer, or no candidate has a label")
    people = [person for name in (ANNOTATORS, ADJUDICATORS) for person in store.find_records(name, Annotator)]
    _refuse_accounts(store, JUDGMENTS, "judgment", [judgment.annotator for judgment in judgments], people)
    _refuse_accounts(store, ADJUDICATIONS, "adjudication", [one.adjudicator for one in adjudications], people)
    return Dataset(
        store=store,
        corpus=read_corpus_from(store, NATURAL),
        judgments=judgments,
        rule=rule,
        needed=needed or asked,
        simulated=frozenset(person.annotator for person in people if person.simulated),
        adjudications=adjudications,
        licence=licence.strip(),
    )


def judgments_needed(manifest: Mapping[str, Any], judgments: Sequence[Judgment]) -> int:
    """Return how many judgments a candidate of a run needs to be labelled, from its manifest."""
    asked_for: int | None = manifest.get("annotation", {}).get("overlap")
    return asked_for or required_judgments(judgments)


def _refuse_accounts(store: Store, file: str, what: str, names: list[str], people: list[Annotator]) -> None:
    """Raise ``InputError`` when a record names the account that gave it: personal data never leave the run."""
    accounts = {person.account for person in people}
    for number, name in enumerate(names, start=1):
        if name in accounts or "@" in name:
            msg = f"{store.where(file)}, {what} {number}, has an account in place of a pseudonym"
            raise InputError(msg, "replace it with a pseudonym such as annotator-1")

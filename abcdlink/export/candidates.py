"""The rows of a data set: every judged candidate with all its judgments, and its label by each rule."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from abcdlink.adjudicate import Adjudication, by_place
from abcdlink.corpus.records import Corpus, Pair, Record
from abcdlink.errors import InputError
from abcdlink.interannotator import required_judgments
from abcdlink.judgments import Judgment, Label, LabelRule, Provenance, by_candidate, verdict
from abcdlink.layout import JUDGMENTS


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

    Args:
        judgments: of any batches.
        corpus: holds the pairs that were judged.
        rule: what makes a candidate a link.
        needed: judgments that a candidate needs to be labelled; default ``required_judgments``.
        simulated: annotators and adjudicators behind whom a program stands.
        adjudications: at most one for each candidate.

    Raises:
        InputError: when a judgment is on a sentence that the corpus does not hold.
    """
    pairs = {pair.id: pair for pair in corpus.pairs}
    enough = required_judgments(judgments) if needed is None else needed
    decided = by_place(adjudications)
    placed = []
    order = {pair_id: index for index, pair_id in enumerate(pairs)}
    for (pair_id, source, target), group in by_candidate(judgments).items():
        pair = _checked(pairs.get(pair_id), corpus, (pair_id, source, target))
        first, decision = next(iter(group.values())), decided.get((pair_id, source, target))
        said, outcome = [j.label for j in group.values()], decision.label if decision else None
        labels = {each: verdict(said, each, enough, outcome) for each in LabelRule}
        candidate = LabelledCandidate(
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
        place = corpus.source_of(pair).position[source], corpus.target_of(pair).position[target]
        placed.append(((order[pair_id], *place), candidate))
    return [candidate for _, candidate in sorted(placed, key=lambda item: item[0])]


def natural_order(annotator: str) -> tuple[str, int, str]:
    """Sort key of pseudonyms: ``annotator-2`` comes before ``annotator-10``."""
    stem = annotator.rstrip("0123456789")
    number = annotator[len(stem) :]
    return stem, int(number or 0), annotator


def _checked(pair: Pair | None, corpus: Corpus, judged: tuple[str, str, str]) -> Pair:
    pair_id, source, target = judged
    if pair is None or source not in corpus.source_of(pair).position or target not in corpus.target_of(pair).position:
        where = f"pair {pair_id!r}, source {source!r}, target {target!r}"
        msg = f"{JUDGMENTS} judges {where}, which is not in the run's corpus"
        raise InputError(msg, "export with the corpus that was annotated")
    return pair

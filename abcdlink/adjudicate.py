"""Candidates on which annotators differ are decided: by a third person, or by the annotators together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError
from abcdlink.judgments import AtPlace, Candidate, Judgment, Label, Place, Pool, by_candidate, opaque_id
from abcdlink.layout import JUDGMENTS

R = TypeVar("R", bound=Record)


class Adjudication(AtPlace):
    """The decision on one disputed candidate.

    ``adjudicator``: pseudonym; that of an annotator where one of the annotators decided. ``comment``: on
    the whole task. ``consensus``: the adjudicator is one of those who judged this candidate, alone or
    speaking for all of them: the decision is not an outside view.
    """

    batch: int
    adjudicator: str
    label: Label
    comment: str = ""
    consensus: bool
    submitted: datetime | None = None


def by_place(adjudications: Iterable[Adjudication]) -> dict[Place, Adjudication]:
    """Return (pair, source, target) -> what was decided."""
    return {adjudication.at: adjudication for adjudication in adjudications}


def disputed(judgments: Sequence[Judgment], needed: int) -> dict[Place, dict[str, Judgment]]:
    """Return the candidates on which annotators differ, with the judgments by annotator.

    A candidate with fewer than ``needed`` judgments has no label by any rule: there is nothing to decide yet.
    """
    return {
        at: group
        for at, group in by_candidate(judgments).items()
        if len(group) >= needed and len({judgment.label for judgment in group.values()}) > 1
    }


def pools_to_decide(
    judgments: Sequence[Judgment],
    corpus: Corpus,
    run_key: str,
    needed: int,
    asked: Sequence[Pool] = (),
    but: Collection[Place] = (),
) -> list[Pool]:
    """Return the pools for an adjudicator: ``asked``, then one for each source with disputes that are not in them.

    What was asked before stays as it is. A pool's key is a hash of what it asks, so that the same disputes always give
    the same tasks. ``needed``: judgments that a candidate needs; ``but``: candidates that nobody is to be asked about.

    Raises:
        InputError: when a judgment is on a sentence that is not in the corpus.
    """
    known = {(pool.pair, pool.source, candidate.target) for pool in asked for candidate in pool.candidates}
    found: dict[tuple[str, str], list[Judgment]] = {}
    for at, group in disputed(judgments, needed).items():
        if at not in known and at not in but:
            found.setdefault(at[:2], []).append(next(iter(group.values())))
    positions = {pair.id: corpus.target_of(pair).position for pair in corpus.pairs}
    new = [_pool(run_key, group, positions) for group in found.values()]
    return [*asked, *new]


def _pool(run_key: str, group: Sequence[Judgment], positions: Mapping[str, Mapping[str, int]]) -> Pool:
    first = group[0]
    at = positions.get(first.pair, {})
    lost = next((judgment.target for judgment in group if judgment.target not in at), None)
    if lost is not None:
        msg = f"{JUDGMENTS} has a judgment on pair {first.pair!r}, target {lost!r}, which is not in the run's corpus"
        raise InputError(msg, "adjudicate with the corpus that was annotated")
    ordered = sorted(group, key=lambda judgment: at[judgment.target])
    return Pool(
        key=opaque_id(run_key, "adjudication", first.pair, first.source, *(judgment.target for judgment in ordered)),
        batch=first.batch,
        pair=first.pair,
        source=first.source,
        candidates=tuple(Candidate(target=judgment.target, method=judgment.method) for judgment in ordered),
    )


class MethodDecisions(Record):
    """One method's candidates, or all of them.

    ``candidates``: judged by as many as asked for. ``disputed`` of these, decided ``to_link`` and
    ``to_no_link``; the others are open. ``accepted``: all annotators said Link. ``links``: by the rule
    ``adjudicated``, of the candidates that have a label by it (``labelled``).
    """

    method: str
    candidates: int
    disputed: int
    to_link: int
    to_no_link: int
    accepted: int
    links: int
    labelled: int

    @property
    def open(self) -> int:
        """Disputed candidates that nobody has decided."""
        return self.disputed - self.to_link - self.to_no_link

    @property
    def before(self) -> float | None:
        """Acceptance rate: share of the candidates that all annotators called a link."""
        return self.accepted / self.candidates if self.candidates else None

    @property
    def after(self) -> float | None:
        """Share of links among the candidates with a label by the rule ``adjudicated``."""
        return self.links / self.labelled if self.labelled else None


class FollowedRow(Record):
    """How often decisions were what one annotator had said; ``own``: decisions by this annotator."""

    annotator: str
    decided: int
    followed: int
    own: int


FEEDBACK = "feedback round"
"""Stands for the adjudicator when everyone who had judged a candidate agreed on it in a feedback round."""


class AdjudicatorRow(Record):
    """What one adjudicator decided; ``consensus``: on candidates that the same person had judged."""

    adjudicator: str
    decided: int
    consensus: int

    @property
    def words(self) -> str:
        """Say it in a sentence."""
        if self.adjudicator == FEEDBACK:
            return f"A feedback round settled {self.decided}, which nobody was asked to decide."
        of_own = "as consensus, or on a judgment of the same person, so not an outside view"
        own = f"; {self.consensus} of them {of_own}" if self.consensus else ""
        return f"{self.adjudicator} decided {self.decided}{own}."


class AdjudicationSummary(Record):
    """The result of an adjudication so far; ``moot``: decisions on candidates that are no longer disputed."""

    total: MethodDecisions
    methods: tuple[MethodDecisions, ...]
    followed: tuple[FollowedRow, ...]
    adjudicators: tuple[AdjudicatorRow, ...]
    moot: int

    @property
    def rows(self) -> tuple[MethodDecisions, ...]:
        """The methods, and last all of them together."""
        return (*self.methods, self.total)


def summarise(judgments: Sequence[Judgment], adjudications: Sequence[Adjudication], needed: int) -> AdjudicationSummary:
    """Count what was decided on candidates that have the ``needed`` judgments."""
    decided = by_place(adjudications)
    groups = {at: group for at, group in by_candidate(judgments).items() if len(group) >= needed}
    rows: dict[str, Counter[str]] = {}
    people: dict[str, Counter[str]] = {}
    adjudicators: dict[str, Counter[str]] = {}
    for at, group in groups.items():
        said = {judgment.label for judgment in group.values()}
        counts = Counter(candidates=1, disputed=len(said) > 1, accepted=said == {Label.LINK})
        decision = decided.get(at) if len(said) > 1 else None
        if len(said) == 1:
            counts += Counter(labelled=1, links=said == {Label.LINK})
        elif decision is not None:
            link = decision.label is Label.LINK
            counts += Counter(labelled=1, links=link, to_link=link, to_no_link=not link)
            own = adjudicators.setdefault(decision.adjudicator, Counter())
            own.update(decided=1, consensus=decision.consensus)
            for name, judgment in group.items():
                same, theirs = judgment.label is decision.label, name == decision.adjudicator
                people.setdefault(name, Counter()).update(decided=1, followed=same, own=theirs)
        rows.setdefault(next(iter(group.values())).method, Counter()).update(counts)
    return AdjudicationSummary(
        total=_row(MethodDecisions, "all", sum(rows.values(), Counter())),
        methods=tuple(_row(MethodDecisions, method, rows[method]) for method in sorted(rows)),
        followed=tuple(_row(FollowedRow, name, people[name]) for name in sorted(people)),
        adjudicators=tuple(_row(AdjudicatorRow, name, adjudicators[name]) for name in sorted(adjudicators)),
        moot=len(decided) - sum(counts["decided"] for counts in adjudicators.values()),
    )


def _row(kind: type[R], name: str, counts: Counter[str]) -> R:
    """Return a row: its first field is the name, all others are counts."""
    first, *others = kind.model_fields
    return kind.model_validate({first: name, **{field: int(counts[field]) for field in others}})


def rows_of(summary: AdjudicationSummary) -> list[dict[str, object]]:
    """Return the decisions as rows of a table, one for each method and one for all; rates are in percent."""
    return [
        {
            "method": one.method,
            "disputed": one.disputed,
            "Link": one.to_link,
            "No Link": one.to_no_link,
            "open": one.open,
            "accepted by all": _percent(one.before),
            "links when adjudicated": _percent(one.after),
        }
        for one in summary.rows
    ]


def followed_rows(summary: AdjudicationSummary) -> list[dict[str, object]]:
    """Return as rows of a table how often decisions were what each annotator had said."""
    return [
        {"annotator": one.annotator, "decided": one.decided, "followed": one.followed, "their own decision": one.own}
        for one in summary.followed
    ]


def _percent(rate: float | None) -> str | None:
    return None if rate is None else f"{rate:.1%}"

"""What came of an adjudication: how much was decided how, whom it followed, what it does to acceptance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from abcdlink.adjudicate.records import Adjudication, by_place
from abcdlink.corpus.records import Record
from abcdlink.judgments import Judgment, Label, by_candidate


class MethodRow(Record):
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


class AdjudicatorRow(Record):
    """What one adjudicator decided; ``consensus``: on candidates that the same person had judged."""

    adjudicator: str
    decided: int
    consensus: int


class AdjudicationSummary(Record):
    """What came of an adjudication so far; ``moot``: decisions on candidates that are no longer disputed."""

    total: MethodRow
    methods: tuple[MethodRow, ...]
    followed: tuple[FollowedRow, ...]
    adjudicators: tuple[AdjudicatorRow, ...]
    moot: int

    @property
    def rows(self) -> tuple[MethodRow, ...]:
        """The methods, and last all of them together."""
        return (*self.methods, self.total)


def summarise(judgments: Sequence[Judgment], adjudications: Sequence[Adjudication], needed: int) -> AdjudicationSummary:
    """Count what was decided.

    Args:
        judgments: of the batches so far.
        adjudications: at most one for each candidate.
        needed: judgments that a candidate needs to count at all.
    """
    decided = by_place(adjudications)
    groups = {at: group for at, group in by_candidate(judgments).items() if len(group) >= needed}
    rows: dict[str, Counter[str]] = {}
    people: dict[str, Counter[str]] = {}
    counting = []
    for at, group in groups.items():
        said = {judgment.label for judgment in group.values()}
        counts = Counter(candidates=1, disputed=len(said) > 1, accepted=said == {Label.LINK})
        decision = decided.get(at) if len(said) > 1 else None
        if len(said) == 1:
            counts += Counter(labelled=1, links=said == {Label.LINK})
        elif decision is not None:
            link = decision.label is Label.LINK
            counts += Counter(labelled=1, links=link, to_link=link, to_no_link=not link)
            counting.append(decision)
            for name, judgment in group.items():
                own = name == decision.adjudicator
                same = judgment.label is decision.label
                people.setdefault(name, Counter()).update(decided=1, followed=same, own=own)
        rows.setdefault(next(iter(group.values())).method, Counter()).update(counts)
    return AdjudicationSummary(
        total=_row("all", sum(rows.values(), Counter())),
        methods=tuple(_row(method, rows[method]) for method in sorted(rows)),
        followed=tuple(_followed(name, people[name]) for name in sorted(people)),
        adjudicators=_adjudicators(counting),
        moot=len(decided) - len(counting),
    )


def _row(method: str, counts: Counter[str]) -> MethodRow:
    names = [name for name in MethodRow.model_fields if name != "method"]
    return MethodRow.model_validate({"method": method, **{name: int(counts[name]) for name in names}})


def _followed(name: str, counts: Counter[str]) -> FollowedRow:
    return FollowedRow(
        annotator=name, decided=counts["decided"], followed=int(counts["followed"]), own=int(counts["own"])
    )


def _adjudicators(counting: Sequence[Adjudication]) -> tuple[AdjudicatorRow, ...]:
    decided = Counter(one.adjudicator for one in counting)
    consensus = Counter(one.adjudicator for one in counting if one.consensus)
    return tuple(
        AdjudicatorRow(adjudicator=name, decided=decided[name], consensus=consensus[name]) for name in sorted(decided)
    )

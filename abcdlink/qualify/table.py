"""The coordinator's table of applicants, and the one that others may see."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from abcdlink.judgments import Annotator
from abcdlink.qualify.propose import ranked
from abcdlink.qualify.records import Applicant
from abcdlink.qualify.screening import Screening

Row = dict[str, object]


def rows_of(applicants: Sequence[Applicant], proposed: Collection[str] = ()) -> list[Row]:
    """Return how applicants judged, best first, by pseudonym; ``proposed``: pseudonyms."""
    return [_row(one, one.annotator in proposed) for one in ranked(applicants)]


def coordinator_rows(
    applicants: Sequence[Applicant],
    proposed: Collection[str],
    people: Sequence[Annotator],
    screening: Mapping[str, Screening],
    barred: Mapping[str, Sequence[str]] | None = None,
) -> list[Row]:
    """Return the same with accounts and screening fields: personal data, for the coordinator alone.

    ``barred``: pseudonym -> why somebody is not eligible.
    """
    account = {person.annotator: person.account for person in people}
    rows = []
    for row in rows_of(applicants, proposed):
        own = account[str(row["applicant"])]
        why = (barred or {}).get(str(row["applicant"]), ())
        eligible = f"no: {'; '.join(why)}" if why else "yes"
        rows.append({**row, "account": own, "eligible": eligible, **_screened(screening.get(own.lower()))})
    return rows


def _row(one: Applicant, proposed: bool) -> Row:
    return {
        "applicant": one.annotator,
        "proposed": "yes" if proposed else "",
        "tasks": f"{one.done} of {one.tasks}",
        "kappa": one.note if one.kappa is None else round(one.kappa, 3),
        "95 % interval": "" if one.interval is None else f"{one.interval[0]:.2f} to {one.interval[1]:.2f}",
        "agreement": _rounded(one.observed),
        "precision": _rounded(one.precision),
        "recall": _rounded(one.recall),
        "judged": one.judged,
        "seconds a task": None if one.seconds is None else round(one.seconds, 1),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _screened(known: Screening | None) -> Row:
    if known is None:
        return {}
    own = {
        "native language": known.native_language,
        "residence": known.residence,
        "degree": known.degree,
        "studies": known.studies,
        "approval rate": known.approval_rate,
        "participant id": known.participant_id,
    }
    return {**own, **{name: value for name, value in known.more.items() if name not in own}}

"""What everyone has earned for their time, by project."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from abcdlink.annotators import people_of
from abcdlink.corpus.records import Record
from abcdlink.interannotator.times import usual_time
from abcdlink.qualify.screening import screening_of
from abcdlink.store import Store
from labelstudio_config.answers import SIMULATED_DOMAIN
from labelstudio_config.run import known_so_far, pushed_slugs, read_pushed
from labelstudio_config.snapshot import TaskAnswer

CENT = Decimal("0.01")


class Pay(Record):
    """What someone did in one project, and their pay for it. Personal data, for the coordinator only.

    ``annotator``: their pseudonyms in the run. ``work``: the project, e.g. ``batch-1``. ``tasks``: submitted or
    skipped. ``estimated``: those of them whose time is unknown or an outlier (``OUTLIER_RULE``): the median of their
    other times there counts instead. ``hours``: on all of these tasks; ``None``: no time is known.
    ``amount``: in the currency of the rate.
    """

    account: str
    annotator: str
    participant_id: str
    work: str
    tasks: int
    estimated: int
    hours: float | None
    amount: Decimal


def pay_of(store: Store, rate: Decimal) -> list[Pay]:
    """Return what everyone had earned when Label Studio was last read, by account; programs earn nothing.

    ``rate``: pay for one hour.
    """
    names: dict[str, list[str]] = {}
    for person in people_of(store):
        names.setdefault(person.account.lower(), []).append(person.annotator)
    known, rows = screening_of(store), []
    for slug in pushed_slugs(store):
        snapshot = known_so_far(store, read_pushed(store, slug))
        if snapshot is None:
            continue
        answers: dict[str, list[TaskAnswer]] = {}
        for (_, user), (newest, *_) in snapshot.answers.items():
            answers.setdefault(snapshot.account(user), []).append(newest)
        for account, given in answers.items():
            if account.endswith(SIMULATED_DOMAIN):
                continue
            screened, (hours, estimated) = known.get(account.lower()), _hours(given)
            rows.append(
                Pay(
                    account=account,
                    annotator=", ".join(dict.fromkeys(names.get(account.lower(), ()))),
                    participant_id=screened.participant_id if screened else "",
                    work=slug,
                    tasks=len(given),
                    estimated=estimated,
                    hours=hours,
                    amount=(Decimal(hours or 0) * rate).quantize(CENT, ROUND_HALF_UP),
                )
            )
    return sorted(rows, key=lambda row: (row.account.lower(), row.work))


def _hours(answers: Sequence[TaskAnswer]) -> tuple[float | None, int]:
    """Return the hours spent on some tasks, and for how many of them the time is estimated."""
    times = [one.seconds for one in answers if one.seconds is not None]
    if not times:
        return None, len(answers)
    limit, usual = usual_time(times)
    measured = [seconds for seconds in times if seconds <= limit]
    estimated = len(answers) - len(measured)
    return (sum(measured) + estimated * usual) / 3600, estimated

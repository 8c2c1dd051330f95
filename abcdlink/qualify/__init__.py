"""Qualification: applicants judge pairs whose links are known, and the coordinator chooses the best of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.interannotator.measures import cohen_kappa, kappa_interval, observed_agreement
from abcdlink.interannotator.multiple import ONE_LABEL
from abcdlink.judgments import Annotator, Judgment, Label, Pool
from abcdlink.layout import ANNOTATIONS, QUALIFY_SLUG
from abcdlink.qualify.gold import GOLD, POOLS
from abcdlink.qualify.screening import Screening
from abcdlink.store import Store

APPLICANTS = f"{QUALIFY_SLUG}/applicants.jsonl"
"""Who is behind each pseudonym; batches have other pseudonyms."""
JUDGMENTS = f"{QUALIFY_SLUG}/judgments.jsonl"
QUALIFIED = f"{QUALIFY_SLUG}/qualified.json"
DECIMALS = 12


class Applicant(Record):
    """How one applicant judged the gold pairs. Fractions of 1; ``None`` where a measure is undefined."""

    annotator: str = Field(description="pseudonym, such as applicant-1")
    simulated: bool
    tasks: int = Field(description="tasks of the qualification")
    done: int = Field(description="tasks in which the applicant decided every candidate")
    judged: int = Field(description="candidates judged")
    kappa: float | None = Field(None, description="Cohen's kappa against gold")
    interval: tuple[float, float] | None = Field(None, description="95 % bootstrap interval of kappa over sources")
    observed: float | None = Field(None, description="share of the judged candidates on which gold says the same")
    precision: float | None = Field(None, description="share of the applicant's links that are gold")
    recall: float | None = Field(None, description="share of the gold links among the judged that were found")
    seconds: float | None = Field(None, description="median seconds on one task")
    note: str = Field("", description="why kappa is undefined")

    @property
    def finished(self) -> bool:
        """Whether every task was judged whole; only then can applicants be ranked."""
        return self.done == self.tasks


def score_applicants(
    pools: Sequence[Pool], judgments: Sequence[Judgment], applicants: Sequence[Annotator]
) -> list[Applicant]:
    """Score every applicant, in the given order; one who judged nothing has done no task.

    The method ``gold`` marks the gold links of the pools.
    """
    own: defaultdict[str, list[Judgment]] = defaultdict(list)
    for judgment in judgments:
        own[judgment.annotator].append(judgment)
    return [_score(pools, own[person.annotator], person) for person in applicants]


def _score(pools: Sequence[Pool], judgments: Sequence[Judgment], person: Annotator) -> Applicant:
    tasks: defaultdict[tuple[str, str], dict[str, Judgment]] = defaultdict(dict)
    for judgment in judgments:
        tasks[judgment.pair, judgment.source][judgment.target] = judgment
    targets = {(pool.pair, pool.source): {one.target for one in pool.candidates} for pool in pools}
    # Each judgment carries the time of its whole task.
    times = [one.seconds for one in (next(iter(said.values())) for said in tasks.values()) if one.seconds is not None]
    about = Applicant(
        annotator=person.annotator,
        simulated=person.simulated,
        tasks=len(pools),
        done=sum(asked <= tasks.get(at, {}).keys() for at, asked in targets.items()),
        judged=sum(map(len, tasks.values())),
        seconds=median(times) if times else None,
    )
    return about.model_copy(update=_measures(list(tasks.values()))) if tasks else about


def _measures(tasks: Sequence[Mapping[str, Judgment]]) -> dict[str, object]:
    """Return the measures against gold; Cohen's kappa is undefined where only one label occurs."""
    by_source = _tables(tasks)
    table = by_source.sum(axis=0)
    both, false, missed, _ = map(int, table)
    measures: dict[str, object] = {
        "observed": float(observed_agreement(table)),
        "precision": both / (both + false) if both + false else None,
        "recall": both / (both + missed) if both + missed else None,
    }
    if not 0 < 2 * both + false + missed < 2 * int(table.sum()):
        return {**measures, "note": ONE_LABEL}
    interval = kappa_interval(by_source[:, None, :])
    if interval is not None:  # without the noise of sums, which would show as -0.00
        interval = (round(interval[0], DECIMALS) + 0.0, round(interval[1], DECIMALS) + 0.0)
    return {**measures, "kappa": cohen_kappa(tuple(table.tolist())), "interval": interval}


def _tables(tasks: Sequence[Mapping[str, Judgment]]) -> NDArray[np.int64]:
    """Count [both Link, only the applicant, only gold, neither] of each task, shape (tasks, 4)."""
    tables = np.zeros((len(tasks), 4), dtype=np.int64)
    for row, said in enumerate(tasks):
        for judgment in said.values():
            tables[row, 2 * (judgment.label is not Label.LINK) + (judgment.method != GOLD)] += 1
    return tables


def ranked(applicants: Sequence[Applicant]) -> list[Applicant]:
    """Return those who finished, best kappa first and undefined last, then the others by how far they are.

    Kappas of different numbers of tasks do not compare, so that who has not finished is not ranked.
    """
    return sorted(
        applicants,
        key=lambda one: (not one.finished, -one.done, one.kappa is None, -(one.kappa or 0.0)),
    )


def proposal(
    applicants: Sequence[Applicant], wanted: int, threshold: float, but: Collection[str] = ()
) -> list[Applicant]:
    """Return the best ``wanted`` of those who finished with a kappa of at least ``threshold``; may be fewer.

    ``but``: pseudonyms of those who are not eligible.
    """
    able = [one for one in ranked(applicants) if one.finished and one.annotator not in but]
    return [one for one in able if one.kappa is not None and one.kappa >= threshold][:wanted]


def doubts(applicants: Sequence[Applicant], taken: Collection[str], barred: Mapping[str, Sequence[str]]) -> list[str]:
    """Say who was taken although they did not finish, or are not eligible.

    ``taken``: pseudonyms; ``barred``: pseudonym -> why somebody is not eligible.
    """
    left = [one for one in applicants if one.annotator in taken and not one.finished]
    unfinished = [f"{one.annotator} judged {one.done} of {one.tasks} tasks, too few to compare" for one in left]
    return unfinished + [f"{name} is not eligible: {'; '.join(why)}" for name, why in barred.items() if name in taken]


def people_of(store: Store) -> list[Annotator]:
    """Return the applicants known so far."""
    return store.find_records(APPLICANTS, Annotator)


def keep_people(store: Store, people: Sequence[Annotator]) -> None:
    """Keep who is behind which pseudonym, so that nobody gets another one later."""
    store.write_records(APPLICANTS, people)


def has_judgments(store: Store) -> bool:
    """Tell whether the judgments of the applicants were pulled."""
    return store.exists(JUDGMENTS)


def keep_judgments(store: Store, people: Sequence[Annotator], judgments: Sequence[Judgment]) -> None:
    """Keep what applicants said; the judgments are written last."""
    keep_people(store, people)
    store.write_records(JUDGMENTS, judgments)


def applicants_of(store: Store) -> list[Applicant]:
    """Return how the applicants of a run judged; empty until their judgments are pulled."""
    if not has_judgments(store):
        return []
    judgments = store.read_records(JUDGMENTS, Judgment)
    return score_applicants(_pools_there(store), judgments, people_of(store))


class _There(BaseModel):
    data: dict[str, Any]


def _pools_there(store: Store) -> list[Pool]:
    """Return the tasks that were in Label Studio when it was last read: nobody can finish those that are gone."""
    there = {task.data.get("task_key") for task in store.read_json(f"{QUALIFY_SLUG}/{ANNOTATIONS}", list[_There])}
    return [pool for pool in store.read_records(POOLS, Pool) if pool.key in there]


class Qualified(Record):
    """Whom the coordinator accepted. ``accounts``: in lower case; ``annotators``: their pseudonyms as applicants."""

    accounts: tuple[str, ...]
    annotators: tuple[str, ...]


def confirm(store: Store, names: Iterable[str]) -> Qualified:
    """Keep the coordinator's decision; one made before is replaced.

    Raises:
        InputError: when no one is named, or someone who has not applied.
    """
    people = people_of(store)
    if not people:
        msg = f"nobody has applied in run {store.key!r}"
        raise InputError(msg, "ask people again under another run key; batches of this run are open to everyone")
    by_name = {name.lower(): one for one in people for name in (one.annotator, one.account)}
    wanted = [name.strip().lower() for name in names if name.strip()]
    unknown = [name for name in wanted if name not in by_name]
    if unknown or not wanted:
        msg = f"{unknown[0]!r} is not an applicant of run {store.key!r}" if unknown else "nobody is named"
        known = ", ".join(one.annotator for one in people)
        raise InputError(msg, f"name applicants by account or pseudonym ({known}); `abcdlink qualify show` lists them")
    chosen = list({by_name[name].annotator: by_name[name] for name in wanted}.values())
    decision = Qualified(
        accounts=tuple(one.account.lower() for one in chosen), annotators=tuple(one.annotator for one in chosen)
    )
    store.write_record(QUALIFIED, decision)
    return decision


def qualified_of(store: Store) -> Qualified | None:
    """Return the coordinator's decision; ``None``: none was made."""
    return store.find_record(QUALIFIED, Qualified)


def qualified_accounts(store: Store) -> frozenset[str] | None:
    """Return the accounts that may judge batches, in small letters; ``None``: the run does not restrict them."""
    decision = qualified_of(store)
    return None if decision is None else frozenset(decision.accounts)


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

    ``barred``: pseudonym -> why somebody is not eligible. Fields that nobody has are left out.
    """
    account = {person.annotator: person.account for person in people}
    fields = {name: _screened(screening.get(own.lower())) for name, own in account.items()}
    empty = {field for one in fields.values() for field in one}
    empty -= {field for one in fields.values() for field, value in one.items() if value not in {"", None}}
    rows = []
    for row in rows_of(applicants, proposed):
        name = str(row["applicant"])
        why = (barred or {}).get(name, ())
        eligible = f"no: {'; '.join(why)}" if why else "yes"
        known = {field: value for field, value in fields[name].items() if field not in empty}
        rows.append({**row, "account": account[name], "eligible": eligible, **known})
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
    fields = known.model_dump(exclude={"account", "more"})
    own = {name.replace("_", " "): value for name, value in fields.items()}
    return {**own, **{name: value for name, value in known.more.items() if name not in own}}

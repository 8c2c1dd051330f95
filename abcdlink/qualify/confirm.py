"""Who was taken: the coordinator's decision, which later batches are held against."""

from __future__ import annotations

from collections.abc import Iterable

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.qualify.kept import FOLDER, people_of
from abcdlink.store import Store

QUALIFIED = f"{FOLDER}/qualified.json"


class Qualified(Record):
    """Whom the coordinator took. ``accounts``: in small letters; ``annotators``: their pseudonyms as applicants."""

    accounts: tuple[str, ...]
    annotators: tuple[str, ...]


def confirm(store: Store, names: Iterable[str]) -> Qualified:
    """Keep the coordinator's decision; one made before is replaced.

    Args:
        store: the run.
        names: accounts or pseudonyms of applicants.

    Raises:
        InputError: when no one is named, or someone who has not applied.
    """
    by_name = {name.lower(): one for one in people_of(store) for name in (one.annotator, one.account)}
    wanted = [name.strip().lower() for name in names if name.strip()]
    unknown = [name for name in wanted if name not in by_name]
    if unknown or not wanted:
        msg = f"{unknown[0]!r} is not an applicant of run {store.key!r}" if unknown else "nobody is named"
        known = ", ".join(one.annotator for one in people_of(store)) or "none yet"
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

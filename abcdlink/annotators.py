"""Who annotates: personal data of a run, and its removal. What people judged stays, under their pseudonyms."""

from __future__ import annotations

import json
import lzma
import re

from abcdlink.errors import InputError
from abcdlink.judgments import Annotator
from abcdlink.layout import ADJUDICATORS, ANNOTATORS, CODERS
from abcdlink.qualify import APPLICANTS
from abcdlink.qualify.screening import SCREENING
from abcdlink.rate import RATERS
from abcdlink.store import Store
from abcdlink.waiting import WaitsFor, all_waiting

PEOPLE = tuple(name.rpartition("/")[2] for name in (ANNOTATORS, ADJUDICATORS, CODERS, RATERS, APPLICANTS))
"""Files that say who is behind a pseudonym, in whichever folder of the run they are."""
FORGOTTEN = "forgotten"
"""Section of the manifest: pseudonyms of those whose personal data were removed."""


def people_of(store: Store) -> list[Annotator]:
    """Return everybody who has a pseudonym in a run, in all of their roles."""
    files = [name for name in store.folder.names() if name.rpartition("/")[2] in PEOPLE]
    return list(dict.fromkeys(person for name in files for person in store.read_records(name, Annotator)))


def forget(store: Store, account: str) -> list[str]:
    """Replace an account with a stand-in in every file of a run; returns the names of these files.

    When it is killed midway, the next call does the rest.

    Raises:
        InputError: when it is no e-mail address, the run knows no such account, or a flow of it is at work or waits.
    """
    if busy := [flow for flow, waiting in all_waiting(store) if waiting.kind not in {WaitsFor.NOTHING, WaitsFor.FIX}]:
        msg = f"run {store.key!r} is not finished ({', '.join(busy)}), and would read the account again"
        raise InputError(msg, f"`abcdlink status {store.key}` says what it waits for; end that first")
    if "@" not in account:  # a pseudonym is in every judgment, which must stay
        msg = f"{account!r} is not the e-mail address of an account"
        raise InputError(msg, f"`abcdlink annotators show {store.key}` lists the accounts of its people")
    pattern = _pattern(account)
    names = [name for name in store.folder.names() if pattern.search(_unpacked(name, store))]
    if not names:
        msg = f"the account {account!r} is in no file of run {store.key!r}"
        raise InputError(msg, f"`abcdlink annotators show {store.key}` lists its accounts")
    roles = [one.annotator for one in people_of(store) if one.account.lower() == account.lower()]
    stand_in = f"forgotten-{'-'.join(roles) or 'person'}"
    # Who is behind the pseudonym goes last: until then a second call finds it.
    for name in sorted(names, key=lambda name: name.rpartition("/")[2] in PEOPLE):
        data = _unpacked(name, store)
        if name == SCREENING:  # the whole line goes, with all that is known of them
            data = b"".join(line for line in data.splitlines(keepends=True) if not pattern.search(line))
        store.write_bytes(name, _packed(name, pattern.sub(stand_in.encode(), data)))
    store.note(FORGOTTEN, sorted({*store.manifest.get(FORGOTTEN, []), stand_in}))
    return names


def _pattern(account: str) -> re.Pattern[bytes]:
    """Return a pattern of an account as it is and as JSON and HTML write it, in any case, but not inside another."""
    forms = {account, json.dumps(account)[1:-1], account.replace("&", "&amp;").replace("'", "&#39;")}
    either = b"|".join(re.escape(form.encode()) for form in sorted(forms))
    return re.compile(rb"(?<![\w.+-])(?:" + either + rb")(?![\w-]|\.\w)", re.IGNORECASE)


def _unpacked(name: str, store: Store) -> bytes:
    data = store.folder.read(name)
    return lzma.decompress(data) if name.endswith(".xz") else data


def _packed(name: str, data: bytes) -> bytes:
    return lzma.compress(data, preset=0) if name.endswith(".xz") else data

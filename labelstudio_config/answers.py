"""The answer that counts of each annotator to each task, and a word on all that was left out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from abcdlink.judgments import Annotator
from labelstudio_config.anomalies import Namer, anomalies_in, drafts_in
from labelstudio_config.history import answer_in
from labelstudio_config.snapshot import Answer, Snapshot

SIMULATED_DOMAIN = "@simulated.invalid"
"""Ending of the e-mail addresses of programs that annotate; ``.invalid`` can be no one's address."""

ANNOTATOR = "annotator"
"""What the pseudonyms of a run's annotators begin with."""

STRANGER = "an account without answers"
"""Who has no answer that counts, and therefore no pseudonym."""


@dataclass(frozen=True)
class Answers:
    """What annotators answered.

    ``newest``: (pseudonym, answer) in the order of the keys, then of the accounts; skipped tasks are
    not in it. ``skips``: (pseudonym, task key). ``annotators``: all of the run so far.
    ``anomalies``: one sentence for each thing that was left out or looks wrong.
    """

    newest: list[tuple[str, Answer]]
    skips: list[tuple[str, str]]
    annotators: list[Annotator]
    anomalies: list[str]


def read_answers(snapshot: Snapshot, keys: Collection[str], annotators: Sequence[Annotator] = ()) -> Answers:
    """Take the newest answer of each annotator to each task, a skip included; older ones are reported.

    Args:
        snapshot: what is in Label Studio.
        keys: of the tasks that were pushed.
        annotators: those who are known, who keep their pseudonyms.
    """
    known = with_pseudonyms(annotators, snapshot)
    pseudonym = {annotator.account: annotator.annotator for annotator in known}
    newest: list[tuple[str, Answer]] = []
    skips: list[tuple[str, str]] = []
    in_order = ((key, user) for key in keys for user in sorted(snapshot.accounts_of(key)))
    for key, user in in_order:
        answer, who = snapshot.answers[key, user][0], pseudonym[snapshot.account(user)]
        if answer.skipped:
            skips.append((who, key))
        else:
            newest.append((who, answer))
    name = namer(known)
    return Answers(newest, skips, known, [*anomalies_in(snapshot, name), *drafts_in(snapshot, name)])


def namer(annotators: Sequence[Annotator]) -> Namer:
    """Return what calls the accounts of annotators by their pseudonyms."""
    pseudonym = {annotator.account: annotator.annotator for annotator in annotators}
    return lambda account: pseudonym.get(account, STRANGER)


def with_pseudonyms(annotators: Sequence[Annotator], snapshot: Snapshot, role: str = ANNOTATOR) -> list[Annotator]:
    """Give the accounts that are new pseudonyms after those in use, in the order of their account ids.

    Args:
        annotators: those who are known, who keep their pseudonyms.
        snapshot: what is in Label Studio.
        role: what the new pseudonyms begin with; people of another role are counted apart.
    """
    known = list(annotators)
    accounts = {annotator.account for annotator in known}
    for user in sorted({user for _, user in snapshot.answers}):
        account = snapshot.account(user)
        if account not in accounts:
            simulated = account.endswith(SIMULATED_DOMAIN)
            number = 1 + sum(one.annotator.startswith(f"{role}-") for one in known)
            known.append(Annotator(annotator=f"{role}-{number}", account=account, simulated=simulated))
    return known


Fingerprints = Mapping[str, str]
"""``task key|account id`` -> hash of the answer that counts."""


def fingerprints_of(snapshot: Snapshot) -> dict[str, str]:
    """Return the fingerprint of each answer that counts: 16 hex digits of a SHA-256 of what it says."""
    return {
        f"{key}|{user}": hashlib.sha256(json.dumps(answer_in(newest.raw), sort_keys=True).encode()).hexdigest()[:16]
        for (key, user), (newest, *_) in sorted(snapshot.answers.items())
    }


def differences(pulled: Fingerprints, snapshot: Snapshot, name: Namer) -> list[str]:
    """Say which answers were changed, came or went since they were pulled.

    Args:
        pulled: fingerprints of the answers that were pulled.
        snapshot: what counts now.
        name: how the sentences call an account.
    """
    now = fingerprints_of(snapshot)
    said = []
    for answer in sorted(pulled.keys() | now.keys()):
        key, _, user = answer.rpartition("|")
        who = name(snapshot.account(int(user)))
        if answer not in now:
            said.append(f"the answer of {who} to the task {key} is gone")
        elif answer not in pulled:
            said.append(f"{who} answered the task {key} later")
        elif now[answer] != pulled[answer]:
            said.append(f"{who} changed the answer to the task {key}")
    return said

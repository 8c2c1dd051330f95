"""Whether the answers that count are still those that were pulled, and what is different."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from labelstudio_config.anomalies import Namer
from labelstudio_config.kept import answer_in
from labelstudio_config.snapshot import Snapshot

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
            said.append(f"the answer of {who} to the task {key} is not there any more")
        elif answer not in pulled:
            said.append(f"{who} answered the task {key} later")
        elif now[answer] != pulled[answer]:
            said.append(f"{who} changed the answer to the task {key}")
    return said

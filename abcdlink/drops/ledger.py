"""What has been taken already: one entry a file name, kept beside the runs and replaced whole."""

from __future__ import annotations

import json

from abcdlink.drops.records import DropResult, Entry, Known
from abcdlink.folders import Folder
from abcdlink.store import parse_records

LEDGER = "ledger.jsonl"
QUARANTINE = "quarantine"
KNOWN = "known"


def read_ledger(ledger: Folder) -> dict[str, Entry]:
    """Return the entries by file name; empty before the first ``settle``."""
    if not ledger.exists(LEDGER):
        return {}
    return {entry.name: entry for entry in parse_records(ledger.read(LEDGER), Entry, ledger.where(LEDGER))}


def read_known(ledger: Folder, digests: tuple[str, ...]) -> Known:
    """Return what the given versions of a file held; a later version wins."""
    documents: dict[str, str] = {}
    pairs: dict[str, str] = {}
    for digest in digests:
        for name in ledger.names(f"{KNOWN}/{digest}/"):
            known = Known.model_validate_json(ledger.read(name))
            documents |= known.documents
            pairs |= known.pairs
    return Known(documents=documents, pairs=pairs)


def settle(ledger: Folder, result: DropResult) -> None:
    """Record that a take is done: call it when the result's corpus is stored safely.

    The ledger file is written last, so that a kill before it leads to the same take again.
    """
    for (digest, offset), known in result.known.items():
        ledger.write(f"{KNOWN}/{digest}/{offset}.json", known.model_dump_json().encode())
    for item in result.quarantined:
        content = json.dumps(item.model_dump(), ensure_ascii=False, indent=2)
        ledger.write(f"{QUARANTINE}/{item.digest}/{item.offset}.json", content.encode())
    if result.entries:
        entries = read_ledger(ledger) | {entry.name: entry for entry in result.entries}
        ledger.write(LEDGER, "".join(entry.model_dump_json() + "\n" for entry in entries.values()).encode())

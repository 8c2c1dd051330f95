"""New data dropped into a folder or an ``s3://`` prefix: found, checked, taken once."""

from abcdlink.drops.ledger import Entry, Quarantined, State, read_ledger, settle
from abcdlink.drops.sources import DropFile, LocalSource, S3Source, Source, open_source, scan
from abcdlink.drops.take import DropResult, Taken, Waiting, take

__all__ = [
    "DropFile",
    "DropResult",
    "Entry",
    "LocalSource",
    "Quarantined",
    "S3Source",
    "Source",
    "State",
    "Taken",
    "Waiting",
    "open_source",
    "read_ledger",
    "scan",
    "settle",
    "take",
]

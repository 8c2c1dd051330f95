"""New data dropped into a folder or an ``s3://`` prefix: found, checked, taken once."""

from abcdlink.drops.ledger import DropResult, Entry, Quarantined, State, Taken, Waiting, read_ledger, settle
from abcdlink.drops.sources import DropFile, LocalSource, S3Source, Source, open_source
from abcdlink.drops.take import take

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
    "settle",
    "take",
]

"""Turns a data drop into a run of its own, for which the approaches that an earlier run shortlisted are used."""

from __future__ import annotations

import hashlib

from abcdlink.corpus.io import write_corpus_to
from abcdlink.domain import Domain
from abcdlink.drops import DropResult
from abcdlink.layout import NATURAL, SHORTLIST, model_file
from abcdlink.stages.candidates import learned_to_rank, read_shortlist
from abcdlink.stages.intake import describe_run
from abcdlink.store import Store, open_run


def run_key_of_drop(base: str, result: DropResult) -> str:
    """Return the run key of what was taken; the same files, read up to the same place, give the same key."""
    content = "|".join(sorted(f"{entry.name} {entry.digest} {entry.offset}" for entry in result.entries))
    return f"{base[:60]}-drop-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def open_drop(base: Store, result: DropResult, domain: Domain) -> Store:
    """Begin a run with the pairs that were taken and the shortlist of ``base``; doing it again changes nothing.

    Args:
        base: the run whose benchmark chose the approaches.
        result: what ``take`` returned, with at least one pair.
        domain: what a link means.

    Raises:
        InputError: when the base run has no shortlist yet.
    """
    choice = read_shortlist(base)
    store = open_run(run_key_of_drop(base.key, result))
    if not store.exists(SHORTLIST):
        write_corpus_to(store, NATURAL, result.corpus)
        files = {taken.name: taken.digest for taken in result.taken}
        store.note("corpus", {"language": base.language})
        store.note("drop", {"shortlist_of": base.key, "files": files})
        describe_run(store, domain)
        for name in learned_to_rank(choice.approaches):
            store.folder.write(model_file(name), base.folder.read(model_file(name)))
        # Written last: a run that has it has everything above.
        store.write_record(SHORTLIST, choice)
    return store

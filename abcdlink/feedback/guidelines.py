"""Versions of the guidelines in one run: the domain's, then a new one after each batch that led to clarifications."""

from __future__ import annotations

from itertools import count

from abcdlink.store import Store

SECTION = "guidelines"
"""Section of the manifest: batch -> version that it was annotated under."""


def guidelines_file(version: int) -> str:
    """Return the file of one version."""
    return f"guidelines/v{version}.md"


def newest_version(store: Store) -> int:
    """Return the number of the newest version; 0 before the first batch was pushed."""
    return next(version for version in count() if not store.exists(guidelines_file(version + 1)))


def newest_guidelines(store: Store, domain_text: str) -> str:
    """Return the newest guidelines of a run; those of its domain before the first batch was pushed."""
    version = newest_version(store)
    return store.read_text(guidelines_file(version)) if version else domain_text


def guidelines_for(store: Store, batch: int, domain_text: str) -> str:
    """Return the guidelines that a batch is annotated under, and note their version in the manifest.

    The first batch takes the domain's as version 1; each later one the newest version when it begins. A batch
    that was begun keeps its version.
    """
    version = version_of(store, batch) or newest_version(store)
    if not version:
        version = 1
        store.write_text(guidelines_file(version), domain_text)
    store.note_in(SECTION, str(batch), version)
    return store.read_text(guidelines_file(version))


def version_of(store: Store, batch: int) -> int | None:
    """Return the version that a batch was annotated under; ``None``: it has not begun."""
    version: int | None = store.manifest.get(SECTION, {}).get(str(batch))
    return version


def clarify(store: Store, batch: int, clarifications: str) -> int:
    """Add a section to the guidelines that a batch was annotated under; returns the number of the new version.

    Done again with the same text, it changes nothing. Without clarifications the version stays.

    Args:
        store: the run.
        batch: after which this is; it has been begun (``guidelines_for``).
        clarifications: Markdown, without the notes of a draft.
    """
    before = version_of(store, batch) or newest_version(store)
    if not clarifications:
        return before
    text = store.read_text(guidelines_file(before)).rstrip()
    section = f"## {heading(batch)}\n\n{clarifications}"
    store.write_text(guidelines_file(before + 1), f"{text}\n\n{section}\n")
    return before + 1


def heading(batch: int) -> str:
    """Return the heading of the section that follows from a batch."""
    return f"Clarifications after batch {batch}"

"""Guidelines of a run: the domain's, and after a batch a new version with clarifications, which are drafted here.

The draft states a rule for each pattern of disagreement that stands out or, if none does, for the most frequent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count

from abcdlink.domain import domain_of
from abcdlink.errors import InputError
from abcdlink.feedback.patterns import (
    CandidateView,
    JudgmentPair,
    Pattern,
    PatternDisagreement,
    comparisons_of,
    disagreements,
)
from abcdlink.judgments import Judgment, Label, Place
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


def domain_has_changed(store: Store) -> bool:
    """Tell whether the guidelines of the domain are no longer those that the run began with.

    A domain that cannot be read gives no answer: the run says so where it needs it.
    """
    if not newest_version(store):
        return False
    with suppress(InputError):
        return domain_of(store).guidelines.split() != store.read_text(guidelines_file(1)).split()
    return False


def clarify(store: Store, batch: int, clarifications: str) -> int:
    """Add a section to the guidelines that a batch was annotated under; returns the number of the new version.

    Done again with the same text, it changes nothing. Without clarifications the version stays. ``clarifications``:
    Markdown, without the notes of a draft.
    """
    before = version_of(store, batch) or newest_version(store)
    if not clarifications:
        return before
    text = store.read_text(guidelines_file(before)).rstrip()
    section = f"## Clarifications after batch {batch}\n\n{clarifications}"
    store.write_text(guidelines_file(before + 1), f"{text}\n\n{section}\n")
    return before + 1


NOTE = "> DRAFT"
"""Begins a line that is for the coordinator only."""
FEWEST = 3
"""A pattern with fewer disagreements does not stand out: one or two may be slips."""
MORE_OFTEN = 1.25
"""A pattern stands out when people disagree this many times more often on it than on all candidates."""
MOST_FREQUENT = 2
"""Patterns that a draft names when none stands out."""
STRICTNESS_GAP = 0.1
"""Two annotators differ in strictness when their shares of Link on the same candidates are further apart."""

RULES = {
    Pattern.OUTSIDE: "**Evidence around the sentence.** Read the sentences before and after the candidate to learn who "
    "and what is meant. What only those sentences say does not count: they may be candidates themselves.",
    Pattern.PARTIAL: "**Some words in common.** Shared words alone do not make a Link, and a lack of them does "
    "not rule one out. Name the one thing that both sentences say; if you cannot, choose No Link.",
    Pattern.SHORT: "**Short candidates.** A short sentence is a Link when, in its document, it is about the same "
    "thing, even if it says little on its own. Look at the sentence before it.",
    Pattern.FAR_APART: "**Far apart.** It does not matter where a sentence is in its document: judge what it says.",
}
STRICTNESS_RULE = (
    "**In doubt.** If both answers still seem possible after reading around the two sentences, choose the more likely "
    "one and mark Unsure."
)


def draft_clarifications(batch: int, judgments: Sequence[Judgment], views: Mapping[Place, CandidateView]) -> str:
    """Return a draft (Markdown) for the coordinator, based on the patterns that stand out.

    Lines that begin with ``> DRAFT`` say why; ``finished`` removes them.
    """
    compared = [one for part in comparisons_of(judgments).values() for one in part]
    clear = standing_out(compared, views)
    items = [f"{_reason(found)}\n\n{RULES[pattern]}" for pattern, found in clear.items()]
    gap = strictness_gap(compared)
    if gap > STRICTNESS_GAP:
        reason = f"{NOTE}: two annotators' shares of Link differ by {100 * gap:.0f} points on the same candidates."
        items.append(f"{reason}\n\n{STRICTNESS_RULE}")
    if not items:
        frequent = most_frequent(compared, views)
        items = [f"{_reason(found, 'no more often than elsewhere')}\n\n{RULES[one]}" for one, found in frequent.items()]
    differing = sum(one.own.label is not one.other.label for one in compared) // 2
    if not items and differing >= FEWEST:
        reason = f"{NOTE}: two annotators disagree on {differing} judgments, with nothing measurable in common."
        items.append(f"{reason}\n\n{STRICTNESS_RULE}")
    if not items:
        return f"{NOTE}: nothing stands out in batch {batch}. Write what should be clearer, or leave the text empty.\n"
    head = f"{NOTE} made from the disagreements of batch {batch}: edit it. Lines that begin like this are left out."
    return "\n\n".join([head, *items]) + "\n"


def finished(text: str) -> str:
    """Return clarifications without the notes to the coordinator, stripped; empty when nothing is left."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(NOTE)]
    paragraphs = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(part.strip("\n") for part in paragraphs if part.strip())


def standing_out(
    compared: Sequence[JudgmentPair], views: Mapping[Place, CandidateView]
) -> dict[Pattern, PatternDisagreement]:
    """Return the patterns on which people differ more often than on all candidates, the clearest first."""
    *found, total = disagreements(compared, views)
    # Each disagreement of two people is in the comparisons of both.
    clear = [one for one in found if one.differing >= 2 * FEWEST and one.share >= MORE_OFTEN * total.share]
    return {one.pattern: one for one in sorted(clear, key=lambda one: -one.share) if one.pattern is not None}


def most_frequent(
    compared: Sequence[JudgmentPair], views: Mapping[Place, CandidateView]
) -> dict[Pattern, PatternDisagreement]:
    """Return the patterns of most disagreements, for when none stands out: at most two, the most frequent first."""
    *found, _ = disagreements(compared, views)
    enough = [one for one in found if one.differing >= 2 * FEWEST]
    ordered = sorted(enough, key=lambda one: -one.differing)[:MOST_FREQUENT]
    return {one.pattern: one for one in ordered if one.pattern is not None}


def strictness_gap(compared: Sequence[JudgmentPair]) -> float:
    """Return the largest difference of two annotators' shares of Link on the candidates that both judged."""
    annotator_pairs: dict[tuple[str, str], list[JudgmentPair]] = {}
    for one in compared:
        annotator_pairs.setdefault((one.own.annotator, one.other.annotator), []).append(one)

    def gap(part: Sequence[JudgmentPair]) -> float:
        return sum((c.own.label is Label.LINK) - (c.other.label is Label.LINK) for c in part) / len(part)

    return max(map(gap, annotator_pairs.values()), default=0.0)


def _reason(found: PatternDisagreement, remark: str = "") -> str:
    pattern = found.pattern
    measure = pattern.measure if pattern else ""
    return (
        f"{NOTE}: two annotators disagree on {found.differing // 2} of {found.compared // 2} judgments "
        f"({found.share:.0%}) where {measure}{f'; {remark}' if remark else ''}."
    )

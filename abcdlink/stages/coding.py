"""Stage coding: which wrong predictions people sort into patterns, and the results."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.adjudicate import Adjudication
from abcdlink.coding import Code, Coding, CodingSummary, clear_links, drawn, patterns_in, summarise, wrong_predictions
from abcdlink.corpus.io import read_corpus_from
from abcdlink.export.dataset import judgments_needed
from abcdlink.judgments import Annotator, Judgment, Place, Pool, by_candidate
from abcdlink.layout import ADJUDICATIONS, CODERS, CODES, CODING, EXHAUSTIVE_JUDGMENTS, NATURAL, POOLS
from abcdlink.stages.annotate import judged_so_far
from abcdlink.stages.exhaustive import overlap_of as judges_of_a_source
from abcdlink.stages.once import at_once, is_done
from abcdlink.store import Store

STAGE = "coding"


@at_once(STAGE)
def prepare_coding(store: Store, most: int, overlap: int, seed: int, patterns: Sequence[str]) -> Coding:
    """Sample at most ``most`` wrong predictions to code, or return the sampled ones.

    ``overlap``: coders per prediction. ``patterns``: each as ``name: meaning``; by default, the usual ones.

    Raises:
        InputError: when nothing has been judged yet, a pattern is invalid, or the run was started with other settings.
    """
    known = patterns_in(patterns)
    asked = {"most": most, "overlap": overlap, "seed": seed, "patterns": [one.model_dump() for one in known]}
    if not is_done(store, STAGE, CODING, asked):
        errors = wrong_predictions(store.read_records(POOLS, Pool), links_so_far(store), store.key)
        chosen = tuple(drawn(errors, most, read_corpus_from(store, NATURAL), seed))
        store.write_record(CODING, Coding(patterns=known, found=len(errors), errors=chosen))
    return coding_of(store)


def links_so_far(store: Store) -> dict[Place, bool]:
    """Return clear judgments on whether a candidate is a link: from batches, adjudication and exhaustive judging."""
    judgments = judged_so_far(store)
    decided = {one.at: one.label for one in store.find_records(ADJUDICATIONS, Adjudication)}
    found: dict[Place, bool] = {}
    every = store.find_records(EXHAUSTIVE_JUDGMENTS, Judgment)
    parts = [(every, judges_of_a_source(store))] if every else []
    for part, needed in [*parts, (judgments, judgments_needed(store.manifest, judgments))]:
        groups = {at: [one.label for one in group.values()] for at, group in by_candidate(part).items()}
        found |= clear_links(groups, decided, needed)
    return found


def coding_of(store: Store) -> Coding:
    """Return what is coded; raises ``InputError`` if nothing has been sampled yet."""
    store.require(CODING, STAGE)
    return store.read_record(CODING, Coding)


def overlap_of(store: Store) -> int:
    """Return how many people code each wrong prediction."""
    return int(store.manifest["inputs"][STAGE]["overlap"])


def keep_codes(store: Store, codes: Sequence[Code], coders: Sequence[Annotator]) -> None:
    """Write the coders, and last their codes."""
    store.write_records(CODERS, coders)
    store.write_records(CODES, codes)


def coding_summary(store: Store, so_far: Sequence[Code] | None = None) -> CodingSummary:
    """Summarise the codes, or those so far; raises ``InputError`` if none have been pulled yet and none are given."""
    if so_far is None:
        store.require(CODES, STAGE)
        so_far = store.read_records(CODES, Code)
    return summarise(coding_of(store), so_far, overlap_of(store))

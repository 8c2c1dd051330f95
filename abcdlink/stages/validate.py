"""Stage validate: does the synthetic corpus look like the natural one?"""

from __future__ import annotations

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import Domain
from abcdlink.layout import NATURAL, SYNTHETIC, VALIDATION
from abcdlink.stages.intake import read_targets
from abcdlink.store import Store
from abcdlink.validation import Validation, validate


def run_validation(store: Store, domain: Domain) -> Validation:
    """Measure the run's synthetic corpus against its natural one, or return the stored result.

    A run that generated for documents alone, without natural pairs, is measured against these documents.
    """
    if store.exists(VALIDATION):
        return store.read_record(VALIDATION, Validation)
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    natural = read_corpus_from(store, NATURAL) if store.exists(f"{NATURAL}/pairs.jsonl") else read_targets(store)
    result = validate(read_corpus_from(store, SYNTHETIC), natural, domain)
    store.write_record(VALIDATION, result)
    return result

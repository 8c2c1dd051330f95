"""Stage validate: does the synthetic corpus look like the natural one?"""

from __future__ import annotations

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import Domain
from abcdlink.layout import NATURAL, SYNTHETIC, VALIDATION
from abcdlink.store import Store
from abcdlink.validation import Validation, validate


def run_validation(store: Store, domain: Domain) -> Validation:
    """Measure the run's synthetic corpus against its natural one, or return the kept result."""
    if store.exists(VALIDATION):
        return store.read_record(VALIDATION, Validation)
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    result = validate(read_corpus_from(store, SYNTHETIC), read_corpus_from(store, NATURAL), domain)
    store.write_record(VALIDATION, result)
    return result

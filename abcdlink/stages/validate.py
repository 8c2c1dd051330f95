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
        return Validation.model_validate_json(store.read_text(VALIDATION))
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    result = validate(read_corpus_from(store, SYNTHETIC), read_corpus_from(store, NATURAL), domain)
    store.write_text(VALIDATION, result.model_dump_json(indent=2))
    return result

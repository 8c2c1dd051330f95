"""Stage validate: does the synthetic corpus look like the natural one?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from abcdlink.corpus.io import read_corpus, read_corpus_from
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.layout import NATURAL, SYNTHETIC, VALIDATION
from abcdlink.stages.intake import read_targets
from abcdlink.store import Store
from abcdlink.validation import Validation, validate
from abcdlink.validation.style import Classifier, load_classifier


def run_validation(store: Store, domain: Domain, beside: Sequence[str] = ()) -> Validation:
    """Measure the run's synthetic corpus against its natural one, or return the stored result.

    A run that generated for documents alone, without natural pairs, is measured against these documents.

    Args:
        store: the run.
        domain: gives the bounds and the classifier.
        beside: folders of more corpora to show beside these; named by their last part. It is measured again
            where it lacks one of them.

    Raises:
        InputError: when the run has no synthetic corpus, or a folder holds no corpus.
    """
    names = {_name(folder, number): folder for number, folder in enumerate(beside, start=1)}
    if store.exists(VALIDATION):
        kept = store.read_record(VALIDATION, Validation)
        if set(names) <= set(kept.styles) or not names:
            return kept
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    classifier, notes = _classifier(domain)
    result = validate(
        read_corpus_from(store, SYNTHETIC),
        read_corpus_from(store, NATURAL) if store.exists(f"{NATURAL}/pairs.jsonl") else read_targets(store),
        domain,
        {name: read_corpus(folder) for name, folder in names.items()},
        store.language,
        classifier,
    )
    result = result.model_copy(update={"notes": notes})
    store.write_record(VALIDATION, result)
    return result


def _name(folder: str, number: int) -> str:
    name = PurePath(folder).name or f"corpus {number}"
    return f"{name} ({number})" if name in {NATURAL, SYNTHETIC} else name


def _classifier(domain: Domain) -> tuple[Classifier | None, tuple[str, ...]]:
    """Return the classifier for subjectivity, or why there is none."""
    limits = domain.settings.validation
    if not limits.subjectivity_model:
        return None, ("subjectivity was not measured by a classifier: the domain names none",)
    try:
        return load_classifier(limits.subjectivity_model, limits.subjectivity_label), ()
    except InputError as error:
        return None, (f"subjectivity was not measured by a classifier: {error}",)

"""The beginning of the ratings: which documents of a run are rated, and by what."""

from __future__ import annotations

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, PairKind
from abcdlink.domain import Domain
from abcdlink.layout import NATURAL, SYNTHETIC
from abcdlink.rate.criteria import criteria_of
from abcdlink.rate.kept import SAMPLE, keep_sample, sample_of
from abcdlink.rate.records import RatedDocument
from abcdlink.rate.sample import sample_documents
from abcdlink.stages.once import is_done
from abcdlink.store import Store


def prepare(store: Store, domain: Domain, synthetic: int, natural: int, seed: int) -> list[RatedDocument]:
    """Sample documents of the run to be rated, or return those that are there.

    Raises:
        InputError: when the run has no synthetic corpus, the domain has no criteria, or the ratings were begun
            with other settings.
    """
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    inputs = {"synthetic": synthetic, "natural": natural, "seed": seed}
    if not is_done(store, "ratings", SAMPLE, inputs):
        corpora = corpora_of(store)
        criteria = criteria_of(domain)
        sizes = synthetic, natural
        documents = sample_documents(corpora[PairKind.SYNTHETIC], corpora[PairKind.NATURAL], store.key, sizes, seed)
        keep_sample(store, documents, criteria)
    return sample_of(store)


def corpora_of(store: Store) -> dict[PairKind, Corpus]:
    """Return the corpora that rated documents are of."""
    return {
        PairKind.SYNTHETIC: read_corpus_from(store, SYNTHETIC),
        PairKind.NATURAL: read_corpus_from(store, NATURAL),
    }

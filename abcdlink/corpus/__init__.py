"""Documents, pairs and links; reading and writing them."""

from abcdlink.corpus.builder import CorpusBuilder, merge
from abcdlink.corpus.io import read_corpus, read_corpus_from, write_corpus, write_corpus_to
from abcdlink.corpus.records import Corpus, Document, Pair, PairKind, Record, Refusal, Sentence

__all__ = [
    "Corpus",
    "CorpusBuilder",
    "Document",
    "Pair",
    "PairKind",
    "Record",
    "Refusal",
    "Sentence",
    "merge",
    "read_corpus",
    "read_corpus_from",
    "write_corpus",
    "write_corpus_to",
]

"""Documents, pairs and links; reading and writing them."""

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.io import read_corpus, read_corpus_from, write_corpus, write_corpus_to
from abcdlink.corpus.records import Corpus, Document, Note, Pair, PairKind, Record, Refusal, Sentence

__all__ = [
    "Corpus",
    "CorpusBuilder",
    "Document",
    "Note",
    "Pair",
    "PairKind",
    "Record",
    "Refusal",
    "Sentence",
    "read_corpus",
    "read_corpus_from",
    "write_corpus",
    "write_corpus_to",
]

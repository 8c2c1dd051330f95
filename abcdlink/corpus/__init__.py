"""Documents, pairs and links; reading and writing them."""

from abcdlink.corpus.records import Corpus, Document, Pair, PairKind, Record, Refusal, Sentence

__all__ = ["Corpus", "Document", "Pair", "PairKind", "Record", "Refusal", "Sentence"]

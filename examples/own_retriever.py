"""A retriever of your own: the share of a target sentence's words that the source sentence has too."""

import sys

import numpy as np

import abcdlink


class Overlap(abcdlink.Retriever):
    def score(self, source, target):
        sources, targets = ([set(text.lower().split()) for text in document.texts] for document in (source, target))
        return np.array([[len(a & b) / max(1, len(b)) for b in targets] for a in sources])


if __name__ == "__main__":
    print(abcdlink.benchmark(sys.argv[1], ["bm25", Overlap()])[["approach", "f1"]])

"""A linker of your own: a logistic regression on the scores of two retrievers."""

import sys

import numpy as np
from sklearn.linear_model import LogisticRegression

import abcdlink


class Regression(abcdlink.Linker):
    retrievers = ("bm25", "jaccard")

    def fit(self, examples):
        rows = np.concatenate([self.features(example) for example in examples])
        model = LogisticRegression().fit(rows, np.concatenate([example.linked.ravel() for example in examples]))
        return model.coef_[0].tolist()

    def score(self, fitted, example):
        return (self.features(example) @ fitted).reshape(example.linked.shape)

    def features(self, example):
        return np.stack([example.scores[name].ravel() for name in self.retrievers], axis=1)


if __name__ == "__main__":
    print(abcdlink.benchmark(sys.argv[1], ["bm25", "jaccard", Regression])[["approach", "f1"]])

"""What a matrix of scores says about each two sentences, seen from the source, from the target and from the pair.

Scores are taken as z-scores over the pair, so that what is learned on one corpus holds for others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from abcdlink.retrieval.base import ranked

Matrix = NDArray[np.float64]
TEMPERATURE = 0.5
"""Of the softmaxes, in standard deviations of the pair's scores."""
TINY = 1e-9


def relations(z: Matrix) -> dict[str, Matrix]:
    """Return the features of z-scores of shape (source sentences, target sentences), each of the same shape.

    Ranks in both directions, distances from the best of the source and of the target, z-scores among
    the targets of the source and among the sources of the target, and the logarithms of the softmaxes
    in both directions, which say how alone a score stands.
    """
    return {
        "z": z,
        "z_source": _standard(z, axis=1),
        "z_target": _standard(z, axis=0),
        "rank_source": 1 / (_ranks(z) + 1),
        "rank_target": 1 / (_ranks(z.T).T + 1),
        "below_source": z - z.max(axis=1, keepdims=True),
        "below_target": z - z.max(axis=0, keepdims=True),
        "softmax_source": _log_softmax(z / TEMPERATURE, axis=1),
        "softmax_target": _log_softmax(z / TEMPERATURE, axis=0),
    }


def neighbours(z: Matrix) -> dict[str, Matrix]:
    """Return the best z-score around each two sentences: links often come next to each other.

    Around the target sentence, around the source sentence, and of both moved in the same direction;
    what lies outside the documents counts as the mean, 0.
    """
    wide = np.pad(z, 1)
    return {
        "near_target": np.maximum(wide[1:-1, 2:], wide[1:-1, :-2]),
        "near_source": np.maximum(wide[2:, 1:-1], wide[:-2, 1:-1]),
        "near_both": np.maximum(wide[2:, 2:], wide[:-2, :-2]),
    }


def _standard(scores: Matrix, axis: int) -> Matrix:
    deviation = scores.std(axis=axis, keepdims=True)
    standard: Matrix = (scores - scores.mean(axis=axis, keepdims=True)) / np.where(deviation > TINY, deviation, np.inf)
    return standard


def _ranks(scores: Matrix) -> Matrix:
    """Return the place of each target among those of its source, from 0; ties in document order."""
    ranks = np.empty(scores.shape)
    np.put_along_axis(ranks, ranked(scores), np.arange(scores.shape[1], dtype=float)[None, :], axis=1)
    return ranks


def _log_softmax(scores: Matrix, axis: int) -> Matrix:
    centred = scores - scores.max(axis=axis, keepdims=True)
    logs: Matrix = centred - np.log(np.exp(centred).sum(axis=axis, keepdims=True))
    return logs

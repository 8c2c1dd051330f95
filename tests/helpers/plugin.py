"""A small third-party package that adds a retriever and a linker, installed into a folder of its own."""

from __future__ import annotations

from pathlib import Path

NAMES = """
[abcdlink.retrievers]
shared-words = my_links:SharedWords
broken = my_links:nothing
[abcdlink.linkers]
scaled = my_links:Scaled
"""

MODULE = '''
import numpy as np

import abcdlink


class SharedWords(abcdlink.Retriever):
    """How many words two sentences share."""

    def score(self, source, target):
        sources, targets = ([set(text.lower().split()) for text in document.texts] for document in (source, target))
        return np.array([[float(len(a & b)) for b in targets] for a in sources])


class Scaled(abcdlink.Linker):
    """BM25 in units of the mean score of a gold link."""

    retrievers = ("bm25", "shared-words")

    def fit(self, examples):
        return {"mean": float(np.mean(np.concatenate([one.scores["bm25"][one.linked] for one in examples])))}

    def score(self, fitted, example):
        return example.scores["bm25"] / fitted["mean"] + example.scores["shared-words"]


class Unfinished(abcdlink.Linker):
    pass


class NotJson(Scaled):
    def fit(self, examples):
        return np.zeros(3)


class WrongShape(Scaled):
    def score(self, fitted, example):
        return np.zeros((1, 1, 1))
'''


def install_plugin(folder: Path) -> Path:
    """Put the package here as pip leaves one; returns the folder that belongs on Python's path."""
    about = folder / "my_links-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-links\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(NAMES)
    (folder / "my_links.py").write_text(MODULE)
    return folder

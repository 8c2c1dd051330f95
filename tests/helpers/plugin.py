"""A small third-party package that adds a retriever and a linker, installed into its own folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "my-links"
version = "1.0"

[project.entry-points."abcdlink.retrievers"]
shared-words = "my_links:SharedWords"
broken = "my_links:nothing"

[project.entry-points."abcdlink.linkers"]
scaled = "my_links:Scaled"

[tool.setuptools]
py-modules = ["my_links"]
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
    """Build and install the package with pip; returns the folder that belongs on Python's path."""
    source, installed = folder / "source", folder / "installed"
    source.mkdir(parents=True)
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "my_links.py").write_text(MODULE)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(installed), str(source)], check=True)
    return installed

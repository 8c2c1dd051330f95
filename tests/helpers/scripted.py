"""Random corpora, and a retriever with given scores, for tests of ranking and scoring."""

from __future__ import annotations

from functools import partial

import numpy as np
from hypothesis import strategies as st

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.progress import silent
from abcdlink.retrieval import Retriever
from tests.helpers import builders


class Scripted(Retriever):
    """Returns the scores it was created with, by (source document, target document)."""

    name = "scripted"

    def __init__(self, scores):
        self._scores = scores

    def prepare(self, documents, progress=silent):
        documents = progress(documents, "prepare")
        self.prepared = [document.id for document in documents]

    def score(self, source, target):
        return np.array(self._scores[source.id, target.id], float)


scripted_document = partial(builders.document, ids="s{n}")


@st.composite
def scripted_corpora(draw):
    """Draw a corpus with gold links and scores with many ties; documents recur across pairs."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=2, max_size=4))
    documents = {f"d{n}": scripted_document(f"d{n}", ["text"] * size) for n, size in enumerate(sizes)}
    names = st.sampled_from(sorted(documents))
    ends = draw(st.lists(st.tuples(names, names), min_size=1, max_size=5, unique=True))
    pairs, scores = [], {}
    for number, (source, target) in enumerate(ends):
        rows, columns = len(documents[source].sentences), len(documents[target].sentences)
        row = st.lists(st.sampled_from([-1.5, 0.0, 0.1, 0.1 + 1e-9, 2.0]), min_size=columns, max_size=columns)
        scores[source, target] = draw(st.lists(row, min_size=rows, max_size=rows))
        targets = st.sets(st.integers(0, columns - 1)).map(lambda s: tuple(f"s{i}" for i in sorted(s)))
        links = draw(st.dictionaries(st.integers(0, rows - 1).map(lambda i: f"s{i}"), targets))
        pairs.append(Pair(id=f"p{number}", source=source, target=target, links=links))
    return Corpus(name="random", documents=documents, pairs=pairs), scores

"""Learned linkers, fitted once."""

from __future__ import annotations

from functools import cache

import pytest

from abcdlink.linking import training
from abcdlink.linking.learned import learn
from tests.helpers.learnable import made_corpus


@pytest.fixture(scope="package")
def made(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("ABCDLINK_HOME", str(tmp_path_factory.mktemp("home")))
    # Enough for so few sentences.
    patch.setattr(training, "BOOSTING", training.BOOSTING | {"max_iter": 25, "max_bins": 15})
    yield made_corpus(), made_corpus(seed=1, name="other")
    patch.undo()


@pytest.fixture(scope="package")
def learned(made):
    """The linker of a name, fitted on the first corpus once."""
    (corpus, rankings), _ = made
    return cache(lambda name: learn(name, rankings, corpus))


@pytest.fixture
def linker(learned):
    return learned("learned-logistic")

"""Saved linkers rank as before; foreign and changed files are refused without being loaded."""

from __future__ import annotations

import io
import pickle
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from abcdlink.errors import InputError
from abcdlink.linking import saving
from abcdlink.linking.learned import learn
from abcdlink.linking.learners import LEARNERS
from abcdlink.linking.saving import from_bytes, to_bytes


@pytest.mark.parametrize("name", LEARNERS)
def test_fitting_is_deterministic_and_a_saved_linker_ranks_as_before(made, learned, name):
    (corpus, rankings), (other, other_rankings) = made
    one, two = learned(name), learn(name, rankings, corpus)
    table = one.rank(other_rankings, other)
    pd.testing.assert_frame_equal(two.rank(other_rankings, other), table)
    read = from_bytes(to_bytes(one), "file")
    pd.testing.assert_frame_equal(read.rank(other_rankings, other), table)
    assert read.fitted_on == one.fitted_on
    with pytest.raises(InputError, match="was fitted on"):
        read.rank(rankings, corpus)


def test_reading_a_linker_does_not_load_torch():
    """Nor does anything else in this tier; skops looks for it as soon as it is loaded."""
    with pytest.raises(InputError, match="cannot be read"):
        from_bytes(b"no linker", "file")
    assert "skops.io" in sys.modules
    assert "torch" not in sys.modules


class Stranger:
    """A class that no linker contains, and that complains when it is instantiated."""

    made = 0

    def __init__(self):
        Stranger.made += 1


def _dumped(content):
    from skops.io import dumps

    return dumps(content)


def _function():
    """Return a file whose model consists of trusted parts, one of which calls a function when used."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    return _dumped({"about": "{}", "model": make_pipeline(FunctionTransformer(np.abs))})


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (lambda: b"", "cannot be read"),
        (lambda: b"not a zip file", "cannot be read"),
        (lambda: pickle.dumps({"model": 1}), "cannot be read"),
        (lambda: _dumped({"about": "{}", "model": Stranger()}), r"it contains .*Stranger"),
        (lambda: _dumped({"about": "{}", "model": [1, 2]}), "not one that this program creates"),
        (_function, "not one that this program creates"),
        (lambda: _dumped([1, 2]), "not one that this program creates"),
    ],
)
def test_foreign_files_are_refused_without_loading_them(data, problem):
    content = data()
    before = Stranger.made
    with pytest.raises(InputError, match=rf"models/x cannot be used as a learned linker.*{problem}.*fit it again"):
        from_bytes(content, "models/x")
    assert Stranger.made == before


def test_a_changed_file_is_refused(linker):
    good = to_bytes(linker)
    with pytest.raises(InputError, match="cannot be read"):
        from_bytes(good[: len(good) // 2], "file")
    for old, new in (
        (b"sklearn.calibration", b"os.path"),
        (b"_CalibratedClassifier", b"system"),
        (b'\\"position\\": false', b'\\"position\\": 7.5'),
        (b'\\"position\\":false', b'\\"position\\":7.5'),
        (b"learned-logistic", b"learned-by-heart"),
    ):
        changed = _rewritten(good, old, new)
        if changed is not None:
            with pytest.raises(InputError, match="file cannot be used as a learned linker"):
                from_bytes(changed, "file")


def _rewritten(data, old, new):
    """Return a zip file with bytes replaced in its schema; ``None`` if they are not in it."""
    source, target = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    found = False
    with zipfile.ZipFile(target, "w") as out:
        for name in source.namelist():
            content = source.read(name)
            found |= old in content
            out.writestr(name, content.replace(old, new))
    return target.getvalue() if found else None


def test_a_file_of_another_version_of_scikit_learn_is_refused(linker, monkeypatch):
    good = to_bytes(linker)
    monkeypatch.setattr(saving, "version", lambda _: "0.1")
    with pytest.raises(InputError, match=r"made with scikit-learn .* but this is 0\.1"):
        from_bytes(good, "file")

"""Learned linkers as bytes, in a format that executes no code when read (skops)."""

from __future__ import annotations

import sys
from importlib.metadata import version
from types import ModuleType
from typing import Any

from pydantic import JsonValue, ValidationError

from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.linking.fitted import FittedOn
from abcdlink.linking.learned import LearnedLinker
from abcdlink.linking.learners import FittedLinker, own_linker, read_name
from abcdlink.linking.training import FittedModel

TRUSTED = ("sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",)
"""The parts of our models that skops does not trust by default; a file with any other is refused."""
OTHER_ARRAYS = tuple(f"sklearn.externals.array_api_compat.{library}" for library in ("torch", "dask", "cupy"))
"""Parts of scikit-learn for arrays of other libraries, which they load."""
VERSION = 2
"""Version of the features and of the meaning of probabilities; increased when either changes."""


class _About(Record):
    """What is stored about a linker beside its model.

    ``position``: whether it uses the positions of sentences in their documents, as some earlier versions did.
    """

    name: str
    position: bool = False
    fitted_on: FittedOn
    scikit_learn: str
    slope: float = 1.0
    intercept: float = 0.0
    features: int = VERSION


class _Own(Record):
    """A saved third-party linker."""

    name: str
    fitted_on: FittedOn
    fitted: JsonValue


def to_bytes(linker: LearnedLinker | FittedLinker) -> bytes:
    """Return a linker as the content of a file."""
    if isinstance(linker, FittedLinker):
        own = _Own(name=linker.name, fitted_on=linker.fitted_on, fitted=linker.fitted)
        return own.model_dump_json().encode()

    about = _About(
        name=linker.name,
        fitted_on=linker.fitted_on,
        scikit_learn=version("scikit-learn"),
        slope=linker.model.slope,
        intercept=linker.model.intercept,
    )
    data: bytes = _skops().dumps({"about": about.model_dump_json(), "model": linker.model.estimator})
    return data


def from_bytes(data: bytes, where: str) -> LearnedLinker | FittedLinker:
    """Read a linker.

    ``where``: the file, for messages. Raises ``InputError`` when the content is damaged, contains anything that is not
    ours, or is from another version of scikit-learn.
    """
    if data.startswith(b"{"):
        return _read_own(data, where)
    content = _read(data, where)
    try:
        about = _About.model_validate_json(content["about"])
        read_name(about.name)
    except (KeyError, TypeError, ValidationError, InputError):
        raise _unusable(where, "it has no valid description") from None
    if about.features != VERSION or about.position:
        raise _unusable(where, "it was learned by another version of this program")
    if about.scikit_learn != version("scikit-learn"):
        problem = f"it was made with scikit-learn {about.scikit_learn}, but this is {version('scikit-learn')}"
        raise _unusable(where, problem)
    model = FittedModel(content["model"], about.slope, about.intercept)
    return LearnedLinker(about.name, about.fitted_on, model)


def _read_own(data: bytes, where: str) -> FittedLinker:
    try:
        saved = _Own.model_validate_json(data)
    except ValidationError:
        raise _unusable(where, "it is damaged") from None
    own = own_linker(saved.name)
    if own is None:
        msg = f"{where} was learned by the linker {saved.name!r}, which is not installed"
        raise InputError(msg, "install its package, or put its module on PYTHONPATH")
    return FittedLinker(saved.name, own, saved.fitted_on, saved.fitted)


def _read(data: bytes, where: str) -> dict[str, Any]:
    """Return the content, its model checked to be one of ours."""
    try:
        foreign = set(_skops().get_untrusted_types(data=data)) - set(TRUSTED)
        content = None if foreign else _skops().loads(data, trusted=list(TRUSTED))
    except Exception as error:  # noqa: BLE001 - a damaged file makes skops raise anything
        raise _unusable(where, f"it cannot be read ({type(error).__name__})") from None
    if foreign:
        raise _unusable(where, f"it contains {', '.join(sorted(foreign))}, which does not belong in a learned linker")
    found = content if isinstance(content, dict) else {}
    if not _is_ours(found.get("model")):
        raise _unusable(where, "its model is not one that this program creates")
    return found


def _skops() -> ModuleType:
    """Return ``skops.io``, which on import loads all of scikit-learn, and with ``OTHER_ARRAYS`` torch: 1 s, 200 MB."""
    if "skops.io" not in sys.modules:
        closed = {name: None for name in OTHER_ARRAYS if name not in sys.modules}
        sys.modules.update(closed)  # type: ignore[arg-type]
        try:
            import skops.io
        finally:
            for name in closed:
                del sys.modules[name]
    import skops.io

    found: ModuleType = skops.io
    return found


def _is_ours(model: object) -> bool:
    """Tell whether a model has only our steps: scikit-learn has some that call arbitrary functions."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    if not isinstance(model, Pipeline) or len(model) != 2:  # noqa: PLR2004
        return False
    return type(model[0]) is StandardScaler and type(model[1]) in {HistGradientBoostingClassifier, LogisticRegression}


def _unusable(where: str, problem: str) -> InputError:
    msg = f"{where} cannot be used as a learned linker: {problem}"
    return InputError(msg, "fit it again, and use only files that this program wrote")

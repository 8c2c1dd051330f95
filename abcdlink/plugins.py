"""Classes that others add by name: installed as entry points, or named as ``module:Class``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from abcdlink.errors import InputError

T = TypeVar("T")

RESERVED = ("st", "sparse", "ce", "hybrid", "rrf")
"""Prefixes of the names of retrievers; no module of such a name is imported."""

MODULE_AND_CLASS = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)")


def installed(group: str) -> tuple[str, ...]:
    """Return the names that installed packages add to a group of entry points, in alphabetical order."""
    return tuple(sorted(_entries(group, tuple(sys.path))))


def find_class(name: str, group: str, base: type[T]) -> type[T] | None:
    """Return the class of a name; ``None`` when the name is neither installed nor a class of this kind.

    ``name``: of an entry point in the group, or ``module:Class`` for any module that Python can import.

    Raises:
        InputError: when a package fails to load, the class is not in its module, or an installed class does not
            extend ``base``.
    """
    entry = _entries(group, tuple(sys.path)).get(name)
    if entry is None and (name.partition(":")[0] in RESERVED or not MODULE_AND_CLASS.fullmatch(name)):
        return None
    found = _imported(name) if entry is None else _loaded(entry)
    if isinstance(found, type) and issubclass(found, base):
        return found
    if entry is None:
        return None
    msg = f"{entry.value}, installed as {name!r} in {group}, is not a subclass of {base.__module__}.{base.__name__}"
    raise InputError(msg, "correct the entry point of its package, or uninstall the package")


def load_function(name: str, group: str) -> Callable[..., Any]:
    """Return the function that an installed package adds to a group under a name.

    Raises:
        InputError: when no package does, or it fails to load.
    """
    entry = _entries(group, tuple(sys.path)).get(name)
    if entry is None:
        msg = f"no installed package offers {name!r} in {group}"
        raise InputError(msg, "install abcdlink again, so that its entry points are known")
    found: Callable[..., Any] = _loaded(entry)
    return found


def make(found: Callable[[], T], name: str) -> T:
    """Return an object of a class that ``find_class`` found; ``InputError`` when it cannot be made."""
    try:
        return found()
    except Exception as error:
        msg = f"{name!r} cannot be used: {found!r} failed with {type(error).__name__}: {error}"
        raise InputError(msg, "the class must be complete, and need no arguments") from error


@cache
def _entries(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:  # noqa: ARG001 - what is installed depends on it
    return {entry.name: entry for entry in entry_points(group=group)}


def _loaded(entry: EntryPoint) -> Any:  # noqa: ANN401 - whatever a package offers
    try:
        return entry.load()
    except Exception as error:
        msg = f"{entry.value}, installed as {entry.name!r} in {entry.group}, cannot be loaded: {error!r}"
        raise InputError(msg, "correct or uninstall its package") from error


def _imported(name: str) -> Any:  # noqa: ANN401 - whatever a module holds
    module, _, attribute = name.partition(":")
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            return None
        msg = f"the module {module!r} of {name!r} needs the package {error.name!r}, which is not installed"
        raise InputError(msg, f"install {error.name}") from error
    except Exception as error:
        msg = f"the module {module!r} of {name!r} cannot be imported: {error!r}"
        raise InputError(msg, "correct the module") from error
    if not hasattr(found, attribute):
        msg = f"the module {module!r} ({getattr(found, '__file__', None)}) has no class {attribute!r}"
        raise InputError(msg, "correct the name, which is module:Class")
    return getattr(found, attribute)

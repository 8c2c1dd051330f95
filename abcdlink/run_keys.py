"""The names of runs and domains: what is allowed, so that each can be a folder on any computer."""

from __future__ import annotations

import re
from collections.abc import Collection

from abcdlink.errors import InputError

DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{device}{n}" for device in ("COM", "LPT") for n in range(1, 10))}
"""Names that Windows reserves for devices, with and without an ending."""
LONGEST_KEY = 80
RUN_KEY = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_KEY - 1}}}")


def require_run_key(key: str, what: str = "a run key", there: Collection[str] = ()) -> None:
    """Raise ``InputError`` when a key cannot name a run, or another folder; says what is allowed.

    ``there``: names that are taken. On some disks, one that differs in capital letters only would be the same folder.
    """
    if not RUN_KEY.fullmatch(key):
        shown = key if len(key) <= LONGEST_KEY else f"{key[:LONGEST_KEY]}..."
        msg = f"{shown!r} cannot be {what}"
        fits = re.sub(r"[^A-Za-z0-9._-]+", "-", key).strip("-._")[:LONGEST_KEY]
        example = f", such as {fits}" if RUN_KEY.fullmatch(fits) else ""
        hint = f"use up to {LONGEST_KEY} letters, digits, '.', '_' and '-', beginning with a letter or digit"
        raise InputError(msg, f"{hint}{example}")
    if key.partition(".")[0].upper() in DEVICES or key.endswith("."):
        msg = f"{key!r} cannot be {what}: Windows cannot have a folder of this name"
        raise InputError(msg, "use another, so that the folder can be copied to any computer")
    twin = next((name for name in there if name.casefold() == key.casefold()), key)
    if twin != key and key not in there:
        msg = f"{key!r} cannot be {what}: it differs from {twin!r}, which is there, in capital letters only"
        raise InputError(msg, f"write {twin}, or take another name: on some disks the two would be one folder")

"""Reads files that people give: one clear error for what Python's readers would hide, garble or crash on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from abcdlink.errors import InputError
from abcdlink.store import decode


def read_text(path: Path) -> str:
    """Read a UTF-8 text file; ``InputError`` when it cannot be read or is no UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror}"
        raise InputError(msg, "check the path and its permissions") from None
    return decode(data, str(path))


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a JSON file whose top level is an object.

    Raises:
        InputError: when the file cannot be read, is no UTF-8 or no JSON object, or a key occurs
            twice in one object (Python would keep the last and drop the first silently).
    """

    def unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(items)
        if len(value) < len(items):
            keys = [key for key, _ in items]
            twice = next(key for key in keys if keys.count(key) > 1)
            msg = f"{path}: the id {twice!r} occurs twice in one object"
            raise InputError(msg, "give every document, pair and sentence its own id")
        return value

    try:
        value = json.loads(read_text(path), object_pairs_hook=unique)
    except (json.JSONDecodeError, RecursionError) as error:
        msg = f"{path} is not JSON: {error}"
        raise InputError(msg, "mend the file at that place") from None
    if not isinstance(value, dict):
        msg = f"{path} holds a {type(value).__name__}, not an object of documents or pairs"
        raise InputError(msg, "see the layout of the released ABCD-Link data")
    return value

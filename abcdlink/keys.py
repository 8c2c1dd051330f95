"""Opaque, stable names of tasks and candidates, which tell annotators nothing."""

from __future__ import annotations

import hashlib

TASK_DIGITS = 16


def opaque(*parts: object, digits: int = TASK_DIGITS) -> str:
    """Return the first hex digits of the SHA-256 of the parts; the same parts always give the same name."""
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:digits]

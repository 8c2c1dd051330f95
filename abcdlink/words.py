"""Words of a sentence, for measures of style and overlap."""

from __future__ import annotations

import re

WORD = re.compile(r"\w+(?:['\u2019.,:-]\w+)*")
"""A run of letters and digits; inner marks belong to it, as in ``don't``, ``3.5`` and ``11-year-old``."""


def words(text: str) -> list[str]:
    """Return the words of a text in order, in lower case."""
    return [match[0].casefold() for match in WORD.finditer(text)]


def share_copied(original: str, copy: str) -> float:
    """Return the share of the distinct words of ``original`` that ``copy`` holds too; 0 when it has none."""
    wanted = set(words(original))
    return len(wanted & set(words(copy))) / len(wanted) if wanted else 0.0

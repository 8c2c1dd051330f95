"""Answers that were paid for, kept on disk by the content of the question."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from abcdlink.folders import write_atomically
from abcdlink.llm.records import Answer, Outcome
from abcdlink.settings import Settings

LOG = logging.getLogger(__name__)


def content_key(request: dict[str, Any]) -> str:
    """Return the SHA-256 of all that a model is given: its name, parameters, messages and schema.

    The order of keys counts: servers write the properties of a schema in the order they are given.
    """
    return hashlib.sha256(json.dumps(request).encode()).hexdigest()


def answer_key(request: dict[str, Any], settings: Settings) -> str:
    """Return the key of an answer: the content of its request, and the profile that was asked where it has a name.

    Two profiles may give one model name to different builds of a model, whose answers must not be confused.
    """
    return content_key({**request, "profile": settings.llm_profile} if settings.llm_profile else request)


class AnswerCache:
    """One JSON file an answer, ``<root>/aa/<key>.json``; a file is there whole or not at all.

    ``FAILED`` and ``TOO_LONG`` are never kept: they say something about the server, which may be
    another one tomorrow, or have a longer context, and they cost nothing.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def _path(self, key: str) -> Path:
        return self.root / key[:2] / f"{key}.json"

    def get(self, key: str) -> Answer | None:
        """Return the answer with ``from_cache`` set, or ``None`` when the question was never answered."""
        try:
            answer = Answer.model_validate_json(self._path(key).read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError:
            LOG.warning("%s is no answer of this version; the question is asked again", self._path(key))
            return None
        return answer.model_copy(update={"from_cache": True})

    def put(self, key: str, answer: Answer) -> None:
        """Keep a final answer."""
        if answer.outcome not in (Outcome.FAILED, Outcome.TOO_LONG):
            write_atomically(self._path(key), answer.model_dump_json().encode())

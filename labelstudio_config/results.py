"""The result of an annotation: what was chosen and written. Any account can submit any JSON there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

UNREADABLE = "unreadable"
"""Field of an annotation that Label Studio could not send: why not."""


class MalformedError(Exception):
    """An annotation is not one that the page submits; says what is wrong with it."""


class Given(NamedTuple):
    """What was given: name in the label config -> choices, and -> text, several lines of it joined."""

    choices: dict[str, list[str]]
    texts: dict[str, str]


class _Value(BaseModel):
    model_config = ConfigDict(strict=True)
    choices: list[str] = []
    text: str | list[str] = ""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)
    from_name: str
    value: _Value


_PARTS = TypeAdapter(list[_Part])


def read_given(annotation: Mapping[str, Any]) -> Given:
    """Read what an annotation says.

    Raises:
        MalformedError: when it is not what the page submits.
    """
    if UNREADABLE in annotation:
        raise MalformedError(annotation[UNREADABLE])
    result = annotation.get("result")
    try:
        parts = _PARTS.validate_python(result)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        msg = f"its result{f' at {place}' if place else ''} is not what the page submits ({first['msg']})"
        raise MalformedError(msg) from None
    return Given(
        {part.from_name: part.value.choices for part in parts if "choices" in part.value.model_fields_set},
        {part.from_name: _joined(part.value.text) for part in parts if "text" in part.value.model_fields_set},
    )


def _joined(text: str | list[str]) -> str:
    return (text if isinstance(text, str) else "\n".join(text)).strip()

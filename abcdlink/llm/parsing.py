"""From a model's text to a validated value: what is accepted, what is repaired, what is rejected.

A repair may only undo notation (a fence, thinking text, a trailing comma, Python literals).
Nothing is ever guessed: half an answer, two answers, or an answer that contradicts itself is no answer.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from abcdlink.llm.records import Outcome

STRING = r""" "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' """
PIECES = re.compile(rf"{STRING} | [{{}}\[\]] | [\"']", re.VERBOSE | re.DOTALL)
"""Tokens that determine where an object ends; a lone quote opens a string that never ends."""
REWRITTEN = re.compile(
    rf"{STRING} | ,(?=\s*[}}\]]) | \b(?:True|False|None)\b | (?<=[{{,\s])\d+(?=\s*:)", re.VERBOSE | re.DOTALL
)
PYTHON_LITERALS = {"True": "true", "False": "false", "None": "null"}
FENCE = re.compile(r"```\w*")
REFUSAL = re.compile(
    r"\b(?:i|we)(?:['\u2019]m| am| are)? (?:cannot|can['\u2019]t|can not|won['\u2019]t|will not|unable|not able)\b"
    r"|\b(?:i|we) (?:must|have to) (?:decline|refuse)\b|\bas an ai\b|^\W*(?:i['\u2019]m |i am )?sorry\b",
    re.IGNORECASE,
)


class Parsed(NamedTuple):
    """The content of a text; ``detail`` tells people why the outcome is not ``ok``."""

    outcome: Outcome
    value: dict[str, Any] | None = None
    detail: str = ""


def parse(raw: str, schema: dict[str, Any]) -> Parsed:
    """Read the one JSON object that ``raw`` should be and check it against its schema.

    The outcome is ``ok``, ``repaired``, ``truncated``, ``missing_ids``, ``refused`` or ``invalid``.
    ``value`` is the object if it can be used. If a listwise question (a schema of booleans) got
    too few ids or ids that were not offered, ``value`` holds the offered ids that were answered.
    """
    try:
        value = _load(raw)
    except (ValueError, RecursionError):
        return _look_closer(raw, schema)
    return _checked(value, schema, Outcome.OK)


def _look_closer(raw: str, schema: dict[str, Any]) -> Parsed:
    """Parse a text that is not a plain JSON object."""
    _, thought, text = raw.rpartition("</think>")
    if not thought and "<think>" in raw:
        return Parsed(Outcome.TRUNCATED, detail="the answer ends inside its thinking text")
    found = _only_object(text)
    if isinstance(found, Parsed):
        return found
    try:
        value = _load(REWRITTEN.sub(lambda piece: as_json(piece[0]), found), repair=True)
    except (ValueError, RecursionError) as error:
        return Parsed(Outcome.INVALID, detail=f"no valid JSON object: {error}")
    return _checked(value, schema, Outcome.REPAIRED)


def _only_object(text: str) -> str | Parsed:
    """Return the only ``{...}`` in a text, or why there is none."""
    found, around, whole = _objects(text)
    if not whole:
        if FENCE.sub("", text).rstrip().endswith("}"):
            return Parsed(Outcome.INVALID, detail="the JSON object is malformed")
        return Parsed(Outcome.TRUNCATED, detail="the JSON object is cut off")
    if not found:
        return _without_object(text)
    if len(found) > 1:
        return Parsed(Outcome.INVALID, detail=f"{len(found)} objects where one was asked for")
    if not all(map(_is_balanced, around)):
        return Parsed(Outcome.INVALID, detail="the object is inside something else")
    return found[0]


def _load(text: str, *, repair: bool = False) -> dict[str, Any]:
    """Decode one object; with ``repair``, line breaks in strings and repeated keys with the same value are accepted."""
    value = json.loads(
        text,
        strict=not repair,
        object_pairs_hook=partial(_unique_keys, repeats=repair),
        parse_constant=_no_constant,
    )
    if not isinstance(value, dict):
        msg = "it is not an object"
        raise ValueError(msg)  # noqa: TRY004 - one kind of error for all that cannot be used
    json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair could never be stored
    return value


def _unique_keys(pairs: list[tuple[str, Any]], *, repeats: bool) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in pairs:
        if key in value and not (repeats and value[key] == item):
            msg = f"the key {key!r} appears twice"
            raise ValueError(msg)
        value[key] = item
    return value


def _no_constant(name: str) -> None:
    msg = f"{name} is not a JSON value"
    raise ValueError(msg)


def _objects(text: str) -> tuple[list[str], list[str], bool]:
    """Return the top-level ``{...}`` in a text, the texts around them, and whether the last one is closed."""
    found: list[str] = []
    around: list[str] = []
    position = 0
    while (start := text.find("{", position)) >= 0:
        around.append(text[position:start])
        end = _end_of_object(text, start)
        if end is None:
            return found, around, False
        found.append(text[start:end])
        position = end
    return found, [*around, text[position:]], True


def _is_balanced(text: str) -> bool:
    """Tell whether every bracket of a text is closed in it: a remark ``[as asked]`` is, half a list is not."""
    depth = 0
    for mark in re.findall(r"[\[\]}]", text):
        depth += 1 if mark == "[" else -1
        if depth < 0 or mark == "}":
            return False
    return depth == 0


def _end_of_object(text: str, start: int) -> int | None:
    depth = 0
    for piece in PIECES.finditer(text, start):
        if piece[0] in ('"', "'"):
            return None
        depth += (piece[0] in "{[") - (piece[0] in "}]")
        if depth == 0:
            return piece.end()
    return None


def as_json(text: str) -> str:
    """Rewrite one piece of a Python literal as JSON; JSON stays unchanged."""
    if text.startswith('"'):
        return text
    if text.startswith("'"):
        inner = re.sub(r"\\.|\"", lambda part: {"\\'": "'", '"': '\\"'}.get(part[0], part[0]), text[1:-1])
        return f'"{inner}"'
    if text == ",":
        return ""
    return PYTHON_LITERALS.get(text, f'"{text}"')


def _without_object(text: str) -> Parsed:
    if REFUSAL.search(text):
        return Parsed(Outcome.REFUSED, detail="the model declined in prose")
    return Parsed(Outcome.INVALID, detail="no JSON object in the answer" if text.strip() else "the answer is empty")


def _checked(value: dict[str, Any], schema: dict[str, Any], outcome: Outcome) -> Parsed:
    offered = schema.get("properties", {})
    foreign = [key for key in value if key not in offered] if schema.get("additionalProperties") is False else []
    listwise = is_listwise(schema)
    missing = [key for key in schema.get("required", []) if key not in value]
    if listwise:  # what was decided counts, even without the thoughts before it
        missing = [key for key in missing if offered.get(key, {}).get("type") != "string"]
    known = {key: item for key, item in value.items() if key not in foreign}
    # The part of the schema that the answer must fit even if ids are missing.
    fits = {**schema, "required": []} if missing or listwise else schema
    faults = list(Draft202012Validator(fits).iter_errors(known))
    if faults:
        path = "/".join(str(step) for step in faults[0].absolute_path)
        return Parsed(Outcome.INVALID, detail=f"{path or 'the object'}: {faults[0].message[:200]}")
    if foreign:
        detail = f"{len(foreign)} not offered: {', '.join(map(repr, foreign))[:200]}"
        return Parsed(Outcome.INVALID, known if listwise else None, detail)
    if missing:
        detail = f"{len(missing)} not answered: {', '.join(map(repr, missing))[:200]}"
        return Parsed(Outcome.MISSING_IDS, known, detail) if listwise else Parsed(Outcome.INVALID, detail=detail)
    return Parsed(outcome, value)


def is_listwise(schema: dict[str, Any]) -> bool:
    """Tell whether an answer is an object of booleans, which thoughts in words may precede."""
    kinds = [kind.get("type") for kind in schema.get("properties", {}).values()]
    return all(kind == "boolean" for kind in kinds[kinds[:1] == ["string"] and len(kinds) > 1 :])

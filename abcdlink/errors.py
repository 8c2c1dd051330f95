"""Errors a person can act on: what is wrong, where, and a hint at what to do."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pydantic import ValidationError


SAVE_AS_TEXT = "save a Word or Excel file, or a PDF, as plain text or CSV"
SAVE_AS_UTF8 = (
    f"{SAVE_AS_TEXT}; convert a text: `iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW`, where WINDOWS-1252 is for western "
    "Europe, 1250 for central Europe, 1251 Cyrillic, 1253 Greek, 1256 Arabic, SHIFT_JIS Japanese, GB18030 Chinese"
)
"""What to do about a file that is not text, and about one that may be a text in another encoding."""


class AbcdlinkError(Exception):
    """One clear error: what is wrong (naming the file, line or id) and a hint at what to do.

    Args:
        problem: what is wrong and where, one sentence without a full stop at its end.
        hint: what the reader can do about it, one sentence without a full stop at its end.

    The command line prints it without a traceback and exits with ``exit_code``.
    """

    exit_code = 1

    def __init__(self, problem: str, hint: str = "") -> None:
        self.problem = problem
        self.hint = hint
        super().__init__(f"{problem}. {hint}." if hint else f"{problem}.")


class InputError(AbcdlinkError):
    """Something that the user gave (a file, an id, a name, a setting) cannot be used."""

    exit_code = 2


class ServiceError(AbcdlinkError):
    """A service that is needed (the LLM, Label Studio, Prefect, S3) does not answer as it should."""

    exit_code = 3


class BudgetError(AbcdlinkError):
    """The run's budget is used up; answers that were paid for are kept."""

    exit_code = 4


E = TypeVar("E", bound=StrEnum)


def one_of(kind: type[E], value: str, what: str) -> E:
    """Return the member of ``kind`` with this value; ``InputError`` names all there are. ``what``: what they are."""
    try:
        return kind(value)
    except ValueError:
        msg = f"there is no {what} {value!r}"
        raise InputError(msg, f"use one of {', '.join(kind)}") from None


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: ``1 pair``, ``2,000 pairs``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


WORDS = {
    "missing": "{field} is missing",
    "extra_forbidden": "there is no field {field}",
    "string_type": "{field} must be text",
    "string_too_short": "{field} must not be empty",
    "string_pattern_mismatch": "{field} must look like {pattern}",
    "model_type": "{field} must be an object",
    "dict_type": "{field} must be an object",
    "list_type": "{field} must be a list",
    "tuple_type": "{field} must be a list",
    "too_short": "{field} needs {min_length} or more entries",
    "int_type": "{field} must be a whole number",
    "int_parsing": "{field} must be a whole number",
    "int_from_float": "{field} must be a whole number",
    "float_type": "{field} must be a number",
    "float_parsing": "{field} must be a number",
    "finite_number": "{field} must be a finite number",
    "bool_type": "{field} must be true or false",
    "bool_parsing": "{field} must be true or false",
    "greater_than": "{field} must be more than {gt:g}",
    "greater_than_equal": "{field} must be {ge:g} or more",
    "less_than": "{field} must be less than {lt:g}",
    "less_than_equal": "{field} must be {le:g} or less",
    "literal_error": "{field} must be {expected}",
    "enum": "{field} must be {expected}",
    "json_invalid": "{field} is not JSON ({error})",
}
"""What is wrong with a field, in plain words, by pydantic's name of the error."""
TYPE_TAG = re.compile(r"(?:str|int|float|bool|[A-Z]\w*Line|.*\[.*)")
"""Parts of the place of an error that name one of several types that a field may have."""


def fault_in(error: ValidationError, whole: str = "it") -> str:
    """Say in plain words what is wrong first in a record: which field, and what it must be.

    ``whole``: what the record is called where it does not fit as a whole.
    """
    first, *others = error.errors(include_url=False)
    # Where a field may have one of several types, the error deepest inside says most.
    inside = [one for one in others if one["loc"][: len(first["loc"]) - 1] == first["loc"][:-1]]
    deepest = max([first, *inside], key=lambda one: len(one["loc"]))
    field = ".".join(str(part) for part in deepest["loc"] if not (isinstance(part, str) and TYPE_TAG.fullmatch(part)))
    words = WORDS.get(deepest["type"])
    if words:
        # Most JSON comes line by line, and who calls this says in which line.
        return words.format(field=field or whole, **deepest.get("ctx", {})).replace("at line 1 column", "at character")
    said = str(deepest["msg"]).removeprefix("Value error, ")
    return f"{field}: {said}" if field else said


SENTENCE = re.compile(r"^[a-z](?=[a-z]* )|(?<=[^.\s]{2}\. )[a-z](?=[a-z]* )")
"""Where a sentence of an error begins, which says its problem and a hint in lower case."""


def as_sentences(error: str) -> str:
    """Return the text of an error with sentences that begin with capital letters."""
    return SENTENCE.sub(lambda found: found[0].upper(), error)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, without a full stop."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".")

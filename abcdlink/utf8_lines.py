"""Files in UTF-8 and JSON Lines: what is wrong with one is told with its line, byte or field."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from abcdlink.errors import SAVE_AS_TEXT, SAVE_AS_UTF8, InputError, fault_in

R = TypeVar("R", bound=BaseModel)

RICH_TEXT = "{\\rtf"


def decode(data: bytes, where: str) -> str:
    """Decode UTF-8, with or without a byte order mark; ``InputError`` names the first bad byte, or says it is RTF."""
    return "".join(text for _, text in decoded_lines(io.BytesIO(data), where, blank=True))


def parse_records(data: bytes, kind: type[R], where: str, first_line: int = 1) -> list[R]:
    r"""Parse JSON Lines; ``InputError`` names ``where`` and the line that does not fit.

    Lines end at ``\n`` only: other line separators occur inside sentences. ``first_line``: number of the first one,
    for messages.
    """
    return list(each_record(io.BytesIO(data), kind, where, first_line))


def decoded_lines(
    file: Iterable[bytes], where: str, first_line: int = 1, *, blank: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines of a UTF-8 file, blank ones if wanted; errors as ``decode``."""
    offset = 0
    for number, line in enumerate(file, start=first_line):
        try:
            text = line.decode("utf-8-sig" if offset == 0 else "utf-8")
        except UnicodeDecodeError as error:
            # The codec counts from after the byte order mark.
            start = error.start + len(line) - len(error.object)
            msg = f"{where} is not UTF-8: byte {offset + start} (line {number}) is 0x{line[start]:02x}"
            raise InputError(msg, SAVE_AS_UTF8) from None
        if offset == 0 and text.startswith(RICH_TEXT):
            msg = f"{where} is rich text (RTF), with commands among the words"
            raise InputError(msg, SAVE_AS_TEXT)
        offset += len(line)
        if blank or text.strip():
            yield number, text


def each_record(file: Iterable[bytes], kind: type[R], where: str, first_line: int = 1) -> Iterator[R]:
    """Yield the records of a file of JSON Lines; errors as ``parse_records``."""
    for number, line in decoded_lines(file, where, first_line):
        try:
            yield kind.model_validate_json(line.rstrip("\n"))  # its columns count from this line
        except ValidationError as error:
            msg = f"{where}, line {number}: {fault_in(error)}"
            raise InputError(msg, f"fix the line so that it is a {kind.__name__} record") from None
        except InputError as error:
            msg = f"{where}, line {number}: {error.problem}"
            raise InputError(msg, error.hint) from None

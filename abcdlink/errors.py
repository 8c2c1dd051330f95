"""Errors a person can act on: what is wrong, where, and a hint at what to do."""

from __future__ import annotations


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
    """What a run may spend is used up; what was paid for is kept."""

    exit_code = 4


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: ``1 pair``, ``2,000 pairs``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"

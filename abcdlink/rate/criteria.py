"""By what documents are rated: text of the domain, in its file ``rating.toml``."""

from __future__ import annotations

import tomllib

from pydantic import Field, ValidationError, model_validator

from abcdlink.corpus.records import Record
from abcdlink.domain import Domain
from abcdlink.errors import InputError

FILE = "rating.toml"

MOST_CRITERIA = 4
"""As many as there are rows of keys to rate with."""


class Criterion(Record):
    """One thing that is rated. ``low`` and ``high``: what the lowest and the highest value mean."""

    name: str = Field(min_length=1, max_length=40)
    question: str = Field(min_length=1)
    low: str = Field(min_length=1)
    high: str = Field(min_length=1)


class _File(Record):
    rating: tuple[Criterion, ...] = Field(min_length=1, max_length=MOST_CRITERIA)

    @model_validator(mode="after")
    def _names_differ(self) -> _File:
        names = [one.name for one in self.rating]
        if len(set(names)) != len(names):
            msg = f"two criteria have the same name ({', '.join(names)})"
            raise ValueError(msg)
        return self


def criteria_of(domain: Domain) -> tuple[Criterion, ...]:
    """Return the criteria of a domain, one to four.

    Raises:
        InputError: when the file is missing or does not fit.
    """
    path = domain.folder / FILE
    try:
        return _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).rating
    except FileNotFoundError:
        msg = f"domain {domain.name!r} has no file {path}"
        raise InputError(msg, f"write it, or copy {FILE} from a shipped domain") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path} is not valid TOML: {error}"
        raise InputError(msg, "fix the place that the message names") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "rating"
        msg = f"{path}: {where}: {first['msg']}"
        raise InputError(msg, "give each [[rating]] a name, a question, and the words low and high") from None

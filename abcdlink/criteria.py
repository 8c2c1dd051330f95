"""What a domain says about ratings: by which criteria people rate documents, and how many people each."""

from __future__ import annotations

import tomllib

from pydantic import Field, ValidationError, model_validator

from abcdlink.corpus.records import Record
from abcdlink.domain import Domain
from abcdlink.errors import InputError, fault_in

FILE = "rating.toml"
"""Of a domain: its criteria, and how many people rate each document."""
MOST_CRITERIA = 4
"""There are only so many rows of keys to rate with."""


class Criterion(Record):
    """One thing that is rated. ``low`` and ``high``: what the lowest and the highest value mean."""

    name: str = Field(min_length=1, max_length=40)
    question: str = Field(min_length=1)
    low: str = Field(min_length=1)
    high: str = Field(min_length=1)


class RatingSettings(Record):
    """The content of ``rating.toml``: the criteria, and how many people rate each document."""

    raters: int = Field(2, ge=1, le=10)
    rating: tuple[Criterion, ...] = Field(min_length=1, max_length=MOST_CRITERIA)

    @model_validator(mode="after")
    def _names_differ(self) -> RatingSettings:
        names = [one.name for one in self.rating]
        if len(set(names)) != len(names):
            msg = f"two criteria have the same name ({', '.join(names)})"
            raise ValueError(msg)
        return self


def rating_settings(domain: Domain) -> RatingSettings:
    """Return a domain's criteria and its number of raters.

    Raises:
        InputError: when the file is missing or does not fit.
    """
    path = domain.folder / FILE
    try:
        return RatingSettings.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        msg = f"domain {domain.name!r} has no file {path}"
        raise InputError(msg, f"write it, or copy {FILE} from a shipped domain") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path} is not valid TOML: {error}"
        raise InputError(msg, "fix it at the place that the message names") from None
    except ValidationError as error:
        msg = f"{path}: {fault_in(error)}"
        raise InputError(msg, "give each [[rating]] a name, a question, and the words low and high") from None

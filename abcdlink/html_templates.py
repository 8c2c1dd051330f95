"""Templates of our HTML pages: all that comes from a document is escaped, and a missing value is an error."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def html_environment(package: str, folder: str = "templates") -> Environment:
    """Return the environment of the templates in a folder of a package, which compiles each of them once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

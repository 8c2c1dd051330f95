"""Templates of what people read: HTML pages and Markdown cards; a missing value is an error."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def html_environment(package: str, folder: str = "templates") -> Environment:
    """Return the environment of the HTML templates in a folder of a package, compiled once; all values are escaped."""
    return _environment(package, folder, autoescape=True)


def markdown_environment(package: str) -> Environment:
    """Return the environment of a package's Markdown templates, in which filters escape what comes from a document."""
    return _environment(package, "templates", autoescape=False)


def _environment(package: str, folder: str, *, autoescape: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, folder),
        autoescape=autoescape,  # noqa: S701 - off for Markdown alone
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not autoescape,
    )

"""Templates: prompts for models, in a sandbox, and the pages and cards that people read.

A domain folder may come from a stranger, so its prompt templates are text, not code. Jinja's sandbox hides what begins
with an underscore. It would still let a template call any method of the objects it is given (a folder's ``unlink``,
say), so nothing can be called here but methods of plain values and Jinja's helpers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined, TemplateNotFound
from jinja2.bccache import Bucket
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from abcdlink.characters import in_order

if TYPE_CHECKING:
    from jinja2 import Environment


PLAIN = (str, list, tuple, dict, int, float, bool)
GLOBALS = ("range", "dict", "namespace", "joiner")
"""Of the helpers that Jinja offers everywhere, those that only count and collect."""


CONTROL = re.compile(r"<(?=[|/]|\w+>)|\[(?=/?INST\b)")
"""Where marks begin that the chat templates of servers put between messages: ``<|im_end|>``, ``</s>``, ``[INST]``."""


def as_data(value: object) -> str:
    """Return a value as JSON, as data for a model.

    No text in it can end its own quotation marks or its line, so none can look like another sentence, id or
    instruction of the prompt. Marks of chat templates are written by their code points: the same text in JSON, but
    nothing that a server takes for the end of a message.
    """
    return CONTROL.sub(lambda mark: f"\\u{ord(mark[0]):04x}", json.dumps(value, ensure_ascii=False))


def lines_as_data(text: str) -> str:
    """Return each line of a text as data."""
    return "\n".join(map(as_data, text.split("\n")))


class PromptLoader(FileSystemLoader):
    """Finds templates in some folders, the first one first; a link that leads out of its folder is not followed."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return the text of a template, its file, and whether that is unchanged."""
        text, file, is_current = super().get_source(environment, template)
        if not any(Path(file).resolve().is_relative_to(Path(folder).resolve()) for folder in self.searchpath):
            raise TemplateNotFound(template, f"{file} is a link to a place outside the domain")
        return text, file, is_current


class _Compiled(BytecodeCache):
    """The prompt templates that this process compiled, found by file and text: each domain has an own environment."""

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give the code of a template, if it is there."""
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template."""
        if bucket.code is not None:
            self._code[bucket.key, bucket.checksum] = bucket.code


_COMPILED = _Compiled()


class PromptTemplates(ImmutableSandboxedEnvironment):
    """The environment of prompt templates. Prompts are plain text for a model: nothing is escaped as HTML.

    The filter ``json`` writes a value as data, and ``said`` a text as one line of it, see ``as_data``.
    """

    def __init__(self, loader: PromptLoader) -> None:
        super().__init__(
            loader=loader,
            bytecode_cache=_COMPILED,
            undefined=StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
        )
        # The sandbox has its own range, which is bounded.
        self.globals = {name: self.globals[name] for name in GLOBALS}
        self.filters["json"] = as_data
        self.filters["said"] = lambda text: as_data(" ".join(str(text).split()))

    def is_safe_callable(self, obj: Any) -> bool:  # noqa: ANN401 - whatever a template tries to call
        """Allow macros, Jinja's own helpers, and methods of plain values."""
        if isinstance(obj, Macro) or obj in self.globals.values():
            return True
        return isinstance(getattr(obj, "__self__", None), PLAIN) and super().is_safe_callable(obj)


@cache
def html_environment(package: str, folder: str = "templates") -> Environment:
    """Return the environment of the HTML templates in a folder of a package, compiled once; all values are escaped."""
    return _environment(package, folder, autoescape=True)


@cache
def markdown_environment(package: str) -> Environment:
    """Return the environment of a package's Markdown templates, in which filters escape what comes from a document."""
    return _environment(package, "templates", autoescape=False)


def _environment(package: str, folder: str, *, autoescape: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package, folder),
        autoescape=autoescape,  # noqa: S701 - off for Markdown alone
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not autoescape,
    )
    environment.filters["in_order"] = in_order
    return environment

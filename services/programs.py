"""The programs that ``up`` runs on this machine: commands, environments, ports and health checks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from abcdlink.errors import ServiceError
from abcdlink.llm.profiles import for_other_processes
from abcdlink.settings import PROJECT_ROOT, SECRETS_FILE, Settings
from labelstudio_config.server import ENVIRONMENT as LABEL_STUDIO_EXTENSION
from services import MARK, SILENT_SECONDS, read_heartbeat
from services.credentials import LABEL_STUDIO_FOLDER, Credentials, read_credentials
from services.health import LOOPBACK, PrefectApi, answers, is_local, worker_is_online

LABEL_STUDIO, PREFECT, LLM, WORKER, WATCHER = "label-studio", "prefect", "llm", "worker", "watcher"
WORK_POOL = "abcdlink"
LABEL_STUDIO_ENVIRONMENT = PROJECT_ROOT / ".venv-label-studio"
LABEL_STUDIO_COMMAND = LABEL_STUDIO_ENVIRONMENT / "bin" / "label-studio"
LABEL_STUDIO_TEMPLATE = LABEL_STUDIO_ENVIRONMENT / "template" / "label_studio.sqlite3"
"""Label Studio's empty tables, created by ``make setup``; they save half a minute at the first start."""

ELSEWHERE = {"PREFECT_PROFILE", "PREFECT_API_KEY"}
"""Variables that would point our programs at another Prefect server."""


DAY = 24 * 60 * 60
EVENT_HOURS = 12
"""Hours for which Prefect keeps events: a flow run leaves some 70 kB of them. Runs and logs are kept for 90 days."""
LOOPS = {
    "CANCELLATION_CLEANUP": 60,
    "CLEANUP_RECONCILER": 60,
    "FOREMAN": 60,
    "LATE_RUNS": 60,
    "PAUSE_EXPIRATIONS": 60,
    "REPOSSESSOR": 60,
    "SCHEDULER": 300,
}
"""Seconds between the Prefect server's own maintenance rounds, which by default run every 5 to 20 seconds."""


@dataclass(frozen=True)
class Program:
    """A program that the process manager runs.

    Attributes:
        port: the port it listens on, ``None`` for the worker.
        port_setting: the setting that moves it to another port, with ``{port}`` for the number.
        is_ready: tells whether the program is ready, given when its process started (seconds since 1970).
        after: name of the program that must be ready first.
        keeps_secrets: whether only the coordinator may read what it writes; runs may be shared with a group.
        own: environment variables for this program alone; not secret.
    """

    name: str
    command: tuple[str, ...]
    is_ready: Callable[[float], bool]
    url: str = ""
    port: int | None = None
    port_setting: str = ""
    after: str | None = None
    keeps_secrets: bool = True
    own: dict[str, str] = field(default_factory=dict)


def label_studio_port(settings: Settings) -> int:
    """Return the port in the address of Label Studio."""
    parts = urlsplit(settings.label_studio_url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def prefect_url(settings: Settings) -> str:
    """Return the address of the local Prefect server and its UI."""
    return f"http://{LOOPBACK}:{settings.prefect_port}"


def environment(settings: Settings) -> dict[str, str]:
    """Return the variables that every program of this home needs, flow runs and Prefect's clients included."""
    home = settings.home.resolve()
    runs = settings.runs_root if "://" in settings.runs_root else str(Path(settings.runs_root).resolve())
    mine = {f"ABCDLINK_{name.upper()}": _text(value) for name, value in settings}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(settings.threads))
    return {
        **mine,
        **for_other_processes(),
        "ABCDLINK_HOME": str(home),
        "ABCDLINK_RUNS": runs,
        **threads,
        "TOKENIZERS_PARALLELISM": "false",
        **prefect_client_environment(settings),
        # Our flows store no results; whatever someone else puts there is at least never unpickled.
        "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(home / "results"),
        "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
        "DO_NOT_TRACK": "1",
        "PREFECT_CLI_PROMPT": "false",
        # The worker looks for due runs this often; a waiting person notices the default of 10 s.
        "PREFECT_WORKER_QUERY_SECONDS": "5",
        # A run without heartbeats has lost its process; this is the shortest interval that Prefect allows.
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
    }


def full_environment(settings: Settings) -> dict[str, str]:
    """Return the variables with which ``up`` starts all programs of this home, the servers included.

    Raises:
        InputError: when the secrets of Label Studio's account are damaged or gone.
    """
    home = settings.home.resolve()
    ours = is_local(settings.label_studio_url)
    accounts = label_studio_environment(settings, read_credentials(home / SECRETS_FILE)) if ours else {}
    return {**environment(settings), **prefect_server_environment(settings), **accounts, MARK: str(home)}


def prefect_client_environment(settings: Settings) -> dict[str, str]:
    """Return the variables with which Prefect's client talks to the local server."""
    auth = settings.prefect_auth.get_secret_value()
    return {
        "PREFECT_HOME": str(settings.home.resolve() / "prefect"),
        "PREFECT_API_URL": f"{prefect_url(settings)}/api",
        **({"PREFECT_API_AUTH_STRING": auth} if auth else {}),
    }


def prefect_server_environment(settings: Settings) -> dict[str, str]:
    """Return the variables of the Prefect server: access, retention, and longer pauses when idle."""
    auth = settings.prefect_auth.get_secret_value()
    loops = {f"PREFECT_SERVER_SERVICES_{name}_LOOP_SECONDS": str(seconds) for name, seconds in LOOPS.items()}
    return {
        **({"PREFECT_SERVER_API_AUTH_STRING": auth} if auth else {}),
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(  # the UI calls the first, whichever name it was opened under
            f"http://{name}:{settings.prefect_port}" for name in (LOOPBACK, "localhost")
        ),
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_UI_URL": prefect_url(settings),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": '["events","flow_runs"]',
        "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(90 * DAY),
        "PREFECT_SERVER_EVENTS_RETENTION_PERIOD": f"PT{EVENT_HOURS}H",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_EVENT_RETENTION_OVERRIDES": f'{{"prefect.flow-run.heartbeat":{DAY // 4}}}',
        "PREFECT_SERVER_EVENTS_PROACTIVE_GRANULARITY": "PT60S",
        **loops,
    }


def process_environment(variables: dict[str, str]) -> dict[str, str]:
    """Return the full environment of a process that gets these variables: ours, without what points elsewhere."""
    inherited = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    # Programs of one machine need no proxy between them.
    direct = ",".join(filter(None, (os.environ.get("NO_PROXY"), LOOPBACK, "localhost")))
    return {**inherited, "NO_PROXY": direct, "no_proxy": direct, **variables}


def _text(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


def label_studio_environment(settings: Settings, credentials: Credentials) -> dict[str, str]:
    """Return the variables that the local Label Studio needs: its folder, the coordinator's account, no calls home."""
    return {
        "LABEL_STUDIO_BASE_DATA_DIR": str(settings.home.resolve() / LABEL_STUDIO_FOLDER),
        "LABEL_STUDIO_USERNAME": credentials.user,
        "LABEL_STUDIO_PASSWORD": credentials.password.get_secret_value(),
        "LABEL_STUDIO_USER_TOKEN": credentials.token.get_secret_value(),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "FEATURE_FLAGS_OFFLINE": "true",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        # Forms sent from the public address come through a proxy, which Django refuses unless it is listed.
        **({"CSRF_TRUSTED_ORIGINS": settings.public_url} if settings.public_url else {}),
        # Otherwise its pages would show annotators the last commit message of the surrounding repository.
        "GIT_DIR": os.devnull,
    }


def local_programs(settings: Settings) -> list[Program]:
    """Return the programs that these settings require on this machine, in starting order."""
    programs = [_prefect(settings)]
    if is_local(settings.label_studio_url):
        programs.append(_label_studio(settings))
    if settings.llm_is_embedded:
        programs.append(_llm(settings))
    return [*programs, _worker(settings), _watcher(settings)]


def _label_studio(settings: Settings) -> Program:
    port = label_studio_port(settings)
    address = ("--internal-host", LOOPBACK, "--port", str(port))
    return Program(
        name=LABEL_STUDIO,
        command=(str(LABEL_STUDIO_COMMAND), "start", "--no-browser", *address),
        is_ready=partial(answers, f"http://{LOOPBACK}:{port}/health"),
        url=settings.label_studio_url,
        port=port,
        port_setting=f"ABCDLINK_LABEL_STUDIO_URL=http://{LOOPBACK}:{{port}}",
        own=LABEL_STUDIO_EXTENSION,
    )


def _prefect(settings: Settings) -> Program:
    return Program(
        name=PREFECT,
        command=(sys.executable, "-m", "services.prefect_server", "--port", str(settings.prefect_port)),
        is_ready=partial(answers, f"{prefect_url(settings)}/api/health"),
        url=prefect_url(settings),
        port=settings.prefect_port,
        port_setting="ABCDLINK_PREFECT_PORT={port}",
    )


def _llm(settings: Settings) -> Program:
    url = f"http://{LOOPBACK}:{settings.llm_port}"
    return Program(
        name=LLM,
        command=(sys.executable, "-m", "services.embedded_llm", "--port", str(settings.llm_port)),
        is_ready=partial(answers, f"{url}/health"),
        url=f"{url}/v1",
        port=settings.llm_port,
        port_setting="ABCDLINK_LLM_PORT={port}",
    )


def prefect_api(settings: Settings, patience: float = 60.0) -> PrefectApi:
    """Return the API of the local Prefect server; requests are repeated for ``patience`` seconds while it is busy."""
    return PrefectApi(settings.prefect_port, settings.prefect_auth.get_secret_value(), patience)


def _worker(settings: Settings) -> Program:
    name = f"abcdlink-{os.uname().nodename}"
    pool = ("--pool", WORK_POOL, "--type", "process", "--name", name)
    return Program(
        name=WORKER,
        command=(sys.executable, "-m", "prefect", "worker", "start", *pool),
        is_ready=partial(worker_is_online, prefect_api(settings, patience=0), WORK_POOL, name),
        after=PREFECT,
        keeps_secrets=False,
    )


def _watcher(settings: Settings) -> Program:
    return Program(
        name=WATCHER,
        command=(sys.executable, "-m", "flows.watcher"),
        is_ready=partial(_has_looked, settings.home.resolve()),
        after=PREFECT,
        keeps_secrets=False,
    )


def _has_looked(home: Path, started: float) -> bool:
    """Tell whether the watcher has finished a round since its process started, and recently enough."""
    heartbeat = read_heartbeat(home)
    return heartbeat is not None and heartbeat.looked.timestamp() >= started and heartbeat.age <= SILENT_SECONDS


def require_installed(programs: list[Program]) -> None:
    """Raise ``ServiceError`` when a program is not installed."""
    for program in programs:
        if not os.access(program.command[0], os.X_OK):
            msg = f"{program.name} is not installed (there is no {program.command[0]})"
            raise ServiceError(msg, "run `make setup` in the project's folder")

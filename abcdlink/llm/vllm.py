"""vLLM's offline engine as an LLM: it gets whole lists of questions in one batch, without a server.

It runs in its own environment (``deployments/vllm/engine.py``), one engine at a time per home folder: a second
one would not fit on the GPU.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from abcdlink.errors import ServiceError
from abcdlink.llm.budget import Budget, Sum, cost_of, usage_of
from abcdlink.llm.endpoint import Endpoint
from abcdlink.llm.errors import ANSWER_NOT_VALID, CONTEXT_EXCEEDED, NoReplyError
from abcdlink.llm.records import Outcome
from abcdlink.llm.reply import Reply, reply_of
from abcdlink.llm.request import LIMIT, size_of
from abcdlink.llm.secrets import Secrets
from abcdlink.llm.server import ServerState, state_of
from abcdlink.locks import ENGINE, lock_of
from abcdlink.settings import PROJECT_ROOT, Settings

if TYPE_CHECKING:
    from filelock import FileLock

LOG = logging.getLogger(__name__)
PROGRAM = PROJECT_ROOT / "deployments" / "vllm" / "engine.py"
PYTHON = PROJECT_ROOT / ".venv-vllm" / "bin" / "python"
CHUNK = 1000
"""Questions per batch: the most answers that are lost with a killed process."""
STOP_LIMIT = 30.0
INSTALL = "run `make setup-vllm`, or name the Python of an environment with vLLM in {setting}"


class Engine(Endpoint):
    """Replaces a server. The engine's answers cost only time, unless prices are set."""

    offline = True

    def __init__(self, settings: Settings, budget: Budget) -> None:
        self.settings, self._budget = settings, budget
        self.base_url = f"vllm:{settings.llm_serve or settings.llm_model}"
        self.secrets = Secrets("", "")
        self.state: ServerState = state_of(settings, self.base_url)

    @property
    def shown_url(self) -> str:
        """Used as the address: the serve file or the model."""
        return self.base_url

    def models(self) -> list[str]:
        """Return the model; raises ``ServiceError`` if its environment or serve file is missing."""
        python, serve = _python(self.settings), self.settings.llm_serve
        if not python.is_file():
            msg = f"the engine vllm is not installed: there is no {python}"
            raise ServiceError(msg, INSTALL.format(setting=self.settings.llm_setting("python")))
        if serve and not Path(serve).is_file():
            msg = f"there is no serve file {Path(serve).absolute()}"
            raise ServiceError(msg, f"correct {self.settings.llm_setting('serve')}")
        return [self.settings.llm_model]

    def start(self) -> None:
        """Start the engine unless it is running.

        Raises:
            NoReplyError: it does not start.
        """
        try:
            self.models()
            _PROCESS.start(self.settings)
        except ServiceError as error:
            raise NoReplyError(Outcome.FAILED, error.problem, server_fault=True) from None

    def complete(self, content: dict[str, Any], limit: str = LIMIT) -> Reply:  # noqa: ARG002 - as a server's
        """Return the reply to one request; see ``complete_many``."""
        (reply,) = self.complete_many([content])
        if isinstance(reply, NoReplyError):
            raise reply
        return reply

    def complete_many(self, contents: Sequence[dict[str, Any]]) -> list[Reply | NoReplyError]:
        """Return the replies to requests, in order, or why there is none.

        Raises:
            BudgetError: they could cost more than the budget leaves.
        """
        if not contents:
            return []
        prompt = sum(self.state.ratio.most(size_of(content)) for content in contents)
        completion = sum(content[LIMIT] for content in contents)
        with self._budget.call(Sum(prompt + completion, cost_of(self.settings, prompt, completion))) as hold:
            started = time.perf_counter()
            try:
                bodies = _PROCESS.ask(self.settings, contents)
            except ServiceError as error:
                failed = NoReplyError(Outcome.FAILED, error.problem, server_fault=True)
                return [failed] * len(contents)
            seconds = (time.perf_counter() - started) / len(contents)
            replies = [self._read_reply(*one, seconds) for one in zip(contents, bodies, strict=True)]
            used = [reply.usage for reply in replies if isinstance(reply, Reply)]
            tokens = sum(usage.prompt_tokens + usage.completion_tokens for usage in used)
            hold.used = Sum(tokens, sum(usage.cost for usage in used))
        return replies

    def _read_reply(self, content: dict[str, Any], body: dict[str, Any], seconds: float) -> Reply | NoReplyError:
        if error := body.get("error"):
            said = str(error["message"])
            known = ((CONTEXT_EXCEEDED, Outcome.TOO_LONG), (ANSWER_NOT_VALID, Outcome.INVALID))
            outcome = next((outcome for pattern, outcome in known if pattern.search(said)), Outcome.FAILED)
            return NoReplyError(outcome, f"vLLM refuses the request: {said}", int(error["code"]), said)
        usage = usage_of(body["usage"], seconds, self.settings)
        self.state.ratio.note(size_of(content), usage.prompt_tokens)
        return reply_of(body, usage, self.secrets.hide)


def _python(settings: Settings) -> Path:
    # Not resolved: the link identifies the virtual environment.
    return Path(settings.llm_python).absolute() if settings.llm_python else PYTHON


class _Process:
    """The running engine of this process, if any."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._command: tuple[str, ...] = ()
        self._process: subprocess.Popen[str] | None = None
        self._file_lock: FileLock | None = None
        self._broken: dict[tuple[str, ...], ServiceError] = {}

    def ask(self, settings: Settings, contents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the engine's replies; raises ``ServiceError`` if it stops."""
        with self._lock, tempfile.TemporaryDirectory(prefix="abcdlink-vllm-") as folder:
            self.start(settings)
            requests, replies = Path(folder) / "requests.jsonl", Path(folder) / "replies.jsonl"
            requests.write_text("".join(json.dumps(content) + "\n" for content in contents), "utf-8")
            self._exchange(settings, json.dumps({"requests": str(requests), "replies": str(replies)}))
            return [json.loads(line) for line in replies.read_text("utf-8").split("\n") if line]

    def start(self, settings: Settings) -> None:
        """Start the engine of these settings and wait until it is ready; another one is stopped first."""
        model = () if settings.llm_serve else ("--model", settings.llm_model)
        config = ("--config", str(Path(settings.llm_serve).absolute())) if settings.llm_serve else ()
        command = (str(_python(settings)), str(PROGRAM), *config, *model)
        with self._lock:
            if command in self._broken:
                raise self._broken[command]
            if self._process and self._command == command and self._process.poll() is None:
                return
            self.stop()
            self._file_lock = lock_of(ENGINE, settings.home)
            if not self._file_lock.acquire(blocking=False):
                LOG.warning("another process is using the vLLM engine; waiting for it to end")
                self._file_lock.acquire()
            log = _log_of(settings)
            log.parent.mkdir(parents=True, exist_ok=True)
            LOG.info("starting the vLLM engine; its log is %s", log)
            with log.open("a", encoding="utf-8") as errors:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    env=_environment(settings),
                    start_new_session=True,
                )
            self._command = command
            try:
                self._exchange(settings)
            except ServiceError as error:
                self._broken[command] = error
                raise

    def _exchange(self, settings: Settings, line: str = "") -> None:
        """Send a line, if given, and wait for the answer."""
        process = self._process
        told = ""
        if process:
            with suppress(BrokenPipeError):
                if line:
                    _open(process.stdin).write(line + "\n")
                    _open(process.stdin).flush()
                told = _open(process.stdout).readline()
        if not told:
            log = _log_of(settings)
            self.stop()
            last = [text for text in log.read_text("utf-8", "replace").splitlines()[-200:] if "Error" in text][-1:]
            msg = f"vLLM's engine stopped ({last[0].strip()[:300] if last else 'it does not say why'})"
            raise ServiceError(msg, f"look at {log}")

    def stop(self) -> None:
        """Stop the engine by closing its stdin."""
        with self._lock:
            if self._process:
                with suppress(BrokenPipeError):
                    _open(self._process.stdin).close()
                try:
                    self._process.wait(STOP_LIMIT)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                    self._process.wait()
                _open(self._process.stdout).close()
                self._process = None
            if self._file_lock:
                self._file_lock.release()
                self._file_lock = None


def _open(stream: IO[str] | None) -> IO[str]:
    assert stream is not None, "the process was started with pipes"  # noqa: S101 - for the type checker
    return stream


def _log_of(settings: Settings) -> Path:
    return settings.home.resolve() / "logs" / "vllm-engine.log"


def _environment(settings: Settings) -> dict[str, str]:
    """Return the engine's environment: ours without what concerns this Python, offline if that is set."""
    ours = ("ABCDLINK_", "PYTHON", "VIRTUAL_ENV")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    offline = {"HF_HUB_OFFLINE": "1"} if settings.hub == "offline" else {}
    quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    # In one process, vLLM samples the same with the same seed.
    return {
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "OMP_NUM_THREADS": str(settings.threads),
        **inherited,
        **quiet,
        **offline,
    }


_PROCESS = _Process()


def stop() -> None:
    """Stop the engine of this process, if any; the next question starts it again."""
    _PROCESS.stop()


atexit.register(stop)

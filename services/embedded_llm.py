"""``python -m services.embedded_llm --port N``: the embedded LLM, started on the first request and stopped when idle.

This small program listens on the LLM's port. The first connection starts llama.cpp's server as a child on its own
port, and bytes are passed on unchanged; ten minutes after the last connection, the child ends. Whether it is
available (``/health``) and its name (``/v1/models``) are answered without starting it. The child ends when the pipe to
its parent closes, so killing this program with SIGKILL leaves nothing behind.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress

from services.health import LOOPBACK, free_port, is_local

IDLE_SECONDS = 600.0
START_SECONDS = 120.0
POLL_SECONDS = 0.1
CHUNK = 64 * 1024
MOST_HEAD = 64 * 1024
"""Most bytes in a request's head."""


class OnDemand:
    """Passes connections on to a server of a model that runs only while it is needed.

    ``command`` starts it on ``{port}``; it ends when its standard input closes, ``idle_seconds`` after the last
    connection.
    """

    def __init__(self, command: tuple[str, ...], model: str, idle_seconds: float = IDLE_SECONDS) -> None:
        self.command, self.model, self.idle_seconds = command, model, idle_seconds
        self.child: subprocess.Popen[bytes] | None = None
        self.port = 0
        self._open = 0
        self._starting = asyncio.Lock()
        self._stop: asyncio.TimerHandle | None = None

    def is_running(self) -> bool:
        """Tell whether the server is running."""
        return self.child is not None and self.child.poll() is None

    async def serve(self, port: int) -> None:
        """Listen until cancelled."""
        server = await asyncio.start_server(self.answer, LOOPBACK, port, limit=MOST_HEAD)
        try:
            async with server:
                await server.serve_forever()
        finally:
            self.stop()

    def stop(self) -> None:
        """End the server."""
        if self.child is not None:
            self.child.kill()
            self.child.wait()
            self.child = None

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection, or pass it on."""
        self._open += 1
        if self._stop is not None:
            self._stop.cancel()
        try:
            await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # one side has gone
        finally:
            writer.close()
            self._open -= 1
            if not self._open:
                self._stop = asyncio.get_running_loop().call_later(self.idle_seconds, self.stop)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if not _is_ours(head):
            writer.write(_response(403, {"error": {"message": "Only programs on this machine may use it."}}))
            await writer.drain()
            return
        if not self.is_running() and (known := self._known(head.split(b" ", 2)[:2])) is not None:
            writer.write(_response(200, known))
            await writer.drain()
            return
        try:
            await self._start()
        except TimeoutError:
            writer.write(_response(503, {"error": {"message": "The embedded LLM did not start; see its log."}}))
            await writer.drain()
            return
        to, out = await asyncio.open_connection(LOOPBACK, self.port)
        try:
            out.write(head)
            both = {asyncio.create_task(_pass_on(reader, out)), asyncio.create_task(_pass_on(to, writer))}
            # When either side closes, the connection is over.
            _, left = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in left:
                task.cancel()
        finally:
            out.close()

    def _known(self, request: list[bytes]) -> object | None:
        """Return the reply to a request that needs no server."""
        if request == [b"GET", b"/health"]:
            return {"status": "ok", "model": "asleep"}
        if request == [b"GET", b"/v1/models"]:
            return {"object": "list", "data": [{"id": self.model, "object": "model", "owned_by": "abcdlink"}]}
        return None

    async def _start(self) -> None:
        async with self._starting:
            if self.is_running():
                return
            self.port = free_port()
            command = [part.format(port=self.port) for part in self.command]
            self.child = subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: ASYNC220 - it returns at once
            async with asyncio.timeout(START_SECONDS):
                while not await _is_listening(self.port):
                    if not self.is_running():
                        raise TimeoutError
                    await asyncio.sleep(POLL_SECONDS)


async def _is_listening(port: int) -> bool:
    """Tell whether the server has loaded its model."""
    try:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        return False
    try:
        writer.write(f"GET /health HTTP/1.1\r\nHost: {LOOPBACK}\r\nConnection: close\r\n\r\n".encode())
        return b" 200 " in await reader.readline()
    except OSError:
        return False
    finally:
        writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()


def _is_ours(head: bytes) -> bool:
    """Tell whether a request names this machine as its host and does not come from another site's page."""
    lines = head.decode("latin-1").split("\r\n")[1:]
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    origin = headers.get("origin")
    return is_local(f"http://{headers.get('host', '')}") and (origin is None or is_local(origin))


def _response(status: int, body: object) -> bytes:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    return f"{head}\r\nConnection: close\r\n\r\n".encode() + content


def serve_model(port: int, threads: int) -> None:
    """Serve the model until standard input, the pipe to the parent, closes."""
    from abcdlink.llm.embedded import serve

    def end_with_parent() -> None:
        while os.read(0, 1):
            pass
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    serve(port, threads)


def main() -> int:
    """Run from the command line; returns the exit code."""
    from abcdlink.settings import Settings, get_settings

    parser = argparse.ArgumentParser(prog="python -m services.embedded_llm", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", action="store_true", help="serve the model itself, as a child of this program")
    given = parser.parse_args()
    if given.model:
        serve_model(given.port, get_settings().threads)
        return 0
    command = (sys.executable, "-m", "services.embedded_llm", "--model", "--port", "{port}")
    with suppress(KeyboardInterrupt):
        asyncio.run(OnDemand(command, str(Settings.model_fields["llm_model"].default)).serve(given.port))
    return 0


if __name__ == "__main__":
    sys.exit(main())

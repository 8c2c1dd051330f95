"""``python -m services.prefect_server --port N``: Prefect's server on 127.0.0.1, as this project runs it.

Two things differ from ``prefect server start``. Requests under another host name, or from another site's pages, are
refused before Prefect sees them: a web page that someone visits must not start runs here. And the server's job queue
(docket) looks for work every two seconds, not ten times a second, which is most of what an idle server costs.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from datetime import timedelta
from functools import partial
from typing import Any

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.health import LOOPBACK

QUEUE_INTERVAL = timedelta(seconds=2)
"""Time between two looks of the server's job queue; its clean-up jobs run every minute or less often."""
KEEP_ALIVE_SECONDS = 65
POLICY_VIOLATION = 1008


class OnlyOurPages:
    """ASGI middleware that refuses what does not come from our own pages and clients.

    A browser states the host that it believes it talks to (another name means DNS rebinding) and the origin of the page
    that makes the request; programs state no origin. No other site may show our pages in a frame.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.hosts = {f"{name}:{port}" for name in (LOOPBACK, "localhost")}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse, or pass on."""
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if headers.get("host") in self.hosts and headers.get("origin") in {None, *self.origins}:
            await self.app(scope, receive, partial(_send_unframed, send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        else:
            refusal = PlainTextResponse("Only pages and programs on this machine may send requests.\n", status_code=403)
            await refusal(scope, receive, send)


async def _send_unframed(send: Send, message: Message) -> None:
    if message["type"] == "http.response.start":
        message["headers"] = [*message["headers"], (b"x-frame-options", b"SAMEORIGIN")]
    await send(message)


def calm_job_queue() -> None:
    """Let the server's job queue, which is in memory, look less often; immediate jobs still run soon."""
    from burner_redis.pubsub import PubSub
    from docket import Worker
    from prefect.server.api import background_workers

    async def next_message(self: PubSub, timeout: float | None) -> Any:  # noqa: ANN401, ASYNC109 - as theirs
        while timeout != 0.0 and self._queue.empty():
            await asyncio.sleep(QUEUE_INTERVAL.total_seconds())
            if timeout is not None:
                break
        return None if self._queue.empty() else self._queue.get_nowait()

    PubSub._queue_get = next_message  # noqa: SLF001 - the original asks a thread ten times a second
    background_workers.Worker = partial(  # type: ignore[attr-defined,assignment]
        Worker, minimum_check_interval=QUEUE_INTERVAL, scheduling_resolution=QUEUE_INTERVAL
    )


def serve(port: int) -> None:
    """Serve until SIGTERM or SIGINT."""
    from prefect.server.api.server import create_app

    calm_job_queue()
    app = OnlyOurPages(create_app(final=True), port)
    uvicorn.run(app, host=LOOPBACK, port=port, timeout_keep_alive=KEEP_ALIVE_SECONDS, log_level="warning")


def main() -> int:
    """Run from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m services.prefect_server", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    serve(parser.parse_args().port)
    return 0


if __name__ == "__main__":
    sys.exit(main())

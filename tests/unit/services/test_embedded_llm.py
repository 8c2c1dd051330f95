"""The embedded LLM starts on demand and stops when idle."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

import httpx

from services.embedded_llm import OnDemand
from services.health import free_port

ECHO = """
import os, sys, threading, http.server
def end():
    os.read(0, 1)
    os._exit(0)
threading.Thread(target=end, daemon=True).start()
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"child"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = answer
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_the_llm_starts_on_demand_and_stops_when_idle():
    async def story() -> None:
        llm, port = OnDemand((sys.executable, "-c", ECHO, "{port}"), "tiny", idle_seconds=0.3), free_port()
        serving = asyncio.create_task(llm.serve(port))
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            while not serving.done():
                try:
                    models = (await client.get("/v1/models")).json()
                    break
                except httpx.ConnectError:
                    await asyncio.sleep(0.02)
            assert [model["id"] for model in models["data"]] == ["tiny"]
            assert (await client.get("/health")).is_success
            assert not llm.is_running()
            for origin in ("http://evil.example", "null"):
                assert (await client.post("/x", content="a", headers={"Origin": origin})).status_code == 403
            assert (await client.post("/x", content="a", headers={"Host": "evil.example"})).status_code == 403
            assert not llm.is_running()
            replies = await asyncio.gather(*(client.post("/x", content=f"question {n}") for n in range(5)))
            assert [reply.text for reply in replies] == [f"question {n}" for n in range(5)]
            assert llm.is_running()
            first = llm.child
        assert first is not None
        await asyncio.to_thread(first.wait, 20)
        assert not llm.is_running()
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            assert (await client.post("/x", content="again")).text == "again"
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
        assert not llm.is_running()

    asyncio.run(story())


def test_an_llm_that_does_not_start_gives_an_error_instead_of_hanging():
    async def story() -> None:
        llm, port = OnDemand((sys.executable, "-c", "raise SystemExit(3)"), "tiny"), free_port()
        serving = asyncio.create_task(llm.serve(port))
        await asyncio.sleep(0)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as client:
            for _ in range(100):
                try:
                    reply = await client.post("/x", content="a")
                    break
                except httpx.ConnectError:
                    await asyncio.sleep(0.02)
            assert reply.status_code == 503
        serving.cancel()

    asyncio.run(story())

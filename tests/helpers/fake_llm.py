"""An OpenAI-compatible server in this process that gives the answers of a script.

    with FakeLLM() as server:                                   # schema-valid answers
    with FakeLLM(says('{"11": true}')) as server:               # always this
    with FakeLLM(error(429, retry_after="0"), says("{}")):      # one after the other; the last one repeats
    with FakeLLM(lambda request: says(...)) as server:          # computed from the request's body

``server.settings(home)`` gives settings that point to it; ``server.requests`` holds everything it was asked,
``server.questions`` and ``server.probes`` are parts of that. The probe by which a client finds out what a server
supports is answered by ``forms`` and ``probabilities``, or by ``shows``, never by the script.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import pytest

from abcdlink.llm.capabilities import PROBE
from abcdlink.settings import Settings
from tests.helpers.homes import configure

MODEL = "fake-model"


@dataclass(frozen=True)
class Response:
    """One HTTP response; ``status`` 0 hangs up without one. ``delay`` in seconds.

    ``drip``: keep sending the body forever, with this many seconds in between.
    """

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    delay: float = 0.0
    drip: float = 0.0


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """The text of all messages."""
        return "\n".join(message["content"] for message in self.body.get("messages", []))

    @property
    def form(self) -> str:
        """How the request asks for the form of the answer."""
        return self.body.get("response_format", {}).get("type", "text")

    @property
    def is_probe(self) -> bool:
        """Whether this is the probe question."""
        return self.prompt.startswith(PROBE.messages[0].content)

    @property
    def schema(self) -> dict[str, Any]:
        """The schema that the answer has to fit."""
        return self.body["response_format"]["json_schema"]["schema"]


Script = Response | Callable[[Request], Response]


def says(
    content: str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    tokens: tuple[int, int] = (100, 10),
    cached: int | None = None,
    delay: float = 0.0,
    written: list[tuple[str, dict[str, float]]] | None = None,
) -> Response:
    """Return a chat completion.

    ``tokens`` are (prompt, completion), ``cached`` is a part of the prompt's; ``written`` are the answer's
    tokens with the probabilities of their alternatives.
    """
    usage: dict[str, Any] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    message = {"role": "assistant", "content": content, "refusal": refusal}
    completion = {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": _logprobs(written)}],
        "usage": usage,
    }
    return Response(200, json.dumps(completion).encode(), delay=delay)


def _logprobs(written: list[tuple[str, dict[str, float]]] | None) -> dict[str, Any] | None:
    if written is None:
        return None
    content = []
    for token, alternatives in written:
        top = [_token(other, p) for other, p in sorted(alternatives.items(), key=lambda item: -item[1])]
        content.append({**_token(token, alternatives.get(token, 1.0)), "top_logprobs": top})
    return {"content": content, "refusal": None}


def _token(text: str, probability: float) -> dict[str, Any]:
    return {"token": text, "bytes": list(text.encode()), "logprob": math.log(probability)}


def error(status: int, message: str = "no", code: str | None = None, retry_after: str | None = None) -> Response:
    """Return an error as OpenAI words it."""
    body = {"error": {"message": message, "type": "error", "code": code, "param": None}}
    return Response(status, json.dumps(body).encode(), {} if retry_after is None else {"Retry-After": retry_after})


def hangs_up() -> Response:
    """Close the connection without an answer."""
    return Response(0)


def fits(request: Request) -> Response:
    """Return the simplest value that fits the schema of the question."""
    return says(json.dumps(_example(request.schema, request.schema.get("$defs", {}))))


def by_rule(request: Request) -> Response:
    """Write a sentence unique to the question, or judge candidates by a fixed rule."""
    digest = hashlib.sha256(request.prompt.encode()).hexdigest()
    properties = request.schema["properties"]
    if all(kind.get("type") == "boolean" for kind in properties.values()):
        return says(json.dumps({name: digest[place % 60] > "8" for place, name in enumerate(properties)}))
    return says(json.dumps({next(iter(properties)): f"Officials said on day {digest[:6]} that the road stays shut."}))


def _example(schema: dict[str, Any], definitions: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return _example(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    if schema.get("type") == "object":
        return {name: _example(kind, definitions) for name, kind in schema.get("properties", {}).items()}
    if schema.get("type") == "array":
        return [_example(schema["items"], definitions) for _ in range(schema.get("minItems", 1))]
    plain = {"string": "A plain sentence of the fake model.", "boolean": False}
    return plain.get(schema.get("type", ""), schema.get("minimum", 0))


class FakeLLM:
    """Serves while the ``with`` block is open; thread-safe."""

    def __init__(
        self,
        *script: Script,
        models: tuple[str, ...] = (MODEL,),
        key: str | None = None,
        forms: tuple[str, ...] = ("json_schema", "json_object", "text"),
        probabilities: bool = True,
        port: int = 0,
    ) -> None:
        self.forms, self.probabilities = forms, probabilities
        self.shows: Script = self._show
        self.posts: dict[str, Script] = {}
        """Answers at URLs other than that of chat completions."""
        self._script = list(script) or [fits]
        self._lock = threading.Lock()
        self._at_once = 0
        self.most_at_once = 0
        self.models, self.key = models, key
        self.requests: list[Request] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler_for(self))
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def use(self, patch: pytest.MonkeyPatch, model: str = MODEL, **more: str) -> Self:
        """Point the settings of this process to the server; ``more`` are further settings without their prefix."""
        given = {"base_url": self.base_url, "model": model, **more}
        configure(patch, **{f"llm_{name}": value for name, value in given.items()})
        return self

    def __enter__(self) -> Self:
        _hand_over_requests()
        HERE[self._server.server_address[1]] = self
        threading.Thread(target=self._server.serve_forever, args=(0.002,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        del HERE[self._server.server_address[1]]
        self._server.shutdown()
        self._server.server_close()

    def answer_by(self, script: Script) -> None:
        """Switch to another script."""
        self._script = [script]

    @property
    def questions(self) -> list[Request]:
        """The chat completions among the requests, except for probes."""
        chats = [request for request in self.requests if request.path.endswith("/chat/completions")]
        return [request for request in chats if not request.is_probe]

    @property
    def probes(self) -> list[Request]:
        """The probe questions among the requests."""
        return [request for request in self.requests if request.is_probe]

    def settings(self, home: Path, **changed: Any) -> Settings:
        """Return settings that point to this server."""
        values = {"llm_base_url": self.base_url, "llm_model": MODEL, "home": home, "llm_timeout": 10, **changed}
        return Settings(_env_file=None, **values)

    def respond(self, request: Request) -> Response:
        """Log the request and do what the script says."""
        with self._lock:
            self.requests.append(request)
            if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
                return error(401, f"Incorrect API key provided: {request.headers.get('authorization')}")
            if request.method == "GET":
                listed = [{"id": name, "object": "model", "created": 0, "owned_by": "fake"} for name in self.models]
                found = request.path == "/v1/models"
                return Response(200, json.dumps({"object": "list", "data": listed}).encode()) if found else error(404)
            step = self._step(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            response = step if isinstance(step, Response) else step(request)
            time.sleep(response.delay)
            return response
        finally:
            with self._lock:
                self._at_once -= 1

    def _step(self, request: Request) -> Script:
        if not request.path.endswith("/chat/completions"):
            return self.posts.get(request.path, error(404))
        if request.form not in self.forms:
            return error(400, f"This response_format type {request.form} is unavailable now")
        if request.is_probe:
            return self.shows
        return self._script.pop(0) if len(self._script) > 1 else self._script[0]

    def _show(self, request: Request) -> Response:
        if "logprobs" in request.body and not self.probabilities:
            return error(400, "logprobs are not supported with this model")
        answer = '{"wet": true}' if request.form != "text" else "Yes."
        return says(answer, written=[(answer, {answer: 1.0})] if "logprobs" in request.body else None)


HERE: dict[int, FakeLLM] = {}
"""The servers of this process by their port."""


@cache
def _hand_over_requests() -> None:
    """Let clients of this process call its servers: HTTP over a socket costs five times as much.

    Not while ``HERE`` is empty, as in the tests of the client itself, nor in processes forked from this one.
    """
    import httpx2
    import openai

    make_client, here = openai.DefaultHttpxClient, os.getpid()

    class Direct(httpx2.HTTPTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            fake = HERE.get(request.url.port or 0)
            if fake is None or os.getpid() != here:
                return super().handle_request(request)
            headers = dict(request.headers)
            said = fake.respond(
                Request(request.method, request.url.raw_path.decode(), headers, _body(headers, request.read()))
            )
            if said.status == 0:
                msg = "Server disconnected without sending a response."
                raise httpx2.RemoteProtocolError(msg, request=request)
            headers = {**said.headers, "Content-Type": said.content_type}
            return httpx2.Response(said.status, headers=headers, content=said.body, request=request)

    openai.DefaultHttpxClient = lambda **how: make_client(transport=Direct(verify=False), **how)  # type: ignore[assignment]


def _body(headers: dict[str, str], raw: bytes) -> dict[str, Any]:
    form = headers.get("content-type", "").startswith("multipart/")
    body: dict[str, Any] = {"raw": raw.decode()} if form else json.loads(raw or b"{}")
    return body


def _handler_for(fake: FakeLLM) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # otherwise the body waits 40 ms for the client to acknowledge the headers

        def _answer(self) -> None:
            length = int(self.headers.get("content-length", 0))
            raw = self.rfile.read(length)
            if len(raw) < length:  # the client was killed before it asked
                self.close_connection = True
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = fake.respond(Request(self.command, self.path, headers, _body(headers, raw)))
            if response.status == 0:
                self.close_connection = True
                return
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", response.content_type)
            if response.drip:
                self.close_connection = True
                self.end_headers()
                while True:
                    self.wfile.write(response.body)
                    time.sleep(response.drip)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        do_GET = _answer  # noqa: N815
        do_POST = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing on stderr."""

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (ConnectionError, BrokenPipeError):  # the client gave up waiting
                self.close_connection = True

    return Handler

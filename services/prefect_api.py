"""The API of the local Prefect server, asked without loading Prefect, which takes seconds."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import httpx

from services.ports import LOOPBACK

TIMEOUT = 10.0
BETWEEN_SECONDS = 0.5
CHANGES = {"POST", "PUT", "PATCH", "DELETE"}


class PrefectApi:
    """Asks the server as its owner: with the generated password, and with a token against forged requests.

    Args:
        port: of the server, on the loopback address.
        auth: ``user:password``; empty for a server that asks for none.
        patience: seconds for which a server that is busy is asked again.
    """

    def __init__(self, port: int, auth: str, patience: float = 60.0) -> None:
        self._patience = patience
        user, _, password = auth.partition(":")
        self._client = httpx.Client(
            base_url=f"http://{LOOPBACK}:{port}/api",
            auth=(user, password) if auth else None,
            timeout=TIMEOUT,
            trust_env=False,  # programs of one machine need no proxy between them
        )
        self._name = str(uuid4())
        self._token: dict[str, str] = {}

    def ask(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Send a request and return the reply, whatever its status.

        Raises:
            httpx.HTTPError: when the server does not answer.
        """
        reply = self._send(method, path, body)
        if reply.status_code == httpx.codes.FORBIDDEN:  # the token is an hour old
            self._token = {}
            reply = self._send(method, path, body)
        return reply

    def read(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Send a request and return what the server says.

        Raises:
            httpx.HTTPError: when the server does not answer, or refuses.
        """
        return self.ask(method, path, body).raise_for_status().json()

    def _send(self, method: str, path: str, body: object) -> httpx.Response:
        """Send a request; again while the server answers that its database is locked."""
        deadline = time.monotonic() + self._patience
        while True:
            headers = self._csrf() if method in CHANGES else {}
            reply = self._client.request(method, path, json=body, headers=headers)
            if reply.status_code != httpx.codes.SERVICE_UNAVAILABLE or time.monotonic() > deadline:
                return reply
            time.sleep(BETWEEN_SECONDS)

    def _csrf(self) -> dict[str, str]:
        if not self._token:
            reply = self._client.get("/csrf-token", params={"client": self._name})
            if reply.is_success:
                self._token = {"Prefect-Csrf-Token": reply.json()["token"], "Prefect-Csrf-Client": self._name}
        return self._token

"""Middleware of our own Label Studio: its pages load ``keys.js``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from django.http import HttpRequest, HttpResponse

SCRIPT = Path(__file__).with_name("keys.js")
ADDRESS = "/abcdlink/keys.js"
TAG = b'<script src="%s"></script></body>' % ADDRESS.encode()


class KeysOnPages:
    """Adds the script to every page; it does something where a page of abcdlink is shown."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a request."""
        if request.path == ADDRESS:
            answer = HttpResponse(SCRIPT.read_bytes(), content_type="text/javascript; charset=utf-8")
            answer["Cache-Control"] = "no-cache"
            return answer
        response = self._get_response(request)
        if not response.streaming and response.get("Content-Type", "").startswith("text/html"):
            response.content = response.content.replace(b"</body>", TAG, 1)
            if "Content-Length" in response:
                response["Content-Length"] = str(len(response.content))
        return response

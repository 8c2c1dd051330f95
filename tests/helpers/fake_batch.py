"""The fake server with a Batch API: files, and batches that end when and how a test wants them to.

with FakeBatch(says("{}")) as server:           # the script answers the questions of a batch, too
    ...submit...
    server.end()                                # or end("expired", answered=2)
    ...collect...
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests.helpers.fake_llm import FakeLLM, Request, Response, error


class FakeBatch(FakeLLM):
    """``jobs`` are the batches by id; ``files`` the contents of files by id."""

    def __init__(self, *script: Any, **options: Any) -> None:
        super().__init__(*script, **options)
        self.files: dict[str, str] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.before: dict[str, Response] = {}
        """Answers to (METHOD path), each given once in place of the usual one; the work is still done
        if the status is 0 (the connection breaks after the work)."""

    def respond(self, request: Request) -> Response:
        """Serve files and batches; leave the rest to the script."""
        path = request.path.removeprefix("/v1").partition("?")[0]
        if not path.startswith(("/files", "/batches")):
            return super().respond(request)
        with self._lock:
            self.requests.append(request)
            if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
                return error(401, f"Incorrect API key provided: {request.headers.get('authorization')}")
            instead = self.before.pop(f"{request.method} {path}", None)
            if instead and instead.status:
                return instead
            done = self._serve(request, path)
            return instead or done

    def _serve(self, request: Request, path: str) -> Response:
        if path == "/files":
            return _json(self._add_file(_file_of(request.body["raw"])))
        if path.startswith("/files/"):
            content = self.files.get(path.split("/")[2])
            return Response(200, content.encode()) if content is not None else error(404)
        if path == "/batches" and request.method == "POST":
            job = {
                **request.body,
                "id": f"batch_{len(self.jobs)}",
                "object": "batch",
                "status": "validating",
                "created_at": 0,
            }
            self.jobs[job["id"]] = job
            return _json(job)
        if path == "/batches":
            return _json({"object": "list", "data": list(self.jobs.values()), "has_more": False})
        job = self.jobs.get(path.split("/")[2])
        return _json(job) if job else error(404)

    def end(self, status: str = "completed", answered: int | None = None, errors: list[dict[str, str]] = ()) -> None:
        """Let all jobs under way end; only the first ``answered`` questions have an answer then."""
        for job in self.jobs.values():
            if job["status"] != "validating":
                continue
            lines = [json.loads(line) for line in self.files[job["input_file_id"]].splitlines()]
            outputs = [self._output(line) for line in lines[:answered]]
            good = [line for line in outputs if line["response"]["status_code"] == 200]
            bad = [line for line in outputs if line["response"]["status_code"] != 200]
            if status == "expired":
                late = {"code": "batch_expired", "message": "This request could not be executed in time."}
                bad += [{"custom_id": line["custom_id"], "response": None, "error": late} for line in lines[answered:]]
            job["status"] = status
            job["errors"] = {"object": "list", "data": errors} if errors else None
            for name, rows in (("output_file_id", good), ("error_file_id", bad)):
                text = "".join(f"{json.dumps(row)}\n" for row in rows)
                job[name] = self._add_file(text)["id"] if rows else None

    def _output(self, line: dict[str, Any]) -> dict[str, Any]:
        request = Request("POST", line["url"], {}, line["body"])
        step = self._script[0]
        response = step if isinstance(step, Response) else step(request)
        answer = {"status_code": response.status, "request_id": "x", "body": json.loads(response.body)}
        return {"id": "x", "custom_id": line["custom_id"], "response": answer, "error": None}

    def _add_file(self, content: str) -> dict[str, Any]:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return {"id": name, "object": "file", "bytes": len(content), "created_at": 0, "purpose": "batch"}


def _json(value: Any) -> Response:
    return Response(200, json.dumps(value).encode())


def _file_of(multipart: str) -> str:
    (content,) = re.findall(r'filename="[^"]*"\r\n(?:[^\r\n]+\r\n)*\r\n(.*?)\r\n--', multipart, re.DOTALL)
    return content

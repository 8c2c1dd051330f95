"""Fetching the paper's data from a small server in place of the real one."""

from __future__ import annotations

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.paper import fetch as fetching
from tests.paper.fetch import fetch

CONTENTS = {"news/docs.json": b'{"d": {"0": "One."}}', "news/links.json": b"{}"}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments):
        """Say nothing."""


@pytest.fixture
def there(tmp_path, monkeypatch):
    """The folder that the server shows, with the requested files."""
    folder = tmp_path / "there"
    for name, content in CONTENTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    monkeypatch.setattr(fetching, "HASHES", {name: hashlib.sha256(c).hexdigest() for name, c in CONTENTS.items()})
    return folder


@pytest.fixture
def address(there):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(there)))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_are_fetched_once_and_changed_ones_again(there, address, tmp_path):
    here = tmp_path / "here"
    assert fetch(here, address) == []
    assert files(here) == CONTENTS
    (here / "news/links.json").write_bytes(b"changed")
    (there / "news/docs.json").unlink()
    assert fetch(here, address) == []
    assert files(here) == CONTENTS


def test_a_wrong_or_missing_file_is_refused_and_the_others_kept(there, address, tmp_path):
    here = tmp_path / "here"
    (there / "news/docs.json").write_bytes(b"something else")
    (refused,) = fetch(here, address)
    assert refused.startswith("news/docs.json: what ")
    assert files(here) == {"news/links.json": CONTENTS["news/links.json"]}
    (there / "news/docs.json").unlink()
    (missing,) = fetch(here, address)
    assert "did not send it" in missing
    assert "404" in missing

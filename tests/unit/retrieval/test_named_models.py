"""The named retrievers with a model: where their files are looked for, and what forms offer."""

from __future__ import annotations

import shutil

import pytest

from abcdlink.errors import InputError
from abcdlink.plugins import installed
from abcdlink.retrieval import RETRIEVERS, get_retriever, models
from flows.parameters import BenchmarkParameters
from tests.helpers.homes import configure


def test_a_failed_download_says_why(tmp_path, monkeypatch):
    def unreachable(*_, **options):
        assert options["local_files_only"] is False
        msg = "no such host\nand more"
        raise ConnectionError(msg)

    configure(monkeypatch, hub="online")
    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    with pytest.raises(InputError, match=r"cannot be downloaded \(no such host\)"):
        get_retriever("splade-v3")


@pytest.mark.parametrize(
    "name", ["splade-v3", "sfr-mistral", "dragon-plus", "bge-reranker-v2-m3", "st:no/model", "ce:./no/such/folder"]
)
def test_a_missing_model_says_where_it_was_looked_for_and_how_to_get_it(name, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub._snapshot_download.constants.HF_HUB_CACHE", str(tmp_path))
    hub = models.MODELS[name].hub if name in models.MODELS else name.partition(":")[2]
    with pytest.raises(InputError) as caught:
        get_retriever(name)
    assert f"{hub} is not on this machine" in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert f"hf download {hub}" in caught.value.hint
    assert "\n" not in str(caught.value)


def test_the_fingerprint_depends_on_the_weights_not_the_location(tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "weights").write_bytes(bytes(10**6))
    copy = shutil.copytree(model, tmp_path / "copy")
    assert models.fingerprint(copy) == models.fingerprint(model)
    (copy / "weights").write_bytes(bytes(10**6 - 1) + b"1")
    assert models.fingerprint(copy) != models.fingerprint(model)


def test_the_released_variants_differ_from_their_models_in_one_thing():
    for name in (name for name in models.MODELS if name.endswith(models.RELEASED)):
        ours, released = models.MODELS[name.removesuffix(models.RELEASED)], models.MODELS[name]
        assert len([field for field in ours._fields if getattr(ours, field) != getattr(released, field)]) == 1
        assert name in RETRIEVERS


def test_the_form_offers_every_named_retriever():
    assert set(RETRIEVERS) <= set(_offered())


def test_the_form_offers_retrievers_from_packages_too(plugin, monkeypatch):
    monkeypatch.syspath_prepend(plugin)
    assert set(installed("abcdlink.retrievers")) - set(RETRIEVERS) <= set(_offered())
    assert installed("abcdlink.retrievers")


def _offered():
    return BenchmarkParameters.model_json_schema()["properties"]["retrievers"]["items"]["enum"]

"""Real servers and tiny real models, one of each for the whole test session."""

from __future__ import annotations

import pytest

from abcdlink.retrieval import models
from tests.helpers.label_studio_server import client, label_studio
from tests.helpers.stack import stack
from tests.helpers.tiny_models import tiny_bert

__all__ = ["client", "label_studio", "stack"]

LONGEST = (
    *("test_guide", "test_kills", "test_long_waits", "test_services", "test_runners", "test_qualify"),
    *("test_budget", "test_replay", "test_flows", "test_chaos", "test_embedded_llm", "test_feedback"),
)
"""Files that start first, so that no process is left working on one of them alone at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest files first and leave the others in order."""
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)))


@pytest.fixture(scope="session")
def bert(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert") / "model", "BertModel")


@pytest.fixture(scope="session")
def sentence_model(bert, tmp_path_factory):
    """A sentence encoder with mean pooling, saved as sentence-transformers does."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    folder = tmp_path_factory.mktemp("st") / "model"
    SentenceTransformer(modules=[Transformer(str(bert)), Pooling(16, "mean")], device="cpu").save(str(folder))
    return folder


@pytest.fixture(scope="session")
def masked_model(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("mlm") / "model", "BertForMaskedLM")


@pytest.fixture
def as_hub(monkeypatch):
    """Give the models of the table local folders and nothing else."""

    def put(name, **folders):
        monkeypatch.setitem(
            models.MODELS, name, models.MODELS[name]._replace(**{k: str(v) for k, v in folders.items()}, package="")
        )

    return put

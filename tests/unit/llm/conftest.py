"""The client is tested over the network, the way it is used."""

from __future__ import annotations

import pytest

from tests.helpers import fake_llm


class Nowhere(dict):
    """Never knows a server, even if told of one."""

    def get(self, *_):
        return None


@pytest.fixture(autouse=True)
def over_the_network(monkeypatch):
    monkeypatch.setattr(fake_llm, "HERE", Nowhere())

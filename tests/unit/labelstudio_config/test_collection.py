"""Pausing the garbage collector: its state is restored whatever happens."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest

from labelstudio_config.client import collection_paused


@pytest.mark.parametrize("was_on", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_the_state_of_the_collector_is_restored(was_on: bool, fails: bool) -> None:
    (gc.enable if was_on else gc.disable)()
    try:
        with suppress(ValueError), collection_paused():
            assert not gc.isenabled()
            if fails:
                raise ValueError
        assert gc.isenabled() is was_on
    finally:
        gc.enable()

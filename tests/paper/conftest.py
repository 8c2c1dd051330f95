"""The tests on real data share cached sentence embeddings: MiniLM takes 100 s for those of NEWS-ECB+."""

from __future__ import annotations

import pytest

from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.segmentation import get_segmenter


@pytest.fixture(autouse=True)
def shared_cache(isolated_home, tmp_path_factory, worker_id):
    """Share one cache between the homes of all tests; it is addressed by content, so their order does not matter."""
    folder = tmp_path_factory.getbasetemp()
    cache = (folder if worker_id == "master" else folder.parent) / "paper-cache"
    cache.mkdir(exist_ok=True)
    isolated_home.mkdir(exist_ok=True)
    (isolated_home / "cache").symlink_to(cache, target_is_directory=True)


@pytest.fixture(scope="session")
def news(shared_data):
    """NEWS-ECB+."""
    return import_corpus("abcd-link", shared_data / "news_ecb", get_segmenter())

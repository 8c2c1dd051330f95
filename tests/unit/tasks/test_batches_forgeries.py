"""Annotations of any shape by anyone: only what its author submitted counts, and nothing blocks a batch."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from abcdlink.errors import ServiceError
from abcdlink.judgments import Label
from abcdlink.layout import batch_file
from abcdlink.store import Store
from labelstudio_config.batches import requeue
from labelstudio_config.run import known_so_far, read_pushed
from tests.helpers.batch_steps import SLUG, answer_all, finish, key_of, look, pulled
from tests.helpers.fake_label_studio import ADA, BEN, CY, FakeLabelStudio


def said_of(store: Store) -> list[str]:
    return store.read_json(batch_file(1, "anomalies.json"))


def test_an_answer_altered_before_it_was_read_does_not_count_and_is_offered_again(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN)
    altered = server.task(keys[0])["annotations"][0]["id"]
    server.change(altered, "No Link", by=CY)
    now, said = look(store)
    assert (now.done, len(said)) == (len(keys) - 1, 1)
    assert f"the answer of ada@example.org to the task {keys[0]} (annotation {altered} of task" in said[0]
    assert "was written by cy@example.org: it does not count" in said[0]
    assert requeue(store, 1) == [
        f"ada@example.org (an account without answers) will be offered the task {keys[0]} again"
    ] or ("ada@example.org" in requeue(store, 1)[0])
    server.answer(keys[0], ADA)
    finish(store)
    assert said_of(store) == []
    assert len({(key_of(store, one), one.annotator) for one in pulled(store)}) == 2 * len(keys)


def test_an_authors_answer_survives_alteration_and_deletion_of_account_or_task(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN)
    look(store)
    server.change(server.task(keys[0])["annotations"][0]["id"], "No Link", by=BEN)
    look(store)
    server.remove_account(ADA)
    server.remove_account(BEN)
    assert look(store)[0].complete
    server.delete_task(server.task(keys[0])["id"])
    finish(store)
    labels = {one.label for one in pulled(store) if (key_of(store, one), one.annotator) == (keys[0], "annotator-1")}
    assert labels == {Label.LINK}


def test_a_task_with_a_changed_key_keeps_its_answers(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN)
    look(store)
    server.task(keys[0])["data"]["task_key"] = "another"
    now, said = look(store)
    assert now.complete
    assert [line for line in said if "was changed after it was pushed" in line]
    assert len(server.all_tasks()) == len(keys)


def test_answers_to_a_copy_of_a_task_with_other_texts_do_not_count(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    (project,) = server.projects
    data = deepcopy(server.task(keys[0])["data"])
    data["candidates"][0]["text"] = "0 · Something else."
    answer_all(server, keys, ADA)
    server.import_tasks(project, [{"data": data}])
    copy = server.held[project][-1]
    copy["annotations"] = [
        {**server.task(keys[1])["annotations"][0], "id": 999, "completed_by": BEN, "updated_by": BEN}
    ]
    _, said = look(store)
    assert sorted(known_so_far(store, read_pushed(store, SLUG)).answers) == sorted((key, ADA) for key in keys)
    assert [line for line in said if "does not count: it belongs to a copy of the task" in line]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["link_0", "link_1", "more_0", "flag", "comment", "stars"])
PARTS = st.lists(
    VALUES
    | st.fixed_dictionaries({"from_name": NAMES | VALUES, "value": VALUES})
    | st.fixed_dictionaries(
        {"from_name": NAMES, "value": st.dictionaries(st.sampled_from(["choices", "text"]), VALUES)}
    ),
    max_size=3,
)
FIELDS = st.fixed_dictionaries(
    {"result": VALUES | PARTS},
    optional={"lead_time": VALUES, "was_cancelled": VALUES, "completed_by": VALUES, "updated_by": VALUES},
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(fields={"result": "\ud800", "lead_time": {"\udc00": ["\ud83d"]}}, data={"\ud800": "\ud800"})
@given(fields=FIELDS, data=st.none() | VALUES | st.dictionaries(st.sampled_from(["candidates", "more"]), VALUES))
def test_one_odd_annotation_or_task_never_stops_other_answers_from_counting(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...], fields: dict[str, Any], data: object
) -> None:
    (project,) = server.projects
    before = deepcopy(server.held[project])
    for name in ("snapshot.json", "anomalies.json"):
        store.folder.remove(f"label-studio/{SLUG}/{name}")
    store.folder.remove(batch_file(1, "pulled.json"))
    try:
        answer_all(server, keys, ADA, BEN)
        task = server.task(keys[0])
        odd = {**task["annotations"][0], "id": 10_000, "completed_by": CY, "updated_by": CY, **fields}
        task["annotations"].append(odd)
        if data is not None:
            # Found by its id, since it was seen before.
            look(store)
            task["data"] = {"task_key": keys[0], **data} if isinstance(data, dict) else data
        finish(store)
        good = {(key_of(store, one), one.annotator, one.label) for one in pulled(store) if one.annotator[-1] in "12"}
        assert {
            (key, who, label) for key in keys for who, label in (("annotator-1", "Link"), ("annotator-2", "No Link"))
        } <= good
        assert look(store)[0].complete
    finally:
        server.held[project] = before


def test_an_overly_nested_result_does_not_count_and_blocks_nothing(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN)
    nested: list[Any] = []
    for _ in range(400):
        nested = [nested]
    server.task(keys[0])["annotations"][0]["result"].append({"value": nested})
    now, said = look(store)
    assert now.done == len(keys) - 1
    assert "does not count" in said[0]
    assert look(store)[0].done == len(keys) - 1


def test_an_unsendable_annotation_or_its_deletion_blocks_nothing(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...]
) -> None:
    answer_all(server, keys, ADA, BEN)
    unreadable = {"id": 10_000, "completed_by": CY, "updated_by": CY, "unreadable": "Label Studio cannot send it"}
    server.task(keys[0])["annotations"].append(unreadable)
    now, said = look(store)
    assert now.complete
    assert "does not count: Label Studio cannot send it" in said[0]
    server.task(keys[0])["annotations"].remove(unreadable)
    now, said = look(store)
    assert now.complete
    assert f"the answer of cy@example.org to the task {keys[0]} was deleted" in said[0]


def test_a_contradictory_answer_does_not_count(store: Store, server: FakeLabelStudio, keys: tuple[str, ...]) -> None:
    answer_all(server, keys, ADA, BEN)
    result = server.task(keys[0])["annotations"][0]["result"]
    result.append(deepcopy(result[0]))
    assert look(store)[0].complete
    result[-1]["value"] = {"choices": ["No Link"]}
    now, said = look(store)
    assert now.done == len(keys) - 1
    assert any("gives link_0 twice, not the same" in line for line in said)


@pytest.mark.parametrize("result", [[], [{"from_name": "flag", "value": {"choices": ["Unsure"]}}]])
def test_an_answer_that_decides_nothing_is_waited_for(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...], result: list[dict[str, Any]]
) -> None:
    answer_all(server, keys, ADA, BEN)
    empty = server.task(keys[0])["annotations"][0]
    empty["result"] = result
    now, said = look(store)
    assert now.done == len(keys) - 1
    assert any("does not count: it decides nothing" in line for line in said)
    requeue(store, 1)
    assert empty not in server.task(keys[0])["annotations"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"id": None}, "id must be a whole number"),
        ({"annotations": None}, "annotations must be a list"),
        ({"annotations": ["x"]}, "annotations.0 must be an object"),
        ({"annotations": [{"id": 4}]}, "annotations.0.updated_at is missing"),
        ({"drafts": [None]}, "drafts.0 must be an object"),
    ],
)
def test_an_impossible_export_is_one_message(
    store: Store, server: FakeLabelStudio, keys: tuple[str, ...], change: dict[str, Any], fault: str
) -> None:
    server.task(keys[0]).update(change)
    with pytest.raises(ServiceError, match=fault):
        look(store)

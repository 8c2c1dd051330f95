"""Corrected sentence boundaries: ticked changes are made, applied again on re-import, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abcdlink.boundaries import (
    CORRECTED,
    SEGMENTATION,
    AskedDocument,
    Segment,
    Segmentation,
    apply_segmentations,
    prepare,
    read_segmentations,
    segment,
)
from abcdlink.corpus.io import read_corpus, read_corpus_from, write_corpus_to
from abcdlink.corpus.records import Corpus, Document, Pair
from abcdlink.errors import InputError
from abcdlink.store import Store, open_run
from abcdlink.whatnow import what_now
from labelstudio_config.pages.annotate import candidate_id
from labelstudio_config.pages.boundaries import HIDDEN, NOTHING, BoundaryPage, boundary_project, boundary_tasks
from tests.helpers.builders import document
from tests.helpers.command_line import call
from tests.helpers.pulls import OneProject, read_project

LINES = [
    "The bridge was closed by Capt.",
    "J. Lindqvist on Monday.",
    "Share this article",
    "It is 90 years old. It will be opened in May; nobody knows by whom.",
]


def corpus_of(*documents: Document, links: dict[str, tuple[str, ...]] | None = None) -> Corpus:
    pairs = [Pair(id="p", source=documents[0].id, target=documents[-1].id, links=links)]
    return Corpus(name="c", documents={one.id: one for one in documents}, pairs=pairs)


OTHER = document("other", ["Another one.", "And one more."], "s{n}")


def test_sentences_are_joined_split_and_left_out() -> None:
    made, problems = segment(document("d", LINES, "s{n}"), {"s1"}, {"s2"}, ["It will be", "nobody knows"])
    assert problems == []
    assert [(piece.text, piece.kept) for piece in made.pieces] == [
        ("The bridge was closed by Capt. J. Lindqvist on Monday.", True),
        ("Share this article", False),
        ("It is 90 years old.", True),
        ("It will be opened in May;", True),
        ("nobody knows by whom.", True),
    ]
    after = apply_segmentations(corpus_of(document("d", LINES, "s{n}"), OTHER), [made])
    assert [(s.id, s.text) for s in after.documents["d"].sentences] == [
        ("s0", "The bridge was closed by Capt. J. Lindqvist on Monday."),
        ("s3", "It is 90 years old."),
        ("s3.2", "It will be opened in May;"),
        ("s3.3", "nobody knows by whom."),
    ]
    assert after.documents["other"] == OTHER
    assert [str(note) for note in after.notes] == ["Documents with corrected sentence boundaries: 1 (d)"]


@pytest.mark.parametrize(
    ("joined", "dropped", "begins", "problem"),
    [
        (set(), set(), ["nowhere"], "nothing was cut before 'nowhere': no sentence has"),
        (set(), set(), ["The bridge"], "'The bridge': no sentence has these words after the first"),
        (set(), set(), ["be"], "'be': 3 places have these words"),
        (set(), set(), ["ears old"], "'ears old': no sentence has"),
        ({"s2"}, {"s2"}, [], "sentence 3 is joined with the one before, but one of them is left out"),
        ({"s3"}, {"s2"}, [], "sentence 4 is joined with the one before, but one of them is left out"),
    ],
)
def test_impossible_changes_are_reported_and_the_rest_are_made(
    joined: set[str], dropped: set[str], begins: list[str], problem: str
) -> None:
    made, problems = segment(
        document("d", [*LINES, "So be it, or be it not."], "s{n}"), {*joined, "s1"}, dropped, [*begins, "It will"]
    )
    (said,) = problems
    assert problem in said
    assert made.pieces[0].text == "The bridge was closed by Capt. J. Lindqvist on Monday."
    assert "It will be opened in May; nobody knows by whom." in [piece.text for piece in made.pieces]


TEXTS = st.lists(
    st.text("ab .é\n消", min_size=1, max_size=12).filter(lambda text: bool(text.strip())), min_size=1, max_size=6
)


@settings(max_examples=100)
@given(
    TEXTS, st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)), st.lists(st.text("ab é消", max_size=3), max_size=3)
)
def test_whatever_is_ticked_no_letter_is_changed_or_lost(
    texts: list[str], joined: set[int], dropped: set[int], begins: list[str]
) -> None:
    before = document("d", texts, "s{n}")
    made, _ = segment(before, {f"s{i}" for i in joined}, {f"s{i}" for i in dropped}, begins)
    letters = lambda some: "".join("".join(text.split()) for text in some)  # noqa: E731
    assert letters(piece.text for piece in made.pieces) == letters(texts)
    after = apply_segmentations(corpus_of(before, OTHER), [made])
    kept = letters(piece.text for piece in made.pieces if piece.kept)
    if kept:
        assert letters(after.documents["d"].texts) == kept
        assert not after.refused
    else:
        assert after.documents["d"] == before
        assert [refusal.reason for refusal in after.refused] == ["nothing would be left"]
    # Applied to its own result it changes nothing, or refuses text that is no longer the same.
    again = apply_segmentations(after, [made])
    assert again.documents["d"] == after.documents["d"]


def test_documents_with_other_text_or_with_links_stay_unchanged() -> None:
    made, _ = segment(document("d", LINES, "s{n}"), {"s1"}, (), [])
    changed = document("d", [*LINES[:3], "Something else."], "s{n}")
    after = apply_segmentations(corpus_of(changed, OTHER), [made])
    assert after.documents["d"] == changed
    assert "its text has changed" in after.refused[0].reason
    linked = corpus_of(document("d", LINES, "s{n}"), OTHER, links={"s1": ("s0",)})
    after = apply_segmentations(linked, [made])
    assert after.documents["d"] == linked.documents["d"]
    assert "gold links name sentences" in after.refused[0].reason
    elsewhere = corpus_of(document("d", LINES, "s{n}"), OTHER, links={"s3": ("s0",)})
    assert len(apply_segmentations(elsewhere, [made]).documents["d"].sentences) == 3
    with pytest.raises(InputError, match="no document of the segmentation"):
        apply_segmentations(corpus_of(OTHER, OTHER), [made])
    with pytest.raises(InputError, match="two segmentations"):
        apply_segmentations(linked, [made, made])


def test_another_segmentation_of_the_same_text_is_corrected_too() -> None:
    made = Segmentation(document="d", pieces=(Segment(text="One two."), Segment(text="Three four.")))
    after = apply_segmentations(corpus_of(document("d", ["One", "two. Three", "four."], "s{n}"), OTHER), [made])
    assert [(s.id, s.text) for s in after.documents["d"].sentences] == [("s0", "One two."), ("s1", "Three four.")]


@pytest.fixture
def store(isolated_home: Path) -> Store:
    run = open_run("look")
    write_corpus_to(run, "natural", corpus_of(document("d", LINES, "s{n}"), OTHER))
    return run


def answer(key: str, joined: list[str], dropped: list[str], begins: list[str], done: str) -> dict[str, Any]:
    """Return what the page submits for one task."""
    ticked = {
        "joined": [candidate_id(key, f"join {name}") for name in joined],
        "dropped": [candidate_id(key, f"drop {name}") for name in dropped],
        "done": [done],
    }
    result: list[dict[str, Any]] = [{"from_name": name, "value": {"choices": given}} for name, given in ticked.items()]
    result.append({"from_name": "begins", "value": {"text": begins}})
    told = {"completed_by": 7, "updated_by": 7, "updated_at": "2026-01-01T10:00:00Z", "was_cancelled": False}
    return {"id": abs(hash(key)) % 10**6, **told, "lead_time": 9.5, "result": result}


def boundaries(answers: dict[str, dict[str, Any]]) -> OneProject:
    """Return the project with these answers, given by task key."""
    tasks = [
        {"id": number, "data": {"task_key": key}, "annotations": [given], "drafts": []}
        for number, (key, given) in enumerate(answers.items())
    ]
    return OneProject("look · boundaries", tasks, {7: "ada@example.org"})


def test_answers_become_a_new_version_of_the_corpus_and_are_applied_again(store: Store, tmp_path: Path) -> None:
    asked = prepare(store)
    assert [one.document for one in asked] == ["d", "other"]
    assert prepare(store) == asked
    first, second = (one.key for one in asked)
    server = boundaries(
        {
            first: answer(
                first, ["s1"], ["s2"], ["It will be", "gone"], "I read everything; the boundaries are right now"
            ),
            second: answer(second, [], [], [], NOTHING),
        }
    )
    page = BoundaryPage()
    page.keep(store, read_project(server, "look · boundaries", [first, second]))
    assert page.is_pulled(store)
    assert len(read_segmentations(store)) == 2
    assert len(store.read_json("boundaries/anomalies.json")) == 1
    made = read_corpus_from(store, CORRECTED)
    assert [s.id for s in made.documents["d"].sentences] == ["s0", "s3", "s3.2"]
    assert read_corpus_from(store, "natural").documents["d"] == document("d", LINES, "s{n}")
    # The import command applies the file to a new import of the same text.
    whole = {"id": "p", "source": {"id": "d", "sentences": LINES}, "target": {"id": "other", "sentences": OTHER.texts}}
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"pair": "p", **{k: v for k, v in whole.items() if k != "id"}}))
    (tmp_path / "segmentation.jsonl").write_text(store.read_text(SEGMENTATION), encoding="utf-8")
    segmentation = ("--segmentation", tmp_path / "segmentation.jsonl")
    call("import", "jsonl", tmp_path / "pairs.jsonl", "--out", tmp_path / "out", *segmentation)
    assert read_corpus(str(tmp_path / "out")).documents["d"].texts == made.documents["d"].texts
    assert len(read_segmentations(store)) == 2
    shown = call("boundaries", "show", "look")
    assert "Documents checked: 2 of 2; with changed sentences: 1." in shown
    assert "Looks wrong: corrector-1, document 'd': nothing was cut before 'gone': no sentence has" in shown
    now = "\n".join(what_now(store).plain())
    assert now.startswith("Sentence boundaries are corrected.")
    assert f"abcdlink start OTHER-KEY --corpus {store.where(CORRECTED)}" in now


def test_no_task_reveals_a_name_or_id_and_texts_are_escaped() -> None:
    hostile = document("doc-bilby", ["<img src=x onerror=alert(1)>", "Text sid-9."], "s{n}")
    asked = [AskedDocument(key="k", document="doc-bilby")]
    (task,) = boundary_tasks(asked, {"doc-bilby": hostile}).values()
    sent = json.dumps(task)
    assert "<img" not in sent
    assert not [secret for secret in ("doc-bilby", '"s0"', '"s1"') if secret in sent]
    assert [len(task[name]) for name in HIDDEN] == [1, 2]
    project = boundary_project("look")
    assert (project.title, project.overlap) == ("look · boundaries", 1)

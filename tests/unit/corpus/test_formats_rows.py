"""Tables with one document or pair per row: CSV, Parquet, Hugging Face data sets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from tests.helpers.outside_files import lines, load, reasons

ROWS = {
    "headline": ["Bridge", "Flood"],
    "body": ["The bridge closed. Nobody was hurt.", "It rained.\n\nThe mayor spoke."],
    "topic": ["traffic", "weather"],
}
PAIRS = {
    "text_a": ["The bridge closed.", "It rained."],
    "text_b": ["A bridge was shut. Why?", "Rain fell."],
    "pair": ["p", "q"],
    "id_a": ["a", "a2"],
}


def written(folder: Path, ending: str, rows: dict[str, list[object]]) -> Path:
    table, path = pd.DataFrame(rows), folder / f"rows.{ending}"
    if ending == "csv":
        table.to_csv(path, index=False)
    elif ending == "parquet":
        table.to_parquet(path)
    else:
        from datasets import Dataset

        Dataset.from_pandas(table).save_to_disk(str(path))
    return path


def texts(corpus: Corpus) -> dict[str, list[str]]:
    return {name: document.texts for name, document in corpus.documents.items()}


@pytest.mark.parametrize("ending", ["csv", "parquet", "hf"])
def test_each_row_can_be_a_document(tmp_path, ending):
    corpus = load(ending, written(tmp_path, ending, ROWS), columns={"text": "body", "id": "headline"})
    assert texts(corpus) == {
        "Bridge": ["The bridge closed.", "Nobody was hurt."],
        "Flood": ["It rained.", "The mayor spoke."],
    }
    assert corpus.documents["Flood"].meta["topic"] == "weather"
    assert (corpus.pairs, corpus.refused) == ([], [])


@pytest.mark.parametrize("ending", ["csv", "parquet", "hf"])
def test_each_row_can_be_a_pair(tmp_path, ending):
    columns = {"source": "text_a", "target": "text_b", "source_id": "id_a"}
    corpus = load(ending, written(tmp_path, ending, PAIRS), columns=columns)
    assert [(pair.id, pair.source, pair.target) for pair in corpus.pairs] == [
        ("p", "a", "p_target"),
        ("q", "a2", "q_target"),
    ]
    assert texts(corpus)["p_target"] == ["A bridge was shut.", "Why?"]
    alone = load(
        ending,
        written(tmp_path, ending, PAIRS) if ending == "csv" else tmp_path / f"rows.{ending}",
        columns=columns,
        targets=True,
    )
    assert (list(alone.documents), alone.pairs) == (["p_target", "q_target"], [])


def test_a_pair_may_be_named_by_the_column_for_ids(tmp_path):
    rows = {"Ticket": ["A-7"], "source": ["It crashes."], "target": ["A crash was removed."]}
    corpus = load("csv", written(tmp_path, "csv", rows), columns={"id": "Ticket"})
    assert [(pair.id, pair.source) for pair in corpus.pairs] == [("A-7", "A-7_source")]


@pytest.mark.parametrize("ending", ["csv", "parquet", "hf"])
def test_unnamed_rows_are_numbered_and_filtered_by_metadata(tmp_path, ending):
    corpus = load(ending, written(tmp_path, ending, ROWS), columns={"text": "body"}, only={"topic": ("weather",)})
    assert texts(corpus) == {"1": ["It rained.", "The mayor spoke."]}
    assert [str(note) for note in corpus.notes] == ["Items without topic weather, which were left out: 1"]


def test_given_sentences_are_kept(tmp_path):
    rows = {"text": [["The bridge closed. Why?", " Nobody knows. "], ["It rained."]]}
    for ending in ("parquet", "hf"):
        corpus = load(ending, written(tmp_path, ending, rows))
        assert texts(corpus) == {"0": ["The bridge closed. Why?", " Nobody knows. "], "1": ["It rained."]}


def test_a_blank_text_is_refused_and_the_others_kept(tmp_path):
    rows = {"text": ["One.", None, " ", "Four."]}
    corpus = load("parquet", written(tmp_path, "parquet", rows))
    assert list(corpus.documents) == ["0", "3"]
    assert ["blank" in reasons(corpus)[0], "no sentences" in reasons(corpus)[1]] == [True, True]
    assert "row 1" in corpus.refused[0].where


QUIRKS = {
    "semicolons": ("text;id\nOne.;a\n", {"a": ["One."]}),
    "tabs": ("text\tid\nOne.\ta\n", {"a": ["One."]}),
    "a byte order mark": ("\ufefftext,id\nOne.,a\n", {"a": ["One."]}),
    "windows lines": ("text,id\r\nOne.,a\r\n", {"a": ["One."]}),
    "commas, quotes and line ends in a cell": (
        'text,id\n"Say ""yes"", now.\n\nTwo.",a\n',
        {"a": ['Say "yes", now.', "Two."]},
    ),
    "blank lines": ("\ntext,id\n\nOne.,a\n\n", {"a": ["One."]}),
    "a short row": ("id,text,topic\na,One.\n", {"a": ["One."]}),
    "rows of blank cells": ("text,id,x\n,,\nOne.,a,\n , ,\n", {"a": ["One."]}),
    "a first line for Excel": ("sep=;\r\ntext;id\r\nOne, two.;a\r\n", {"a": ["One, two."]}),
    "separators in the names of columns": ('text;"day, hour, minute";id\nOne.;1;a\n', {"a": ["One."]}),
    "more separators than columns": ("text,id\nOne.,a,,\n", {"a": ["One."]}),
    "columns without a name": (",text,\n0,One.,x\n", {"0": ["One."]}),
    "upper case": ("TEXT,ID\nOne.,a\n", {"a": ["One."]}),
    "a long cell": ("text\n" + "One more word. " * 9_000, {"0": ["One more word."] * 9_000}),
}


@pytest.mark.parametrize("name", QUIRKS)
def test_csv_files_of_common_programs_are_read(tmp_path, name):
    content, expected = QUIRKS[name]
    path = tmp_path / "x.csv"
    path.write_bytes(content.encode())
    assert texts(load("csv", path)) == expected


def test_names_of_columns_are_matched_whatever_blanks_and_line_ends_they_hold(tmp_path):
    (tmp_path / "x.csv").write_text('"What they\nsaid";"No.\u00a0of case"\nOne, two, three.;7\n')
    corpus = load("csv", tmp_path / "x.csv", columns={"text": "What they said", "id": "No. of case"})
    assert texts(corpus) == {"7": ["One, two, three."]}


def test_a_title_above_the_names_of_columns_is_told(tmp_path):
    (tmp_path / "x.csv").write_text("Complaints of 2025;;\ntext;id;x\nOne.;7;y\n")
    with pytest.raises(InputError, match=r"has no column 'text', only Complaints of 2025\. ") as error:
        load("csv", tmp_path / "x.csv", columns={"text": "text"})
    assert "first line" in error.value.hint


def test_columns_of_one_name_are_told_apart(tmp_path):
    """As issue trackers export them: a column for each label."""
    (tmp_path / "x.csv").write_text("text,Label,Label\nMix.,a,b\n")
    assert load("csv", tmp_path / "x.csv").documents["0"].meta == {"Label": "a", "Label (2)": "b"}


def test_lines_of_json_are_rows_when_their_fields_are_named(tmp_path):
    """No line need have all fields, and a line that is not an object leaves the others alone."""
    whole = {"number": 7, "body": "It stops.", "milestone": {"title": "2.4"}}
    path = lines(tmp_path / "x.jsonl", {"number": 6}, whole, {"number": 8, "body": None}, [1])
    path.write_text(path.read_text() + "{cut off\n")
    corpus = load("jsonl", path, columns={"id": "number", "text": "body"})
    assert texts(corpus) == {"7": ["It stops."]}
    assert corpus.documents["7"].meta == {"milestone.title": "2.4"}
    assert [reason[:28] for reason in reasons(corpus)] == [
        *["the text is blank"] * 2,
        "it is not an object",
        "it is not JSON: Expecting pr",
    ]
    with pytest.raises(InputError, match=r"no column 'title', only number, body, milestone, milestone.title"):
        load("jsonl", path, columns={"text": "title"})


def test_a_json_array_is_read_entry_by_entry(tmp_path):
    path = tmp_path / "issues.json"
    path.write_text('[\n  {"id": "a", "body": "It stops."},\n  {"id": "b", "body": null}\n]\n')
    corpus = load("jsonl", path, columns={"text": "body"})
    assert texts(corpus) == {"a": ["It stops."]}
    assert corpus.refused[0].where == f"{path}, entry 2"
    path.write_text('[{"id": "a", "text": "It stops."}]')
    assert texts(load("jsonl", path)) == {"a": ["It stops."]}


def test_a_target_of_several_rows_is_one_document(tmp_path):
    """Metadata of the rows differ; what was left out is said."""
    rows = "by,id,source,target,target_id\nann,1,It stops.,It<br>runs.,v2\nbo,2,It hangs.,It<br>runs.,v2\n"
    (tmp_path / "x.csv").write_text(rows)
    corpus = load("csv", tmp_path / "x.csv")
    assert [pair.target for pair in corpus.pairs] == ["v2", "v2"]
    counts = {note.what[:24]: note.count for note in corpus.notes}
    assert (counts["Documents that came agai"], counts["Documents with HTML tags"]) == (1, 1)


def test_a_target_without_an_id_that_several_rows_repeat_is_one_document(tmp_path):
    """So it is in an export of a survey; the name of a column may be cut short, as its questions are long."""
    rows = ["Nr,Q1. What would you change?,Q10. Why?,target", "1,It stops.,a,It runs.", "2,Bo.,b,It hangs."]
    (tmp_path / "x.csv").write_text("\n".join([*rows, "3,It hangs.,c,It runs."]))
    corpus = load("csv", tmp_path / "x.csv", columns={"source": "Q1.", "pair": "Nr"})
    assert [(pair.source, pair.target) for pair in corpus.pairs] == [
        ("1_source", "1_target"),
        ("2_source", "2_target"),
        ("3_source", "1_target"),
    ]
    assert [(note.what[:27], note.count, note.examples) for note in corpus.notes[:1]] == [
        ("Targets with the same text ", 1, ("3_target",))
    ]
    with pytest.raises(InputError, match="has no column 'Q1', only Nr, Q1"):
        load("csv", tmp_path / "x.csv", columns={"source": "Q1"})


def test_a_row_with_more_cells_than_columns_is_refused(tmp_path):
    """Its texts would be cut, and the parts would stand in other columns."""
    (tmp_path / "x.csv").write_text('source,target\nGood, really.,Bake it.\n"Good, really.",Bake it.\n')
    corpus = load("csv", tmp_path / "x.csv")
    assert texts(corpus) == {"1_source": ["Good, really."], "1_target": ["Bake it."]}
    assert reasons(corpus) == ["there are more cells than columns: 'Bake it.'"]
    assert corpus.refused[0].where.endswith("line 2")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('text,id\n"Mix the flour.,a\nBake.,b\n', "line 3: unexpected end of data"),
        ('text\tid\n"Mix", she said.\ta\n', "line 2: .* expected after"),
        ('sep=;\ntext;id\n"Mix" it.;a\n', "line 3: .* expected after"),
        ("text,text\nMix.,Bake.\n", "two columns named 'text'"),
    ],
)
def test_a_table_that_could_be_read_in_two_ways_is_not_read(tmp_path, content, problem):
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(InputError, match=problem):
        load("csv", tmp_path / "x.csv")


@given(st.lists(st.text(st.sampled_from('ab. \n",;\té'), min_size=1).filter(str.strip), min_size=1, max_size=5))
def test_csv_files_of_pandas_are_read(tmp_path_factory, contents):
    """Every text comes through with all that is not white space."""
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    pd.DataFrame({"text": contents, "other": contents}).to_csv(path, index=False)
    read = texts(load("csv", path, entities=False, remove=None))
    assert ["".join("".join(text.split()) for text in found) for found in read.values()] == [
        "".join(content.split()) for content in contents
    ]


def test_splits_and_files_of_a_folder_are_read_together(tmp_path, monkeypatch):
    from datasets import Dataset, DatasetDict

    monkeypatch.setattr("datasets.config.TORCH_AVAILABLE", False)  # the rows are the same, and it takes seconds to load
    splits = {name: Dataset.from_dict({"text": [f"{name} one.", f"{name} two."]}) for name in ("train", "test")}
    DatasetDict(splits).save_to_disk(str(tmp_path / "saved"))
    (tmp_path / "files").mkdir()
    for name, split in splits.items():
        split.to_parquet(tmp_path / "files" / f"{name}.parquet")
    expected = {"train-0", "train-1", "test-0", "test-1"}
    assert set(load("hf", tmp_path / "saved").documents) == expected
    assert set(load("hf", tmp_path / "files").documents) == expected
    assert set(load("parquet", tmp_path / "files").documents) == expected
    only = load("hf", tmp_path / "saved", only={"split": ("test",)})
    assert set(only.documents) == {"test-0", "test-1"}

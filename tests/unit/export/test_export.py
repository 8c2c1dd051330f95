"""The data set: its labels, its tables, and the promises of every layout."""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.errors import InputError
from abcdlink.export import ExportFormat, export_dataset
from abcdlink.export.dataset import LabelledCandidate, labelled_candidates
from abcdlink.folders import LocalFolder
from abcdlink.interannotator.measures import agreement
from abcdlink.judgment_file import read_judgment_file
from abcdlink.judgments import Annotator, Judgment, Label, LabelRule, Provenance, by_candidate, verdict
from abcdlink.layout import ADJUDICATIONS, ADJUDICATORS
from abcdlink.store import Store
from tests.helpers.command_line import call, called
from tests.helpers.example_run import example_run
from tests.helpers.hostile_run import ACCOUNTS, PAIRS, TEXTS, hostile_adjudications, hostile_corpus, hostile_run


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return example_run(tmp_path)


@pytest.fixture
def hostile(tmp_path: Path) -> Store:
    return hostile_run(tmp_path)


def rows_of(store: Store, rule: str = "both") -> list[LabelledCandidate]:
    export_dataset(store, "jsonl", rule)
    return store.read_records("dataset/links.jsonl", LabelledCandidate)


@pytest.mark.parametrize("votes", [v for n in (1, 2, 3, 4) for v in product("LN", repeat=n)], ids="".join)
def test_rules_agree_with_counting_by_hand(votes: tuple[str, ...]):
    labels = [Label.LINK if vote == "L" else Label.NO_LINK for vote in votes]
    links, size = votes.count("L"), len(votes)
    both, majority = (verdict(labels, rule, needed=2) for rule in (LabelRule.BOTH, LabelRule.MAJORITY))
    if size < 2:
        assert both == majority == (None, Provenance.INCOMPLETE)
        return
    assert both.link is (links == size)
    assert majority.link is (None if links * 2 == size else links * 2 > size)
    assert (
        (both.provenance is Provenance.UNANIMOUS)
        == (majority.provenance is Provenance.UNANIMOUS)
        == (links in (0, size))
    )
    assert (majority.provenance is Provenance.TIE) == (majority.link is None)


@pytest.mark.parametrize("votes", ["LL", "NN", "LN", "LLN", "L"])
@pytest.mark.parametrize("decision", [None, *Label])
def test_a_decision_counts_only_where_annotators_disagree(votes: str, decision: Label | None):
    labels = [Label.LINK if vote == "L" else Label.NO_LINK for vote in votes]
    link, provenance = verdict(labels, LabelRule.ADJUDICATED, 2, decision)
    if len(votes) < 2:
        assert (link, provenance) == (None, Provenance.INCOMPLETE)
    elif len(set(votes)) == 1:
        assert (link, provenance) == (votes[0] == "L", Provenance.UNANIMOUS)
    elif decision is None:
        assert (link, provenance) == (None, Provenance.NOT_ADJUDICATED)
    else:
        assert (link, provenance) == (decision is Label.LINK, Provenance.ADJUDICATED)
    # No other rule uses decisions.
    for rule in (LabelRule.BOTH, LabelRule.MAJORITY):
        assert verdict(labels, rule, 2, decision) == verdict(labels, rule, 2)


def test_one_file_holds_the_labels_by_every_rule(hostile: Store):
    by_rule = {rule: rows_of(hostile, rule) for rule in LabelRule}
    assert len({tuple(row.link for row in rows) for rows in by_rule.values()}) == 3
    for rule, rows in by_rule.items():
        for row, *others in zip(rows, *by_rule.values(), strict=True):
            assert (row.link, row.provenance) == (getattr(row, f"link_{rule}"), getattr(row, f"provenance_{rule}"))
            assert len({(o.link_both, o.link_majority, o.link_adjudicated, o.adjudicator) for o in others}) == 1
    rows = by_rule[LabelRule.ADJUDICATED]
    decided = {(a.pair, a.source, a.target): a for a in hostile_adjudications()}
    assert {row.provenance for row in rows} == {
        *(Provenance.UNANIMOUS, Provenance.ADJUDICATED, Provenance.NOT_ADJUDICATED, Provenance.INCOMPLETE)
    }
    for row in rows:
        decision = decided.get((row.pair, row.source, row.target))
        assert (row.adjudicator, row.adjudication, row.consensus) == (
            (decision.adjudicator, decision.label, decision.consensus) if decision else (None, None, None)
        )
        if decision:
            assert (row.link, row.provenance) == (decision.label is Label.LINK, Provenance.ADJUDICATED)


def test_there_is_no_adjudicated_data_set_without_decisions(hostile: Store):
    hostile.folder.remove(ADJUDICATIONS)
    with pytest.raises(InputError, match=r"no adjudications\.jsonl yet .*'adjudicate'"):
        export_dataset(hostile, "csv", "adjudicated")
    rows = rows_of(hostile)
    assert {row.link_adjudicated for row in rows if row.provenance_both is Provenance.NOT_UNANIMOUS} == {None}
    assert {row.link_adjudicated for row in rows if row.provenance_both is Provenance.UNANIMOUS} == {True, False}


def test_an_adjudicator_is_a_pseudonym_and_may_be_a_program(hostile: Store):
    people = hostile.read_records(ADJUDICATORS, Annotator)
    hostile.write_records(ADJUDICATORS, [person.model_copy(update={"simulated": True}) for person in people])
    assert all(row.simulated for row in rows_of(hostile) if row.adjudicator == "adjudicator-1")
    decided = hostile_adjudications()
    hostile.write_records(ADJUDICATIONS, [decided[0].model_copy(update={"adjudicator": people[0].account})])
    with pytest.raises(InputError, match="adjudication 1, has an account"):
        export_dataset(hostile)


def test_jsonl_holds_every_candidate_with_all_judgments(store: Store):
    exported = export_dataset(store)
    assert exported.files == ("dataset/links.jsonl",)
    rows = store.read_records("dataset/links.jsonl", LabelledCandidate)
    judgments = store.read_records("judgments.jsonl", Judgment)
    assert sum(len(row.judgments) for row in rows) == len(judgments)
    assert all(row.link == (set(row.judgments.values()) == {Label.LINK}) for row in rows)
    accepted = sum(a.accepted for a in agreement(judgments).acceptance.values())
    assert sum(bool(row.link) for row in rows) == accepted == exported.links
    assert all(row.simulated for row in rows)


def test_rows_follow_the_order_of_the_corpus(store: Store):
    judgments = store.read_records("judgments.jsonl", Judgment)
    corpus = read_corpus_from(store, "natural")
    forward, backward = labelled_candidates(judgments, corpus), labelled_candidates(judgments[::-1], corpus)
    assert forward == backward
    assert [row.pair for row in forward] == sorted(row.pair for row in forward)


def test_hostile_texts_and_ids_survive_in_jsonl_and_parquet(hostile: Store):
    rows = rows_of(hostile)
    assert {row.source_text for row in rows} == set(TEXTS)
    assert {row.pair for row in rows} == set(PAIRS)
    assert len(rows) == len(by_candidate(hostile.read_records("judgments.jsonl", Judgment)))
    assert export_dataset(hostile, "parquet").files == ("dataset/links.parquet",)
    table = pq.read_table(hostile.where("dataset/links.parquet")).to_pylist()
    read = [{**row, "judgments": {j["annotator"]: j["label"] for j in row["judgments"]}} for row in table]
    assert [LabelledCandidate.model_validate(row) for row in read] == rows


def test_rows_mark_judgments_of_programs(hostile: Store):
    rows = rows_of(hostile)
    assert {row.simulated for row in rows} == {True, False}
    assert all(row.simulated == ("annotator-9" in row.judgments) for row in rows)


def test_csv_is_read_back_with_the_same_agreement(store: Store):
    (name,) = export_dataset(store, "csv").files
    file = read_judgment_file(store.where(name))
    original, again = agreement(store.read_records("judgments.jsonl", Judgment)), agreement(file.judgments)
    assert file.refused == ()
    assert again.model_dump(exclude={"batches"}) == original.model_dump(exclude={"batches"})
    header = store.read_text(name).splitlines()[0]
    assert header == (
        "document_id,source_id,target_id,method,annotator_1,annotator_2,"
        "source_sentence,target_sentence,agreement,both_link"
    )


def test_csv_keeps_hostile_texts_and_the_order_of_annotators(hostile: Store):
    rows = rows_of(hostile)
    export_dataset(hostile, "csv")
    text = hostile.folder.read("dataset/annotations.csv").decode("utf-8-sig")
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    names = {"annotator-2": "annotator_1", "annotator-9": "annotator_2", "annotator-10": "annotator_3"}
    assert [
        (r["document_id"], r["source_id"], r["target_id"], r["source_sentence"], r["target_sentence"]) for r in table
    ] == [(row.pair, row.source, row.target, row.source_text, row.target_text) for row in rows]
    for read, row in zip(table, rows, strict=True):
        assert {names[annotator]: label for annotator, label in row.judgments.items()} == {
            column: read[column] for column in names.values() if read[column]
        }
        assert read["both_link"] == ("" if row.link is None else str(row.link))
    complete = [row for row in rows if len(row.judgments) >= 2]
    judged = by_candidate(read_judgment_file(hostile.where("dataset/annotations.csv")).judgments)
    assert list(judged) == [(row.pair, row.source, row.target) for row in complete]


def test_csv_by_another_rule_keeps_the_released_columns_and_adds_one(hostile: Store):
    export_dataset(hostile, "csv")
    both = list(csv.reader(io.StringIO(hostile.folder.read("dataset/annotations.csv").decode("utf-8-sig"), newline="")))
    export_dataset(hostile, "csv", "majority")
    majority = list(
        csv.reader(io.StringIO(hostile.folder.read("dataset/annotations.csv").decode("utf-8-sig"), newline=""))
    )
    assert [row[:-1] for row in majority] == both
    labels = [{True: "True", False: "False", None: ""}[row.link] for row in rows_of(hostile, "majority")]
    assert [row[-1] for row in majority] == ["majority_link", *labels]
    assert set(labels) == {"True", "False", ""}


@pytest.mark.parametrize("rule", LabelRule)
def test_abcd_link_is_read_back_with_the_same_documents_and_links(hostile: Store, rule: LabelRule):
    rows = rows_of(hostile, rule)
    exported = export_dataset(hostile, "abcd-link", rule)
    assert exported.files == ("dataset/abcd-link/docs.json", "dataset/abcd-link/dataset_links.json")
    corpus = import_corpus("abcd-link", Path(hostile.where("dataset/abcd-link")), get_segmenter())
    assert corpus.refused == []
    assert corpus.documents == hostile_corpus().documents
    assert [(pair.id, pair.source, pair.target) for pair in corpus.pairs] == [
        (pair.id, pair.source, pair.target) for pair in hostile_corpus().pairs if pair.id in PAIRS
    ]
    links = [(p.id, s, t) for p in corpus.pairs for s, targets in (p.links or {}).items() for t in targets]
    assert links == [(row.pair, row.source, row.target) for row in rows if row.link]


def test_a_candidate_with_a_missing_judgment_has_no_label(store: Store):
    judgments = store.read_records("judgments.jsonl", Judgment)
    store.write_records("judgments.jsonl", judgments[1:])
    rows = rows_of(store)
    assert [row.provenance for row in rows if row.link is None] == [Provenance.INCOMPLETE]
    assert export_dataset(store, "csv").unlabelled == 1
    assert len(read_judgment_file(store.where("dataset/annotations.csv")).refused) == 1


def test_a_label_needs_all_the_requested_judgments(hostile: Store):
    hostile.note("annotation", {"batches": 2, "overlap": 3})
    rows = rows_of(hostile)
    assert all((row.link is None) == (len(row.judgments) < 3) for row in rows)
    with pytest.raises(InputError, match="4 judgments are more than the 3"):
        export_dataset(hostile, needed=4)
    fewer = export_dataset(hostile, needed=2)
    assert (fewer.needed, fewer.unlabelled) == (2, sum(len(row.judgments) < 2 for row in rows))
    assert fewer.unlabelled < sum(row.link is None for row in rows)


@pytest.mark.parametrize("layout", ExportFormat)
def test_no_layout_reveals_who_the_annotators_are(hostile: Store, layout: ExportFormat):
    exported = export_dataset(hostile, layout, licence="cc-by-4.0")
    assert exported.candidates == len(rows_of(hostile))
    for name in exported.files:
        content = hostile.folder.read(name)
        for word in (*ACCOUNTS, "luchs", "dachs", "marder", "@example", "3.25", "unsure", str(hostile.where())):
            assert word.encode() not in content.replace(b"**Unsure**", b""), name


@pytest.mark.parametrize("name", [ACCOUNTS[0], "someone@else.org"])
def test_judgments_that_name_an_account_are_not_exported(hostile: Store, name: str):
    judgments = hostile.read_records("judgments.jsonl", Judgment)
    judgments[1] = judgments[1].model_copy(update={"annotator": name})
    hostile.write_records("judgments.jsonl", judgments)
    with pytest.raises(InputError, match=r"judgments\.jsonl, judgment 2, has an account") as refused:
        export_dataset(hostile)
    assert name not in str(refused.value)
    assert hostile.folder.names("dataset/") == []


@pytest.mark.parametrize("layout", ExportFormat)
def test_only_files_of_an_earlier_export_are_removed(hostile: Store, layout: ExportFormat):
    before = export_dataset(hostile, layout)
    hostile.write_text("dataset/notes.txt", "mine")
    judgments = hostile.read_records("judgments.jsonl", Judgment)
    hostile.write_records("judgments.jsonl", [j for j in judgments if j.pair == PAIRS[1]])
    after = export_dataset(hostile, layout)
    assert hostile.folder.names("dataset/") == sorted((*after.files, "dataset/notes.txt"))
    assert after.candidates < before.candidates
    assert hostile.manifest["exports"][layout] == after.model_dump(mode="json")


def test_a_failing_layout_writes_nothing(hostile: Store, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("abcdlink.export.standoff.said", fail)
    with pytest.raises(RuntimeError):
        export_dataset(hostile, "brat")
    assert hostile.folder.names("dataset/") == []
    assert "exports" not in hostile.manifest


def test_impossible_exports_are_clear_errors(store: Store, tmp_path: Path):
    with pytest.raises(InputError, match=r"no export format 'xml'.*abcd-link"):
        export_dataset(store, "xml")
    with pytest.raises(InputError, match=r"no label rule 'most'.*majority"):
        export_dataset(store, "csv", "most")
    with pytest.raises(InputError, match="annotate"):
        export_dataset(Store(LocalFolder(tmp_path / "empty"), "empty"))
    judgments = store.read_records("judgments.jsonl", Judgment)
    for change in ({"pair": "gone"}, {"source": "gone"}, {"target": "gone"}):
        store.write_records("judgments.jsonl", [judgments[0].model_copy(update=change)])
        with pytest.raises(InputError, match=r"'gone'.*is not in the run's corpus"):
            export_dataset(store)


def test_the_command_reports_what_it_wrote_and_changed(isolated_home: Path):
    store = hostile_run(isolated_home / "runs")
    said = call("export", "hostile", "--format", "brat", "--rule", "majority")
    assert store.where("dataset/brat") in said.replace("\n", "")
    assert "line breaks or tabs: replaced by spaces" in said
    assert "--licence" in call("export", "hostile", "--format", "huggingface")
    assert store.manifest["exports"]["brat"]["rule"] == "majority"
    assert called("export", "hostile", "--needed", "1")["needed"] == 1

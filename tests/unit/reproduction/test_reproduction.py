"""Comparing with printed figures: which are equal, which differ, and which cannot be computed and why."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from abcdlink.errors import InputError
from abcdlink.reproduction import LLMTablesPlan, Reproduction, reproduce
from abcdlink.reproduction.records import PAPER_FILE
from tests.helpers.fake_llm import FakeLLM, says
from tests.helpers.several_llms import exact, gold, pair_of

DOCS = {
    "a": {"0": "The bridge closed today.", "1": "Nobody was hurt."},
    "b": {"0": "The mayor spoke.", "1": "The bridge closed.", "2": "It rained."},
}
LINKS = {"p": {"doc1": "a", "doc2": "b", "links": {"0": ["1"]}}}
JUDGMENTS = """document_id,source_id,target_id,method,annotator_1,annotator_2
d,0,1,llm,Link,Link
d,0,2,llm,Link,No Link
d,0,3,random,No Link,No Link
e,0,1,llm,No Link,No Link
e,0,2,mutual,Link,Link
"""
GOLD = "og_doc_id,source_id,target_id\nd,0,1\nd,0,2\nd,4,1\n"
PREDICTIONS = {
    "d": {
        "0": {"R+LLM": ["1", "2"], "Retriever": ["3", "4", "5", "1"]},
        "4": {"R+LLM": ["1", "9"], "Retriever": ["1"]},
    }
}


def data(folder: Path, tables: object, *, with_data: bool = True) -> Path:
    contents = {PAPER_FILE: json.dumps(tables)}
    if with_data:
        contents |= {
            "news_ecb/docs.json": json.dumps(DOCS),
            "news_ecb/x_links.json": json.dumps(LINKS),
            "reviews_he/annotations.csv": JUDGMENTS,
            "reviews_he/x_gold_labels.csv": GOLD,
            "reviews_he/predictions_x.json": json.dumps(PREDICTIONS),
        }
    for name, content in contents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def differences(result: Reproduction) -> dict[tuple[str, str], float | None]:
    return {(figure.row, figure.measure): figure.difference for figure in result.figures if figure.paper is not None}


def test_equal_and_different_figures_are_told_apart(tmp_path):
    tables = {"retrieval": {"NEWS-ECB+": {"bm25": {"1": [100, 90.5, 100], "2": [50, 100, 66.67]}}}}
    result = reproduce(data(tmp_path, tables))
    assert differences(result) == {
        ("bm25", "P@1"): 0,
        ("bm25", "R@1"): 9.5,
        ("bm25", "F1@1"): 0,
        ("bm25", "P@2"): 0,
        ("bm25", "R@2"): 0,
        ("bm25", "F1@2"): 0,
    }
    assert (result.equal, len(result.compared), result.missing) == (5, 6, ())
    assert "first 60 pairs" in result.notes[0]


def test_figures_of_other_data_are_not_compared(tmp_path):
    tables = {
        "dataset_stats": {"NEWS-ECB+": {"pairs": 9, "links": 1, "avg_sents_src": 2.0}},
        "retrieval": {"NEWS-ECB+": {"bm25": {"1": [100, 100, 100]}}},
    }
    result = reproduce(data(tmp_path, tables))
    printed = [figure for figure in result.figures if figure.paper is not None]
    assert {figure.remark for figure in printed} == {"1 of 9 pairs"}
    assert (len(printed), result.compared) == (6, ())


def test_the_human_evaluation_is_compared(tmp_path):
    tables = {
        "acceptance": {"REVIEWS-HE": {"R+LLM only": 33.3, "Both": 100, "Retriever only": 5}},
        "kappa": {"REVIEWS-HE": {"batch 1": 0.4, "batch 2": 0.9, "qualification": 0.7}},
        "true_recall": {"columns": ["recall"], "REVIEWS": {"R+LLM": [1, 0.75, 0.83], "Both": [0.75, 1, 0.83]}},
        "true_recall_pool": {"REVIEWS": {"Both": [1, 1, 1], "Retriever": [0.5, 0.5, 0.5]}},
    }
    result = reproduce(data(tmp_path, tables))
    assert differences(result) == {
        ("R+LLM only", "accepted %"): 0,
        ("Both", "accepted %"): 0,
        ("batch 1", "kappa"): 0,
        ("batch 2", "kappa"): pytest.approx(0.1),
        **{(row, name): 0 for row in ("R+LLM", "Both", "Retriever") for name in ("R", "P", "F1")},
    }
    assert [(gap.table, gap.what) for gap in result.missing] == [
        ("acceptance", "Retriever only"),
        ("kappa", "qualification"),
    ]


def test_link_clusters_use_gold_links_or_accepted_candidates(tmp_path):
    tables = {
        "link_clusters": {
            "NEWS-SYNTH": [2, 5, 60, 3, 3],
            "REVIEWS-HE": [1, 3, 67, 2.0, 2],
            "NEWS-HE": [1, 1, 1, 1, 1],
            "columns": ["pairs"],
        }
    }
    source = data(tmp_path, tables)
    texts = {str(index): f"Sentence {index}." for index in range(5)}
    # 0-0, 1-1 and 2-1 form a chain; 4-0 has no neighbour; the other 2-1 belongs to another pair.
    links = {"0": ["0"], "1": ["1"], "2": ["1"], "4": ["0"]}
    pairs = {"p": {"doc1": "a", "doc2": "b", "links": links}, "q": {"doc1": "b", "doc2": "a", "links": {"2": ["1"]}}}
    (source / "news_synth").mkdir()
    (source / "news_synth" / "docs.json").write_text(json.dumps({"a": texts, "b": texts}), encoding="utf-8")
    (source / "news_synth" / "x_links.json").write_text(json.dumps(pairs), encoding="utf-8")
    nested = {name: {"doc1": texts, "doc2": texts} for name in ("d", "never judged")}
    (source / "reviews_he" / "docs.json").write_text(json.dumps(nested), encoding="utf-8")
    rows = ("0,1,llm,Link,Link", "1,2,random,Link,Link", "3,4,llm,Link,Link", "0,2,llm,Link,No Link")
    judged = "\n".join(["document_id,source_id,target_id,method,annotator_1,annotator_2", *(f"d,{r}" for r in rows)])
    (source / "reviews_he" / "annotations.csv").write_text(judged, encoding="utf-8")
    result = reproduce(source)
    printed = [figure for figure in result.figures if figure.paper is not None]
    assert [(figure.dataset, figure.measure, figure.difference) for figure in printed] == [
        (dataset, measure, 0)
        for dataset in ("NEWS-SYNTH", "REVIEWS-HE")
        for measure in ("pairs", "links", "links in clusters %", "mean size", "max size")
    ]
    assert [(gap.dataset, gap.table) for gap in result.missing] == [("NEWS-HE", "link_clusters")]
    (source / "reviews_he" / "docs.json").write_text('{"d": {"doc1": {"0": "A."}, "doc2": {"1": "B."}}}', "utf-8")
    assert "judged link '1' to '2'" in reproduce(source).missing[0].reason


def test_missing_data_models_and_tables_are_named_with_the_reason(tmp_path):
    tables = {
        "retrieval": {"NEWS-ECB+": {"bm25": {"1": [1, 1, 1]}, "grep": {"1": [1, 1, 1]}}, "MOON": {}},
        "acceptance": {"NEWS-HE": {"Both": 50}},
        "kappa": {"NEWS-HE": {"all": 0.5}},
        "true_recall": {"NEWS": {"Both": [1, 1, 1]}},
        "significance": {"NEWS-ECB+": [0.5, 0.5, 0, [0, 0], "1"]},
        "note": "text",
    }
    result = reproduce(data(tmp_path, tables, with_data=False))
    assert result.figures == ()
    reasons = {(gap.table, gap.dataset, gap.what): gap.reason for gap in result.missing}
    assert reasons.pop(("retrieval", "NEWS-ECB+", "all")) == "no such data: no folder news_ecb"
    assert "no folder is known" in reasons.pop(("retrieval", "MOON", "all"))
    assert "no retriever 'grep'" in reasons.pop(("retrieval", "all", "grep"))
    assert "annotations.csv" in reasons.pop(("acceptance", "NEWS-HE", "all"))
    assert "annotations.csv" in reasons.pop(("kappa", "NEWS-HE", "all"))
    assert "_gold_labels.csv" in reasons.pop(("true_recall", "NEWS", "all"))
    assert "LLM" in reasons.pop(("significance", "all", "all"))
    assert reasons == {}


def test_a_broken_data_set_is_missing_and_the_others_are_compared(tmp_path):
    tables = {"retrieval": {"NEWS-ECB+": {"bm25": {"1": [1, 1, 1]}}}, "kappa": {"REVIEWS-HE": {"batch 1": 0.4}}}
    source = data(tmp_path, tables)
    (source / "news_ecb" / "docs.json").write_text("[", encoding="utf-8")
    result = reproduce(source)
    assert differences(result) == {("batch 1", "kappa"): 0}
    assert [gap.dataset for gap in result.missing] == ["NEWS-ECB+"]
    assert "is not JSON" in result.missing[0].reason


def test_predictions_that_lack_a_source_are_named(tmp_path):
    source = data(tmp_path, {"true_recall": {"REVIEWS": {"Both": [1, 1, 1]}}})
    (source / "reviews_he" / "predictions_x.json").write_text('{"d": {"0": {"R+LLM": []}}}', encoding="utf-8")
    assert "no predictions for the source '4' of 'd'" in reproduce(source).missing[0].reason
    (source / "reviews_he" / "predictions_x.json").write_text('{"d": {"0": 7}}', encoding="utf-8")
    assert "does not fit" in reproduce(source).missing[0].reason


@pytest.mark.parametrize(
    ("tables", "problem"), [({}, "none of the tables"), ({"kappa": 7}, "does not fit: kappa"), ([], "contains a list")]
)
def test_unreadable_figures_are_one_clear_error(tmp_path, tables, problem):
    with pytest.raises(InputError, match=problem):
        reproduce(data(tmp_path, tables, with_data=False))


def test_a_folder_without_figures_and_an_unknown_retriever_are_clear_errors(tmp_path):
    with pytest.raises(InputError, match=r"paper_tables\.json does not exist"):
        reproduce(tmp_path / "nowhere")
    with pytest.raises(InputError, match="the paper has no retriever 'grep'"):
        reproduce(data(tmp_path, {"kappa": {}}), ["grep"])


def news(folder: Path, tables: object) -> Path:
    """A data set of two pairs whose links the scripted LLM knows."""
    pairs, documents = zip(*(pair_of(f"p{n}") for n in range(2)), strict=True)
    texts = {d.id: {s.id: s.text for s in d.sentences} for some in documents for d in some}
    links = {p.id: {"doc1": p.source, "doc2": p.target, "links": dict(p.links)} for p in pairs}
    source = data(folder, tables, with_data=False)
    (source / "news_ecb").mkdir()
    (source / "news_ecb" / "docs.json").write_text(json.dumps(texts), encoding="utf-8")
    (source / "news_ecb" / "x_links.json").write_text(json.dumps(links), encoding="utf-8")
    return source


LLM_TABLES = {
    "retriever_llm": {"NEWS-ECB+": {"BM25": [50.0, 100.0], "SFR": [58.19, 53.88]}},
    "significance": {"NEWS-ECB+": [0.5, 1.0, 0.5, [0.4, 0.6], "<0.001"]},
    "setups_by_mode": {"NEWS-ECB+": {"exact listwise": {"1": 100.0}}},
}


def knows(request):
    """Answer by the gold links, in every set-up."""
    if list(request.schema["properties"]) != ["related"]:
        return exact(request)
    source, target = (re.search(rf"{name}: \[(\S+)\]", request.prompt)[1] for name in ("Source sentence", "Candidate"))
    return says(json.dumps({"related": target in gold(source)}))


@pytest.fixture
def exact_llm(isolated_home):
    """An LLM that knows all links, under the name of the paper's model."""
    with FakeLLM(knows, models=("Qwen2.5-32B-Instruct-AWQ",)) as server:
        table = f'[llm.exact]\nbase_url = "{server.base_url}"\nmodel = "Qwen2.5-32B-Instruct-AWQ"\n'
        isolated_home.mkdir(exist_ok=True)
        (isolated_home / "abcdlink.toml").write_text(f'{table}[roles]\nlinkers = ["exact"]\n', encoding="utf-8")
        yield server


def test_the_llm_tables_are_computed_if_an_endpoint_is_set(tmp_path, exact_llm):
    source = news(tmp_path / "data", LLM_TABLES)
    told = []
    result = reproduce(
        source, ["bm25"], llms=LLMTablesPlan(tell=lambda found, run: told.append((run, found.total.calls)))
    )
    # Four sources with links; one question of each run is asked to time it; pairwise asks one question per candidate.
    assert told == [("reproduce-bases", 4 - 1), ("reproduce-modes", 4 * (4 + 4 + 4 * 6) - 4 - 1)]
    figures = {(one.table, one.row, one.measure): one for one in result.figures}
    with_llm = figures["retriever_llm", "BM25", "R+LLM, F1"]
    # A cutoff of ten covers all six sentences, so that an LLM that knows the links finds every one.
    assert (with_llm.ours, with_llm.paper, with_llm.difference, with_llm.remark) == (100, 100, 0, "")
    alone = figures["retriever_llm", "BM25", "R, best F1"].ours
    added = figures["significance", "BM25", "R+LLM - R"]
    assert added.ours == pytest.approx(1 - alone / 100)
    low, high = (figures["significance", "BM25", name].ours for name in ("low", "high"))
    assert low <= added.ours <= high
    assert added.paper is None  # the paper's figure is for Dragon+
    for setup in ("BM25+exact listwise", "BM25+exact pairwise", "exact llm-only"):
        for mode in (1, 2, 3, 4):
            assert figures["setups_by_mode", setup, f"F1, mode {mode}"].ours == 100
    assert figures["setups_by_mode", "BM25+exact listwise", "F1, mode 1"].difference == 0
    missing = {(gap.table, gap.what): gap.reason for gap in result.missing}
    assert "is not on this machine" in missing["retriever_llm", "Dragon+"]
    asked = len(exact_llm.questions)
    assert reproduce(source, ["bm25"]).figures == result.figures
    assert len(exact_llm.questions) == asked
    prompts = [request.prompt for request in exact_llm.questions]
    assert all("related to the source sentence" in prompt for prompt in prompts)
    assert not [prompt for prompt in prompts if re.search(r"Source sentence: \[p\d-s2\]", prompt)]  # it has no links


def test_another_model_or_a_sample_is_not_compared(tmp_path, exact_llm, monkeypatch):
    config = tmp_path / "home" / "abcdlink.toml"
    path = next(path for path in (config, *tmp_path.rglob("abcdlink.toml")) if path.is_file())
    path.write_text(path.read_text().replace('model = "Qwen2.5-32B-Instruct-AWQ"', 'model = "other"'), encoding="utf-8")
    exact_llm.models = ("other",)
    monkeypatch.setattr("abcdlink.reproduction.llm.MODES", (4,))
    result = reproduce(news(tmp_path / "data", LLM_TABLES), ["bm25"], llms=LLMTablesPlan(sources=2))
    remarks = {one.remark for one in result.figures if one.table == "retriever_llm"}
    assert remarks == {"by other, 2 of 4 sources"}
    assert result.compared == ()


def test_without_an_endpoint_the_llm_tables_are_skipped_with_a_reason(tmp_path):
    result = reproduce(news(tmp_path, LLM_TABLES), ["bm25"])
    reasons = {gap.table: gap.reason for gap in result.missing if gap.table in LLM_TABLES}
    assert set(reasons) == set(LLM_TABLES)
    assert all("no LLM endpoint is set" in reason for reason in reasons.values())


def test_counts_that_were_not_printed_are_shown_without_comparison(tmp_path):
    result = reproduce(news(tmp_path, {"dataset_stats": {"NEWS-ECB+": {"pairs": 2}}}), ["bm25"])
    counts = {one.measure: one for one in result.figures if one.table == "dataset_stats"}
    assert counts["pairs"].difference == 0
    assert counts["links of a linked source"].paper is None
    assert counts["links of a linked source"].ours == 1.5
    assert counts["share of linked sources"].ours == pytest.approx(2 / 3)
    assert {one.measure for one in result.figures if one.table == "link_clusters"} >= {"pairs", "max size"}

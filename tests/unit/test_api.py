"""The public API: what a notebook imports and what others plug in."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import abcdlink
from abcdlink.corpus.records import Corpus, Document
from abcdlink.errors import InputError
from abcdlink.linking.learned import learn
from abcdlink.linking.learners import is_learned
from abcdlink.linking.saving import from_bytes, to_bytes
from abcdlink.plugins import RESERVED
from abcdlink.progress import Progress, silent
from abcdlink.retrieval import get_retriever, rank_corpus
from abcdlink.retrieval.models import Family
from abcdlink.retrieval.registry import FUSIONS
from flows.parameters import BenchmarkParameters
from tests import ROOT
from tests.helpers.command_line import called

NEWS = ROOT / "samples" / "news"
EXAMPLES = ROOT / "examples"
SCORES = ["precision", "recall", "f1", "all_sources_precision", "all_sources_recall", "all_sources_f1"]


class Reversed(abcdlink.Retriever):
    """The worst retriever: BM25 with the sign flipped."""

    def __init__(self) -> None:
        self._bm25 = get_retriever("bm25")

    def prepare(self, documents: list[Document], progress: Progress = silent) -> None:
        self._bm25.prepare(documents, progress)

    def score(self, source: Document, target: Document) -> np.ndarray:
        return -self._bm25.score(source, target)


class Mean(abcdlink.Linker):
    """Learns only how many links there are."""

    def fit(self, examples: list[abcdlink.Example]) -> int:
        return int(sum(example.linked.sum() for example in examples))

    def score(self, fitted: int, example: abcdlink.Example) -> np.ndarray:
        assert not example.linked.any(), "a linker that scores must not see gold links"
        return example.scores["bm25"] * fitted


@pytest.fixture(scope="module")
def news() -> Corpus:
    return abcdlink.read_corpus(NEWS)


@pytest.fixture
def plugged(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(plugin)
    monkeypatch.delitem(sys.modules, "my_links", raising=False)
    return plugin


def test_a_benchmark_equals_that_of_the_command_line(news: Corpus) -> None:
    table = abcdlink.benchmark(news, ["jaccard", "bm25"], cutoffs=[1, "gap"])
    assert list(table["approach"]) == ["jaccard@1", "jaccard@gap", "bm25@1", "bm25@gap"]
    assert table[SCORES].stack().between(0, 1).all()
    said = called("benchmark", NEWS, "--retrievers", "jaccard,bm25", "--cutoffs", "1,gap")["approaches"]
    for row in table.to_dict("records"):
        one = said[row["approach"]]
        assert [row[name] for name in SCORES[:3]] == [one[name] for name in SCORES[:3]]
        assert [row[f"all_sources_{name}"] for name in SCORES[:3]] == [one["all_sources"][name] for name in SCORES[:3]]
        assert row["false_link_rate"] == pytest.approx(one["all_sources"]["false_link_rate"], nan_ok=True)


def test_custom_retrievers_and_linkers_take_part(news: Corpus) -> None:
    table = abcdlink.benchmark(NEWS, [Reversed(), "bm25", Mean], cutoffs=[3]).set_index("retriever")["f1"]
    assert table["Reversed"] < table["bm25"]
    assert table[f"{__name__}:Mean"] == table["bm25"]


@pytest.mark.parametrize(
    ("approaches", "cutoffs", "problem"),
    [
        (["abcdlink.judgments:Label"], [1], "there is no retriever"),
        (["bm25", "bm25"], [1], "two approaches are called 'bm25'"),
        ([], [1], "no retriever is given"),
        (["bm25"], ["1.5"], "'1.5' is not a cutoff"),
        ([42], [1], "42 cannot be benchmarked"),
        ([Reversed], [1], "cannot be benchmarked"),
    ],
)
def test_impossible_benchmarks_are_one_clear_error(news: Corpus, approaches: list, cutoffs: list, problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(problem)):
        abcdlink.benchmark(news, approaches, cutoffs)


def test_ambiguous_names_are_refused(news: Corpus) -> None:
    class Local(Mean):
        pass

    mine = Reversed()
    mine.name = "bm25"
    with pytest.raises(InputError, match="a built-in one"):
        abcdlink.benchmark(news, [mine])
    with pytest.raises(InputError, match="top level"):
        abcdlink.benchmark(news, [Local])
    with pytest.raises(InputError, match="no gold links"):
        abcdlink.benchmark(news.model_copy(update={"pairs": []}), ["bm25"])
    assert {*Family, *FUSIONS} == set(RESERVED)
    assert not is_learned("st:json")


def test_agreement_accepts_a_file_or_judgments(tmp_path: Path) -> None:
    path = EXAMPLES / "judgments.csv"
    result = abcdlink.agreement(path)
    assert result.kappa == pytest.approx(0.6)
    assert result.acceptance["second"].candidates == 3
    broken = tmp_path / "broken.csv"
    broken.write_text(path.read_text().replace("first,Link,Link", "first,Link,Maybe", 1))
    with pytest.warns(UserWarning, match="1 row left out; the first: .*broken.csv, line 2"):
        assert abcdlink.agreement(broken).judged == 9
    with pytest.raises(InputError, match="there is no file"):
        abcdlink.agreement(tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("example", "argument", "said"),
    [
        ("benchmark", NEWS, "jaccard@5"),
        ("agreement", EXAMPLES / "judgments.csv", "kappa 0.600"),
        ("own_retriever", NEWS, "Overlap@3"),
        ("own_linker", NEWS, "__main__:Regression@1"),
    ],
)
def test_every_example_runs_and_matches_the_guide(
    example: str,
    argument: Path,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = EXAMPLES / f"{example}.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(sys, "argv", [str(path), str(argument)])
    runpy.run_path(str(path), run_name="__main__")
    assert said in capsys.readouterr().out
    assert (tmp_path / "benchmark.png").exists() == (example == "benchmark")
    _, _, code = path.read_text(encoding="utf-8").partition('"""\n\n')
    assert f"```python\n{code}```" in (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("plugged")
def test_a_plugin_is_used_by_name_in_commands_forms_and_runs(news: Corpus) -> None:
    names = ["shared-words", "scaled", "my_links:SharedWords", "my_links:Scaled", "hybrid:shared-words+bm25"]
    found = called("benchmark", NEWS, "--retrievers", ",".join(names), "--cutoffs", "1,expected-f1")["approaches"]
    assert set(found) == {f"{name}@{cutoff}" for name in names for cutoff in ("1", "expected-f1")}
    assert found["shared-words@1"]["f1"] == found["my_links:SharedWords@1"]["f1"] > 0
    plan = BenchmarkParameters(more_retrievers=["shared-words"], learned=["scaled", "my_links:Scaled"]).plan()
    assert {"shared-words", "bm25"} <= set(plan.all_retrievers)
    assert plan.all_learned == ("scaled", "my_links:Scaled")
    rankings = {name: rank_corpus(news, get_retriever(name)) for name in ("bm25", "shared-words")}
    saved = to_bytes(learn("scaled", rankings, news))
    assert json.loads(saved)["fitted"]["mean"] > 0
    with pytest.raises(InputError, match="the linker 'scaled' was fitted on the texts of the pair"):
        from_bytes(saved, "models/scaled.skops").rank(rankings, news)
    with pytest.raises(InputError, match="cannot be used as a learned linker: it is damaged"):
        from_bytes(saved[:-9], "models/scaled.skops")
    with pytest.raises(InputError, match="'gone', which is not installed"):
        from_bytes(saved.replace(b"scaled", b"gone"), "models/scaled.skops")


def test_faults_of_a_plugin_are_one_clear_error(plugged: Path, news: Corpus) -> None:
    for name, problem in (
        ("broken", "my_links:nothing, installed as 'broken' in abcdlink.retrievers, cannot be loaded"),
        ("my_links:Unfinished", "'my_links:Unfinished' cannot be used"),
        ("my_links:NotJson", "returned something that is not JSON"),
        ("my_links:WrongShape", "are of shape (1, 1, 1)"),
        ("my_links:Absent", "has no class 'Absent'"),
    ):
        with pytest.raises(InputError, match=re.escape(problem)):
            abcdlink.benchmark(news, [name])
    with pytest.raises(InputError, match="scaled"):
        abcdlink.benchmark(news, ["learned-magic"])
    with pytest.raises(InputError, match="shared-words"):
        abcdlink.benchmark(news, ["bm52"])

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from abcdlink.corpus.records import Pair
from abcdlink.feedback.memos import memos
from abcdlink.folders import LocalFolder
from abcdlink.judgments import Candidate, Pool
from abcdlink.store import Store
from tests.helpers.builders import corpus, document, judgment
from tests.helpers.example_run import make_pools, take_in

TARGETS = [
    "Short one.",
    "A candidate of rather more than six words in all.",
    "<b>bold</b> [a](http://x) *s* | `c`\n# h",
]


def small_case(own: str, other: str) -> dict[str, str]:
    """Both strings hold an L or N for each candidate of one source sentence."""
    source, pair = document("a", (f"Source {n} here." for n in range(3))), Pair(id="p", source="a", target="b")
    candidates = tuple(Candidate(target=str(n), method="secretmethod") for n in range(3))
    pool = Pool(key="k", batch=1, pair="p", source="0", candidates=candidates)
    judgments = [
        judgment(("p", "0", str(place)), number, letter == "L", method="secretmethod")
        for number, column in ((1, own), (2, other))
        for place, letter in enumerate(column)
        if letter != " "
    ]
    return memos(judgments, corpus([pair], source, document("b", TARGETS)), [pool])


def test_a_memo_gives_rates_and_directions():
    both = small_case("NNL", "LLL")
    assert "| annotator-2 | 3 | 33% | 100% | 2 | 0 |" in both["annotator-1"]
    assert "differ on 2 of 3" in both["annotator-1"]
    assert "| annotator-1 | 3 | 100% | 33% | 0 | 2 |" in both["annotator-2"]


def test_patterns_count_short_and_distant_candidates():
    memo = small_case("NLN", "LLL")["annotator-1"]
    assert "| short candidate | 1 of 1 | 100% |" in memo
    assert "| far apart | 1 of 1 | 100% |" in memo
    assert "| all candidates | 2 of 3 | 67% |" in memo


def test_texts_reach_the_reader_unchanged():
    html = MarkdownIt("commonmark", {"html": True}).render(small_case("LLN", "LLL")["annotator-1"])
    assert "&lt;b&gt;bold&lt;/b&gt; [a](http://x) *s* | `c` # h" in html


def test_full_agreement_leaves_nothing_to_review():
    memo = small_case("LNL", "LNL")["annotator-1"]
    assert "Nowhere so far" in memo
    assert "Case 1" not in memo
    assert "Kappa: 1.00" in memo


def test_a_single_label_makes_agreement_undefined():
    assert "undefined (one label only)" in small_case("LLL", "LLL")["annotator-1"]


def test_a_lone_annotator_has_nothing_to_compare():
    result = small_case("LNL", "   ")
    assert list(result) == ["annotator-1"]
    assert "nothing to compare" in result["annotator-1"]


def test_missing_judgments_are_not_disagreements():
    assert "differ on 0 of 2" in small_case("LN ", "LNL")["annotator-1"]


@pytest.fixture
def run(tmp_path: Path) -> Store:
    return Store(LocalFolder(tmp_path / "r"), "r")


def test_memos_never_reveal_methods_and_show_at_most_five_cases(run: Store):
    corpus = take_in(run)
    judgments = make_pools(run, corpus)
    result = memos(judgments, corpus, run.read_records("candidates.jsonl", Pool))
    assert list(result) == ["annotator-1", "annotator-2"]
    for memo in result.values():
        assert memo.count("### Case") == 5
        for word in ("retriever", "llm", "random", "distractor"):
            assert word not in memo.lower()
    assert "secretmethod" not in small_case("LNL", "NLN")["annotator-1"]

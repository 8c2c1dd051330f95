"""Text files are cleaned line by line before segmentation; lines go or stay, and can be restored."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.cleaning import AskAbout, CleaningPlan
from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.domain import Domain, find_domain
from abcdlink.errors import InputError
from abcdlink.stages.corpora import run_cleaning, run_restore
from tests.helpers.fake_llm import FakeLLM, Request, Response, says

ARTICLE = """\
The bridge is shut

The bridge over the Arle was shut
after a crack was found.
Share this
Photo: Jane Doe

The menu of the day: soup

It will open in May.
"""
RULES = CleaningPlan(ask=AskAbout.NONE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "raw" / "deep").mkdir(parents=True)
    (tmp_path / "raw" / "a.source.txt").write_text(ARTICLE, encoding="utf-8")
    (tmp_path / "raw" / "a.target.txt").write_bytes("Es öffnet.\r\nPage 7\r\nIm Mai.\r\n".encode())
    (tmp_path / "raw" / "deep" / "blank.txt").write_text("\n", encoding="utf-8")
    (tmp_path / "raw" / "pairs.csv").write_text("source,target\na.source,a.target\n", encoding="utf-8")
    return tmp_path


def test_rules_and_leftovers_apply_before_segmentation(folder: Path, news: Domain) -> None:
    raw, out = folder / "raw", folder / "clean"
    counts = run_cleaning(str(raw), str(out), news, RULES)
    assert str(counts).startswith("3 of 10 lines removed from 2 of 2 documents")
    assert (out / "a.source.txt").read_text(encoding="utf-8") == ARTICLE.replace("Share this\nPhoto: Jane Doe\n", "")
    assert (out / "a.target.txt").read_bytes() == "Es öffnet.\nIm Mai.\n".encode()
    assert (out / "deep" / "blank.txt").read_bytes() == b"\n"
    page = (out / "removed.html").read_text(encoding="utf-8")
    assert "<del>Photo: Jane Doe</del>" in page
    made = import_corpus("text", out, get_segmenter())
    assert made.documents["a.source"].texts[1] == ("The bridge over the Arle was shut after a crack was found.")
    assert [(pair.source, pair.target) for pair in made.pairs] == [("a.source", "a.target")]
    with pytest.raises(InputError, match="is the corpus to be cleaned"):
        run_cleaning(str(raw), str(raw), news, RULES)


def test_removed_lines_can_be_restored_twice_over(folder: Path, news: Domain) -> None:
    raw, out = folder / "raw", folder / "clean"
    run_cleaning(str(raw), str(out), news, RULES)
    before = (out / "removed.jsonl").read_bytes()
    assert run_restore(str(out), news, ("a.source.txt",)) == 2
    assert (out / "a.source.txt").read_text(encoding="utf-8") == ARTICLE
    (out / "removed.jsonl").write_bytes(before)  # as if it had been killed before recording what it did
    assert run_restore(str(out), news) == 3
    assert (out / "a.source.txt").read_text(encoding="utf-8") == ARTICLE
    assert (out / "a.target.txt").read_bytes() == "Es öffnet.\nPage 7\nIm Mai.\n".encode()


def test_the_llm_chooses_which_lines_are_removed(folder: Path, news: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request) -> Response:
        lines = [line for line in request.prompt.splitlines() if line[:1].isdigit()]
        return says(json.dumps({"remove": [int(line.split(":")[0]) for line in lines if "menu" in line]}))

    with FakeLLM(answer) as llm:
        llm.use(monkeypatch)
        counts = run_cleaning(str(folder / "raw"), str(folder / "clean"), news, CleaningPlan())
    assert counts.removed["LLM"] == 1
    # Only the article has a line without closing punctuation that is neither its first nor wrapped.
    assert (counts.asked, len(llm.questions)) == (1, 1)
    assert "menu" not in (folder / "clean" / "a.source.txt").read_text(encoding="utf-8")


lines = st.lists(st.sampled_from(["It rained.", "Share this", "", "Page 3", "> He wrote.", "\t", "Ja ö"]), max_size=12)


@given(st.lists(lines, min_size=1, max_size=3))
def test_cleaning_and_restoring_returns_any_files_unchanged(tmp_path_factory, documents) -> None:
    root, news = tmp_path_factory.mktemp("any"), find_domain("news")
    (root / "raw").mkdir()
    for number, some in enumerate(documents):
        (root / "raw" / f"{number}.txt").write_text("".join(f"{line}\n" for line in some), encoding="utf-8")
    if not any(line.strip() for some in documents for line in some):
        with pytest.raises(InputError, match="no text file that can be used"):
            run_cleaning(str(root / "raw"), str(root / "clean"), news, RULES)
        return
    run_cleaning(str(root / "raw"), str(root / "clean"), news, RULES)
    for file in (root / "raw").iterdir():
        kept = (root / "clean" / file.name).read_text(encoding="utf-8").split("\n")
        left = iter(file.read_text(encoding="utf-8").split("\n"))
        assert all(line in left for line in kept), "lines in their order, none changed"
    run_restore(str(root / "clean"), news)
    for file in (root / "raw").iterdir():
        assert (root / "clean" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("text", "goes"),
    [
        ("Competing Interests: No competing interests were disclosed.", True),
        ("I confirm that I have read this submission and believe that I have an appropriate level of expertise.", True),
        ("Is the study design appropriate and is the work technically sound? Partly", True),
        ("Reviewer #2", True),
        ("Recommendation: minor revision", True),
        ("Is the sample really large enough to say so?", False),
        ("The recommendation is clear: more data are needed.", False),
        ("The reviewer expertise needed here is rare.", False),
    ],
)
def test_rules_of_reviews(text: str, goes: bool) -> None:
    assert any(re.search(rule, text) for rule in find_domain("reviews").settings.cleaning.rules) is goes

"""The links page: everything said about each candidate, in one file or in parts, safe with any text."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from abcdlink.adjudicate import Adjudication
from abcdlink.corpus.io import read_corpus_from, write_corpus_to
from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from abcdlink.export.dataset import labelled_candidates
from abcdlink.feedback import SecondAnswer
from abcdlink.judgments import Judgment, Label, Pool, by_candidate
from abcdlink.layout import ADJUDICATIONS, JUDGMENTS, NATURAL, POOLS, batch_file
from abcdlink.report.links import PAIRS_IN_A_FILE, known_pairs, write_links
from abcdlink.stages.feedback import ANSWERS
from abcdlink.store import Store, open_run
from tests.helpers.example_run import HOSTILE, example_run, make_pools, take_in
from tests.helpers.html_page import Page


@pytest.fixture
def run(tmp_path: Path) -> Store:
    return example_run(tmp_path)


def test_every_candidate_is_listed_with_its_votes_and_final_label(run: Store) -> None:
    judgments = run.read_records(JUDGMENTS, Judgment)
    known = {(pair.id, one.source, one.target): one for pair in known_pairs(run) for one in pair.candidates}
    groups = by_candidate(judgments)
    assert known.keys() == groups.keys()
    for at, one in known.items():
        assert dict(one.votes) == {name: judgment.label for name, judgment in groups[at].items()}
        assert one.agreement == ("agree" if len(set(one.votes.values())) == 1 else "differ")
    exported = labelled_candidates(judgments, read_corpus_from(run, NATURAL))
    assert {at: one.link for at, one in known.items()} == {(c.pair, c.source, c.target): c.link for c in exported}
    html = run.read_text("links.html") if write_links(run) else ""
    assert html.count('<article class="link"') == len(known)


def test_feedback_and_adjudication_are_shown_beside_the_first_votes(run: Store) -> None:
    differ = next((p.id, c) for p in known_pairs(run) for c in p.candidates if c.agreement == "differ")
    pair, one = differ
    at = {"batch": one.batch, "pair": pair, "source": one.source, "target": one.target}
    again = SecondAnswer(**at, annotator="annotator-1", label=Label.LINK)
    run.write_records(batch_file(one.batch, ANSWERS), [again])
    decision = Adjudication(**at, adjudicator="adjudicator-1", label=Label.LINK, consensus=False)
    run.write_records(ADJUDICATIONS, [decision])
    (now,) = (
        c
        for p in known_pairs(run)
        for c in p.candidates
        if (p.id, c.source, c.target) == (pair, one.source, one.target)
    )
    assert dict(now.again) == {"annotator-1": Label.LINK}
    assert (now.decided, now.agreement, now.link) == (("adjudicator-1", Label.LINK), "decided", True)
    write_links(run)
    assert "decided by adjudicator-1" in run.read_text("links.html")


def test_unjudged_candidates_are_shown_as_such(isolated_home: Path) -> None:
    run = open_run("early")
    with pytest.raises(InputError, match=r"no candidates\.jsonl yet"):
        write_links(run)
    make_pools(run, take_in(run))
    known = [one for pair in known_pairs(run) for one in pair.candidates]
    assert len(known) == sum(len(pool.candidates) for pool in run.read_records(POOLS, Pool))
    assert {(one.agreement, one.link) for one in known} == {("not judged", None)}


def test_texts_are_escaped_and_only_our_script_may_run(run: Store) -> None:
    write_links(run)
    html = run.read_text("links.html")
    Page(html.replace(html[html.index("<script>") : html.index("</script>") + 9], ""))
    assert HOSTILE not in html
    assert "<img" not in html
    script = re.search(r"<script>(.*)</script>", html, re.DOTALL)
    assert script
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html.replace("&#39;", "'")
    assert html.count("<script") == 1


@pytest.mark.parametrize(("copies", "files"), [(1, 0), (4, 2)])
def test_many_pairs_are_split_into_parts_and_each_can_be_found(run: Store, copies: int, files: int) -> None:
    corpus = read_corpus_from(run, NATURAL)
    several = [pair.model_copy(update={"id": f"{pair.id}-{n}"}) for n in range(copies) for pair in corpus.pairs]
    write_corpus_to(run, NATURAL, Corpus(name="n", documents=dict(corpus.documents), pairs=several))
    for name, kind in ((POOLS, Pool), (JUDGMENTS, Judgment)):
        records = run.read_records(name, kind)
        more = [r.model_copy(update={"pair": f"{r.pair}-{n}"}) for n in range(copies) for r in records]
        run.write_records(name, more)
    write_links(run)
    parts = run.folder.names("links/")
    assert len(parts) == files
    index = run.read_text("links.html")
    assert all(pair.id in index for pair in several)
    for number, part in enumerate(parts):
        here = several[number * PAIRS_IN_A_FILE : (number + 1) * PAIRS_IN_A_FILE]
        html = run.read_text(part)
        assert html.count('<section class="pair"') == len(here)
        assert all(f'href="{part}#pair-{place}"' in index for place in range(1, len(here) + 1))

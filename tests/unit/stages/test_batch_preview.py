"""Before annotators see a batch: its contents, expected time, new filters and Go, with kills in between."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from abcdlink.candidates.pools import PoolMode
from abcdlink.corpus.io import read_corpus_from, write_corpus_to
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.judgments import BOTH, SECONDS_A_CANDIDATE, Pool
from abcdlink.layout import JUDGMENTS, NATURAL, POOLS, QUALIFY_SLUG, batch_file
from abcdlink.stages import batch_preview
from abcdlink.stages.batch_preview import (
    PREVIEW_PAGE,
    checked_filters,
    filters_of,
    preview_batch,
    preview_of,
    review_of,
    take_review,
)
from abcdlink.stages.candidates import PoolPlan, read_counts
from abcdlink.store import Store, open_run
from labelstudio_config.pages.annotate import LinkingPage
from labelstudio_config.preview import MOST_TASKS, write_preview
from tests.helpers.builders import judged
from tests.helpers.example_run import HOSTILE, proposed_run, take_in
from tests.helpers.homes import other_home

AS_IT_IS: dict[str, object] = {}


@pytest.fixture(scope="module")
def proposed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a run of six pairs in two batches with candidates from BM25."""
    with other_home(tmp_path_factory.mktemp("proposed")) as home:
        proposed_run("spring")
    return home


@pytest.fixture
def run(proposed: Path, isolated_home: Path) -> Store:
    """A copy of that run."""
    shutil.copytree(proposed, isolated_home)
    return open_run("spring")


def pools(store: Store, batch: int) -> list[Pool]:
    return [pool for pool in store.read_records(POOLS, Pool) if pool.batch == batch]


def judge(store: Store, batch: int, seconds: float) -> None:
    """Let one annotator judge a batch, taking this many seconds per candidate."""
    said = [
        judged(pool, one, 1, link=True, seconds=seconds * len(pool.candidates))
        for pool in pools(store, batch)
        for one in pool.candidates
    ]
    store.write_records(batch_file(batch, JUDGMENTS), said)


def test_gold_pairs_of_the_qualification_are_named_in_the_batch_that_has_them(run: Store, news: Domain) -> None:
    corpus = read_corpus_from(run, NATURAL)
    (first, second) = (pools(run, batch)[0].pair for batch in (1, 2))
    renamed = [pair.model_copy(update={"id": "g"}) for pair in corpus.pairs if pair.id == first]
    write_corpus_to(run, QUALIFY_SLUG, corpus.model_copy(update={"pairs": renamed}))
    assert [preview_batch(run, news, batch, 2).gold for batch in (1, 2)] == [(first,), ()]
    (note,) = preview_batch(run, news, 1, 2).notes
    assert note.endswith(f"judged in the qualification: {first}")
    assert second != first


@pytest.mark.parametrize(
    ("mode", "method", "alike"), [("union", BOTH, True), ("union", "llm", False), ("intersection", BOTH, False)]
)
def test_a_preview_says_when_two_approaches_propose_the_same(
    run: Store, news: Domain, monkeypatch: pytest.MonkeyPatch, mode: PoolMode, method: str, alike: bool
) -> None:
    monkeypatch.setattr(batch_preview, "plan_of", lambda _: PoolPlan(mode=mode))
    every = [
        pool.model_copy(update={"candidates": tuple(c.model_copy(update={"method": BOTH}) for c in pool.candidates)})
        for pool in run.read_records(POOLS, Pool)
    ]
    last = every[-1].candidates[-1].model_copy(update={"method": method})
    run.write_records(POOLS, [*every[:-1], every[-1].model_copy(update={"candidates": (last,)})])
    said = [str(value) for _, value in preview_batch(run, news, 2, 2).rows]
    assert any("cannot tell which is better" in one for one in said) == alike


def test_a_preview_counts_the_pools_and_measures_time_if_possible(run: Store, news: Domain) -> None:
    first = preview_batch(run, news, 1, 2)
    mine = pools(run, 1)
    assert (first.tasks, first.candidates) == (len(mine), sum(len(pool.candidates) for pool in mine))
    assert sum(first.methods.values()) == first.candidates
    sentences = 3 * 8
    assert first.tasks + sum(first.left_out.values()) == sentences
    assert first.hours == pytest.approx(first.candidates * SECONDS_A_CANDIDATE / 3600)
    assert "11 seconds per candidate (assumed)" in first.time
    judge(run, 1, 4.0)
    second = preview_batch(run, news, 2, 3)
    assert second.timed == first.candidates
    assert second.seconds == pytest.approx(4.0)
    assert f"for each of 3 annotators, at 4 seconds per candidate (measured on {first.candidates}" in second.time


def test_new_filters_apply_from_this_batch_on(run: Store, news: Domain) -> None:
    before = {batch: pools(run, batch) for batch in (1, 2)}
    said = {"exclude": ["(?#ferries)Ferries"], "min_words": 12}
    assert not take_review(run, news, 2, said, go=False).go
    assert pools(run, 1) == before[1]
    assert 0 < len(pools(run, 2)) < len(before[2])
    assert filters_of(run, news, 1) == news.settings.sources
    assert filters_of(run, news, 2).exclude == filters_of(run, news, 3).exclude == ("(?#ferries)Ferries",)
    found = preview_batch(run, news, 2, 2)
    assert {"ferries", "fewer than 12 words"} <= found.left_out.keys()
    assert read_counts(run).pools == len(run.read_records(POOLS, Pool))
    # And back to the original filters.
    review = take_review(run, news, 2, news.settings.sources.model_dump(mode="json"), go=True)
    assert (review.looks, review.go) == (2, True)
    assert pools(run, 2) == before[2]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"exclude": ["("]}, "is not a valid regular expression"),
        ({"min_words": 0}, "min_words"),
        ({"min_words": 1000}, "no candidates to annotate"),
        ({"exclude": ["."]}, "no candidates to annotate"),
        ({"words": 3}, "words"),
    ],
)
def test_invalid_filters_change_nothing_and_do_not_give_go(
    run: Store, news: Domain, said: dict[str, object], problem: str
) -> None:
    before = run.read_records(POOLS, Pool)
    review = take_review(run, news, 1, said, go=True)
    assert not review.go
    assert problem in review.problem
    assert run.read_records(POOLS, Pool) == before
    assert review_of(run, 1) == review
    assert take_review(run, news, 1, AS_IT_IS, go=True).problem == ""
    if "no candidate" not in problem:
        with pytest.raises(InputError):
            checked_filters(news.settings.sources, said)


@pytest.mark.parametrize("stops_at", range(4))
def test_after_a_kill_between_any_two_files_repeating_the_command_finishes(
    run: Store, news: Domain, monkeypatch: pytest.MonkeyPatch, stops_at: int
) -> None:
    said = {"min_words": 12}
    written: list[str] = []

    def write(name: str, content: bytes) -> None:
        written.append(name)
        if len(written) > stops_at:
            raise KeyboardInterrupt
        type(run.folder).write(run.folder, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(run.folder, "write", write)
        with pytest.raises(KeyboardInterrupt):
            take_review(run, news, 1, said, go=True)
    assert not review_of(run, 1).go
    again = open_run(run.key)
    assert take_review(again, news, 1, said, go=True).go
    assert {pool.source for pool in pools(again, 1)} == {pool.source for pool in pools(run, 1)}
    texts = preview_batch(again, news, 1, 2)
    assert texts.filters.min_words == 12
    assert texts.tasks == len(pools(again, 1))


def test_external_pools_are_shown_but_not_filtered(news: Domain) -> None:
    store = open_run("by-hand")
    take_in(store)
    source, target = "0", "1"
    store.write_records(
        POOLS,
        [Pool(key="k", batch=1, pair="natural-0", source=source, candidates=({"target": target, "method": "x"},))],
    )
    assert preview_batch(store, news, 1, 1).candidates == 1
    assert "not built by its stage" in take_review(store, news, 1, {"min_words": 9}, go=True).problem
    assert take_review(store, news, 1, AS_IT_IS, go=True).go


def test_the_page_shows_tasks_as_annotators_see_them_without_methods(run: Store, news: Domain) -> None:
    page = LinkingPage(batch=1, overlap=2)
    preview = write_preview(run, news, page)
    assert preview_of(run, 1) == preview
    shown = run.read_text(batch_file(1, PREVIEW_PAGE))
    assert shown.count("<section ") == min(MOST_TASKS, preview.tasks)
    assert not any(
        f"{method}" in re.sub(r"<style>.*?</style>", "", shown, flags=re.DOTALL) for method in preview.methods
    )
    assert HOSTILE not in shown
    assert "<script" not in shown
    assert "&lt;img src=x" in shown
    assert news.settings.question in shown
    ids = re.findall(r' id="([^"]+)"', shown)
    assert len(ids) == len(set(ids)) > 0
    assert {*re.findall(r'for="([^"]+)"', shown)} <= {*ids}


def test_nothing_is_rewritten_when_nothing_changes(run: Store, news: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_preview, "make_pools", pytest.fail)
    assert take_review(run, news, 1, news.settings.sources.model_dump(mode="json"), go=True).go

"""Tasks hold only texts and opaque ids; annotations become judgments, and anything lost is reported."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from abcdlink.corpus.io import read_corpus
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.domain import Domain, find_domain
from abcdlink.errors import InputError, ServiceError
from abcdlink.folders import LocalFolder
from abcdlink.judgments import Annotator, Candidate, Label, Pool
from abcdlink.store import Store
from labelstudio_config.accounts import with_own_token
from labelstudio_config.client import Client
from labelstudio_config.pages import TITLE_LIMIT, document_html, guidelines_html
from labelstudio_config.pages.annotate import batch_title, candidate_id, documents_of, task_data
from labelstudio_config.simulate import LENIENT, STRICT, Mistakes, gold_of, judge, mark_simulated, mistakes_of
from tests.helpers.annotation import as_read
from tests.helpers.builders import document
from tests.helpers.pulls import OneProject, pull_batch, read_project

RUN = "a-run"


SOURCE = document("source", ["The bridge fell.", "Nobody was hurt."], "{name}-{n}")
TARGET = document("target", ["A bridge collapsed.", "There were no injuries.", "It rained."], "{name}-{n}")
CORPUS = Corpus(
    name="c", documents={"source": SOURCE, "target": TARGET}, pairs=[Pair(id="p", source="source", target="target")]
)


def pool(key: str = "key-1", methods: tuple[str, ...] = ("llm", "random"), batch: int = 1) -> Pool:
    candidates = tuple(Candidate(target=f"target-{n}", method=method) for n, method in enumerate(methods))
    return Pool(key=key, batch=batch, pair="p", source="source-0", candidates=candidates)


class Page(HTMLParser):
    """A page as a browser sees it: elements and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, _attrs: Any) -> None:
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.lists(st.text(), min_size=1, max_size=5), st.sets(st.integers(0, 4)))
def test_no_sentence_becomes_html(texts: list[str], marked: set[int]) -> None:
    marks = {f"d-{n}": str(n) for n in marked}
    html = document_html(document("d", texts, "{name}-{n}"), marks)
    page = Page()
    page.feed(html)
    page.close()
    assert set(page.elements) <= {"p", "mark", "button"}
    assert page.elements.count("p") == len(texts)
    assert page.elements.count("mark") == sum(n < len(texts) for n in marked)
    assert html.count("scroll-initial-target") == (1 if page.elements.count("mark") else 0)
    assert not any(ord(character) < 32 and character not in "\t\n\r" for character in html)


def test_a_task_holds_only_texts_and_opaque_ids(news: Domain) -> None:
    data = task_data(pool(), SOURCE, TARGET, news, "1 of 9")
    assert set(data) == {
        *("progress", "question", "doc_a_name", "doc_b_name", "source_text"),
        *("doc_a_html", "doc_b_html", "jumps_html", "candidates", "more"),
    }
    assert [set(candidate) for candidate in data["candidates"]] == [{"id", "text"}] * 2
    assert data["candidates"][1]["text"] == "1 · There were no injuries."


def test_a_task_does_not_depend_on_the_methods(news: Domain) -> None:
    one = task_data(pool(methods=("llm", "random")), SOURCE, TARGET, news, "1 of 9")
    other = task_data(pool(methods=("both", "retriever")), SOURCE, TARGET, news, "1 of 9")
    assert one == other


def test_an_empty_sentence_is_shown_as_such(news: Domain) -> None:
    data = task_data(
        pool(), document("source", [" \n"], "{name}-{n}"), document("target", ["*", ""], "{name}-{n}"), news, "1 of 9"
    )
    assert data["source_text"] == "(empty sentence)"
    assert [c["text"] for c in data["candidates"]] == ["0 · *", "1 · (empty sentence)"]


def test_a_pool_that_does_not_match_the_corpus_is_named() -> None:
    with pytest.raises(InputError, match="'target-9'"):
        documents_of([pool().model_copy(update={"candidates": (Candidate(target="target-9", method="llm"),)})], CORPUS)
    with pytest.raises(InputError, match="'nowhere'"):
        documents_of([pool().model_copy(update={"pair": "nowhere"})], CORPUS)


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", fullmatch=True), st.integers(1, 99))
def test_titles_are_short_enough_and_distinct(run: str, batch: int) -> None:
    assert len(batch_title(run, batch)) <= TITLE_LIMIT
    assert len({batch_title(run, batch), batch_title(run, batch + 1), batch_title(run + "x", batch)}) == 3


def test_html_in_guidelines_is_shown_as_text(news: Domain) -> None:
    news.guidelines = "# Read\n\n<script>alert(1)</script> **this** [now](javascript:alert(1))"
    html = guidelines_html(news.guidelines)
    page = Page()
    page.feed(html)
    assert set(page.elements) == {"div", "h1", "p", "strong"}
    assert "<script>alert(1)</script>" in page.text


def served(*tasks: dict[str, Any]) -> OneProject:
    """Return the project of the first batch."""
    accounts = {7: "ada@example.org", 8: "ben@example.org", 9: "simulated-1@simulated.invalid"}
    return OneProject(batch_title(RUN, 1), list(tasks), accounts)


def annotation(number: int, user: Any, labels: dict[str, list[str]], minute: int = 0, skipped: bool = False) -> dict:
    result = [{"from_name": name, "value": {"choices": choices}} for name, choices in labels.items()]
    return {**as_read(number, user, result, f"2026-01-01T10:{minute:02}:00Z", cancelled=skipped), "lead_time": 12.5}


def task(*annotations: dict[str, Any], key: str = "key-1") -> dict[str, Any]:
    candidates = [{"id": candidate_id(key, f"target-{n}"), "text": "..."} for n in range(2)]
    data = {"task_key": key, "candidates": candidates, "doc_a_html": "<p>long</p>"}
    return {"id": 1, "data": data, "annotations": list(annotations)}


LINKS = {"link_0": ["Link"], "link_1": ["No Link"]}


def test_annotations_become_judgments_with_methods() -> None:
    server = served(task(annotation(1, 7, {**LINKS, "flag": ["Unsure"]}), annotation(2, {"id": 9}, LINKS)))
    result = pull_batch(server, RUN, 1, [pool()])
    assert [(j.target, j.method, j.annotator, j.label) for j in result.judgments] == [
        ("target-0", "llm", "annotator-1", Label.LINK),
        ("target-1", "random", "annotator-1", Label.NO_LINK),
        ("target-0", "llm", "annotator-2", Label.LINK),
        ("target-1", "random", "annotator-2", Label.NO_LINK),
    ]
    assert result.judgments[0].seconds == 12.5
    assert result.judgments[0].flags == ("Unsure",)
    assert [(a.account, a.simulated) for a in result.annotators] == [
        ("ada@example.org", False),
        ("simulated-1@simulated.invalid", True),
    ]
    assert result.anomalies == []
    (raw,) = read_project(server, batch_title(RUN, 1), [pool().key]).raw
    assert raw["annotations"]
    assert "doc_a_html" not in raw["data"]


@pytest.mark.parametrize("order", [(0, 5), (5, 0)])
def test_the_latest_answer_counts_and_the_others_are_reported(order: tuple[int, int]) -> None:
    first, second = order
    flipped = {"link_0": ["No Link"], "link_1": ["No Link"]}
    server = served(task(annotation(1, 7, LINKS, minute=first), annotation(2, 7, flipped, minute=second)))
    result = pull_batch(server, RUN, 1, [pool()])
    assert [j.label for j in result.judgments] == [Label.NO_LINK if second > first else Label.LINK, Label.NO_LINK]
    assert result.anomalies == ["annotator-1 answered the task key-1 2 times; the newest counts"]


def test_candidates_are_found_by_id_not_by_position() -> None:
    turned = pool().model_copy(update={"candidates": pool().candidates[::-1]})
    server = served(task(annotation(1, 7, LINKS)))
    result = pull_batch(server, RUN, 1, [turned])
    assert {j.target: (j.method, j.label) for j in result.judgments} == {
        "target-0": ("llm", Label.LINK),
        "target-1": ("random", Label.NO_LINK),
    }


def test_unreadable_answers_are_reported() -> None:
    odd = {"link_0": ["Link", "No Link"], "link_7": ["Link"], "stars": ["5"]}
    server = served(task(annotation(1, 7, odd)), task(key="unknown"))
    result = pull_batch(server, RUN, 1, [pool(), pool(key="key-2")])
    assert result.judgments == []
    said = "\n".join(result.anomalies)
    for part in ("link_0", "stars", "candidate 7", "left 2 of 2", "key-2", "1 tasks"):
        assert part in said


def test_the_answer_of_a_deleted_account_is_kept() -> None:
    result = pull_batch(served(task(annotation(1, None, LINKS), annotation(2, 55, LINKS))), RUN, 1, [pool()])
    assert len(result.judgments) == 4
    assert [a.account for a in result.annotators] == ["deleted-account", "account-55"]


def test_pseudonyms_are_stable() -> None:
    before = [Annotator(annotator="annotator-1", account="ben@example.org", simulated=False)]
    server = served(task(annotation(1, 7, LINKS), annotation(2, 8, LINKS)))
    result = pull_batch(server, RUN, 1, [pool()], before)
    assert {a.account: a.annotator for a in result.annotators} == {
        "ben@example.org": "annotator-1",
        "ada@example.org": "annotator-2",
    }


def annotated(links: dict[str, tuple[str, ...]] | None) -> Corpus:
    return CORPUS.model_copy(update={"pairs": [CORPUS.pairs[0].model_copy(update={"links": links})]})


def test_gold_names_the_linked_candidates_of_each_task_by_their_opaque_ids() -> None:
    pools = [pool("one"), pool("two").model_copy(update={"source": "source-1"})]
    gold = gold_of(pools, annotated({"source-0": ("target-1", "target-2")}))
    assert gold == {"one": {candidate_id("one", "target-1")}, "two": set()}


def test_only_annotated_pairs_can_be_simulated() -> None:
    with pytest.raises(InputError, match=r"'p' has no gold links.*have people annotate"):
        gold_of([pool()], CORPUS)
    with pytest.raises(InputError, match="'nowhere'"):
        gold_of([pool().model_copy(update={"pair": "nowhere"})], annotated({}))


def test_simulated_annotators_differ_and_err_half_as_often_after_feedback() -> None:
    strict, middle, lenient = (mistakes_of(number, 3, batch=1) for number in (1, 2, 3))
    assert strict == pytest.approx(STRICT)
    assert lenient == pytest.approx(LENIENT)
    assert strict.missed_link > middle.missed_link > lenient.missed_link
    assert strict.false_link < middle.false_link < lenient.false_link
    for batch in (2, 3):
        assert mistakes_of(1, 3, batch) == pytest.approx([probability / 2 for probability in strict])


@given(st.booleans(), st.text())
def test_a_simulated_annotator_follows_gold_except_for_mistakes(is_link: bool, seed: str) -> None:
    right, wrong = (Label.LINK, Label.NO_LINK) if is_link else (Label.NO_LINK, Label.LINK)
    assert judge(is_link, Mistakes(0, 0), seed) == right
    assert judge(is_link, Mistakes(1, 1), seed) == wrong
    assert judge(is_link, STRICT, seed) == judge(is_link, STRICT, seed)


def test_mistakes_occur_at_the_stated_rate() -> None:
    draws, linked = 4000, True
    missed = sum(judge(linked, STRICT, f"13|a|{n}") is Label.NO_LINK for n in range(draws))
    false = sum(judge(not linked, LENIENT, f"13|a|{n}") is Label.LINK for n in range(draws))
    # Four standard deviations of a share of 4,000 draws are at most 0.028.
    assert missed / draws == pytest.approx(STRICT.missed_link, abs=0.028)
    assert false / draws == pytest.approx(LENIENT.false_link, abs=0.028)


def test_a_run_is_marked_with_everything_that_programs_judged(tmp_path: Path) -> None:
    store = Store(LocalFolder(tmp_path), RUN)
    store.note("counts", {"pairs": 3})
    mark_simulated(store, 2, accounts=1)
    mark_simulated(store, 1, accounts=2)
    mark_simulated(store, 1, accounts=2)
    assert store.manifest == {
        "counts": {"pairs": 3},
        "simulated": {
            "accounts": ["simulated-1@simulated.invalid", "simulated-2@simulated.invalid"],
            "batches": [1, 2],
        },
    }


def test_simulated_annotators_of_the_sample_agree_moderately_and_better_after_feedback() -> None:
    corpus = read_corpus(find_domain("news").sample_folder)
    texts = {pair.id: corpus.target_of(pair).sentences for pair in corpus.pairs}
    kappa = {}
    for batch in (1, 2):
        # One of six candidates is linked, as in real pools.
        pools = [
            Pool(key=f"{pair.id}|{source}", batch=batch, pair=pair.id, source=source, candidates=tuple(candidates))
            for pair in corpus.pairs
            for source, links in pair.sources_with_links.items()
            for candidates in [
                [
                    Candidate(target=links[0], method="x"),
                    *[Candidate(target=s.id, method="x") for s in texts[pair.id] if s.id not in links][:5],
                ]
            ]
        ]
        gold = gold_of(pools, corpus)
        names = [(pool.key, candidate_id(pool.key, c.target)) for pool in pools for c in pool.candidates]
        labels = [
            [judge(name in gold[key], mistakes_of(who, 2, batch), f"13|{who}|{key}|{name}") for key, name in names]
            for who in (1, 2)
        ]
        kappa[batch] = cohen_kappa_score(*labels)
    assert 0.45 < kappa[1] < 0.7
    assert kappa[2] > kappa[1] + 0.1


class Tokens(BaseHTTPRequestHandler):
    """Stands in for a Label Studio that made an account without a token."""

    made = False

    def answer(self, status: int, body: dict[str, str]) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def do_GET(self) -> None:
        if self.path == "/api/current-user/token":
            self.answer(200, {"token": "new"}) if Tokens.made else self.answer(500, {})
        else:
            self.answer(200 if Tokens.made and self.headers["Authorization"] == "Token new" else 401, {})

    def do_POST(self) -> None:
        Tokens.made = self.path == "/api/current-user/reset-token"
        self.answer(201, {"token": "new"})

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def test_an_account_without_a_token_gets_one() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Tokens) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with closing(httpx.Client(base_url=f"http://127.0.0.1:{server.server_port}")) as session:
            for _ in range(2):
                with closing(with_own_token(session)) as connection:
                    assert connection.headers["Authorization"] == "Token new"
        server.shutdown()


class Exports(Tokens):
    """Stands in for a Label Studio whose first exports were read while another export wrote the same file."""

    replies: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.replies.pop(0).encode())


@pytest.mark.parametrize("cut", [[], ["", '[{"id": 1, "da'], [""] * 5])
def test_a_cut_export_is_asked_for_again(cut: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labelstudio_config.exports.WAITS", [0.01] * 5)
    monkeypatch.setattr(Exports, "replies", [*cut, '[{"id": 1, "data": {"key": "ключ"}}]'])
    with ThreadingHTTPServer(("127.0.0.1", 0), Exports) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        client = Client(f"http://127.0.0.1:{server.server_port}", "token")
        if len(cut) < 5:
            assert client.tasks(3) == [{"id": 1, "data": {"key": "ключ"}}]
        else:
            with pytest.raises(ServiceError, match=r"no whole export of the project 3\. check the disk"):
                client.tasks(3)
        server.shutdown()

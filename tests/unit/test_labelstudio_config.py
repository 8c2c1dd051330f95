"""Tasks hold nothing but texts and opaque ids; annotations become judgments, and nothing is lost unsaid."""

from __future__ import annotations

import random
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.domain import Domain, find_domain
from abcdlink.errors import InputError, ServiceError
from abcdlink.judgments import Annotator, Candidate, Label, Pool
from labelstudio_config.completeness import progress_of
from labelstudio_config.projects import TITLE_LIMIT, guidelines_html, title_of
from labelstudio_config.pull import pull_batch
from labelstudio_config.simulate import judge, overlap, strictness
from labelstudio_config.tasks import candidate_id, document_html, documents_of, task_data

RUN = "a-run"


def document(name: str, *texts: str) -> Document:
    return Document(id=name, sentences=tuple(Sentence(id=f"{name}-{n}", text=text) for n, text in enumerate(texts)))


SOURCE = document("source", "The bridge fell.", "Nobody was hurt.")
TARGET = document("target", "A bridge collapsed.", "There were no injuries.", "It rained.")
CORPUS = Corpus(
    name="c", documents={"source": SOURCE, "target": TARGET}, pairs=[Pair(id="p", source="source", target="target")]
)


def pool(key: str = "key-1", methods: tuple[str, ...] = ("llm", "random"), batch: int = 1) -> Pool:
    candidates = tuple(Candidate(target=f"target-{n}", method=method) for n, method in enumerate(methods))
    return Pool(key=key, batch=batch, pair="p", source="source-0", candidates=candidates)


@pytest.fixture
def news() -> Domain:
    return find_domain("news")


class Page(HTMLParser):
    """What a browser sees: elements and texts."""

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
    html = document_html(document("d", *texts), marks)
    page = Page()
    page.feed(html)
    page.close()
    assert set(page.elements) <= {"p", "mark", "b"}
    assert page.elements.count("p") == len(texts)
    assert page.elements.count("mark") == sum(n < len(texts) for n in marked)
    assert html.count("scroll-initial-target") == (1 if page.elements.count("mark") else 0)
    assert not any(ord(character) < 32 and character not in "\t\n\r" for character in html)


def test_a_task_holds_only_texts_and_opaque_ids(news: Domain) -> None:
    data = task_data(pool(), SOURCE, TARGET, news)
    assert set(data) == {
        *("task_key", "question", "doc_a_name", "doc_b_name", "source_text", "doc_a_html", "doc_b_html", "candidates")
    }
    assert [set(candidate) for candidate in data["candidates"]] == [{"id", "text"}] * 2
    assert data["candidates"][1]["text"] == "1 · There were no injuries."


def test_a_task_does_not_depend_on_the_methods(news: Domain) -> None:
    one = task_data(pool(methods=("llm", "random")), SOURCE, TARGET, news)
    other = task_data(pool(methods=("both", "retriever")), SOURCE, TARGET, news)
    assert one == other


def test_an_empty_sentence_is_shown_as_such(news: Domain) -> None:
    data = task_data(pool(), document("source", " \n"), document("target", "*", ""), news)
    assert data["source_text"] == "(empty sentence)"
    assert [c["text"] for c in data["candidates"]] == ["0 · *", "1 · (empty sentence)"]


def test_a_pool_that_does_not_fit_the_corpus_is_named() -> None:
    with pytest.raises(InputError, match="'target-9'"):
        documents_of([pool().model_copy(update={"candidates": (Candidate(target="target-9", method="llm"),)})], CORPUS)
    with pytest.raises(InputError, match="'nowhere'"):
        documents_of([pool().model_copy(update={"pair": "nowhere"})], CORPUS)


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", fullmatch=True), st.integers(1, 99))
def test_titles_fit_and_differ(run: str, batch: int) -> None:
    assert len(title_of(run, batch)) <= TITLE_LIMIT
    assert len({title_of(run, batch), title_of(run, batch + 1), title_of(run + "x", batch)}) == 3


def test_html_in_guidelines_shows_as_text(news: Domain) -> None:
    news.guidelines = "# Read\n\n<script>alert(1)</script> **this** [now](javascript:alert(1))"
    html = guidelines_html(news)
    page = Page()
    page.feed(html)
    assert set(page.elements) == {"div", "h1", "p", "strong"}
    assert "<script>alert(1)</script>" in page.text


class Server:
    """Stands for ``Client``: one project with the given tasks."""

    url = "http://127.0.0.1:1"

    def __init__(self, tasks: list[dict[str, Any]], accounts: dict[int, str] | None = None) -> None:
        self.exported = tasks
        self.known = accounts or {7: "ada@example.org", 8: "ben@example.org", 9: "simulated-1@simulated.invalid"}

    def projects_titled(self, title: str) -> dict[int, int]:
        return {3: len(self.exported)} if title == title_of(RUN, 1) else {}

    def tasks(self, _project: int) -> list[dict[str, Any]]:
        return self.exported

    def accounts(self) -> dict[int, str]:
        return self.known


def annotation(number: int, user: Any, labels: dict[str, list[str]], minute: int = 0, skipped: bool = False) -> dict:
    return {
        "id": number,
        "completed_by": user,
        "updated_at": f"2026-01-01T10:{minute:02}:00Z",
        "was_cancelled": skipped,
        "lead_time": 12.5,
        "result": [{"from_name": name, "value": {"choices": choices}} for name, choices in labels.items()],
    }


def task(*annotations: dict[str, Any], key: str = "key-1") -> dict[str, Any]:
    candidates = [{"id": candidate_id(key, f"target-{n}"), "text": "..."} for n in range(2)]
    data = {"task_key": key, "candidates": candidates, "doc_a_html": "<p>long</p>"}
    return {"id": 1, "data": data, "annotations": list(annotations)}


LINKS = {"link_0": ["Link"], "link_1": ["No Link"]}


def test_annotations_become_judgments_with_methods() -> None:
    server = Server([task(annotation(1, 7, {**LINKS, "flag": ["Unsure"]}), annotation(2, {"id": 9}, LINKS))])
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
    assert result.raw[0]["annotations"]
    assert "doc_a_html" not in result.raw[0]["data"]


@pytest.mark.parametrize("order", [(0, 5), (5, 0)])
def test_the_newest_answer_counts_and_the_others_are_reported(order: tuple[int, int]) -> None:
    first, second = order
    flipped = {"link_0": ["No Link"], "link_1": ["No Link"]}
    server = Server([task(annotation(1, 7, LINKS, minute=first), annotation(2, 7, flipped, minute=second))])
    result = pull_batch(server, RUN, 1, [pool()])
    assert [j.label for j in result.judgments] == [Label.NO_LINK if second > first else Label.LINK, Label.NO_LINK]
    assert result.anomalies == ["annotator-1 answered the task key-1 2 times; the newest counts"]


def test_a_skipped_task_is_done_but_says_nothing() -> None:
    server = Server([task(annotation(1, 7, LINKS), annotation(2, 8, {}, skipped=True))])
    result = pull_batch(server, RUN, 1, [pool()])
    assert {j.annotator for j in result.judgments} == {"annotator-1"}
    assert [(s.key, s.annotator) for s in result.skips] == [("key-1", "annotator-2")]
    assert progress_of(server, RUN, 1, [pool()], overlap=2).complete


def test_one_person_twice_is_not_two_people() -> None:
    server = Server([task(annotation(1, 7, LINKS), annotation(2, 7, LINKS, minute=1))])
    progress = progress_of(server, RUN, 1, [pool()], overlap=2)
    assert (progress.done, progress.complete) == (0, False)


def test_candidates_are_found_by_their_id_not_by_their_place() -> None:
    turned = pool().model_copy(update={"candidates": pool().candidates[::-1]})
    server = Server([task(annotation(1, 7, LINKS))])
    result = pull_batch(server, RUN, 1, [turned])
    assert {j.target: (j.method, j.label) for j in result.judgments} == {
        "target-0": ("llm", Label.LINK),
        "target-1": ("random", Label.NO_LINK),
    }


def test_what_cannot_be_read_is_said() -> None:
    odd = {"link_0": ["Link", "No Link"], "link_7": ["Link"], "stars": ["5"]}
    server = Server([task(annotation(1, 7, odd)), task(key="unknown")])
    result = pull_batch(server, RUN, 1, [pool(), pool(key="key-2")])
    assert result.judgments == []
    said = "\n".join(result.anomalies)
    for part in ("link_0", "stars", "candidate 7", "left 2 of 2", "key-2", "1 tasks"):
        assert part in said


def test_the_answer_of_a_deleted_account_is_kept() -> None:
    result = pull_batch(Server([task(annotation(1, None, LINKS), annotation(2, 55, LINKS))]), RUN, 1, [pool()])
    assert len(result.judgments) == 4
    assert [a.account for a in result.annotators] == ["deleted-account", "account-55"]


def test_pseudonyms_stay() -> None:
    before = [Annotator(annotator="annotator-1", account="ben@example.org", simulated=False)]
    server = Server([task(annotation(1, 7, LINKS), annotation(2, 8, LINKS))])
    result = pull_batch(server, RUN, 1, [pool()], before)
    assert {a.account: a.annotator for a in result.annotators} == {
        "ben@example.org": "annotator-1",
        "ada@example.org": "annotator-2",
    }


def test_a_vanished_task_is_reported_and_not_waited_for() -> None:
    server = Server([task(annotation(1, 7, LINKS), annotation(2, 8, LINKS))])
    progress = progress_of(server, RUN, 1, [pool(), pool(key="key-2")], overlap=2)
    assert (progress.tasks, progress.done, progress.complete, progress.vanished) == (1, 1, True, ("key-2",))


def test_a_batch_that_nobody_can_complete_is_an_error() -> None:
    with pytest.raises(ServiceError, match="push batch 1"):
        progress_of(Server([]), RUN, 1, [pool()], overlap=2)
    with pytest.raises(ServiceError, match="push batch 2"):
        progress_of(Server([]), RUN, 2, [pool(batch=2)], overlap=2)


def test_simulated_annotators_differ_and_come_nearer() -> None:
    strict, lenient = strictness(1, 2, batch=1), strictness(2, 2, batch=1)
    assert strict[0] > lenient[0]
    assert strict[0] > strictness(1, 2, batch=2)[0] > strictness(2, 2, batch=2)[0] > lenient[0]
    assert strictness(1, 2, batch=2)[1] < strict[1]


def test_simulated_annotators_judge_by_common_words() -> None:
    assert overlap("The bridge collapsed at noon", "A bridge collapsed") == 1
    assert overlap("The bridge collapsed", "It rained in spring") == 0
    assert overlap("", "*") == 0
    texts = ["A bridge collapsed", "It rained in spring"]
    labels = judge("The bridge collapsed", texts, 0.2, 0.0, random.Random(1))
    assert labels == [Label.LINK, Label.NO_LINK]

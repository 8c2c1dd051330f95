"""Whole documents by a reasoning model: corpora of the requested shape, faults by reason, and a second look."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from abcdlink.corpus.io import read_corpus_from, write_corpus
from abcdlink.corpus.records import Corpus, Pair, PairKind
from abcdlink.domain import Domain, find_domain
from abcdlink.errors import InputError
from abcdlink.generation import Strategy
from abcdlink.stages.generate import Generating, plan_generation, run_generation
from abcdlink.stages.intake import take_corpus
from abcdlink.store import Store, open_run
from tests.helpers.builders import document
from tests.helpers.fake_llm import FakeLLM, Request, Response, error, says
from tests.helpers.labels import run_with_linker
from tests.helpers.thinking_llm import sentence, think


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> Iterator[FakeLLM]:
    with FakeLLM(think, forms=("text",)) as server:
        yield server.use(monkeypatch, thinking_tokens="4000")


@pytest.fixture
def domain() -> Domain:
    return find_domain("reviews")


def begin(domain: Domain, folder: Path, pairs: int) -> Store:
    """Return a run with this many papers of forty sentences and a review of each."""
    chance = random.Random(1)
    documents = {}
    for number in range(pairs):
        for side, count in (("review", 6), ("paper", 40)):
            name = f"{side}{number}"
            documents[name] = document(name, (sentence(chance) for _ in range(count)))
    made = [Pair(id=f"p{n}", source=f"review{n}", target=f"paper{n}") for n in range(pairs)]
    write_corpus(Corpus(name="own", documents=documents, pairs=made), folder)
    run = open_run("r")
    take_corpus(run, str(folder), domain)
    return run


@pytest.fixture
def store(domain: Domain, llm: FakeLLM, tmp_path: Path) -> Store:
    return begin(domain, tmp_path / "own", 3)


def test_ten_documents_by_a_reasoning_model_have_the_requested_shape(
    domain: Domain, llm: FakeLLM, tmp_path: Path
) -> None:
    store = begin(domain, tmp_path / "own", 10)
    result = run_generation(store, domain, plan_generation(store, Generating(strategy=Strategy.DOCUMENT, seed=5)))
    synthetic = read_corpus_from(store, "synthetic")
    assert (result.pairs, result.refused, len(synthetic.pairs)) == (10, 0, 10)
    lengths = [len(synthetic.source_of(pair).sentences) for pair in synthetic.pairs]
    assert set(lengths) <= set(range(8, 13))
    assert len(set(lengths)) > 3
    for pair in synthetic.pairs:
        assert pair.kind is PairKind.SYNTHETIC
        counts = [len(targets) for targets in pair.sources_with_links.values()]
        assert max(counts) > 1
        assert len(counts) < len(synthetic.source_of(pair).sentences)
    assert [row.met for row in result.shape[:3]] == [True] * 3
    # Room for thoughts in addition to the answer, and both are separated afterwards.
    assert all(request.body["max_completion_tokens"] > 4000 for request in llm.questions)
    assert 0 < result.usage.thinking_tokens < result.usage.completion_tokens == 10 * 600


FAULTS: list[tuple[str, Callable[[list[dict]], object], str]] = [
    ("cut off", lambda _: says('<think>x</think>{"sentences": [', finish="length"), "limit of tokens"),
    ("still thinking", lambda _: says("<think>and on and on"), "inside its thinking text"),
    ("refusal", lambda _: says("I'm sorry, but I can't help with that."), "declined"),
    ("filter", lambda _: error(400, "The response was filtered", code="content_filter"), "filtered"),
    ("other form", lambda given: [one["text"] for one in given], "is not of type 'object'"),
]


@pytest.mark.parametrize(("fault", "reason"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_every_fault_is_retried_and_refused_with_its_reason(
    fault: Callable[[list[dict]], object], reason: str, store: Store, domain: Domain, llm: FakeLLM
) -> None:
    """The first document never gets a usable answer; the second gets one at the second attempt."""
    first: dict[str, int] = {}

    def answer(request: Request) -> Response:
        target = re.search(r"^Document B:\n(.*)$", request.prompt, re.MULTILINE)[1]
        number = first.setdefault(target, len(first))
        attempt = "was refused because" in request.prompt
        bad = number == 0 or (number == 1 and not attempt)
        return think(request, (lambda _, given: fault(given)) if bad else (lambda _, given: given))

    llm.answer_by(answer)
    result = run_generation(
        store, domain, plan_generation(store, Generating(strategy=Strategy.DOCUMENT, seed=1, documents=3))
    )
    assert (result.pairs, result.refused) == (2, 1)
    (told,) = result.reasons
    assert reason in told
    assert read_corpus_from(store, "synthetic").refused[0].where == "paper0__synthetic"


def second_llm(home: Path, server: FakeLLM) -> None:
    home.mkdir(parents=True, exist_ok=True)
    table = f'[llm.judge]\nbase_url = "{server.base_url}"\nmodel = "judge-model"\n'
    (home / "abcdlink.toml").write_text(table, encoding="utf-8")


@pytest.mark.parametrize("drop", [True, False])
def test_a_second_look_by_another_model_drops_or_shows_disagreements(
    drop: bool, store: Store, domain: Domain, isolated_home: Path
) -> None:
    links: dict[str, dict[str, tuple[str, ...]]] = {}

    def judge(request: Request) -> Response:
        """Confirm all links of each linked sentence except the first, and link the last sentence to sentence 7."""
        text = re.findall(r"Source sentence: \[(\w+)\] \"(.*)\"$", request.prompt, re.MULTILINE)[-1]
        pair, source = places[text[1]]
        true = set(sorted(links[pair].get(source, ()))[1:]) if links[pair].get(source) else set()
        last = source == str(lengths[pair] - 1)
        return says(json.dumps({i: i in true or (last and i == "7") for i in request.schema["properties"]}))

    with FakeLLM(judge, models=("judge-model",)) as server:
        second_llm(isolated_home, server)
        run_generation(plain := open_run("plain"), domain, prepared(plain, store, domain))
        before = read_corpus_from(plain, "synthetic")
        links.update({pair.id: pair.sources_with_links for pair in before.pairs})
        lengths = {pair.id: len(before.source_of(pair).sentences) for pair in before.pairs}
        places = {s.text: (pair.id, s.id) for pair in before.pairs for s in before.source_of(pair).sentences}
        plan = plan_generation(
            store, Generating(strategy=Strategy.DOCUMENT, seed=1, documents=3, second_look="judge", drop=drop)
        )
        result = run_generation(store, domain, plan)
        asked = len(server.questions)
        assert run_generation(store, domain, plan) == result
        assert len(server.questions) == asked
    after = read_corpus_from(store, "synthetic")
    look = result.second_look
    assert look is not None
    assert look.model == "judge-model"
    assert look.links == sum(len(found) for of_pair in links.values() for found in of_pair.values())
    shown = [json.loads(line) for line in store.read_text("generated/disagreements.jsonl").splitlines()]
    assert shown
    if not drop:
        assert after.pairs == before.pairs
        return
    for pair in after.pairs:
        left = {s.id for s in after.source_of(pair).sentences}
        wanted = {s: set(t) for s, t in links[pair.id].items()}
        for source, targets in pair.sources_with_links.items():
            assert source in left
            assert set(targets) < wanted[source]
        # A sentence without a confirmed link is dropped, and so is the last one if it had none.
        assert {s for s, t in wanted.items() if len(t) == 1 and s != str(lengths[pair.id] - 1)}.isdisjoint(left)
    assert Counter(refusal.reason for refusal in after.refused)["no link of it was confirmed by the second look"]


def prepared(run: Store, store: Store, domain: Domain):
    take_corpus(run, store.manifest["inputs"]["intake"]["corpus"], domain)
    return plan_generation(run, Generating(strategy=Strategy.DOCUMENT, seed=1, documents=3))


def test_the_learned_linker_of_another_run_can_take_a_second_look(store: Store, domain: Domain) -> None:
    run_with_linker("fitted")
    plan = plan_generation(
        store, Generating(strategy=Strategy.DOCUMENT, seed=1, documents=3, second_look="run:fitted", drop=False)
    )
    result = run_generation(store, domain, plan)
    look = result.second_look
    assert look is not None
    assert look.model.endswith("WordOverlap of fitted")
    assert (look.usage.calls, look.unknown) == (0, 0)
    synthetic = read_corpus_from(store, "synthetic")
    assert look.links == sum(len(found) for pair in synthetic.pairs for found in pair.sources_with_links.values())
    assert 0 <= look.links_confirmed <= look.links
    assert look.unlinked == sum(
        len(synthetic.source_of(pair).sentences) - len(pair.sources_with_links) for pair in synthetic.pairs
    )
    shown = [json.loads(line) for line in store.read_text("generated/disagreements.jsonl").splitlines()]
    denied = sum(len(one["targets"]) for one in shown if one["linked"])
    assert look.links_confirmed == look.links - denied


@pytest.mark.parametrize(
    ("name", "problem"),
    [("run:none", "there is no run 'none'"), ("nobody", "nobody"), ("default", "the model that writes the pairs")],
)
def test_a_second_look_by_nobody_or_the_writer_itself_is_refused(name: str, problem: str, store: Store) -> None:
    with pytest.raises(InputError, match=problem):
        plan_generation(store, Generating(strategy=Strategy.DOCUMENT, seed=1, documents=3, second_look=name))

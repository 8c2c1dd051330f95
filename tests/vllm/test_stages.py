"""Stages of a run on the sample corpus with a real vLLM server."""

from __future__ import annotations

from pathlib import Path

import pytest

from abcdlink.corpus.io import read_corpus, write_corpus_to
from abcdlink.domain import find_domain
from abcdlink.generation import Size, Strategy, generate_pair
from abcdlink.layout import NATURAL
from abcdlink.linking.records import Approach, ApproachKind, Scoring
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Message, Outcome, Question
from abcdlink.stages.decide import PART_SIZE, decide_part, read_decisions
from abcdlink.stages.rank import rank
from abcdlink.store import Store, open_run
from tests.helpers.homes import configure
from tests.vllm.server import VllmServer

# Reading a pair's documents takes some seconds on a free core, and the server may have to start first.
pytestmark = pytest.mark.timeout(1200)
DOMAIN = find_domain("news")
APPROACH = Approach(kind=ApproachKind.LLM, retriever="bm25", cutoff=5, prompt_mode=4)

SIZE = Size(sentences=5, targets=(1, 1, 1), distinct=3)


@pytest.fixture(autouse=True)
def served(vllm: VllmServer, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> VllmServer:
    """Point the settings to the server, as a user would."""
    configure(monkeypatch, llm_base_url=f"{vllm.url}/v1", llm_model=vllm.model, llm_timeout="600")
    return vllm


def begun_run(pairs: int) -> Store:
    """Return a run with the first pairs of the sample corpus, ranked."""
    store = open_run("vllm")
    write_corpus_to(store, NATURAL, read_corpus(DOMAIN.sample_folder).first_pairs(pairs))
    rank(store, NATURAL, APPROACH.retriever)
    return store


def test_a_listwise_stage_is_answered_by_the_schema_and_reads_shared_prefixes_from_the_cache(
    served: VllmServer,
) -> None:
    LLM().know()  # the probe also adds to the cached tokens that the server counts
    store, hits = begun_run(PART_SIZE), served.prefix_cache_hits()
    decide_part(store, NATURAL, DOMAIN, APPROACH, 0)
    hits = served.prefix_cache_hits() - hits
    part = read_decisions(store, NATURAL, APPROACH)
    assert len({decision.pair for decision in part.decisions}) == PART_SIZE
    assert {decision.outcome for decision in part.decisions} == {Outcome.OK}
    assert all(decision.offered and not decision.unknown for decision in part.decisions)
    assert part.usage.calls == len(part.decisions)
    # The questions about a pair differ only after its documents, which are most of each prompt.
    assert hits > part.usage.prompt_tokens / 2
    assert part.usage.cached_tokens == hits


def test_links_are_scored_by_the_probabilities_that_the_server_gives() -> None:
    store, approach = begun_run(1), APPROACH.model_copy(update={"scoring": Scoring.PROBABILITY})
    decide_part(store, NATURAL, DOMAIN, approach, 0)
    decisions = read_decisions(store, NATURAL, approach).decisions
    assert {decision.outcome for decision in decisions} == {Outcome.OK}
    for decision in decisions:
        assert set(decision.scores) == set(decision.offered)
    scores = [score for decision in decisions for score in decision.scores.values()]
    assert len(set(scores)) > len(decisions), "probabilities, not answers"
    assert all(0 < score < 1 for score in scores)


def test_a_pair_is_generated_with_the_schemas_of_that_stage() -> None:
    target = read_corpus(DOMAIN.sample_folder).documents["ellery-wire"]
    # A model this small may just copy the target's sentences, which is refused, so it gets three attempts.
    tried = [generate_pair(target, DOMAIN, LLM(), Strategy.SENTENCE, seed, SIZE) for seed in (1, 2, 3)]
    made = [generated.pair for generated in tried if generated.pair]
    assert made, [generated.refusal for generated in tried]
    assert all(pair.links for pair in made)


def test_a_question_longer_than_its_context_is_too_long() -> None:
    question = Question(
        messages=(Message(role="user", content="word " * 5000),), json_schema={"type": "object"}, stage="link"
    )
    assert LLM().ask(question).outcome is Outcome.TOO_LONG

"""Two documents, approaches over them, and an LLM with given answers, for tests of LLM linking."""

from __future__ import annotations

from abcdlink.corpus import Document, Pair
from abcdlink.domain import find_domain
from abcdlink.linking.linker import linker_for
from abcdlink.linking.records import Approach, ApproachKind, Scoring, Setup
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Answer, Outcome
from abcdlink.settings import get_settings
from abcdlink.templates import as_data
from tests.helpers import builders
from tests.helpers.fake_llm import FakeLLM, Request, error

DOMAIN = find_domain("news")
SETUPS = tuple(Setup)
TOO_LONG = error(400, "This model's maximum context length is 10 tokens", code="context_length_exceeded")


def numbered_document(name, count):
    return builders.document(name, [f"{name} says {n}." for n in range(count)], "{name}{n}")


def corpus_of(a, b):
    return builders.corpus([PAIR], a, b)


def numbered_corpus(pairs):
    """Return pairs of 3 source and 4 target sentences, each with one gold link."""
    documents = {
        f"{end}{i}": numbered_document(f"{end}{i}-", size) for end, size in (("a", 3), ("b", 4)) for i in range(pairs)
    }
    documents = [one.model_copy(update={"id": name}) for name, one in documents.items()]
    linked = (Pair(id=f"p{i}", source=f"a{i}", target=f"b{i}", links={f"a{i}-0": (f"b{i}-1",)}) for i in range(pairs))
    return builders.corpus(linked, *documents)


PAIR = Pair(id="p", source="a", target="b")
A, B = numbered_document("a", 12), numbered_document("b", 20)
CORPUS = corpus_of(A, B)


def approach(setup=Setup.LISTWISE, mode=4, scoring=Scoring.ANSWER, **more):
    place = {} if setup is Setup.LLM_ONLY else {"retriever": "bm25", "cutoff": 3}
    return Approach(kind=ApproachKind.LLM, setup=setup, prompt_mode=mode, scoring=scoring, **place, **more)


def agreed(schema):
    """Return an answer that links all candidates."""
    return {key: True if kind["type"] == "boolean" else "A thought." for key, kind in schema["properties"].items()}


def asked_keys(schema):
    """Return the keys that an answer decides, in their order."""
    return [key for key in schema["required"] if schema["properties"][key]["type"] == "boolean"]


def decide(home, of, offered, *script, corpus=CORPUS):
    """Return the decisions on the pair and the requests that the server got."""
    with FakeLLM(*script) as server:
        llm = LLM(server.settings(home, llm_concurrency=1), sleep=lambda _: None)
        return linker_for(DOMAIN, llm, of).decide(PAIR, corpus, offered), server.questions


class GivenLLM:
    """Answers by a function of the question and the sample number; remembers the questions."""

    def __init__(self, answer):
        self.settings, self._answer, self.asked = get_settings(), answer, []

    def ask_samples(self, questions, n):
        self.asked += questions
        return [[self._answer(question, sample) for sample in range(n)] for question in questions]

    def decide(self, of, offered, corpus=CORPUS):
        return linker_for(DOMAIN, self, of).decide(PAIR, corpus, offered)


def said(value=None, outcome=Outcome.OK, probabilities=None, detail=""):
    return Answer(outcome=outcome, value=value, probabilities=probabilities, detail=detail)


def shown(request: Request, of: Document) -> list[str]:
    """Return the ids of the sentences that the documents' part of a prompt shows in full."""
    documents = request.prompt.split("Source sentence: [a")[0]
    return [s.id for s in of.sentences if f"[{s.id}] {as_data(s.text)}\n" in documents]

"""The ``document`` strategy: the model writes a whole source document and its links in one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from abcdlink.corpus.records import Document
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.generation.checks import fault_of, require_answer, same, tidy
from abcdlink.generation.records import ATTEMPTS, Draft, seed_of
from abcdlink.languages import ENGLISH, writing_instruction
from abcdlink.llm.records import Message, Question, Usage

if TYPE_CHECKING:
    from abcdlink.llm.client import LLM

TOKENS_PER_WORD = 3
_NUMBER = {"type": "integer"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "sentences": {"type": "array", "items": {"type": "string"}},
        "links": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"source": _NUMBER, "targets": {"type": "array", "items": _NUMBER}},
                "required": ["source", "targets"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["sentences", "links"],
    "additionalProperties": False,
}


def write_document(target: Document, domain: Domain, llm: LLM, seed: int, language: str = ENGLISH) -> Draft:
    """Write a source document and its links in one answer.

    An answer with anything wrong in it is asked for again with another seed: links are gold labels,
    so they are taken as the model gave them or not at all.

    Raises:
        ServiceError: when the server gave no answer.
    """
    usage, reason = Usage(), ""
    for attempt in range(ATTEMPTS):
        answer = llm.ask(_question(target, domain, seed_of(seed, target.id, "document", attempt), language))
        require_answer(answer)
        usage += answer.usage
        if answer.value is None:
            reason = answer.detail or f"the model's answer is {answer.outcome}"
            continue
        try:
            sentences, links = read_answer(answer.value, target, domain)
        except InputError as error:
            reason = error.problem
            continue
        return Draft(sentences=sentences, links=links, usage=usage)
    return Draft(reason=f"refused {ATTEMPTS} times, last because {reason}", usage=usage)


def _question(target: Document, domain: Domain, seed: int, language: str) -> Question:
    size = domain.settings.generation
    content = domain.render("generate_document.j2", target=target.sentences)
    if instruction := writing_instruction(language):
        content = f"{content}\n{instruction}"
    return Question(
        messages=(Message(role="user", content=content),),
        json_schema=SCHEMA,
        stage="generate",
        max_tokens=(size.links + size.unlinked + 1) * size.max_words * TOKENS_PER_WORD,
        seed=seed,
    )


def read_answer(
    value: dict[str, Any], target: Document, domain: Domain
) -> tuple[tuple[str, ...], tuple[tuple[int, tuple[int, ...]], ...]]:
    """Return the sentences and the links of an answer of the model.

    Raises:
        InputError: the first thing that is wrong: an empty, copied or repeated sentence, a number
            that no sentence has, or no link at all.
    """
    sentences: list[str] = []
    for text in map(tidy, value["sentences"]):
        if fault := fault_of(text, domain, target.texts, {same(sentence) for sentence in sentences}):
            msg = f"sentence {len(sentences)} is not usable: {fault}"
            raise InputError(msg)
        sentences.append(text)
    links: dict[int, set[int]] = {}
    for link in value["links"]:
        source = _position(link["source"], len(sentences), "source")
        found = {_position(number, len(target.sentences), "target") for number in link["targets"]}
        links[source] = links.get(source, set()) | found
    if not any(links.values()):
        msg = "there is no link"
        raise InputError(msg)
    return tuple(sentences), tuple((source, tuple(sorted(found))) for source, found in sorted(links.items()) if found)


def _position(number: int, count: int, side: str) -> int:
    if not 0 <= number < count:
        msg = f"a link names sentence {number} of the {side} document, which has {count} (counted from 0)"
        raise InputError(msg)
    return number

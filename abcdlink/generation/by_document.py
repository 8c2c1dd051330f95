"""The ``document`` strategy: the model writes a whole source document and its links in one answer."""

from __future__ import annotations

from typing import Any

from abcdlink.corpus.records import Document
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.generation.checks import Checks, require_answer, same, tidy
from abcdlink.generation.shape import ATTEMPTS, Draft, Size, dice, seed_of
from abcdlink.languages import ENGLISH, writing_instruction
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Message, Question, Usage

TOKENS_PER_WORD = 3
ASKED, ACCEPTED = 0.1, 0.25
"""By what share of its length a document may be shorter or longer: as the model is told, and as it is taken."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "sentences": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "targets": {
                        "anyOf": [
                            {"type": "null"},
                            {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
                        ]
                    },
                },
                "required": ["text", "targets"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["sentences"],
    "additionalProperties": False,
}
Links = tuple[tuple[int, tuple[int, ...]], ...]


def write_document(target: Document, domain: Domain, llm: LLM, seed: int, size: Size, language: str = ENGLISH) -> Draft:
    """Write a source document and its links in one answer.

    An answer with anything wrong in it is asked for again, with another seed and with what was wrong: links are gold
    labels, so they are taken as the model gave them or not at all.

    Raises:
        ServiceError: when the server gave no answer.
    """
    usage, reason = Usage(), ""
    checks = Checks(target, domain, language)
    for attempt in range(ATTEMPTS):
        answer = llm.ask(
            question(target, domain, size, seed_of(seed, target.id, "document", attempt), language, reason)
        )
        require_answer(answer)
        usage += answer.usage
        if answer.value is None:
            reason = answer.detail or f"the model's answer is {answer.outcome}"
            continue
        try:
            sentences, links = read_answer(answer.value, target, checks, size)
        except InputError as error:
            reason = error.problem
            continue
        return Draft(sentences=sentences, links=links, usage=usage)
    return Draft(reason=f"refused {ATTEMPTS} times, last because {reason}", usage=usage)


def question(
    target: Document, domain: Domain, size: Size, seed: int, language: str = ENGLISH, refused: str = ""
) -> Question:
    """Return the question for a whole document; ``refused``: what was wrong with the last answer."""
    settings = domain.settings.generation
    low, high = bounds(size.sentences, ASKED, 1)
    ways = settings.variations
    content = domain.render(
        "generate_document.j2",
        target={str(number): tidy(text) for number, text in enumerate(target.texts)},
        low=low,
        high=high,
        size=size,
        variation=dice(seed, "variation").choice(ways) if ways else "",
        instruction=writing_instruction(language),
        refused=refused,
    )
    return Question(
        messages=(Message(role="user", content=content),),
        json_schema=SCHEMA,
        stage="generate",
        max_tokens=(high + 1) * settings.max_words * TOKENS_PER_WORD,
        seed=seed,
    )


def bounds(length: int, share: float, least: int) -> tuple[int, int]:
    """Return the fewest and the most sentences that still count as ``length``."""
    margin = max(least, round(share * length))
    return max(1, length - margin), length + margin


def read_answer(value: dict[str, Any], target: Document, checks: Checks, size: Size) -> tuple[tuple[str, ...], Links]:
    """Return the sentences and the links of an answer of the model.

    Raises:
        InputError: the first thing that is wrong: too few or too many sentences, an empty, copied or repeated one,
            a number that no target sentence has, no link at all, or links in the order of the target document.
    """
    given = value["sentences"]
    low, high = bounds(size.sentences, ACCEPTED, 2)
    if not low <= len(given) <= high:
        msg = f"the document has {len(given)} sentences, not {low} to {high}"
        raise InputError(msg)
    sentences: list[str] = []
    for text in (tidy(one["text"]) for one in given):
        if fault := checks.sentence(text, {same(sentence) for sentence in sentences}):
            msg = f"sentence {len(sentences)} is not usable: {fault}"
            raise InputError(msg)
        sentences.append(text)
    found = [{_position(number, len(target.sentences)) for number in one["targets"] or ()} for one in given]
    links = tuple((source, tuple(sorted(targets))) for source, targets in enumerate(found) if targets)
    if not links:
        msg = "there is no link"
        raise InputError(msg)
    if fault := checks.pair(sentences, links):
        msg = f"the document is not usable: {fault}"
        raise InputError(msg)
    return tuple(sentences), links


def _position(number: int | str, count: int) -> int:
    """Return a position in the target document, which a model may give as a number or as a text."""
    text = str(number).strip()
    if not (text.isascii() and text.isdigit() and int(text) < count):
        msg = f"a link names sentence {number} of the target document, which has {count} (counted from 0)"
        raise InputError(msg)
    return int(text)

"""The ``sentence`` strategy: one question per source sentence, links known by construction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from abcdlink.corpus.records import Document, Refusal
from abcdlink.domain import Domain
from abcdlink.generation.checks import Checks, in_target_order, require_answer, same, tidy
from abcdlink.generation.shape import ATTEMPTS, Draft, Size, dice, seed_of, usable
from abcdlink.languages import ENGLISH, writing_instruction
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Message, Question, Usage
from abcdlink.templates import lines_as_data

LETTERS_PER_WORD = 8
"""With its blank: an answer that is longer than so many letters a word is not a single sentence."""
MOST_REPEATS = 128
"""In one place of a pattern: xgrammar, with which vLLM holds a model to it, compiles no more."""
LETTER = r'[^"\\\x00-\x1f{}\[\]]'
"""What a sentence may be made of. Quotation marks are left to the typographic ones."""
MAX_SHOTS = 4


@dataclass
class _Slot:
    """One sentence that is to be written: for target sentences, or on a topic and without links."""

    name: str
    targets: tuple[int, ...]
    subject: str
    text: str = ""
    reason: str = "it was not asked for"


def write_by_sentence(
    target: Document, domain: Domain, llm: LLM, seed: int, size: Size, language: str = ENGLISH
) -> Draft:
    """Write a source document sentence by sentence.

    Target sentences are chosen at random (seeded by ``seed`` and the id of the target document), except for those
    that are too short to be told in other words. A sentence that is not usable is asked for again with another seed,
    and dropped when the last attempt fails too.

    Raises:
        ServiceError: when the server gave no answer.
    """
    slots = _plan(target, domain, seed, size)
    usage, instruction, checks = Usage(), writing_instruction(language), Checks(target, domain, language)
    for attempt in range(ATTEMPTS):
        waiting = [slot for slot in slots if not slot.text]
        seeds = [seed_of(seed, target.id, slot.name, attempt) for slot in waiting]
        questions = [_question(slot, domain, own, instruction) for slot, own in zip(waiting, seeds, strict=True)]
        for slot, answer in zip(waiting, llm.ask_many(questions), strict=True):
            require_answer(answer)
            usage += answer.usage
            if answer.value is None:
                slot.reason = answer.detail or f"the model's answer is {answer.outcome}"
                continue
            text = tidy(answer.value["sentence"])
            taken = {same(other.text) for other in slots if other.text}
            slot.reason = checks.sentence(text, taken) or ("" if slot.targets else checks.unlinked(text))
            slot.text = "" if slot.reason else text
    return _draft(target, slots, usage, checks)


def first_questions(
    target: Document, domain: Domain, seed: int, size: Size, language: str = ENGLISH, *, linked: bool
) -> list[Question]:
    """Return what is asked first for the sentences with links, or for those without, one question a sentence."""
    slots = [slot for slot in _plan(target, domain, seed, size) if bool(slot.targets) == linked]
    return [_question(slot, domain, seed, writing_instruction(language)) for slot in slots]


def _plan(target: Document, domain: Domain, seed: int, size: Size) -> list[_Slot]:
    """Choose target sentences and topics, and the order of the sentences of the source document."""
    choice, texts = dice(seed, target.id), target.texts
    long_enough = usable(target, domain)
    chosen = sorted(choice.sample(long_enough, min(size.distinct, len(long_enough))))
    linked: list[_Slot] = []
    for found in _deal(chosen, size.targets):
        name = f"link to {', '.join(target.sentences[i].id for i in found)}"
        again = sum(slot.targets == found for slot in linked)
        several = "\n".join(tidy(texts[i]) for i in found)
        linked.append(_Slot(f"{name} ({again + 1})" if again else name, found, several))
    choice.shuffle(linked)
    if in_target_order([(number, slot.targets) for number, slot in enumerate(linked)]):
        linked.reverse()
    topics = domain.settings.generation.unlinked_topics
    shuffled = choice.sample(topics, len(topics))
    slots = [*linked]
    for number in range(size.sentences - len(linked)):
        slot = _Slot(f"unlinked {number + 1}", (), shuffled[number % len(topics)])
        slots.insert(choice.randint(min(1, len(slots)), len(slots)), slot)
    return slots


def _deal(chosen: Sequence[int], counts: Sequence[int]) -> list[tuple[int, ...]]:
    """Deal target sentences out in a circle, to each source its count: neighbours go to one source, none is left over.

    No source gets a target twice, as counts are at most as many as there are targets.
    """
    dealt, start = [], 0
    for count in counts:
        dealt.append(tuple(sorted({chosen[(start + step) % len(chosen)] for step in range(count)})))
        start += count
    return dealt


def _question(slot: _Slot, domain: Domain, seed: int, instruction: str) -> Question:
    linked, size = bool(slot.targets), domain.settings.generation
    shots = (
        [(example.target, example.source) for example in domain.examples if example.link]
        if linked
        else [(example.topic, example.sentence) for example in size.unlinked_examples]
    )
    system = domain.render("generate_linked.j2" if linked else "generate_unlinked.j2", count=len(slot.targets))
    system = f"{system} {instruction}" if instruction else system
    letters = LETTERS_PER_WORD * size.max_words
    return Question(
        messages=(Message(role="system", content=system), *_turns(shots[:MAX_SHOTS], slot.subject)),
        json_schema=_schema(letters),
        stage="generate",
        # Scripts other than Latin take up to two tokens a letter.
        max_tokens=2 * letters if instruction else letters // 2,
        seed=seed,
    )


def _turns(shots: Sequence[tuple[str, str]], subject: str) -> list[Message]:
    """Return the examples as turns of a chat, which small models follow best, and the last question.

    All texts are JSON strings, so that none can look like anything but the text that it is.
    """
    turns = []
    for asked, sentence in shots:
        turns.append(Message(role="user", content=lines_as_data(asked)))
        answer = json.dumps({"sentence": sentence}, ensure_ascii=False)
        turns.append(Message(role="assistant", content=answer))
    return [*turns, Message(role="user", content=lines_as_data(subject))]


def _schema(letters: int) -> dict[str, Any]:
    # A pattern instead of maxLength: OpenAI's strict schemas know only the former. Whatever it lets through must be
    # allowed inside a JSON string as it stands: llama.cpp makes its grammar from the pattern and escapes nothing.
    rest = range(MOST_REPEATS, letters, MOST_REPEATS)
    limits = [(1, min(letters, MOST_REPEATS)), *((0, min(letters - start, MOST_REPEATS)) for start in rest)]
    pattern = "".join(f"{LETTER}{{{least},{most}}}" for least, most in limits)
    sentence = {"type": "string", "pattern": f"^{pattern}$"}
    return {
        "type": "object",
        "properties": {"sentence": sentence},
        "required": ["sentence"],
        "additionalProperties": False,
    }


def _draft(target: Document, slots: Sequence[_Slot], usage: Usage, checks: Checks) -> Draft:
    written = [slot for slot in slots if slot.text]
    links = tuple((i, slot.targets) for i, slot in enumerate(written) if slot.targets)
    dropped = tuple(
        Refusal(
            where=f"{target.id}, {slot.name}", reason=f"sentence refused {ATTEMPTS} times, last because {slot.reason}"
        )
        for slot in slots
        if not slot.text
    )
    sentences = tuple(slot.text for slot in written)
    if not links:
        reason = f"no linked sentence was usable: {dropped[0].reason}"
    elif fault := checks.pair(sentences, ()):  # their order is our own
        reason = f"the document is not usable: {fault}"
    else:
        reason = ""
    return Draft(sentences=sentences, links=links, reason=reason, dropped=dropped, usage=usage)

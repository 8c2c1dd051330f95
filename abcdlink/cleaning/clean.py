"""Cleans a corpus: rules first, then an LLM where something suspicious is left, which can only choose sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from abcdlink.cleaning import BY_LLM, AnswerForm, AskAbout, Cleaned, CleaningCounts, CleaningPlan, Removed
from abcdlink.corpus.counts import key_of, repeated_sentences
from abcdlink.corpus.records import Corpus, Document, Refusal
from abcdlink.domain import Domain
from abcdlink.domain.settings import name_of_pattern
from abcdlink.errors import InputError
from abcdlink.languages import ends_like_a_sentence
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Answer, Message, Question, Usage
from abcdlink.progress import Progress, silent

STAGE = "clean"
REPEATED_IN = 3
"""A sentence that so many documents have word for word is suspicious."""
MOST_NUMBERED = 80
"""Sentences of one question; a longer document is asked about piece by piece."""
STAYS = "the document stays as it was"
TOKENS_PER_WORD = 3
ROOM = 200
"""Tokens of an answer beside what it repeats."""
SCHEMAS: dict[AnswerForm, dict[str, Any]] = {
    AnswerForm.NUMBERS: {
        "type": "object",
        "properties": {"remove": {"type": "array", "items": {"type": "integer"}}},
        "required": ["remove"],
        "additionalProperties": False,
    },
    AnswerForm.ARTICLE: {
        "type": "object",
        "properties": {"article": {"type": "string"}},
        "required": ["article"],
        "additionalProperties": False,
    },
}


class Excerpt(NamedTuple):
    """Sentences of a document that are asked about in one question; positions are those in the document."""

    document: Document
    positions: list[int]

    @property
    def texts(self) -> list[str]:
        """The texts of the sentences."""
        return [self.document.sentences[position].text for position in self.positions]


def removed_by_rules(document: Document, domain: Domain, also: Sequence[Removed] = ()) -> list[Removed]:
    """Return the sentences that rules of the domain take out, and ``also``; none where nothing would be left."""
    removed, known = [*also], {one.position for one in also}
    for position, sentence in enumerate(document.sentences):
        rule = next((rule for rule in domain.settings.cleaning.rules if re.search(rule, sentence.text)), None)
        if rule is not None and position not in known:
            name = name_of_pattern(rule)
            removed.append(Removed(document=document.id, position=position, sentence=sentence, by=name))
    return removed if len(removed) < len(document.sentences) else []


def clean(
    corpus: Corpus,
    domain: Domain,
    plan: CleaningPlan,
    llm: Callable[[], LLM],
    progress: Progress = silent,
    lines: Mapping[str, Sequence[Removed]] | None = None,
) -> Cleaned:
    """Clean all documents; each keeps at least one sentence, and every sentence that a gold link names.

    Args:
        corpus: what is cleaned; it stays as it is.
        domain: its rules, what is suspicious, and how much may go (``[cleaning]`` in ``domain.toml``).
        plan: whether and how an LLM is asked.
        llm: makes the client, when it is needed.
        progress: told of the questions.
        lines: given when the sentences are lines of text files, with their numbers as ids: what goes by itself.

    Raises:
        BudgetError: when the questions could cost more than the budget leaves. What was answered is not asked again.
        ServiceError: when the LLM cannot be used.
    """
    linked = corpus.linked_sentences
    removed: dict[str, list[Removed]] = {}
    spared = 0
    for document in corpus.documents.values():
        found = removed_by_rules(document, domain, (lines or {}).get(document.id, ()))
        free = [one for one in found if one.sentence.id not in linked.get(document.id, ())]
        spared += len(found) - len(free)
        if free:
            removed[document.id] = free
    pieces = _pieces(corpus, domain, plan.ask, removed, are_lines=lines is not None)
    asked = len({piece.document.id for piece in pieces})
    usage, refused, model = Usage(), [], ""
    if pieces:
        client = llm()
        client.check()
        model = client.settings.llm_model
        questions = [question_about(piece, domain, plan.form) for piece in pieces]
        for piece, answer in zip(pieces, client.ask_many(questions, progress), strict=True):
            usage += answer.usage
            name = piece.document.id
            try:
                gone = _gone(piece, answer, plan.form, domain.settings.cleaning.most_removed)
            except InputError as error:
                refused.append(Refusal(where=f"document {name!r}", reason=error.problem, hint=error.hint))
                continue
            free = [one for one in gone if one.sentence.id not in linked.get(name, ())]
            spared += len(gone) - len(free)
            if free:
                removed.setdefault(name, []).extend(free)
    documents = {name: _without(document, removed.get(name, ())) for name, document in corpus.documents.items()}
    all_removed = [one for found in removed.values() for one in sorted(found, key=lambda one: one.position)]
    counts = CleaningCounts(
        documents=len(documents),
        sentences=sum(len(document.sentences) for document in corpus.documents.values()),
        changed=len(removed),
        removed=dict(Counter(one.by for one in all_removed).most_common()),
        asked=asked,
        refused=dict(Counter(refusal.reason for refusal in refused)),
        linked=spared,
        model=model,
        usage=usage,
        unit="sentences" if lines is None else "lines",
        unread=0 if lines is None else len(corpus.refused),
    )
    return Cleaned(corpus.model_copy(update={"documents": documents}), all_removed, counts, refused)


def question_about(piece: Excerpt, domain: Domain, form: AnswerForm) -> Question:
    """Return the question about some sentences of a document."""
    texts = [" ".join(text.split()) for text in piece.texts]
    content = domain.render(f"clean_{form}.j2", texts=texts)
    words = sum(len(text.split()) for text in texts) if form is AnswerForm.ARTICLE else len(texts)
    messages = (Message(role="user", content=content),)
    return Question(
        messages=messages, json_schema=SCHEMAS[form], stage=STAGE, max_tokens=TOKENS_PER_WORD * words + ROOM
    )


def _gone(piece: Excerpt, answer: Answer, form: AnswerForm, most_removed: float) -> list[Removed]:
    if not answer.outcome.answered or answer.value is None:
        msg = f"the LLM's answer: {answer.outcome.words}" if answer.raw else "the LLM gave no answer"
        raise InputError(msg, "what rules removed stays removed; clean again to ask again")
    if form is AnswerForm.NUMBERS:
        kept = kept_by_numbers(piece.texts, answer.value["remove"], most_removed)
    else:
        kept = kept_by_article(piece.texts, answer.value["article"], most_removed)
    stay = {piece.positions[index] for index in kept}
    return [
        Removed(document=piece.document.id, position=at, sentence=piece.document.sentences[at], by=BY_LLM)
        for at in piece.positions
        if at not in stay
    ]


def _pieces(
    corpus: Corpus, domain: Domain, ask: AskAbout, removed: dict[str, list[Removed]], *, are_lines: bool
) -> list[Excerpt]:
    """Return what the LLM is asked about: whole documents, without what rules took out of them."""
    if ask is AskAbout.NONE:
        return []
    repeated = repeated_sentences(corpus.documents.values())
    pieces = []
    for name, document in corpus.documents.items():
        gone = {one.position for one in removed.get(name, ())}
        left = [position for position in range(len(document.sentences)) if position not in gone]
        if ask is AskAbout.ALL or any(
            is_suspicious(
                document.sentences[at].text,
                domain,
                repeated,
                may_go_on=at == left[0] or (are_lines and _goes_on(document, at)),
            )
            for at in left
        ):
            pieces += [Excerpt(document, left[at : at + MOST_NUMBERED]) for at in range(0, len(left), MOST_NUMBERED)]
    return pieces


def _goes_on(document: Document, line: int) -> bool:
    """Tell whether the paragraph of a line has another line behind it."""
    numbers = [int(sentence.id) for sentence in document.sentences[line : line + 2]]
    return len(numbers) > 1 and numbers[1] == numbers[0] + 1


def is_suspicious(text: str, domain: Domain, repeated: Counter[int], *, may_go_on: bool) -> bool:
    """Tell whether a sentence may be a leftover of a page: no end, a pattern of the domain, or in several documents.

    ``may_go_on``: it may be a headline, which has no end either, or a line that is only wrapped.
    """
    return (
        (not may_go_on and not ends_like_a_sentence(text))
        or repeated[key_of(text)] >= REPEATED_IN
        or any(re.search(pattern, text) for pattern in domain.settings.cleaning.suspicious)
    )


def _without(document: Document, removed: Sequence[Removed]) -> Document:
    if not removed:
        return document
    gone = {one.position for one in removed}
    left = tuple(sentence for position, sentence in enumerate(document.sentences) if position not in gone)
    return Document(id=document.id, sentences=left, meta=document.meta)


def kept_by_numbers(texts: Sequence[str], answer: Any, most_removed: float) -> list[int]:  # noqa: ANN401 - any JSON value
    """Return the positions of the sentences that stay, from the numbers of those that go.

    Raises:
        InputError: when a number is not a position, or more than the share ``most_removed`` of the sentences would go.
    """
    if not isinstance(answer, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in answer):
        msg = "the answer is not a list of numbers"
        raise InputError(msg, STAYS)
    if any(not 0 <= one < len(texts) for one in answer):
        msg = "the answer names a sentence that does not exist"
        raise InputError(msg, STAYS)
    return _kept_enough(
        [position for position in range(len(texts)) if position not in set(answer)], texts, most_removed
    )


def kept_by_article(texts: Sequence[str], answer: Any, most_removed: float) -> list[int]:  # noqa: ANN401 - any JSON value
    """Return the positions of the sentences that stay, from the article that came back.

    White space is ignored. All else of the article must be sentences of the document, each whole, in their order.

    Raises:
        InputError: when a word is changed, added or moved, or more than ``most_removed`` of the sentences would go.
    """
    if not isinstance(answer, str):
        msg = "the answer is not a text"
        raise InputError(msg, STAYS)
    article, sentences = _bare(answer), [_bare(text) for text in texts]
    # How far into the article the first n sentences can lead: a sentence may begin like the next one.
    reached = [{0}]
    for sentence in sentences:
        before = reached[-1]
        with_it = {at + len(sentence) for at in before if sentence and article.startswith(sentence, at)}
        reached.append(before | with_it)
    if len(article) not in reached[-1]:
        msg = "the returned article has words that the document does not have at that place"
        raise InputError(msg, STAYS)
    at, kept = len(article), []
    for position in range(len(texts) - 1, -1, -1):
        start = at - len(sentences[position])
        if sentences[position] and start in reached[position] and article.startswith(sentences[position], start):
            kept.append(position)
            at = start
        elif not sentences[position]:
            kept.append(position)  # a blank sentence leaves no trace in the article
    return _kept_enough(kept[::-1], texts, most_removed)


def _bare(text: str) -> str:
    return "".join(text.split())


def _kept_enough(kept: list[int], texts: Sequence[str], most_removed: float) -> list[int]:
    removed = len(texts) - len(kept)
    if not any(texts[position].strip() for position in kept):
        msg = "nothing of the document would be left"
        raise InputError(msg, STAYS)
    if removed > max(1, most_removed * len(texts)):
        msg = f"more than {most_removed:.0%} of the sentences would go"
        raise InputError(msg, STAYS)
    return kept

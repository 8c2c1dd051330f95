"""A dry run: what it would cost to ask questions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from os.path import commonprefix
from typing import Any

from abcdlink.corpus.records import Record
from abcdlink.llm.accounting import cost_of
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Question
from abcdlink.llm.request import LIMIT, size_of
from abcdlink.llm.tokens import count


class Estimate(Record):
    """What it would cost to ask questions, most things being as expensive as they can be.

    ``questions``: different ones. ``kept``: those with an answer in the cache, which cost nothing.
    ``calls``: the others, each asked once; ids that an answer leaves out, truncated answers and
    questions that are too long cause more. ``prompt_tokens``: of the calls. ``shared_tokens``: the
    part of them that the call before begins with too: the most that a server's prefix cache can save.
    ``completion_tokens``: the most that the answers can have. ``cost``: of all these tokens, none of
    them cached. ``cost_with_cache``: the same with all shared tokens cached. ``method``: how the
    prompt tokens were counted, in words.
    """

    questions: int
    kept: int
    calls: int
    prompt_tokens: int
    shared_tokens: int
    completion_tokens: int
    cost: float
    cost_with_cache: float
    method: str


def estimate(llm: LLM, questions: Sequence[Question]) -> Estimate:
    """Estimate the cost of questions; sends none of them.

    Args:
        llm: whom they would be asked.
        questions: in the order in which they would be asked.
    """
    distinct = {llm.key(question): question for question in questions}
    contents, seen = [], []
    for question in distinct.values():
        answer, content = llm.kept(question), llm.content(question)
        if answer is None:
            contents.append(content)
        elif answer.usage.prompt_tokens:
            seen.append((size_of(content), answer.usage.prompt_tokens // answer.usage.calls))
    counted = count(llm.endpoint, contents, seen)
    prompt = round(sum(counted.tokens))
    shared = round(sum(_shared(contents, counted.tokens)))
    completion = sum(content[LIMIT] for content in contents)
    return Estimate(
        questions=len(distinct),
        kept=len(distinct) - len(contents),
        calls=len(contents),
        prompt_tokens=prompt,
        shared_tokens=shared,
        completion_tokens=completion,
        cost=cost_of(llm.settings, prompt, completion),
        cost_with_cache=cost_of(llm.settings, prompt, completion, cached=shared),
        method=counted.method,
    )


def _shared(contents: Sequence[dict[str, Any]], tokens: Sequence[float]) -> list[float]:
    """Return, for each prompt but the first, the tokens that it begins with as the one before does."""
    texts = ["\n".join(message["content"] for message in content["messages"]) for content in contents]
    return [
        len(commonprefix([before, text])) / max(1, len(text)) * count  # noqa: RUF071 - characters are meant
        for (before, text), count in zip(pairwise(texts), tokens[1:], strict=True)
    ]

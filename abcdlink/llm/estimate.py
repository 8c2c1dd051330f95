"""A dry run: what it would cost to ask questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from os.path import commonprefix
from statistics import fmean
from typing import Any, NamedTuple

from abcdlink.corpus.records import Record
from abcdlink.llm.budget import cost_of
from abcdlink.llm.client import LLM
from abcdlink.llm.endpoint import Endpoint
from abcdlink.llm.records import Question
from abcdlink.llm.request import LIMIT, size_of

COUNTED = 200
"""Most prompts to count one by one; of more, an even sample of this size is taken."""
PATIENCE = 20.0
"""Timeout for the server to count one prompt, in seconds."""


class LLMEstimate(Record):
    """What it would cost to ask questions, by upper bounds for most parts.

    ``questions``: distinct ones. ``kept``: those with an answer in the cache, which cost nothing.
    ``calls``: the others, each asked once; ids that an answer leaves out, truncated answers and
    questions that are too long cause more. ``prompt_tokens``: those of the calls. ``shared_tokens``: the
    part that the previous call also starts with: the most that a server's prefix cache can save.
    ``completion_tokens``: the most that the answers can have. ``cost``: that of all these tokens, none of
    them cached. ``cost_with_cache``: the same with all shared tokens cached. ``method``: how the
    prompt tokens were counted, in words. ``seconds``: how long it would take, as long for each call as kept answers of
    the same model took, so many at a time as the settings allow; ``None`` when there is none to go by.
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
    seconds: float | None = None

    @property
    def row(self) -> dict[str, object]:
        """The estimate as a row of a table."""
        return {
            "questions": f"{self.questions:,}",
            "answered before": f"{self.kept:,}",
            "calls": f"{self.calls:,}",
            "prompt tokens": f"{self.prompt_tokens:,}",
            "answer tokens, at most": f"{self.completion_tokens:,}",
            "cost, at most": f"{self.cost:.4g}",
        }


def sum_of(estimates: Sequence[LLMEstimate]) -> LLMEstimate:
    """Return several models' estimates as one."""
    apart = {"method", "seconds"}
    numbers = [one.model_dump(exclude=apart) for one in estimates]
    sums = {name: sum(one[name] for one in numbers) for name in LLMEstimate.model_fields if name not in apart}
    seconds = [one.seconds for one in estimates if one.calls]
    methods = dict.fromkeys(one.method for one in estimates if one.calls) or {"there is nothing to ask": None}
    known = None if None in seconds else sum(one for one in seconds if one is not None)
    return LLMEstimate.model_validate({**sums, "method": "; ".join(methods), "seconds": known})


def expected_cost(llm: LLM, questions: Sequence[Question]) -> LLMEstimate:
    """Estimate the cost of questions without sending any.

    They are in the order in which they would be asked.
    """
    distinct = {llm.key(question): question for question in questions}
    contents, seen, took = [], [], []
    for question in distinct.values():
        answer, content = llm.kept(question), llm.content(question)
        if answer is None:
            contents.append(content)
        elif answer.usage.prompt_tokens:
            seen.append((size_of(content), answer.usage.prompt_tokens // answer.usage.calls))
            took.append(answer.usage.seconds / answer.usage.calls)
    counted = count(llm.endpoint, contents, seen)
    prompt = round(sum(counted.tokens))
    shared = round(sum(_shared(contents, counted.tokens)))
    completion = sum(content[LIMIT] for content in contents)
    return LLMEstimate(
        questions=len(distinct),
        kept=len(distinct) - len(contents),
        calls=len(contents),
        prompt_tokens=prompt,
        shared_tokens=shared,
        completion_tokens=completion,
        cost=cost_of(llm.settings, prompt, completion),
        cost_with_cache=cost_of(llm.settings, prompt, completion, cached=shared),
        method=counted.method,
        seconds=len(contents) * fmean(took) / llm.settings.llm_concurrency if took else None,
    )


def _shared(contents: Sequence[dict[str, Any]], tokens: Sequence[float]) -> list[float]:
    """Return, for each prompt but the first, the number of tokens of the prefix shared with the previous one."""
    texts = ["\n".join(message["content"] for message in content["messages"]) for content in contents]
    return [
        len(commonprefix([before, text])) / max(1, len(text)) * count  # noqa: RUF071 - characters are meant
        for (before, text), count in zip(pairwise(texts), tokens[1:], strict=True)
    ]


class Counted(NamedTuple):
    """Tokens of prompts, in their order, and how they were counted, in words."""

    tokens: list[float]
    method: str


def count(endpoint: Endpoint, contents: Sequence[dict[str, Any]], seen: Sequence[tuple[int, int]]) -> Counted:
    """Count the prompt tokens of requests, as exactly as possible without asking the model.

    It uses the server's own tokenizer if it has one (vLLM, llama.cpp), else OpenAI's if ``tiktoken`` is installed and
    knows the model, else the ratio of tokens to bytes in earlier answers, else a quarter of the bytes. ``seen``:
    (bytes, tokens) of prompts that the server counted earlier.
    """
    if not contents:
        return Counted([], "there is nothing to ask")
    sizes = [size_of(content) for content in contents]
    step = math.ceil(len(contents) / COUNTED)
    sample = range(0, len(contents), step)
    for name, counter in (("the server's tokenizer", _by_server), ("tiktoken", _by_tiktoken)):
        counted = counter(endpoint, [contents[index]["messages"] for index in sample])
        if counted is None:
            continue
        if step == 1:
            return Counted([float(tokens) for tokens in counted], f"counted by {name}")
        ratio = sum(counted) / sum(sizes[index] for index in sample)
        method = f"{len(counted)} of {len(contents)} prompts counted by {name}, the others by their length"
        return Counted([ratio * size for size in sizes], method)
    bytes_seen = sum(size for size, _ in seen)
    if bytes_seen:
        ratio = sum(tokens for _, tokens in seen) / bytes_seen
        method = f"{ratio:.3f} tokens per byte, as the server counted in {len(seen)} kept answers"
    else:
        ratio, method = 1 / 4, "a quarter of the bytes: the server has no tokenizer and nothing was counted before"
    return Counted([ratio * size for size in sizes], method)


def _by_server(endpoint: Endpoint, prompts: Sequence[list[dict[str, str]]]) -> list[int] | None:
    """Count by ``POST /tokenize``, which vLLM gives the messages and llama.cpp the text that its template makes."""
    import openai

    if endpoint.offline:
        return None
    root = endpoint.base_url.rstrip("/").removesuffix("/v1")

    def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        return endpoint.client.post(f"{root}/{path}", body=body, cast_to=dict[str, Any], options={"timeout": PATIENCE})

    def tokens(messages: list[dict[str, str]]) -> int:
        answer = post("tokenize", {"model": endpoint.settings.llm_model, "messages": messages})
        if "count" in answer:
            return int(answer["count"])
        text = post("apply-template", {"messages": messages})["prompt"]
        return len(post("tokenize", {"content": text, "add_special": True, "parse_special": True})["tokens"])

    try:
        return [tokens(messages) for messages in prompts]
    except (openai.OpenAIError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _by_tiktoken(endpoint: Endpoint, prompts: Sequence[list[dict[str, str]]]) -> list[int] | None:
    """Count by OpenAI's tokenizer, with what its chat format adds to each message (4) and to the prompt (3)."""
    try:
        import tiktoken

        encoding = tiktoken.encoding_for_model(endpoint.settings.llm_model)
    except (ImportError, KeyError, OSError):  # not installed, not OpenAI's, or its table cannot be downloaded
        return None
    return [
        3 + sum(4 + len(encoding.encode(message["content"], disallowed_special=())) for message in messages)
        for messages in prompts
    ]

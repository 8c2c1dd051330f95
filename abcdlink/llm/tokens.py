"""How many tokens a prompt has: by the server's own tokenizer, or from what it counted before."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from abcdlink.llm.request import size_of

if TYPE_CHECKING:
    from abcdlink.llm.endpoint import Endpoint

COUNTED = 200
"""Prompts that are counted one by one; of more, so many are taken evenly."""
PATIENCE = 20.0
"""Seconds for the server to count one prompt."""
OVERHEAD = 64
"""Tokens that a chat template may add."""
MARGIN = 1.2
"""How much denser than any prompt before the next one may be."""
SHORT = 200
"""Bytes; in shorter prompts the chat template weighs too much to tell a ratio."""


class Ratio:
    """Tokens per byte of prompt, as the server counted them; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._highest = 0.0

    def note(self, size: int, tokens: int) -> None:
        """Note that a prompt of ``size`` bytes had so many tokens."""
        if size >= SHORT and tokens:
            with self._lock:
                self._highest = max(self._highest, tokens / size)

    def most(self, size: int) -> int:
        """Return how many tokens a prompt of ``size`` bytes has at most.

        No tokenizer makes more tokens than bytes; once prompts were counted, 1.2 times the densest
        of them is taken as the bound.
        """
        with self._lock:
            density = min(1.0, MARGIN * self._highest) if self._highest else 1.0
        return math.ceil(density * size) + OVERHEAD


class Counted(NamedTuple):
    """Tokens of prompts, in their order, and how they were counted, in words."""

    tokens: list[float]
    method: str


def count(endpoint: Endpoint, contents: Sequence[dict[str, Any]], seen: Sequence[tuple[int, int]]) -> Counted:
    """Count the prompt tokens of requests, as exactly as can be had without asking the model.

    The server's own tokenizer where it has one (vLLM, llama.cpp), else OpenAI's where ``tiktoken`` is
    installed and knows the model, else the ratio of tokens to bytes in earlier answers, else a
    quarter of the bytes.

    Args:
        endpoint: the server.
        contents: the bodies of the requests.
        seen: (bytes, tokens) of prompts that the server counted earlier.
    """
    if not contents:
        return Counted([], "nothing is to be asked")
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

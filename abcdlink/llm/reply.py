"""From a completion as it came, whatever its shape, to an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from abcdlink.llm.parsing import Parsed, parse
from abcdlink.llm.probabilities import Token, probabilities_of, tokens_of
from abcdlink.llm.records import Answer, Form, Outcome, Usage

THINKING = ("reasoning_content", "reasoning")
"""Where vLLM, SGLang and others put what a parser for reasoning models takes for thinking text."""


class Reply(NamedTuple):
    """A completion as it came: text, why the model stopped, its own words of refusal, what it used, its tokens.

    There are no ``tokens`` where log-probabilities were not asked for or the server gives none. ``thinking``: the
    field of the message that holds text while its content is empty.
    """

    text: str
    finish: str
    refusal: str
    usage: Usage
    tokens: tuple[Token, ...] = ()
    thinking: str = ""


def reply_of(body: Any, usage: Usage, scrub: Callable[[str], str]) -> Reply:  # noqa: ANN401 - any JSON value
    """Return what a completion says.

    Args:
        body: the reply as decoded JSON; servers put anything there.
        usage: what it cost.
        scrub: makes a text storable.

    Raises:
        ValueError: it holds no message.
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if message is None or not isinstance(choice, dict):
        msg = "the reply holds no choices"
        raise ValueError(msg)
    if not isinstance(message, dict):
        message = {"content": message}
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    text = "".join(_texts(parts, "refusal"))
    refusal = "".join(_texts([message.get("refusal")], "")) or "".join(_refusals(parts))
    finish = choice.get("finish_reason")
    return Reply(
        text=scrub(text),
        finish=finish if isinstance(finish, str) else "",
        refusal=scrub(refusal),
        usage=_with_thinking(usage, message, text),
        tokens=tokens_of(choice.get("logprobs")),
        thinking=next((name for name in THINKING if not text.strip() and message.get(name)), ""),
    )


def _with_thinking(usage: Usage, message: dict[str, Any], text: str) -> Usage:
    """Return the usage with an estimate of the tokens of thinking that a server shows but does not count."""
    apart = next((found for name in THINKING if isinstance(found := message.get(name), str)), "")
    thought, _, answer = text.rpartition("</think>")
    letters = len(apart) + len(thought)
    if usage.thinking_tokens or not letters:
        return usage
    share = letters / (letters + len(answer))
    return usage.model_copy(update={"thinking_tokens": round(share * usage.completion_tokens)})


def _texts(parts: list[Any], left_out: str) -> Iterator[str]:
    """Yield the text of each part of a content; thinking is no part of the answer."""
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and "type" in part:
            if part["type"] in ("text", "output_text"):
                text = part.get("text")
                yield from _texts([text.get("value") if isinstance(text, dict) else text], left_out)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]
        elif part is not None:  # a server that decodes the answer itself
            yield json.dumps(part, ensure_ascii=False)


def _refusals(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "refusal":
            yield str(part.get("refusal") or "it does not say why")


def answer_of(reply: Reply, schema: dict[str, Any], form: Form) -> Answer:
    """Judge a reply: its outcome, its value and P(true) of its keys."""
    outcome, value, detail = _judge(reply, schema)
    return Answer(
        outcome=outcome,
        value=value,
        probabilities=probabilities_of(reply.text, value or {}, reply.tokens),
        raw=reply.text,
        detail=detail,
        usage=reply.usage,
        form=form,
    )


def _judge(reply: Reply, schema: dict[str, Any]) -> Parsed:
    if reply.refusal:
        return Parsed(Outcome.REFUSED, detail=f"the model declined: {reply.refusal[:200]}")
    if reply.finish == "content_filter":
        return Parsed(Outcome.REFUSED, detail="the server's content filter stopped the answer")
    if reply.finish == "length":
        return Parsed(Outcome.TRUNCATED, detail="the answer reached its limit of tokens")
    if reply.thinking:
        return Parsed(
            Outcome.INVALID,
            detail=f"the answer is empty and all text is under {reply.thinking}: start the server without a reasoning "
            "parser (vLLM and SGLang: --reasoning-parser), or with the one that is made for this model",
        )
    return parse(reply.text, schema)

"""From a completion as it came to an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from abcdlink.llm.parsing import Parsed, parse
from abcdlink.llm.probabilities import Token, probabilities_of, tokens_of
from abcdlink.llm.records import Answer, Form, Outcome, Usage

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion


class Reply(NamedTuple):
    """A completion as it came: text, why the model stopped, its own words of refusal, what it used, its tokens.

    There are no ``tokens`` where log-probabilities were not asked for or the server gives none.
    """

    text: str
    finish: str
    refusal: str
    usage: Usage
    tokens: tuple[Token, ...] = ()


def reply_of(completion: ChatCompletion, usage: Usage, scrub: Callable[[str], str]) -> Reply:
    """Return what a completion says.

    Args:
        completion: as the ``openai`` package read it; it checks nothing.
        usage: what it cost.
        scrub: makes a text storable.

    Raises:
        ValueError: it holds no message.
    """
    choices: list[Any] = getattr(completion, "choices", None) or []
    message = getattr(choices[0], "message", None) if choices else None
    if message is None:
        msg = "the reply holds no choices"
        raise ValueError(msg)
    return Reply(
        text=scrub(message.content or ""),
        finish=getattr(choices[0], "finish_reason", None) or "",
        refusal=scrub(message.refusal or ""),
        usage=usage,
        tokens=tokens_of(choices[0].logprobs),
    )


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
    return parse(reply.text, schema)

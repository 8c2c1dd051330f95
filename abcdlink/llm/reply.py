"""From a raw completion, whatever its shape, to an answer: its outcome, its value, and P(true) of its keys."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from abcdlink.llm.parsing import STRING, Parsed, as_json, parse
from abcdlink.llm.records import Answer, Form, Outcome, Usage

THINKING = ("reasoning_content", "reasoning")
"""Fields in which vLLM, SGLang and others put what a reasoning parser takes for thinking text."""


class Reply(NamedTuple):
    """A raw completion: text, why the model stopped, its refusal, usage, and tokens.

    There are no ``tokens`` if log-probabilities were not asked for or the server gives none. ``thinking``: the
    message field that contains text although the content is empty.
    """

    text: str
    finish: str
    refusal: str
    usage: Usage
    tokens: tuple[Token, ...] = ()
    thinking: str = ""


def reply_of(body: Any, usage: Usage, scrub: Callable[[str], str]) -> Reply:  # noqa: ANN401 - any JSON value
    """Return what a completion says.

    ``body``: decoded JSON, which may contain anything; ``scrub``: makes a text storable. Raises
    ``ValueError`` when it contains no message.
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if message is None or not isinstance(choice, dict):
        msg = "the reply contains no choices"
        raise ValueError(msg)
    if not isinstance(message, dict):
        message = {"content": message}
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    text = "".join(_texts(parts))
    refusal = "".join(_texts([message.get("refusal") or None])) or "".join(_refusals(parts))
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
    """Return the usage with an estimate of thinking tokens that a server shows but does not count."""
    apart = next((found for name in THINKING if isinstance(found := message.get(name), str)), "")
    thought, _, answer = text.rpartition("</think>")
    letters = len(apart) + len(thought)
    if usage.thinking_tokens or not letters:
        return usage
    share = letters / (letters + len(answer))
    return usage.model_copy(update={"thinking_tokens": round(share * usage.completion_tokens)})


def _texts(parts: list[Any]) -> Iterator[str]:
    """Yield the text of each part of a content; thinking is not part of the answer."""
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and "type" in part:
            if part["type"] in ("text", "output_text"):
                text = part.get("text")
                yield from _texts([text.get("value") if isinstance(text, dict) else text])
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]
        elif part is not None:  # some servers decode the answer themselves
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
            "parser (vLLM and SGLang: --reasoning-parser), or with the one made for this model",
        )
    return parse(reply.text, schema)


WIDTH = 0.05
"""If one of the two words is not among the alternatives, P(true) is given only if it is known to be within an
interval of at most this width; its midpoint is given, which is off by at most half of it."""
FORMS = 4
"""Tokens that can begin one word (with or without a space, whole or its first letters): an unlisted word may have
so many times the probability of the least probable alternative that is listed."""
BOOLEAN = re.compile(
    rf"(?P<key>{STRING} | \d+) \s*:\s* (?P<value>true|false)\b", re.VERBOSE | re.DOTALL | re.IGNORECASE
)
WORDS = {True: "true", False: "false"}


class Token(NamedTuple):
    """One output token: its bytes, and the alternatives with their probabilities.

    ``alternatives`` includes the output token.
    """

    written: bytes
    alternatives: Mapping[str, float]


def tokens_of(logprobs: Any) -> tuple[Token, ...]:  # noqa: ANN401 - any JSON value
    """Return the tokens of a reply, or none where the server sent no usable log-probabilities."""
    try:
        return tuple(map(_token, (logprobs or {}).get("content") or []))
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):  # some server's variant of the format
        return ()


def _token(sent: dict[str, Any]) -> Token:
    alternatives = {other["token"]: _probability(other["logprob"]) for other in sent.get("top_logprobs") or []}
    if not all(isinstance(text, str) for text in (sent["token"], *alternatives)):
        msg = "a token is not a text"
        raise TypeError(msg)
    written = bytes(list(sent["bytes"])) if sent.get("bytes") else sent["token"].encode()
    return Token(written, {**alternatives, sent["token"]: _probability(sent["logprob"])})


def _probability(logprob: float) -> float:
    """Return the probability; raises ``ValueError`` if it is invalid (NaN would spoil every sum)."""
    if math.isnan(logprob):
        msg = "a log-probability is not a number"
        raise ValueError(msg)
    return min(1.0, math.exp(logprob))


def probabilities_of(raw: str, value: Mapping[str, Any], tokens: Sequence[Token]) -> dict[str, float] | None:
    """Return P(true) of each key of ``value`` whose tokens tell it: p(true) / (p(true) + p(false)).

    Both are summed over the alternatives at the token where the value begins, whatever space they begin with and
    however much of the word they hold. Each is given all that was written before: in a listwise answer, the values of
    the keys above.

    Where one of the two words is not listed its probability is bounded (by the least probable listed alternative and by
    what is left of 1), and with it P(true); see ``WIDTH``. A key is absent where the bounds are wider, where neither
    word is listed, or where its value cannot be found. ``raw`` is the end of what ``tokens`` say, but for special
    tokens.

    Returns:
        Key -> probability; ``None`` when there are no tokens.
    """
    if not tokens:
        return None
    begin = b"".join(token.written for token in tokens).rfind(raw.encode())
    if begin < 0:
        return {}
    ends = list(accumulate(len(token.written) for token in tokens))
    found: dict[str, float | None] = {}
    for match in BOOLEAN.finditer(raw):
        try:
            key = json.loads(as_json(match["key"]), strict=False)
        except ValueError:  # it is in text outside the answer
            continue
        if value.get(key) is not (match["value"].lower() == "true"):
            continue
        place = begin + len(raw[: match.start("value")].encode())
        index = bisect_right(ends, place)
        written = tokens[index].written
        before = written[: place - (ends[index] - len(written))]
        # A key that occurs twice could be either of them.
        found[key] = None if key in found else _p_true(tokens[index], before.decode(errors="replace"))
    return {key: probability for key, probability in found.items() if probability is not None}


def _p_true(token: Token, before: str) -> float | None:
    """Return P(true) at one token; ``before`` is the part of it that precedes the value."""
    mass = dict.fromkeys(WORDS, 0.0)
    for text, probability in token.alternatives.items():
        word = _word(text, before)
        if word is not None:
            mass[word] += probability
    total = sum(mass.values())
    if not total:
        return None
    if all(mass.values()):
        return mass[True] / total
    unlisted = _unlisted(token)
    if unlisted / (total + unlisted) > WIDTH:
        return None
    half = unlisted / (total + unlisted) / 2
    return 1 - half if mass[True] else half


def _word(text: str, before: str) -> bool | None:
    """Return which word a token begins, if one."""
    letters, head = "".join(text.split()).lower(), "".join(before.split()).lower()
    letters = letters[len(head) :] if letters.startswith(head) else ""
    for word, spelled in WORDS.items():
        if letters and (spelled.startswith(letters) or re.match(rf"{spelled}(?![a-z0-9_])", letters)):
            return word
    return None


def _unlisted(token: Token) -> float:
    """Return the highest possible total probability of all tokens of an unlisted word."""
    written = token.written.decode(errors="replace")
    left = max(0.0, 1 - sum(token.alternatives.values()))
    # The written token may be listed without being among the most probable ones.
    others = [probability for text, probability in token.alternatives.items() if text != written]
    return min([left, *(FORMS * probability for probability in others)])

"""P(true) of every answered key, from the log-probabilities of the tokens that a model might have written."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from abcdlink.llm.parsing import STRING, as_json

WIDTH = 0.05
"""Where one of the two words is not among the alternatives, P(true) is told only if it is known to lie in an
interval of at most this width; the middle of it is told, which is off by half of it at most."""
FORMS = 4
"""Tokens that can begin one word (with or without a space, whole or its first letters): an unlisted word may have
so many times the probability of the least probable alternative that is listed."""
BOOLEAN = re.compile(
    rf"(?P<key>{STRING} | \d+) \s*:\s* (?P<value>true|false)\b", re.VERBOSE | re.DOTALL | re.IGNORECASE
)
WORDS = {True: "true", False: "false"}


class Token(NamedTuple):
    """One written token: its bytes, and the tokens that might have stood there with their probabilities.

    ``alternatives`` holds the written token too.
    """

    written: bytes
    alternatives: Mapping[str, float]


def tokens_of(logprobs: Any) -> tuple[Token, ...]:  # noqa: ANN401 - any JSON value
    """Return the tokens of a reply, or none where the server sent no usable log-probabilities."""
    try:
        return tuple(map(_token, (logprobs or {}).get("content") or []))
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):  # some server's own idea of the format
        return ()


def _token(sent: dict[str, Any]) -> Token:
    alternatives = {other["token"]: _probability(other["logprob"]) for other in sent.get("top_logprobs") or []}
    if not all(isinstance(text, str) for text in (sent["token"], *alternatives)):
        msg = "a token is not a text"
        raise TypeError(msg)
    written = bytes(list(sent["bytes"])) if sent.get("bytes") else sent["token"].encode()
    return Token(written, {**alternatives, sent["token"]: _probability(sent["logprob"])})


def _probability(logprob: float) -> float:
    """Return the probability; ``ValueError`` when it is none (NaN would spoil every sum)."""
    if math.isnan(logprob):
        msg = "a log-probability is not a number"
        raise ValueError(msg)
    return min(1.0, math.exp(logprob))


def probabilities_of(raw: str, value: Mapping[str, Any], tokens: Sequence[Token]) -> dict[str, float] | None:
    """Return P(true) of each key of ``value`` whose tokens tell it: p(true) / (p(true) + p(false)).

    Both are summed over the alternatives at the token where the value begins, whatever space they
    begin with and however much of the word they hold. Each is given all that was written before: in
    a listwise answer, the values of the keys above.

    Where one of the two words is not listed its probability is bounded (by the least probable listed
    alternative and by what is left of 1), and with it P(true); see ``WIDTH``. A key is absent where
    the bounds are wider, where neither word is listed, or where its value cannot be found.

    Args:
        raw: the text of the answer.
        value: the parsed answer.
        tokens: what the model wrote; ``raw`` is the end of it, but for special tokens.

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
        except ValueError:  # it stands in other text than the answer
            continue
        if value.get(key) is not (match["value"].lower() == "true"):
            continue
        place = begin + len(raw[: match.start("value")].encode())
        index = bisect_right(ends, place)
        written = tokens[index].written
        before = written[: place - (ends[index] - len(written))]
        # A key that stands there twice could be either of them.
        found[key] = None if key in found else _p_true(tokens[index], before.decode(errors="replace"))
    return {key: probability for key, probability in found.items() if probability is not None}


def _p_true(token: Token, before: str) -> float | None:
    """Return P(true) at one token; ``before`` is the part of it that stands before the value."""
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
    """Return the most that all tokens of one unlisted word can have together."""
    written = token.written.decode(errors="replace")
    left = max(0.0, 1 - sum(token.alternatives.values()))
    # The written token may be listed without being among the most probable ones.
    others = [probability for text, probability in token.alternatives.items() if text != written]
    return min([left, *(FORMS * probability for probability in others)])

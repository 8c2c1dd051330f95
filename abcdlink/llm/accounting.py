"""What questions cost: tokens, seconds and money, by the stage they were asked for."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

from abcdlink.llm.records import Usage
from abcdlink.settings import Settings

MILLION = 1_000_000
MOST_TOKENS = 100 * MILLION
"""Of one call; a server that counts more miscounts."""


def usage_of(reported: Any, seconds: float, settings: Settings, discount: float = 1.0) -> Usage:  # noqa: ANN401
    """Return what one call used: tokens as the server reports them, cost by the price settings.

    ``prompt_tokens`` includes the cached ones, as servers count them; a server that reports no
    cached tokens had none. A server that reports nothing, or nothing that can be a count, leaves the tokens at 0.

    Args:
        reported: the server's own count: ``usage`` of the reply, any JSON value.
        seconds: how long the call took.
        settings: the prices.
        discount: share of the price that is paid, as for a batch.
    """
    counts = reported if isinstance(reported, dict) else {}
    details = counts.get("prompt_tokens_details")
    prompt, completion = _tokens(counts.get("prompt_tokens")), _tokens(counts.get("completion_tokens"))
    written = counts.get("completion_tokens_details")
    thinking = min(completion, _tokens(written.get("reasoning_tokens") if isinstance(written, dict) else None))
    cached = min(prompt, _tokens(details.get("cached_tokens") if isinstance(details, dict) else None))
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=completion,
        thinking_tokens=thinking,
        seconds=seconds,
        cost=cost_of(settings, prompt, completion, cached) * discount,
    )


def _tokens(value: Any) -> int:  # noqa: ANN401 - any JSON value
    whole = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return int(value) if whole else 0


def cost_of(settings: Settings, prompt: float, completion: float, cached: float = 0) -> float:
    """Return the price of so many tokens; ``cached`` is the part of ``prompt`` that the server had."""
    return (
        (prompt - cached) * settings.llm_price_prompt
        + cached * settings.llm_price_cached
        + completion * settings.llm_price_completion
    ) / MILLION


class Ledger:
    """Adds up usage by stage; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_stage: defaultdict[str, Usage] = defaultdict(Usage)

    def add(self, stage: str, usage: Usage) -> None:
        """Add what one question used."""
        with self._lock:
            self._by_stage[stage] += usage

    def totals(self) -> dict[str, Usage]:
        """Return the sum of each stage so far."""
        with self._lock:
            return dict(self._by_stage)

"""What questions cost: tokens, seconds and money, by the stage they were asked for."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import TYPE_CHECKING

from abcdlink.llm.records import Usage
from abcdlink.settings import Settings

if TYPE_CHECKING:
    from openai.types import CompletionUsage

MILLION = 1_000_000


def usage_of(reported: CompletionUsage | None, seconds: float, settings: Settings, discount: float = 1.0) -> Usage:
    """Return what one call used: tokens as the server reports them, cost by the price settings.

    ``prompt_tokens`` includes the cached ones, as servers count them; a server that reports no
    cached tokens had none. A server that reports nothing leaves the tokens at 0.

    Args:
        reported: the server's own count.
        seconds: how long the call took.
        settings: the prices.
        discount: share of the price that is paid, as for a batch.
    """
    if reported is None:
        return Usage(calls=1, seconds=seconds)
    # The package checks nothing: a server may leave out what it likes.
    prompt = getattr(reported, "prompt_tokens", None) or 0
    completion = getattr(reported, "completion_tokens", None) or 0
    cached = getattr(reported.prompt_tokens_details, "cached_tokens", None) or 0
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=completion,
        seconds=seconds,
        cost=cost_of(settings, prompt, completion, cached) * discount,
    )


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

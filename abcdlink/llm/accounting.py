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


def usage_of(reported: CompletionUsage | None, seconds: float, settings: Settings) -> Usage:
    """Return what one call used: tokens as the server reports them, cost by the price settings.

    ``prompt_tokens`` includes the cached ones, as servers count them; a server that reports no
    cached tokens had none. A server that reports nothing leaves the tokens at 0.
    """
    if reported is None:
        return Usage(calls=1, seconds=seconds)
    details = reported.prompt_tokens_details
    cached = (details.cached_tokens or 0) if details else 0
    cost = (
        (reported.prompt_tokens - cached) * settings.llm_price_prompt
        + cached * settings.llm_price_cached
        + reported.completion_tokens * settings.llm_price_completion
    ) / MILLION
    return Usage(
        calls=1,
        prompt_tokens=reported.prompt_tokens,
        cached_tokens=cached,
        completion_tokens=reported.completion_tokens,
        seconds=seconds,
        cost=cost,
    )


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

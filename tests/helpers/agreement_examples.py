"""Invented judgments for tests of agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from abcdlink.judgments import Judgment
from tests.helpers.builders import judgment

START = datetime(2026, 5, 4, 9, tzinfo=UTC)


def task(
    columns: Sequence[str],
    source: str = "0",
    pair: str = "p",
    batch: int = 1,
    seconds: Mapping[int, float] | float | None = None,
    minute: Mapping[int, float] | float | None = None,
) -> list[Judgment]:
    """One task: one string per annotator (L Link, N No Link, blank nothing), one character per candidate.

    ``seconds`` and ``minute`` (of submission, after ``START``): for all annotators, or by their number from 1.
    """

    def of(value: Mapping[int, float] | float | None, number: int) -> float | None:
        return value.get(number) if isinstance(value, Mapping) else value

    return [
        judgment(
            (pair, source, str(place)),
            number,
            letter == "L",
            batch=batch,
            method="llm",
            seconds=of(seconds, number),
            submitted=None if (at := of(minute, number)) is None else START + timedelta(minutes=at),
        )
        for number, column in enumerate(columns, start=1)
        for place, letter in enumerate(column)
        if letter != " "
    ]


def many(count: int, patterns: Sequence[Sequence[str]], batch: int = 1, sources: int = 3) -> list[Judgment]:
    """This many pairs of ``sources`` tasks each, whose labels cycle through the patterns."""
    return [
        judgment
        for number in range(count)
        for source in range(sources)
        for judgment in task(patterns[(number + source) % len(patterns)], str(source), f"b{batch}-p{number}", batch)
    ]

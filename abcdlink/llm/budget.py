"""The cost of LLM calls, and what a run may spend.

The most that a call can cost is reserved before it is sent, so that the limit is never exceeded.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

from abcdlink.errors import BudgetError, InputError
from abcdlink.llm.errors import ProfileError
from abcdlink.llm.records import Usage
from abcdlink.locks import SPENDING, lock_of
from abcdlink.settings import Settings

LOG = logging.getLogger(__name__)
MILLION = 1_000_000
MOST_TOKENS = 100 * MILLION
"""Most tokens of one call; a server that counts more is wrong."""


def usage_of(reported: Any, seconds: float, settings: Settings, discount: float = 1.0) -> Usage:  # noqa: ANN401
    """Return the usage of one call: tokens as the server reports them, cost by the price settings.

    ``prompt_tokens`` includes the cached ones, as servers count them; a server that reports no cached tokens had none.
    A server that reports nothing, or no valid count, leaves the tokens at 0. ``reported``: ``usage`` of the reply, any
    JSON value. ``discount``: share of the price that is paid, as in a batch.
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
    """Return the price of some tokens; ``cached`` is the part of ``prompt`` that the server had cached."""
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


SEPARATOR = "\n"
"""Separates the names of run and profile in the accounts of profiles."""
RUN_LIMITS = ("ABCDLINK_LLM_BUDGET_TOKENS", "ABCDLINK_LLM_BUDGET")

WAIT = 60.0
"""Seconds to wait for another process that writes to the file."""
TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS spent (account TEXT PRIMARY KEY, tokens INTEGER NOT NULL, cost REAL NOT NULL);
CREATE TABLE IF NOT EXISTS held (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, tokens INTEGER NOT NULL, cost REAL NOT NULL
);
"""


class Sum(NamedTuple):
    """Tokens (prompt and completion) and money."""

    tokens: int
    cost: float


class Hold:
    """The most that a pending call may cost; ``used`` is what it did cost."""

    def __init__(self, most: Sum) -> None:
        self.most = most
        self.used: Sum | None = None
        """``None`` while unknown: the call then counts as free."""


class Budget:
    """The account of one run, shared by its stages, threads and processes on this machine.

    Before a call its highest possible cost is reserved; after it, what it did cost is booked. What
    a killed process had under way stays reserved for good: the server may have billed it.

    Args:
        settings: the limits and the path of the file. A profile's calls count towards the limits of the run and
            towards its own.
        account: name of the run; without one, the account lasts as long as this object.

    Raises:
        ProfileError: a limit in money without prices.
    """

    def __init__(self, settings: Settings, account: str = "") -> None:
        self._settings, self.account = settings, account
        self._part = f"{account}{SEPARATOR}{settings.llm_profile}" if settings.llm_profile else account
        self._path = settings.home.resolve() / "spending.sqlite" if account else None
        self._changed = threading.Condition()
        self._under_way = 0
        own = settings.llm_limits[1]
        if (settings.llm_budget or own) and not settings.llm_has_prices:
            which = settings.llm_setting("budget") if own else RUN_LIMITS[1]
            msg = f"{which} limits the cost but token prices are not set"
            prices = settings.llm_setting("price_prompt"), settings.llm_setting("price_completion")
            raise ProfileError(msg, f"set {prices[0]} and {prices[1]}")
        if self._path:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        # By process: a connection must not be carried into a forked one. It stays open, as closing the last one of
        # a file writes all of it to the disk, which would take longer than the rest of a call.
        self._connections: dict[int, sqlite3.Connection] = {}

    def _connect(self) -> sqlite3.Connection:
        if os.getpid() not in self._connections:
            connection = sqlite3.connect(
                self._path or ":memory:", timeout=WAIT, isolation_level=None, check_same_thread=False
            )
            # SQLite does not wait for others that open a new file at the same moment: it fails.
            with lock_of(SPENDING, self._path.parent) if self._path else nullcontext():
                connection.executescript(TABLES)
            self._connections[os.getpid()] = connection
        return self._connections[os.getpid()]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._changed:
            try:
                connection = self._connect()
                connection.execute("BEGIN IMMEDIATE")
                with connection:
                    yield connection
            except sqlite3.Error as error:
                self._connections.pop(os.getpid(), None)
                msg = f"spending cannot be recorded in {self._path}: {error}"
                hint = "check the free disk space and the folder's permissions, then run this again"
                raise InputError(msg, hint) from None

    @contextmanager
    def call(self, most: Sum) -> Iterator[Hold]:
        """Reserve the most that a call may cost while the ``with`` block is open.

        Where what other calls of this process have reserved stands in the way, those are waited for. Raises
        ``BudgetError`` when the call could exceed the limit.
        """
        name, hold = uuid.uuid4().hex, Hold(most)
        with self._changed:
            while not self.hold(name, most):
                if not self._under_way:
                    raise self.error(most)
                self._changed.wait()
            self._under_way += 1
        try:
            yield hold
        finally:
            with self._changed:
                try:
                    self.settle(name, hold.used or Sum(0, 0.0))
                except InputError as error:
                    # The answer was paid for and must be kept; the amount stays reserved, as after a kill.
                    LOG.warning("%s", error)
                self._under_way -= 1
                self._changed.notify_all()

    def hold(self, name: str, most: Sum) -> bool:
        """Reserve an amount under a name until ``settle``; tell whether the limits allow it."""
        with self._transaction() as connection:
            for limits, sums in self._limited(connection):
                needed = [sum(amounts) for amounts in zip(*sums, most, strict=True)]
                if any(limit and amount > limit for limit, amount in zip(limits, needed, strict=True)):
                    return False
            connection.execute("INSERT OR REPLACE INTO held VALUES (?, ?, ?, ?)", (name, self._part, *most))
            return True

    def _limited(self, connection: sqlite3.Connection) -> Iterator[tuple[Sum, tuple[Sum, Sum]]]:
        """Yield the limits of the run, then those of the profile, each with what is spent and reserved."""
        yield Sum(self._settings.llm_budget_tokens, self._settings.llm_budget), self._sums(connection)
        yield Sum(*self._settings.llm_limits), self._sums(connection, own=True)

    def settle(self, name: str, used: Sum) -> None:
        """Book what was used in place of what was reserved; a name that reserved nothing books nothing."""
        with self._transaction() as connection:
            if connection.execute("DELETE FROM held WHERE id = ?", (name,)).rowcount and any(used):
                connection.execute(
                    "INSERT INTO spent VALUES (?, ?, ?) ON CONFLICT(account) DO UPDATE SET "
                    "tokens = tokens + excluded.tokens, cost = cost + excluded.cost",
                    (self._part, *used),
                )

    def sums(self) -> tuple[Sum, Sum]:
        """Return what the run has spent and what is reserved for calls under way."""
        with self._transaction() as connection:
            return self._sums(connection)

    def _sums(self, connection: sqlite3.Connection, *, own: bool = False) -> tuple[Sum, Sum]:
        name, others = (self._part, "") if own else (self.account, f"{self.account}{SEPARATOR}")
        rows = [
            connection.execute(
                f"SELECT COALESCE(SUM(tokens), 0), COALESCE(SUM(cost), 0.0) FROM {table} "  # noqa: S608
                "WHERE account = ? OR (? != '' AND substr(account, 1, length(?)) = ?)",
                (name, others, others, others),
            ).fetchone()
            for table in ("spent", "held")
        ]
        return Sum(*rows[0]), Sum(*rows[1])

    def error(self, most: Sum) -> BudgetError:
        """Return the error that explains why a call that costs ``most`` is not allowed."""
        own = self._settings.llm_setting("budget_tokens"), self._settings.llm_setting("budget")
        said, names = [], []
        with self._transaction() as connection:
            limited = list(self._limited(connection))
        for (tokens, money), (spent, held), where in zip(*zip(*limited, strict=True), (RUN_LIMITS, own), strict=True):
            if money:
                said.append(
                    f"{spent.cost:.6g} of {money:.6g} spent, {held.cost:.6g} reserved, {most.cost:.6g} for this one"
                )
                names.append(where[1])
            if tokens:
                said.append(
                    f"{spent.tokens} of {tokens} tokens used, {held.tokens} reserved, {most.tokens} for this one"
                )
                names.append(where[0])
        msg = f"the next LLM call could exceed the budget ({'; '.join(said)})"
        return BudgetError(msg, f"raise {' or '.join(names)} and run this again; answers so far are kept")

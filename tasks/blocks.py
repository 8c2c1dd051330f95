"""Prefect blocks: API keys of LLM profiles, and notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any, cast

import httpx
from prefect.blocks.system import Secret
from prefect.exceptions import PrefectException

from abcdlink.errors import InputError, ServiceError


def secret_block(name: str) -> str:
    """Return the value of a Secret block.

    Raises:
        ServiceError: Prefect does not answer, or has no such block.
    """
    try:
        block = cast("Secret[str]", Secret.load(name))
    except (ValueError, OSError, RuntimeError, PrefectException, httpx.HTTPError) as error:
        msg = f"Prefect has no Secret block {name!r} ({(str(error).splitlines() or [type(error).__name__])[0]})"
        raise ServiceError(msg, "create it in Prefect's UI, under Blocks, and run `abcdlink up`") from None
    return str(block.get())


def notify_by(name: str, subject: str, body: str) -> None:
    """Send a text through the block of this type and name, as ``slack-webhook/annotators``; the subject is one line.

    Raises:
        InputError: when Prefect has no such block, or the block sends no notifications.
        ServiceError: when it could not be sent.
    """
    from prefect.blocks.abstract import NotificationBlock
    from prefect.blocks.core import Block

    hint = "create one on the page Blocks of the Prefect UI, and give its type and name, as in slack-webhook/annotators"
    try:
        block = Block.load(name)
    except ValueError:
        msg = f"Prefect has no block {name!r}"
        raise InputError(msg, hint) from None
    if not isinstance(block, NotificationBlock):
        msg = f"the block {name!r} sends no notifications"
        raise InputError(msg, hint)
    try:
        with block.raise_on_failure():
            sending: Any = block.notify(body=body, subject=subject)
            if isawaitable(sending):
                asyncio.run(_done(sending))
    except Exception as error:  # noqa: BLE001 - every kind of block fails in its own way
        # Its text often contains the address that it was sent to, which is secret.
        msg = f"the block {name!r} could not send a notification ({type(error).__name__})"
        raise ServiceError(msg, "look at the block in the Prefect UI") from None


async def _done(sending: Awaitable[None]) -> None:
    await sending

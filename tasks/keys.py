"""Keys of LLM profiles that are kept in Prefect."""

from __future__ import annotations

from typing import cast

import httpx
from prefect.blocks.system import Secret
from prefect.exceptions import PrefectException

from abcdlink.errors import ServiceError


def secret_block(name: str) -> str:
    """Return the value of a Secret block.

    Raises:
        ServiceError: Prefect does not answer, or has no such block.
    """
    try:
        block = cast("Secret[str]", Secret.load(name))
    except (ValueError, OSError, RuntimeError, PrefectException, httpx.HTTPError) as error:
        msg = f"Prefect gives no Secret block {name!r} ({(str(error).splitlines() or [type(error).__name__])[0]})"
        raise ServiceError(msg, "make the block in Prefect's UI, under Blocks, and run `abcdlink up`") from None
    return str(block.get())

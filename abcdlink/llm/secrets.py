"""Keeps keys out of everything that is stored, shown or logged."""

from __future__ import annotations

import logging
from urllib.parse import unquote, urlsplit

KEY_LENGTH = 8
"""Shorter keys are placeholders (`unused`, `EMPTY`) and words that occur in texts."""
TALKATIVE = ("openai", "httpx", "httpcore")
"""Prefixes of the client packages' loggers; at level debug, they write headers and addresses."""
FORMATTER = logging.Formatter()


class Secrets:
    """What must stay secret: the key, and the password in an address."""

    def __init__(self, key: str, url: str) -> None:
        try:
            password = urlsplit(url).password or ""
        except ValueError:
            password = ""
        self._secrets = [secret for secret in (key, password, unquote(password)) if len(secret) >= KEY_LENGTH]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def hide(self, text: str) -> str:
        """Return storable text without the secrets."""
        text = text.encode("utf-8", "replace").decode()
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def keep_out_of_logs(self) -> None:
        """Hide the secrets in everything that the client's packages log from now on."""
        if not self._secrets:
            return
        names = [name for name in logging.root.manager.loggerDict if name.startswith(TALKATIVE)]
        for logger in map(logging.getLogger, names):
            # A logger does not apply its parents' filters.
            if not any(isinstance(known, _Filter) and known.secrets == self._secrets for known in logger.filters):
                logger.addFilter(_Filter(self, self._secrets))


class _Filter(logging.Filter):
    def __init__(self, hider: Secrets, secrets: list[str]) -> None:
        super().__init__()
        self._hider, self.secrets = hider, secrets

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        hidden = self._hider.hide(said)
        if hidden != said:
            record.msg, record.args = hidden, ()
        if record.exc_info:
            record.exc_text = self._hider.hide(FORMATTER.formatException(record.exc_info))
            record.exc_info = None
        return True

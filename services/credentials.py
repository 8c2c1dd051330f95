"""The account and token of the local Label Studio: made once, kept in ``HOME/secrets.env``, mode 600."""

from __future__ import annotations

import secrets
from pathlib import Path

from pydantic import BaseModel, SecretStr

from abcdlink.errors import InputError
from abcdlink.folders import write_atomically
from abcdlink.settings import SECRETS_FILE, Settings

LABEL_STUDIO_FOLDER = "label-studio"
DATABASE = "label_studio.sqlite3"
COORDINATOR = "coordinator@abcdlink.invalid"
"""The coordinator's login; ``.invalid`` is no one's domain, so no mail is ever sent."""

FIELDS = {
    "user": "ABCDLINK_LABEL_STUDIO_USER",
    "password": "ABCDLINK_LABEL_STUDIO_PASSWORD",
    "token": "ABCDLINK_LABEL_STUDIO_TOKEN",
}


class Credentials(BaseModel):
    """The coordinator's account of the local Label Studio."""

    user: str
    password: SecretStr
    token: SecretStr


def make_home(settings: Settings) -> Path:
    """Make the home folder, which git ignores wherever it lies, and return its absolute path."""
    home = settings.home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    if not (home / ".gitignore").exists() and not (home / ".git").exists():
        write_atomically(home / ".gitignore", b"*\n")
    return home


def ensure_credentials(settings: Settings) -> Credentials:
    """Return the account of the local Label Studio; at the first call, make it up and write it down.

    Raises:
        InputError: when the file is damaged, or lost while Label Studio knows the account already.
    """
    home = make_home(settings)
    path = home / SECRETS_FILE
    if path.exists():
        return read_credentials(path)
    if (home / LABEL_STUDIO_FOLDER / DATABASE).exists():
        msg = f"{path} is gone, but {home / LABEL_STUDIO_FOLDER} holds accounts made with it"
        raise InputError(msg, "put the file back, or move that folder away to begin with an empty Label Studio")
    made = Credentials(
        user=COORDINATOR,
        password=SecretStr(secrets.token_urlsafe(18)),
        token=SecretStr(secrets.token_hex(20)),  # 40 characters: what fits a legacy token
    )
    lines = ["# Made once by `abcdlink up`: the coordinator's account of the local Label Studio. Keep it secret."]
    values = {"user": made.user, "password": made.password.get_secret_value(), "token": made.token.get_secret_value()}
    lines += [f"{variable}={values[field]}" for field, variable in FIELDS.items()]
    write_atomically(path, ("\n".join(lines) + "\n").encode(), mode=0o600)
    return made


def read_credentials(path: Path) -> Credentials:
    """Read the file that ``ensure_credentials`` wrote.

    Raises:
        InputError: names the variable that is not there.
    """
    pairs = (line.partition("=") for line in path.read_text(encoding="utf-8").splitlines() if "=" in line)
    found = {name.strip(): value.strip() for name, _, value in pairs}
    missing = [variable for variable in FIELDS.values() if not found.get(variable)]
    if missing:
        msg = f"{path} does not set {' and '.join(missing)}"
        raise InputError(msg, "put the lines back, or move the file and the label-studio folder beside it away")
    return Credentials.model_validate({field: found[variable] for field, variable in FIELDS.items()})

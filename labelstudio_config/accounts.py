"""Annotator accounts: they sign up through the invitation link and log in, as a person does."""

from __future__ import annotations

import html
import re
from typing import NoReturn

import httpx

from abcdlink.errors import ServiceError

TIMEOUT = 60.0
"""Timeout for one page, in seconds."""

FORM_ERROR = re.compile(r'<(?:p class="error"|ul class="field_errors")>(.*?)</(?:p|ul)>', re.DOTALL)
TAG = re.compile(r"<[^>]+>")


def sign_up(invitation: str, email: str, password: str) -> httpx.Client:
    """Create an annotator account and return its browser session, logged in.

    Raises:
        ServiceError: when the server does not answer or refuses this account.
    """
    return _session(invitation, email, password)


def log_in(url: str, email: str, password: str) -> httpx.Client:
    """Log in with an account and return its browser session.

    Raises:
        ServiceError: when the server does not answer or refuses the e-mail address or the password.
    """
    return _session(f"{url.rstrip('/')}/user/login/", email, password)


def with_own_token(session: httpx.Client) -> httpx.Client:
    """Return a connection to the API that uses the token of a browser session's account.

    Label Studio creates a token with each account, except while it deletes a project: then the account
    has none, asking for it is a server error, and one is created here.

    Raises:
        ServiceError: when the server does not answer, or gives the account no valid token.
    """
    connection = httpx.Client(base_url=session.base_url, timeout=TIMEOUT)
    try:
        answer = session.get("/api/current-user/token")
        if answer.is_server_error:
            answer = session.post("/api/current-user/reset-token")
        token = answer.raise_for_status().json()["token"]
        connection.headers["Authorization"] = f"Token {token}"
        connection.get("/api/current-user/whoami").raise_for_status()
    except (httpx.HTTPError, ValueError, KeyError) as error:
        connection.close()
        msg = f"Label Studio at {session.base_url} does not give an annotator's account a token: {error}"
        raise ServiceError(msg, "start Label Studio with LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN=true") from None
    return connection


def _session(page: str, email: str, password: str) -> httpx.Client:
    """Send one of the two forms; both answer with a redirect on success."""
    address = httpx.URL(page)
    session = httpx.Client(base_url=address.join("/"), timeout=TIMEOUT)
    try:
        session.get(address).raise_for_status()
        form = {"email": email, "password": password, "csrfmiddlewaretoken": session.cookies["csrftoken"]}
        answer = session.post(address, data=form, headers={"Referer": str(address)})
    except (httpx.HTTPError, KeyError) as error:
        session.close()
        msg = f"the page {address.path} of Label Studio at {address.join('/')} does not answer: {error}"
        raise ServiceError(msg, "check that Label Studio is running (`abcdlink status`)") from None
    if not answer.has_redirect_location:
        session.close()
        _refused(answer, email)
    # API calls from a browser session must repeat the token in its cookie.
    session.headers.update({"X-CSRFToken": session.cookies["csrftoken"], "Referer": str(address.join("/"))})
    return session


def _refused(answer: httpx.Response, email: str) -> NoReturn:
    found = FORM_ERROR.search(answer.text)
    reason = html.unescape(TAG.sub("", found[1])).strip().rstrip(".") if found else f"HTTP {answer.status_code}"
    msg = f"Label Studio refuses the account {email} at {answer.url.path}: {reason}"
    raise ServiceError(msg, "delete the account in Label Studio, or use the password it was created with")

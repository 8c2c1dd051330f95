"""Participants from a platform: their ids go to their accounts, one account each, and the code comes at the end."""

from __future__ import annotations

import re
import secrets
from contextlib import closing

import httpx
import pytest

from abcdlink.errors import ServiceError
from abcdlink.qualify.screening import screening_of
from labelstudio_config.accounts import log_in
from labelstudio_config.client import Client
from tests.helpers.annotation import submit
from tests.helpers.label_studio_server import LabelStudioServer
from tests.helpers.own_batch import OwnBatch, own_batch

PASSWORD = "a-password-of-a-participant"
LABELS = ["Link", "No Link", "No Link"]


def ids(participant: str, session: str = "s1") -> dict[str, str]:
    return {"PROLIFIC_PID": participant, "STUDY_ID": "study-1", "SESSION_ID": session}


def visit(client: Client, participant: str, session: str = "s1", browser: httpx.Client | None = None) -> httpx.Response:
    """Open the study link as the platform fills it in."""
    link = client.study_link()
    for name, value in ids(participant, session).items():
        link = link.replace(f"{{{{%{name}%}}}}", value)
    return (browser or httpx.Client(timeout=60)).get(link)


def come(client: Client, participant: str, email: str) -> httpx.Client:
    """Arrive by the study link and sign up; returns the browser session."""
    browser = httpx.Client(base_url=client.url, timeout=60)
    page = visit(client, participant, browser=browser)
    assert page.has_redirect_location
    form = browser.get(page.headers["Location"])
    assert f'name="email" id="email" value="{participant}@email.prolific.com"' in form.text
    sent = {"email": email, "password": PASSWORD, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
    answer = browser.post(page.headers["Location"], data=sent, headers={"Referer": client.url})
    browser.get(answer.headers["Location"]).raise_for_status()
    browser.headers.update({"X-CSRFToken": browser.cookies["csrftoken"], "Referer": f"{client.url}/"})
    return browser


def noted(client: Client, email: str) -> list[tuple[str, str, str]]:
    return [
        (one["participant_id"], one["study_id"], one["session_id"])
        for one in client.participants()
        if one["account"] == email
    ]


@pytest.fixture
def email() -> str:
    return f"ada-{secrets.token_hex(4)}@example.org"


@pytest.fixture
def who() -> str:
    return secrets.token_hex(12)


def test_ids_go_to_the_account_and_a_second_visit_leads_to_the_login(client: Client, email: str, who: str) -> None:
    with closing(come(client, who, email)) as browser:
        assert noted(client, email) == [(who, "study-1", "s1")]
        assert visit(client, who, "s2", browser).headers["Location"] == "/abcdlink/"
        assert noted(client, email) == [(who, "study-1", "s1"), (who, "study-1", "s2")]
    assert visit(client, who).headers["Location"].startswith("/user/login/")
    # Only the coordinator can read them, and even their browser only with the token.
    with closing(log_in(client.url, email, PASSWORD)) as own:
        assert own.get("/abcdlink/participants").status_code == 403
        assert own.post("/abcdlink/codes", json={"title": "x", "code": "y"}).status_code == 403
    assert httpx.get(f"{client.url}/abcdlink/participants").status_code == 403


@pytest.mark.parametrize("wrong", ["", "{{%PROLIFIC_PID%}}", "a b", "<b>", "x" * 65])
def test_a_link_not_filled_in_by_the_platform_is_refused(client: Client, wrong: str) -> None:
    answer = httpx.get(f"{client.url}/abcdlink/join", params=ids(wrong), timeout=60)
    assert (answer.status_code, "missing your IDs" in answer.text) == (400, True)


def test_an_earlier_session_takes_no_ids_away(client: Client, who: str) -> None:
    with httpx.Client(base_url=client.url, timeout=60) as browser:
        page = visit(client, who, browser=browser).headers["Location"]
        browser.cookies.set("sessionid", "of-an-earlier-visit")
        assert f'value="{who}@email.prolific.com"' in browser.get(page).text


def test_one_participant_has_one_account(client: Client, email: str, who: str) -> None:
    come(client, who, email).close()
    with httpx.Client(base_url=client.url, timeout=60) as browser:
        # By the invitation, bypassing the login page that they are sent to.
        visit(client, who, browser=browser)
        invitation = client.invitation()
        browser.get(invitation)
        sent = {"email": f"b-{email}", "password": PASSWORD, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        browser.post(invitation, data=sent, headers={"Referer": client.url})
        page = browser.get("/abcdlink/")
    assert (page.status_code, "You already have another account" in page.text) == (409, True)
    assert noted(client, f"b-{email}") == []
    with closing(log_in(client.url, email, PASSWORD)) as own:
        page = visit(client, f"{who}x", browser=own)
    assert (page.status_code, "another participant" in page.text) == (409, True)
    assert noted(client, email) == [(who, "study-1", "s1")]


def test_the_coordinator_is_not_a_participant(client: Client, label_studio: LabelStudioServer, who: str) -> None:
    with closing(log_in(client.url, label_studio.email, label_studio.password)) as owner:
        assert visit(client, who, browser=owner).status_code == 400
    assert not [one for one in client.participants() if one["participant_id"] == who]


def code_of(browser: httpx.Client) -> list[str]:
    return re.findall("<code>(.*?)</code>", browser.get("/abcdlink/").text)


def judge(browser: httpx.Client, client: Client, batch: OwnBatch, tasks: int) -> None:
    open_ones = [one["id"] for one in client.tasks(batch.pushed.project_id) if not one["annotations"]]
    for task in sorted(open_ones)[:tasks]:
        submit(browser, task, LABELS).raise_for_status()


@pytest.mark.usefixtures("isolated_home")
def test_the_code_is_shown_only_when_everything_is_done(
    client: Client, label_studio: LabelStudioServer, email: str, who: str
) -> None:
    with own_batch(label_studio, 2) as batch, closing(come(client, who, email)) as browser:
        client.set_code(batch.pushed.shared_title, "C1A2-B3")
        assert code_of(browser) == []
        judge(browser, client, batch, 1)
        assert code_of(browser) == []
        assert "C1A2-B3" not in browser.get("/api/projects?page_size=100").text
        judge(browser, client, batch, 1)
        assert code_of(browser) == ["C1A2-B3"]
        assert "https://app.prolific.com/submissions/complete?cc=C1A2-B3" in browser.get("/abcdlink/").text
        with pytest.raises(ServiceError, match="up to 64 characters"):
            client.set_code(batch.pushed.shared_title, "<script>")
        client.set_code(batch.pushed.shared_title, "")
        assert code_of(browser) == []
        # The ids enter the run with the next look, and are deleted with the account.
        batch.look()
        assert screening_of(batch.store)[email].participant_id == who
    client._sdk.users.delete(id=next(number for number, one in client.accounts().items() if one == email))
    assert noted(client, email) == []
    assert visit(client, who).headers["Location"].startswith("/user/signup/")

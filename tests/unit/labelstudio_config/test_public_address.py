"""Remote annotators: invitations and links use the public address, and only our own links are changed."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import services.checks
from abcdlink.settings import Settings
from abcdlink.store import open_run
from labelstudio_config.attendance import note_people_progress
from labelstudio_config.client import public
from labelstudio_config.projects import look_now
from labelstudio_config.run import read_pushed
from services import Result
from services.credentials import Credentials
from services.programs import label_studio_environment
from tests.helpers.fake_label_studio import pushed_run, serve
from tests.helpers.homes import configure

PUBLIC = "https://annotate.example.org"


@pytest.fixture
def elsewhere(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, public_url=f"{PUBLIC}/", label_studio_url="http://127.0.0.1:1")


@pytest.mark.usefixtures("elsewhere")
def test_links_and_invitations_use_the_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch)
    store = pushed_run("elsewhere", 2)
    pushed = read_pushed(store, "batch-1")
    assert pushed.url.startswith(PUBLIC)
    progress = note_people_progress(open_run("elsewhere"), *look_now(store, "batch-1"))
    assert all(url.startswith(PUBLIC) for url in (progress.url, *progress.own_urls))
    assert "127.0.0.1" not in progress.model_dump_json()
    assert public("http://127.0.0.1:1/user/signup/?token=x") == f"{PUBLIC}/user/signup/?token=x"
    assert public("https://elsewhere.example.org/a") == "https://elsewhere.example.org/a"


def test_label_studio_trusts_forms_from_the_public_address_and_stays_on_loopback() -> None:
    credentials = Credentials.model_construct(user="u", password=Secret(), token=Secret())
    told = label_studio_environment(Settings(public_url=PUBLIC), credentials)
    assert told["CSRF_TRUSTED_ORIGINS"] == PUBLIC
    assert "CSRF_TRUSTED_ORIGINS" not in label_studio_environment(Settings(public_url=""), credentials)
    assert PUBLIC not in str([value for name, value in told.items() if name != "CSRF_TRUSTED_ORIGINS"])


class Secret:
    def get_secret_value(self) -> str:
        return "secret"


@pytest.mark.parametrize(
    ("url", "answer", "result"),
    [
        (PUBLIC, httpx.Response(200, json={"email": "c@example.org"}), Result.OK),
        (PUBLIC, httpx.Response(502), Result.FAIL),
        (PUBLIC, httpx.Response(200, text="a parking page"), Result.FAIL),
        ("http://annotate.example.org", httpx.Response(200, json={"email": "c@example.org"}), Result.WARN),
        ("http://127.0.0.1:9", httpx.Response(200, json={"email": "c@example.org"}), Result.WARN),
    ],
)
def test_doctor_checks_the_public_address(
    monkeypatch: pytest.MonkeyPatch, url: str, answer: httpx.Response, result: Result
) -> None:
    asked: list[str] = []

    def request(_method: str, address: str, **_: object) -> httpx.Response:
        asked.append(address)
        answer.request = httpx.Request("GET", address)
        return answer

    monkeypatch.setattr("services.health.httpx.request", request)
    (check,) = services.checks._public(Settings(public_url=url))
    assert check.result is result
    assert all(address.startswith(url) for address in asked)
    assert services.checks._public(Settings(public_url="")) == []

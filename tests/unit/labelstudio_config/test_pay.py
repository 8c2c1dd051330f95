"""Pay follows measured time: outliers and unknown times use the median, programs are unpaid, rounding loses nothing."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from abcdlink.errors import InputError, ServiceError
from abcdlink.judgments import Pool
from abcdlink.layout import POOLS
from abcdlink.qualify.screening import screening_of
from labelstudio_config.pay import pay_of
from labelstudio_config.projects import look_now
from tests.helpers.command_line import call, called
from tests.helpers.fake_label_studio import ADA, BEN, CY, PEOPLE, FakeLabelStudio, pushed_run, serve


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, isolated_home: object) -> FakeLabelStudio:
    return serve(monkeypatch)


def work(server: FakeLabelStudio, key: str, user: int, seconds: float | None) -> None:
    number = server.answer(key, user)
    for one in server.task(key)["annotations"]:
        if one["id"] == number:
            one["lead_time"] = seconds


def test_pay_is_measured_time_times_the_rate(server: FakeLabelStudio) -> None:
    store = pushed_run("paid", 10)
    keys = [pool.key for pool in store.read_records(POOLS, Pool)]
    assert pay_of(store, Decimal(13)) == []
    server.people[CY] = "simulated-1@simulated.invalid"
    server.came = [{"account": PEOPLE[ADA], "participant_id": "p-1", "study_id": "s", "session_id": "t"}]
    for key in keys:
        work(server, key, CY, 1000.0)
    for number, key in enumerate(keys[:9]):
        work(server, key, ADA, {0: 7200.0, 1: None}.get(number, 60.0))
    work(server, keys[0], BEN, None)
    look_now(store, "batch-1")
    ada, ben = pay_of(store, Decimal("13.33"))
    assert (ada.account, ada.participant_id, ada.work, ada.tasks, ada.estimated) == (
        PEOPLE[ADA],
        "p-1",
        "batch-1",
        9,
        2,
    )
    assert ada.hours == pytest.approx(9 * 60 / 3600)
    assert ada.amount == Decimal("2.00")
    assert (ben.account, ben.tasks, ben.hours, ben.estimated, ben.amount) == (PEOPLE[BEN], 1, None, 1, Decimal("0.00"))
    assert list(screening_of(store)) == [PEOPLE[ADA]]


def test_the_table_is_written_to_a_private_file(server: FakeLabelStudio, tmp_path: Path) -> None:
    server.people[ADA] = "=cmd@example.org"
    store = pushed_run("paid", 2)
    for pool in store.read_records(POOLS, Pool):
        work(server, pool.key, ADA, 1800.0)
    look_now(store, "batch-1")
    file = tmp_path / "pay.csv"
    said = call("annotators", "pay", "paid", "--rate", "10.50", "--currency", "USD", "--csv", file)
    assert "=cmd@example.org has earned 10.50 USD." in said
    assert file.stat().st_mode & 0o077 == 0
    (row,) = csv.DictReader(file.read_text("utf-8-sig").splitlines())
    assert (row["account"], row["amount"], row["rate"], row["currency"]) == (
        "'=cmd@example.org",
        "10.50",
        "10.5",
        "USD",
    )
    assert called("annotators", "pay", "paid", "--rate", "10.5")["pay"][0]["amount"] == "10.50"
    with pytest.raises(SystemExit, match="2"):
        call("annotators", "pay", "paid", "--rate", "nan")


def test_the_study_link_has_the_placeholders_of_prolific(server: FakeLabelStudio) -> None:
    pushed_run("paid", 1)
    ids = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    link = called("annotators", "prolific", "paid", "--project", "batch-1")["link"]
    assert link == f"{server.url}/abcdlink/join?token=invitation&{ids}"
    with pytest.raises(InputError, match="no project 'qualification'"):
        call("annotators", "prolific", "paid")
    with pytest.raises(ServiceError, match="cannot show completion codes"):
        call("annotators", "prolific", "paid", "--project", "batch-1", "--code", "C1")

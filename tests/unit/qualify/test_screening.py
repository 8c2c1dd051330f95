"""Personal data of applicants: read with care, shown to the coordinator, absent from everything that leaves the run."""

from __future__ import annotations

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.annotators import forget
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.export import ExportFormat, export_dataset
from abcdlink.folders import LocalFolder
from abcdlink.qualify import applicants_of, confirm, coordinator_rows, proposal, qualified_accounts
from abcdlink.qualify.screening import (
    PAPER_ELIGIBILITY,
    Eligibility,
    Screening,
    add_screening,
    ineligible,
    keep_eligibility,
    note_participants,
    read_screening,
    screening_of,
)
from abcdlink.report import write_report
from abcdlink.store import Store
from tests.helpers.applicants import ACCOUNTS, SCREENED, applied, person
from tests.helpers.command_line import call, called
from tests.helpers.homes import configure
from tests.helpers.hostile_run import hostile_run


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(LocalFolder(tmp_path / "run"), "run")


def screening_file(folder: Path, text: str) -> Path:
    path = folder / "applicants.csv"
    path.write_text(text, encoding="utf-8-sig")
    return path


HEAD = "account,native_language,degree,approval_rate,participant_id,shoes\n"


ROW = f"{ACCOUNTS[0].title()},{','.join(SCREENED)}\n"


def test_screening_fields_are_kept_and_merged(store: Store, tmp_path: Path) -> None:
    rows = read_screening(screening_file(tmp_path, f'{HEAD}{ROW}\n{ACCOUNTS[1]},,"a, b",98 %,,\n'))
    assert rows.strangers == 0
    first, second = rows.rows
    assert first.account == ACCOUNTS[0]
    assert (first.native_language, first.degree, first.participant_id) == (*SCREENED[:2], SCREENED[3])
    assert first.approval_rate == 87.125
    assert first.more == {"shoes": SCREENED[4]}
    assert (second.degree, second.approval_rate, second.native_language) == ("a, b", 98, "")
    add_screening(store, rows.rows)
    add_screening(store, read_screening(screening_file(tmp_path, f"account,degree\n{ACCOUNTS[1]},none\n")).rows)
    assert {account: one.degree for account, one in screening_of(store).items()} == {
        ACCOUNTS[0]: SCREENED[1],
        ACCOUNTS[1]: "none",
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{HEAD}nobody,,,,,\n", "line 2: account 'nobody' is not an e-mail address"),
        (f"{HEAD}{ROW}b@c,,,120,,\n", "line 3: approval_rate '120' is not a percentage"),
        (f"{HEAD}b@c,,,high,,\n", "line 2: approval_rate 'high' is not a percentage"),
        (f"{HEAD}{ROW}{ROW}", f"line 3: {ACCOUNTS[0]} is already in the file"),
        (f"{HEAD}b@c,x\n", "line 2: the number of cells differs from the number of columns"),
        (f"{HEAD}b@c,,,,,,,\n", "line 2: the number of cells differs from the number of columns"),
        ("email,degree\nb@c,x\n", "line 1"),
        ("account,degree,degree\nb@c,x,y\n", "line 1"),
        ("", "line 1"),
        (HEAD + "x,,,,,\n" * 9, "and 4 more"),
    ],
)
def test_invalid_lines_are_named(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem.replace("(", r"\(")):
        read_screening(screening_file(tmp_path, text))


@given(
    st.text(alphabet=st.one_of(st.sampled_from(',"\n\r\0@ 5%'), st.characters(codec="utf-8")), max_size=60),
    st.sampled_from(["account", "participant_id", "account,studies", "Participant id,Total approvals", ""]),
)
def test_any_file_is_read_or_refused_in_words(text: str, head: str) -> None:
    with TemporaryDirectory() as folder:
        path = screening_file(Path(folder), f"{head}\n{text}")
        told = ""
        try:
            read = read_screening(path, {text: ACCOUNTS[0]})
        except InputError as error:
            told = str(error)
    assert str(path) in told if told else all("@" in one.account for one in read.rows)


def test_a_cell_that_csv_refuses_is_named(tmp_path: Path) -> None:
    # The limit applies to the whole process, and corpus readers raise it.
    limit = csv.field_size_limit(1000)
    try:
        with pytest.raises(InputError, match="line 2: field larger than field limit"):
            read_screening(screening_file(tmp_path, f"{HEAD}{'x' * 2000},,,,,\n"))
    finally:
        csv.field_size_limit(limit)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nothing\.csv: No such file"):
        read_screening(tmp_path / "nothing.csv")


PROLIFIC = (
    "Submission id,Participant id,Status,Total approvals,Age,Country of residence,Language\n"
    "s1,5f2c,APPROVED,120,33,Ireland,English\n"
    "s2,77aa,RETURNED,9,20,Chile,Spanish\n"
    "s3,61bb,APPROVED,CONSENT_REVOKED,DATA_EXPIRED,Canada,English\n"
)


def test_a_prolific_export_is_read_by_participant(store: Store, tmp_path: Path) -> None:
    came = [
        {"account": account, "participant_id": who, "study_id": "st", "session_id": session}
        for account, who, session in ((ACCOUNTS[0].title(), "5f2c", "a"), (ACCOUNTS[1], "61bb", "b"), ("z@z", "0", "c"))
    ]
    note_participants(store, came, ACCOUNTS)
    assert {one.account: one.participant_id for one in screening_of(store).values()} == {
        ACCOUNTS[0]: "5f2c",
        ACCOUNTS[1]: "61bb",
    }
    known = {one.participant_id: one.account for one in screening_of(store).values()}
    read = read_screening(screening_file(tmp_path, PROLIFIC), known)
    assert read.strangers == 1
    add_screening(store, read.rows)
    note_participants(store, [{**came[0], "session_id": "next"}], ACCOUNTS)
    first, second = screening_of(store).values()
    assert (first.residence, first.native_language, first.studies) == ("Ireland", "English", 120)
    assert (first.participant_id, first.study_id, first.session_id, first.more["Status"]) == (
        *("5f2c", "st", "next", "APPROVED"),
    )
    assert (second.studies, second.more["Age"], second.session_id) == (None, "", "b")


def test_a_participant_id_is_kept_and_deleted_with_the_screening_data(store: Store, news: Domain) -> None:
    applied(store, news)
    add_screening(store, [KNOWN.model_copy(update={"account": ACCOUNTS[1], "participant_id": ""})])
    ids = {"participant_id": "participant-5f2c9a", "study_id": "study-1", "session_id": "session-1"}
    note_participants(store, [{"account": ACCOUNTS[1], **ids}], [ACCOUNTS[1]])
    rows = coordinator_rows(applicants_of(store), [], [person(n) for n in (1, 2, 3)], screening_of(store))
    (row,) = [row for row in rows if row["account"] == ACCOUNTS[1]]
    assert (row["participant id"], row["study id"], row["session id"], row["degree"]) == (*ids.values(), KNOWN.degree)
    forget(store, ACCOUNTS[1])
    assert screening_of(store) == {}
    for name in store.folder.names():
        assert b"5f2c9a" not in store.folder.read(name)


def test_the_coordinator_sees_accounts_and_screening_fields(store: Store, news: Domain, tmp_path: Path) -> None:
    applied(store, news)
    add_screening(store, read_screening(screening_file(tmp_path, HEAD + ROW)).rows)
    best, *rest = coordinator_rows(
        applicants_of(store), ["applicant-1"], [person(n) for n in (1, 2, 3)], screening_of(store)
    )
    assert (best["applicant"], best["proposed"], best["kappa"], best["account"]) == (
        "applicant-1",
        "yes",
        1,
        ACCOUNTS[0],
    )
    assert (best["native language"], best["approval rate"], best["shoes"]) == (SCREENED[0], 87.125, SCREENED[4])
    assert [(row["applicant"], row["proposed"]) for row in rest] == [("applicant-2", ""), ("applicant-3", "")]


@pytest.fixture
def full(tmp_path: Path, news: Domain) -> Store:
    """An annotated run with a qualification."""
    store = hostile_run(tmp_path)
    applied(store, news)
    add_screening(store, read_screening(screening_file(tmp_path, HEAD + ROW)).rows)
    confirm(store, ["applicant-1"])
    return store


@pytest.mark.parametrize("layout", list(ExportFormat))
def test_no_export_holds_screening_data(full: Store, tmp_path: Path, layout: ExportFormat) -> None:
    files = export_dataset(full, layout).files
    assert files
    for name in files:
        assert_private(full.folder.read(name), name)


def test_the_report_shows_applicants_by_pseudonym_only(full: Store) -> None:
    write_report(full)
    report = full.folder.read("report.html")
    assert_private(report, "report.html")
    assert b"applicant-1" in report


def assert_private(content: bytes, name: str) -> None:
    for secret in (*SCREENED, *ACCOUNTS):
        assert secret.encode() not in content, f"{name} holds {secret}"


@pytest.fixture
def here(full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The same run, where commands look for it."""
    configure(monkeypatch, runs=tmp_path)
    return full


def test_show_prints_the_table(here: Store) -> None:
    shown = called("qualify", "show", "hostile")
    assert [row["account"] for row in shown["applicants"]] == list(ACCOUNTS)
    assert (shown["proposed"], shown["qualified"]) == (["applicant-1"], ["applicant-1"])
    table = call("qualify", "show", "hostile")
    assert all(account in table for account in ACCOUNTS)


def test_confirm_accepts_the_proposal_unless_others_are_named(here: Store) -> None:
    said = " ".join(call("qualify", "confirm", "hostile", "--accounts", f"{ACCOUNTS[1]},applicant-3").split())
    assert qualified_accounts(here) == set(ACCOUNTS[1:])
    assert "applicant-3 judged 1 of 10 tasks, too few to compare. To take others" in said
    assert "replaces the decision" not in call("qualify", "confirm", "hostile")
    assert qualified_accounts(here) == {ACCOUNTS[0]}
    with pytest.raises(InputError, match=r"'nobody@example\.org' is not an applicant"):
        call("qualify", "confirm", "hostile", "--accounts", "nobody@example.org")


def test_screening_data_can_come_from_a_file(here: Store, tmp_path: Path) -> None:
    call("qualify", "screening", "hostile", str(screening_file(tmp_path, f"account\n{ACCOUNTS[2]}\n")))
    assert set(screening_of(here)) == {ACCOUNTS[0], ACCOUNTS[2]}


KNOWN = Screening(
    account="a@b.c", native_language="english", residence="UK", degree="PhD", approval_rate=90, studies=30
)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"native_language": "Dutch"}, "native language 'Dutch' is not English"),
        (
            {"residence": "DE"},
            "residence 'DE' is not US or UK or CA or AU or IE",
        ),
        ({"residence": "united kingdom"}, None),
        ({"degree": ""}, "degree is not known"),
        ({"approval_rate": 89.5}, "approval rate 89.5 is below 90"),
        ({"studies": None}, "number of studies is not known"),
        ({"studies": 29}, "number of studies 29 is below 30"),
    ],
)
def test_an_ineligible_applicant_is_told_why(change: dict[str, object], reason: str | None) -> None:
    assert PAPER_ELIGIBILITY.reasons(KNOWN.model_copy(update=change)) == ((reason,) if reason else ())
    assert Eligibility().reasons(KNOWN.model_copy(update=change)) == ()


def test_only_eligible_applicants_are_proposed(store: Store, news: Domain) -> None:
    applied(store, news)
    people = [person(number) for number in (1, 2, 3)]
    assert [one.annotator for one in proposal(applicants_of(store), 2, 0.6, ineligible(store, people))] == [
        "applicant-1"
    ]
    keep_eligibility(store, PAPER_ELIGIBILITY)
    barred = ineligible(store, people)
    assert len(barred["applicant-1"]) == 5
    assert proposal(applicants_of(store), 2, 0.6, barred) == []
    rows = coordinator_rows(applicants_of(store), [], people, screening_of(store), barred)
    assert rows[0]["eligible"].startswith("no: native language is not known; residence is not known")
    add_screening(store, [KNOWN.model_copy(update={"account": ACCOUNTS[0]})])
    assert "applicant-1" not in ineligible(store, people)


def test_somebody_who_applies_twice_is_proposed_once(store: Store, news: Domain) -> None:
    applied(store, news)
    people = [person(number) for number in (1, 2, 3)]
    for number, participant in ((0, "p-1"), (1, "p-2"), (2, "p-1")):
        add_screening(store, [Screening(account=ACCOUNTS[number], participant_id=participant)])
    barred = ineligible(store, people)
    assert barred == {"applicant-3": ("the same participant as applicant-1",)}
    rows = coordinator_rows(applicants_of(store), [], people, screening_of(store), barred)
    assert {row["applicant"]: row["eligible"] for row in rows}["applicant-3"].startswith("no: the same participant")
    assert all("participant id" in row and "residence" not in row for row in rows)

"""Personal data of a run can be removed: every trace of an account, but no judgment."""

from __future__ import annotations

import json
import lzma

import pytest

from abcdlink.errors import InputError
from abcdlink.judgments import Annotator
from abcdlink.store import Store, open_run
from abcdlink.waiting import WaitsFor, wait_for
from tests.helpers.command_line import call, called

ADA, BEN = "ada.o'hara+x@example.org", "ben@example.org"


@pytest.fixture
def run(isolated_home: object) -> Store:
    store = open_run("spring")
    store.write_json("manifest.json", {})
    people = [("annotator-1", ADA), ("annotator-2", BEN), ("annotator-3", f"x{BEN}"), ("annotator-4", f"{BEN}.uk")]
    store.write_records(
        "annotators.jsonl", [Annotator(annotator=name, account=who, simulated=False) for name, who in people]
    )
    store.write_json("label-studio/batch-1/snapshot.json", {"accounts": {"1": ADA, "2": BEN.upper()}})
    store.write_text("report.html", f"<td>{ADA.replace(chr(39), '&#39;')}</td>")
    store.folder.write("label-studio/batch-1/tasks.json.xz", lzma.compress(json.dumps({"for": ADA}).encode()))
    store.write_text(
        "qualification/screening.jsonl", f'{{"account":"{BEN}","residence":"Ghent"}}\n{{"account":"c@d"}}\n'
    )
    store.write_text("judgments.jsonl", '{"annotator":"annotator-2"}\n')
    return store


def everything(store: Store) -> bytes:
    names = [name for name in store.folder.names() if not name.startswith("seals/")]
    read = {name: store.folder.read(name) for name in names}
    return b"\n".join(lzma.decompress(data) if name.endswith(".xz") else data for name, data in read.items())


@pytest.mark.parametrize("account", [ADA, BEN])
def test_no_trace_of_an_account_is_left_and_others_stay(run: Store, account: str) -> None:
    call("annotators", "forget", "spring", account)
    left = everything(run).decode()
    if account == ADA:
        assert "hara" not in left
        assert BEN in left
    else:
        assert f'"{BEN}"' not in left.lower()
        assert "Ghent" not in left
        assert ADA in left
    assert f"x{BEN}" in left
    assert f"{BEN}.uk" in left
    people = {one.annotator: one.account for one in run.read_records("annotators.jsonl", Annotator)}
    assert sum(who.startswith("forgotten-annotator-") for who in people.values()) == 1
    assert run.read_text("judgments.jsonl") == '{"annotator":"annotator-2"}\n'
    with pytest.raises(InputError, match="is in no file of run"):
        call("annotators", "forget", "spring", account)


def test_a_pseudonym_is_no_account_and_stays_in_the_judgments(run: Store) -> None:
    before = everything(run)
    with pytest.raises(InputError, match="'annotator-2' is not the e-mail address of an account"):
        call("annotators", "forget", "spring", "annotator-2")
    assert everything(run) == before


def test_an_account_is_forgotten_once_nothing_of_the_run_is_at_work_or_waits(run: Store) -> None:
    over = {WaitsFor.NOTHING, WaitsFor.FIX}
    for kind in set(WaitsFor) - over:
        wait_for(run, "flow-run", "annotate", kind)
        with pytest.raises(InputError, match=r"not finished \(annotate\)"):
            call("annotators", "forget", "spring", ADA)
    assert [one["account"] for one in called("annotators", "show", "spring")["people"]][:2] == [ADA, BEN]
    for kind, account in zip(sorted(over), (ADA, BEN), strict=True):
        wait_for(run, "flow-run", "annotate", kind)
        call("annotators", "forget", "spring", account)
    assert not {ADA, BEN} & {one["account"] for one in called("annotators", "show", "spring")["people"]}

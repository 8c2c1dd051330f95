"""A run's folder: typed files, atomic writes, clear errors."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from abcdlink.corpus import Refusal
from abcdlink.corpus.records import Record
from abcdlink.errors import InputError
from abcdlink.folders import LocalFolder, S3Folder, open_folder, write_atomically
from abcdlink.store import Store, existing_run, open_run
from abcdlink.utf8_lines import decode
from tests.helpers.command_line import call


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(LocalFolder(tmp_path / "run"), "run")


def test_every_kind_of_file_survives_a_round_trip(store):
    store.write_text("a.md", "é\n")
    store.write_json("deep/b.json", {"ü": [1, None]})
    store.write_records("c.jsonl", [Refusal(where="x\u2028", reason="y\n"), Refusal(where="z", reason="")])
    store.write_table("d.parquet", pd.DataFrame({"pair": ["p", "q"], "f1": [0.5, 1.0]}))
    assert store.read_text("a.md") == "é\n"
    assert store.read_json("deep/b.json") == {"ü": [1, None]}
    assert [r.where for r in store.read_records("c.jsonl", Refusal)] == ["x\u2028", "z"]
    assert store.read_table("d.parquet").to_dict("list") == {"pair": ["p", "q"], "f1": [0.5, 1.0]}
    assert store.folder.names() == ["a.md", "c.jsonl", "d.parquet", "deep/b.json"]
    assert store.folder.names("deep/") == ["deep/b.json"]
    assert (store.exists("a.md"), store.exists("deep"), store.exists("e")) == (True, False, False)


def test_removing_a_file_twice_does_no_harm(store):
    store.write_text("deep/a.md", "a")
    store.folder.remove("deep/a.md")
    store.folder.remove("deep/a.md")
    assert not store.exists("deep/a.md")
    (store.folder.root / "deep" / "b").mkdir()
    with pytest.raises(InputError, match=r"cannot remove .*deep/b"):
        store.folder.remove("deep/b")


def test_a_missing_file_names_the_stage_that_makes_it(store):
    with pytest.raises(FileNotFoundError):
        store.read_text("scores.parquet")
    with pytest.raises(InputError, match=r"'run' has no scores\.parquet yet.*run the stage 'benchmark' first"):
        store.require("scores.parquet", "benchmark")
    store.write_text("scores.parquet", "")
    store.require("scores.parquet", "benchmark")


def test_the_manifest_keeps_every_section_when_many_write_at_once(store):
    assert store.manifest == {}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.note(f"section {n}", n), range(40)))
    assert store.manifest == {f"section {n}": n for n in range(40)}


def test_unreadable_and_unwritable_files_are_clear_errors(tmp_path):
    (tmp_path / "file").write_text("x")
    folder = LocalFolder(tmp_path / "file")
    with pytest.raises(InputError, match=r"cannot write .*file/a"):
        folder.write("a", b"")
    with pytest.raises(InputError, match=r"cannot read .*file/a"):
        folder.read("a")


def test_a_single_record_is_read_missing_or_named_if_invalid(store):
    kept = Refusal(where="a", reason="b")
    store.write_record("one.json", kept)
    assert store.read_record("one.json", Refusal) == store.find_record("one.json", Refusal) == kept
    assert store.find_record("two.json", Refusal) is None
    assert store.find_records("two.jsonl", Refusal) == []
    store.write_text("one.json", '{"where": 1}')
    with pytest.raises(InputError, match=r"one.json: where must be text") as caught:
        store.find_record("one.json", Refusal)
    assert "remove it" in caught.value.hint


def test_a_byte_order_mark_is_not_text_but_counts_in_offsets():
    assert decode(b"\xef\xbb\xbfa", "f") == "a"
    with pytest.raises(InputError, match=r"byte 5 \(line 2\) is 0x80"):
        decode(b"\xef\xbb\xbfa\n\x80", "f")


def test_a_failed_write_leaves_the_old_content_and_no_debris(tmp_path, monkeypatch):
    write_atomically(tmp_path / "a", b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(tmp_path), "replace", full)
        with pytest.raises(InputError, match="No space left on device"):
            write_atomically(tmp_path / "a", b"new")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir() if p.is_file()] == [("a", b"old")]


def test_file_modes_follow_the_umask_or_the_request_even_with_many_threads(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "secret", b"", mode=0o600)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: write_atomically(tmp_path / f"f{n}", b"x"), range(200)))
    finally:
        assert os.umask(before) == 0o027
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert {stat.S_IMODE((tmp_path / f"f{n}").stat().st_mode) for n in range(200)} == {0o640}


def test_readers_see_only_whole_files(tmp_path):
    contents = [bytes([65 + n]) * 200_000 for n in range(4)]
    folder = LocalFolder(tmp_path)
    folder.write("a", contents[0])
    with ThreadPoolExecutor(4) as pool:
        writes = [pool.submit(folder.write, "a", contents[n % 4]) for n in range(60)]
        seen = {folder.read("a") for _ in range(60)}
        for write in writes:
            write.result()
    assert seen <= set(contents)
    assert folder.names() == ["a"]


def test_runs_are_below_home_or_where_the_settings_say(isolated_home, tmp_path):
    open_run("demo-1").write_text("a", "x")
    assert (isolated_home / "runs" / "demo-1" / "a").read_text() == "x"
    open_run("demo-1", str(tmp_path / "other")).write_text("a", "x")
    assert (tmp_path / "other" / "demo-1" / "a").exists()


def test_a_run_key_that_differs_from_another_in_capital_letters_only_is_refused(isolated_home):
    open_run("spring").note("corpus", {})
    for ask in (open_run, existing_run):
        with pytest.raises(InputError, match="'Spring' cannot be a run key: it differs from 'spring', which is there"):
            ask("Spring")
    (isolated_home / "runs" / "Autumn").mkdir()
    (isolated_home / "runs" / "autumn").mkdir(exist_ok=True)  # as earlier versions allowed
    assert [open_run(key).key for key in ("spring", "Autumn", "autumn")] == ["spring", "Autumn", "autumn"]


def test_addresses_without_a_bucket_are_refused(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with pytest.raises(InputError, match="names no bucket"):
        open_folder("s3:///runs")
    assert isinstance(open_folder("s3://bucket/runs/"), S3Folder)
    assert open_folder("s3://bucket/runs/").where("a") == "s3://bucket/runs/a"
    assert open_folder("s3://bucket").where("a") == "s3://bucket/a"


@pytest.mark.parametrize("text", ["[]", "null", "3", '"a"'])
def test_an_invalid_manifest_is_named(isolated_home, text):
    store = open_run("r")
    store.write_text("manifest.json", text)
    with pytest.raises(InputError, match=r"manifest\.json: it must be an object"):
        store.note("a", 1)


class Row(Record):
    """A record for tests."""

    n: int


def rows_of(store):
    return [row.n for row in store.read_records("judgments.jsonl", Row)]


@pytest.fixture
def judged(isolated_home):
    store = open_run("r")
    store.write_json("manifest.json", {})
    store.write_records("judgments.jsonl", [Row(n=n) for n in range(3)])
    return store


@pytest.mark.parametrize(
    "lines",
    [[0, 1, 2, 2], [0, 1, 3], [1, 0, 2], [0, 1], []],
    ids=["doubled", "relabelled", "reordered", "cut", "empty"],
)
def test_hand_edited_records_are_refused_until_the_change_is_accepted(judged, lines):
    assert judged.changed() == []
    judged.folder.write("judgments.jsonl", "".join(f'{{"n":{n}}}\n' for n in lines).encode())
    with pytest.raises(InputError, match="was changed after the run wrote it") as refused:
        rows_of(judged)
    assert "abcdlink accept r judgments.jsonl" in refused.value.hint
    assert "judgments.jsonl\n" in call("accept", "r")
    call("accept", "r", "judgments.jsonl")
    assert rows_of(judged) == lines
    assert [one["file"] for one in judged.manifest["accepted"]] == ["judgments.jsonl"]


def test_files_rewritten_by_the_run_or_by_earlier_versions_are_accepted(judged):
    judged.write_records("judgments.jsonl", [Row(n=7)])
    assert rows_of(judged) == [7]
    judged.folder.remove("seals/judgments.jsonl.sha256")
    judged.folder.write("judgments.jsonl", b'{"n":8}\n')
    assert rows_of(judged) == [8]
    with pytest.raises(InputError, match="is unchanged"):
        call("accept", "r", "judgments.jsonl")


@pytest.mark.parametrize("name", ["scores.parquet", "cutoffs.json", "batches/1/agreement.json", "decisions/a/b.json"])
def test_a_hand_edited_result_is_refused_until_the_change_is_accepted(judged, name):
    def write(store, number):
        if name.endswith(".parquet"):
            store.write_table(name, pd.DataFrame({"n": [number]}))
        else:
            store.write_json(name, {"n": number})

    def read():
        return int(pd.Series((judged.read_table if name.endswith(".parquet") else judged.read_json)(name)["n"]).iloc[0])

    write(judged, 1)
    assert read() == 1
    write(Store(judged.folder, "r"), 2)
    assert judged.changed() == [name]
    with pytest.raises(InputError, match="was changed after the run wrote it"):
        read()
    judged.accept(name)
    assert read() == 2
    write(judged, 3)
    assert read() == 3


def test_notes_written_by_several_processes_are_never_refused(judged):
    judged.write_json("label-studio/batch-1/digests.json", {"a": "b"})
    judged.folder.write("label-studio/batch-1/digests.json", b"{}")
    assert judged.read_json("label-studio/batch-1/digests.json", dict[str, str]) == {}


def test_a_kill_while_writing_records_leaves_nothing_to_refuse(judged):
    def dying():
        yield Row(n=5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judged.write_records("judgments.jsonl", dying())
    assert rows_of(judged) == [0, 1, 2]

"""Stores, corpora and data drops on S3, with a server over HTTP."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError
from moto.server import ThreadedMotoServer
from s3transfer.exceptions import RetriesExceededError
from typer.testing import CliRunner

from abcdlink.cli.app import make_app
from abcdlink.corpus import (
    Corpus,
    Document,
    Pair,
    Sentence,
    read_corpus,
    read_corpus_from,
    write_corpus,
    write_corpus_to,
)
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.drops import open_source, read_ledger, settle, take
from abcdlink.errors import InputError, ServiceError
from abcdlink.folders import S3Folder, open_folder, s3_client
from abcdlink.settings import get_settings
from abcdlink.store import open_run
from tests.helpers.homes import configure

BUCKET = "data"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"http://{host}:{port}"
    moto.stop()


@pytest.fixture
def credentials(isolated_home, monkeypatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.fixture
def bucket(server, credentials, monkeypatch) -> str:
    """A fresh bucket's address."""
    configure(monkeypatch, s3_endpoint_url=server)
    client = s3_client()
    client.create_bucket(Bucket=BUCKET)
    for item in client.list_objects_v2(Bucket=BUCKET).get("Contents", []):
        client.delete_object(Bucket=BUCKET, Key=item["Key"])
    return f"s3://{BUCKET}"


def line(pair: str, text: str = "One. Two.") -> bytes:
    value = {"pair": pair, "source": {"id": f"{pair}-s", "text": text}, "target": {"id": "t", "sentences": ["Three."]}}
    return json.dumps(value).encode() + b"\n"


def test_a_folder_on_s3_behaves_like_a_local_one(bucket):
    folder = open_folder(f"{bucket}/runs/")
    with pytest.raises(FileNotFoundError, match="s3://data/runs/a"):
        folder.read("a")
    folder.write("a", b"1")
    folder.write("a", b"2")
    folder.write("ab/ü 1", b"3")
    open_folder(bucket).write("elsewhere", b"4")
    assert folder.read("a") == b"2"
    assert (folder.exists("a"), folder.exists("ab"), folder.exists("b")) == (True, False, False)
    assert (folder.names(), folder.names("ab/")) == (["a", "ab/ü 1"], ["ab/ü 1"])
    assert open_folder(bucket).names() == ["elsewhere", "runs/a", "runs/ab/ü 1"]
    folder.remove("a")
    folder.remove("a")
    assert open_folder(bucket).names() == ["elsewhere", "runs/ab/ü 1"]


def test_folder_markers_of_graphical_clients_are_not_files(bucket):
    folder = S3Folder(f"{bucket}/runs")
    folder.client.put_object(Bucket=BUCKET, Key="runs/", Body=b"")
    folder.client.put_object(Bucket=BUCKET, Key="runs/sub/", Body=b"")
    assert folder.names() == []


def test_a_listing_of_several_pages_is_complete(bucket, monkeypatch):
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "3")
    folder = open_folder(f"{bucket}/many")
    for n in range(8):
        folder.write(f"{n}", b"")
    assert len(s3_client().list_objects_v2(Bucket=BUCKET)["Contents"]) == 3
    assert folder.names() == [f"{n}" for n in range(8)]


def test_runs_and_corpora_can_be_on_s3(bucket):
    documents = {name: Document(id=name, sentences=(Sentence(id="0", text="x\u2028é"),)) for name in "ab"}
    corpus = Corpus(
        name="natural", documents=documents, pairs=[Pair(id="p", source="a", target="b", links={"0": ("0",)})]
    )
    run = open_run("demo", f"{bucket}/runs")
    write_corpus_to(run, "natural", corpus)
    run.note("counts", {"pairs": 1})
    assert read_corpus_from(run, "natural") == corpus
    assert run.manifest == {"counts": {"pairs": 1}}
    write_corpus(corpus, f"{bucket}/corpora/natural")
    assert read_corpus(f"{bucket}/corpora/natural") == corpus
    with pytest.raises(InputError, match="no corpus at s3://data/corpora/none"):
        read_corpus(f"{bucket}/corpora/none")


def test_an_import_is_written_to_s3_with_its_preview(bucket, tmp_path):
    (tmp_path / "p.jsonl").write_bytes(line("p"))
    done = CliRunner().invoke(make_app(), ["import", "jsonl", str(tmp_path / "p.jsonl"), "--out", f"{bucket}/corpus"])
    assert (done.exit_code, f"Preview: {bucket}/corpus/preview.html" in done.output) == (0, True)
    assert [pair.id for pair in read_corpus(f"{bucket}/corpus").pairs] == ["p"]
    assert b"One." in open_folder(f"{bucket}/corpus").read("preview.html")
    assert list(tmp_path.iterdir()) == [tmp_path / "p.jsonl"]


def test_drops_from_s3_are_taken_once_in_parts_and_by_version(bucket):
    inbox, ledger = open_folder(f"{bucket}/inbox"), open_folder(f"{bucket}/ledger")
    source = open_source(f"{bucket}/inbox")

    def run(limit: int = 1000) -> list[str]:
        result = take(source, ledger, get_segmenter(), limit)
        settle(ledger, result)
        return [pair.id for pair in result.corpus.pairs]

    inbox.write("a.jsonl", line("p") + line("q") + b"\xff\n" + line("r"))
    inbox.write("copy.jsonl", line("p") + line("q") + b"\xff\n" + line("r"))
    assert [run(limit=2), run(limit=2), run(), run()] == [["p", "q"], ["r"], [], []]
    assert [json.loads(ledger.read(name))["offset"] for name in ledger.names("quarantine/")] == [2 * len(line("p"))]
    inbox.write("endless.jsonl", line("s")[:-1])  # S3 shows whole objects only
    inbox.write("a.jsonl", line("p") + line("q", "New."))
    assert run() == ["q@2", "s"]
    assert {name: entry.version for name, entry in read_ledger(ledger).items()} == {
        "a.jsonl": 2,
        "copy.jsonl": 1,
        "endless.jsonl": 1,
    }


def test_an_object_replaced_during_reading_waits(bucket, monkeypatch):
    inbox, ledger = open_folder(f"{bucket}/inbox"), open_folder(f"{bucket}/ledger")
    inbox.write("a.jsonl", line("p"))
    source = open_source(f"{bucket}/inbox")
    files = source.files()
    inbox.write("a.jsonl", line("q"))
    with monkeypatch.context() as patch:
        patch.setattr(source, "files", lambda: files)
        result = take(source, ledger, get_segmenter())
    assert ([w.reason for w in result.waiting], result.corpus.pairs) == (["it changed while it was being read"], [])
    assert [pair.id for pair in take(source, ledger, get_segmenter()).corpus.pairs] == ["q"]


def test_an_object_that_s3_refuses_waits_while_the_others_are_taken(bucket, monkeypatch):
    inbox, ledger = open_folder(f"{bucket}/inbox"), open_folder(f"{bucket}/ledger")
    source = open_source(f"{bucket}/inbox")
    source.folder.client.put_object(Bucket=BUCKET, Key="inbox/a.jsonl", Body=line("p"), StorageClass="GLACIER")
    inbox.write("b.jsonl.gz", gzip.compress(line("q")))
    inbox.write("c.jsonl", b"PK\x03\x04 and so on")
    inbox.write("d.jsonl", line("r"))
    result = take(source, ledger, get_segmenter())
    assert [pair.id for pair in result.corpus.pairs] == ["q", "r"]
    assert [(w.name, "storage class" in w.reason) for w in result.waiting] == [("a.jsonl", True)]
    assert [(q.name, q.reason) for q in result.quarantined] == [("c.jsonl", "it is a zip archive")]

    refused = ClientError({"Error": {"Code": "InvalidAccessKeyId"}, "ResponseMetadata": {"HTTPStatusCode": 403}}, "Get")
    with monkeypatch.context() as patch:
        patch.setattr(source.folder.client, "get_object", Mock(side_effect=refused))
        with pytest.raises(ServiceError, match="InvalidAccessKeyId"):
            take(source, ledger, get_segmenter())
    denied = ClientError({"Error": {"Code": "AccessDenied"}, "ResponseMetadata": {"HTTPStatusCode": 403}}, "Get")
    with monkeypatch.context() as patch:
        patch.setattr(source.folder.client, "get_object", Mock(side_effect=denied))
        reasons = {waiting.reason for waiting in take(source, ledger, get_segmenter()).waiting}
    assert reasons == {"it cannot be read: S3 refuses it: AccessDenied"}


def test_a_missing_bucket_is_a_clear_error(bucket):
    for attempt in (lambda f: f.names(), lambda f: f.read("a"), lambda f: f.write("a", b"")):
        with pytest.raises(ServiceError, match=r"S3 refuses s3://absent/.*create the bucket, or correct its name"):
            attempt(open_folder("s3://absent/runs"))


def test_a_dead_endpoint_is_a_clear_error(credentials, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("ABCDLINK_S3_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    get_settings.cache_clear()
    with pytest.raises(ServiceError, match=r"S3 cannot be used for s3://data/runs.*ABCDLINK_S3_ENDPOINT_URL"):
        open_folder("s3://data/runs").names()


def test_missing_credentials_are_a_clear_error(bucket, monkeypatch, tmp_path):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(ServiceError, match="there are no AWS credentials"):
        open_folder(f"{bucket}/runs").names()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ReadTimeoutError(endpoint_url="http://quiet:9/b/a"), "no server answers at http://quiet:9. check that server"),
        (
            ConnectTimeoutError(endpoint_url="http://quiet:9/b"),
            "no server answers at http://quiet:9. check that server",
        ),
        (ClientError({"Error": {"Code": "403", "Message": "Forbidden"}}, "Head"), "Forbidden. check AWS_ACCESS_KEY_ID"),
    ],
)
def test_a_server_that_keeps_quiet_or_refuses_our_keys_is_a_clear_error(bucket, monkeypatch, error, said):
    folder = open_folder(f"{bucket}/runs")
    assert (folder.client.meta.config.connect_timeout, folder.client.meta.config.read_timeout) == (5, 20)
    monkeypatch.setattr(folder.client, "head_object", Mock(side_effect=error))
    with pytest.raises(ServiceError, match=said):
        folder.exists("a")
    monkeypatch.setattr(folder.client, "download_fileobj", Mock(side_effect=RetriesExceededError(error)))
    with pytest.raises(ServiceError, match=said), folder.open("a"):
        pass

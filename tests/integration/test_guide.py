"""The coordinator's guide, command by command, in a folder unrelated to the checkout."""

from __future__ import annotations

import json
import lzma
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from abcdlink.folders import LocalFolder
from abcdlink.judgments import Pool
from abcdlink.layout import EXHAUSTIVE_SLUG, POOLS, QUALIFY_SLUG, RATE_SLUG, REPORT, batch_slug, project_file
from abcdlink.store import Store
from abcdlink.waiting import WaitsFor
from labelstudio_config.pages.annotate import candidate_id, of_batch
from labelstudio_config.run import PUSHED
from labelstudio_config.simulate import simulate_annotators
from services.health import free_port
from tests import ROOT
from tests.helpers.fake_llm import MODEL, FakeLLM, by_rule
from tests.helpers.waiting import WAIT, until

BIN = Path(sys.executable).parent
LLM_KEY = "sk-never-to-be-seen-0123456789"
HOLDERS = ("secrets.env", "supervisor*.conf", "label-studio/label_studio.sqlite3*", "label-studio/.env")
"""Files of the home folder that are made to hold secrets; nobody else can read them."""
TEXTS = (
    ("The bridge reopened on Monday after two years. Some 3,000 people walked across it.", "The bridge is open again."),
    ("Firefighters rescued three miners on Tuesday. The mine has been closed since.", "Three miners were saved."),
    ("A storm cut power to 40,000 homes in the north. Schools stay closed on Friday.", "A storm cut the power."),
)
GOLD = ["The bridge was shut for two years.", "Three thousand people crossed it.", "It was repainted last spring."]


def guide() -> list[list[str]]:
    """Return the commands of the guide's overview, as the shell would split them."""
    text = (ROOT / "docs" / "coordinator.md").read_text(encoding="utf-8")
    block = re.search(r"```sh\n(make setup.*?)```", text, re.DOTALL)
    assert block
    return [shlex.split(line, comments=True) for line in block[1].splitlines()]


class Shell:
    """Runs commands in one folder, with the environment of a home in it."""

    def __init__(self, folder: Path, llm: FakeLLM) -> None:
        self.folder = folder
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ABCDLINK_", "PREFECT_"))}
        self.environment = {
            **clean,
            "ABCDLINK_LABEL_STUDIO_URL": f"http://127.0.0.1:{free_port()}",
            "ABCDLINK_PREFECT_PORT": str(free_port()),
            "ABCDLINK_LLM_BASE_URL": llm.base_url,
            "ABCDLINK_LLM_MODEL": MODEL,
            "ABCDLINK_LLM_API_KEY": LLM_KEY,
        }

    def __call__(self, *command: str) -> str:
        done = subprocess.run(
            [BIN / command[0], *command[1:]],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT,
        )
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def wait_for(self, run: str, name: str) -> Path:
        """Wait until a file of a run is there."""
        path = self.folder / ".abcdlink" / "runs" / run / name
        self.wait_until(path.exists)
        return path

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition; shows the end of the worker's log when it is never met."""
        try:
            until(condition, "what the commands bring about")
        except pytest.fail.Exception as late:
            log = self.folder / ".abcdlink" / "logs" / "worker.log"
            pytest.fail(f"{late}\n{log.read_text(encoding='utf-8')[-4000:]}")


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with FakeLLM(by_rule, key=LLM_KEY) as llm:
        made = Shell(tmp_path, llm)
        try:
            yield made
        finally:
            made("abcdlink", "down")


def test_the_guide_takes_your_documents_and_domain_to_a_data_set(shell: Shell) -> None:
    """With the commands of the guide; programs judge the batches."""
    commands = [command for command in guide() if command[0] == "abcdlink"]
    documents = shell.folder / "my-documents"
    documents.mkdir()
    for number, (source, target) in enumerate(TEXTS, 1):
        (documents / f"p{number}.source.txt").write_text(source)
        (documents / f"p{number}.target.txt").write_text(target + " Officials said so. More is expected this week.")
    by_name = {tuple(command[1:3]): command for command in commands}
    shell("abcdlink", "up")
    shell(*by_name["init", "my-domain"])
    shell(*by_name["import", "text"])
    shell(*by_name["start", "spring"], "--wait")
    assert "waits for your Go" in shell(*by_name["status", "spring"])
    assert "as annotators will see it" in look_at(shell, 1)
    shell(*by_name["annotate", "go"], "--wait")
    now = shell(*by_name["status", "spring"])
    assert "Annotators judge batch 1 of 2" in now
    assert "/user/signup" in now
    assert "annotators per task" in shell(*by_name["annotate", "status"])
    manifest = json.loads((shell.folder / ".abcdlink/runs/spring/manifest.json").read_text())
    assert manifest["domain"]["folder"] == str(shell.folder / ".abcdlink" / "domains" / "my-domain")

    waiting = shell.folder / ".abcdlink/runs/spring/waiting/annotate.json"
    for batch in (1, 2):
        shell.wait_for("spring", project_file(batch_slug(batch), PUSHED))
        judge(shell, batch)
        if batch == 1:
            shell.wait_until(lambda: json.loads(waiting.read_text())["kind"] == WaitsFor.COORDINATOR.value)
            shell(*by_name["feedback", "start"], "--without-round", "--wait")
            assert "as annotators will see it" in look_at(shell, 2)
            shell(*by_name["annotate", "go"])
    shell.wait_for("spring", REPORT)
    shell(*by_name["rate", "start"])
    shell.wait_for("spring", project_file(RATE_SLUG, PUSHED))
    shell(*by_name["adjudicate", "start"])
    shell(*by_name["exhaustive", "start"])
    shell.wait_for("spring", project_file(EXHAUSTIVE_SLUG, PUSHED))
    gold = {"pair": "g", "source": {"id": "a", "sentences": GOLD}, "target": {"id": "b", "sentences": GOLD[::-1]}}
    (shell.folder / "gold.jsonl").write_text(json.dumps({**gold, "links": {"0": ["2"], "1": ["1"], "2": ["0"]}}) + "\n")
    shell("abcdlink", "import", "jsonl", "gold.jsonl", "--out", "gold")
    shell(*by_name["qualify", "start"])
    shell.wait_for("spring", project_file(QUALIFY_SLUG, PUSHED))
    shell(*by_name["export", "spring"])
    assert list((shell.folder / ".abcdlink/runs/spring").rglob("*.parquet"))
    assert "What is left to do" in Path(shell("abcdlink", "report", "spring").strip()).read_text(encoding="utf-8")
    assert found_in(shell, {"ABCDLINK_LLM_API_KEY": LLM_KEY, **secrets_of(shell)}) == []


def look_at(shell: Shell, batch: int) -> str:
    """Return the page that the coordinator looks at before annotators see a batch."""
    told = json.loads(shell("abcdlink", "annotate", "preview", "spring", "--json"))
    assert told["batch"] == batch
    return Path(told["page"]).read_text(encoding="utf-8")


def secrets_of(shell: Shell) -> dict[str, str]:
    """Return the passwords and tokens that `abcdlink up` made."""
    lines = (shell.folder / ".abcdlink" / "secrets.env").read_text(encoding="utf-8").splitlines()
    made = {name: value.strip("'\"") for name, _, value in (line.partition("=") for line in lines)}
    return {name: value for name, value in made.items() if name.endswith(("PASSWORD", "TOKEN", "AUTH", "KEY"))}


def found_in(shell: Shell, secrets: dict[str, str]) -> list[str]:
    """Return where a secret is exposed: files other than those made to hold it, and arguments of processes."""
    found = []
    home = shell.folder / ".abcdlink"
    for path in shell.folder.rglob("*"):
        if path.is_file() and not any(path.match(f"{home}/{holder}") for holder in HOLDERS):
            data = path.read_bytes()
            data = lzma.decompress(data) if path.suffix == ".xz" else data
            found += [f"{name} in {path}" for name, value in secrets.items() if value.encode() in data]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            data = path.read_bytes()
            found += [f"{name} in {data!r}" for name, value in secrets.items() if value.encode() in data]
    return found


def judge(shell: Shell, batch: int) -> None:
    """Let two programs judge a batch in Label Studio: they take the first candidate of each task for the link."""
    secrets = (shell.folder / ".abcdlink" / "secrets.env").read_text(encoding="utf-8")
    token = re.search(r"^ABCDLINK_LABEL_STUDIO_TOKEN=['\"]?([^'\"\s]+)", secrets, re.MULTILINE)
    assert token
    pools = of_batch(
        Store(LocalFolder(shell.folder / ".abcdlink/runs/spring"), "spring").read_records(POOLS, Pool), batch
    )
    gold = {key: frozenset({candidate_id(key, pool.candidates[0].target)}) for key, pool in pools.items()}
    simulate_annotators(shell.environment["ABCDLINK_LABEL_STUDIO_URL"], token[1], "spring", batch, gold)

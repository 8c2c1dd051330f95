"""The coordinator's guide, command by command, in a folder that has nothing to do with the checkout."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from abcdlink.layout import batch_slug, project_file
from labelstudio_config.run import PUSHED
from services.ports import free_port
from tests import ROOT
from tests.helpers.fake_llm import MODEL, FakeLLM
from tests.helpers.stack import answer

BIN = Path(sys.executable).parent
LIMIT = 600
TEXTS = (
    ("The bridge reopened on Monday after two years. Some 3,000 people walked across it.", "The bridge is open again."),
    ("Firefighters rescued three miners on Tuesday. The mine has been closed since.", "Three miners were saved."),
    ("A storm cut power to 40,000 homes in the north. Schools stay closed on Friday.", "A storm cut the power."),
)


def guide() -> list[list[str]]:
    """Return the commands of the guide's overview, as the shell would split them."""
    text = (ROOT / "docs" / "coordinator.md").read_text(encoding="utf-8")
    block = re.search(r"```sh\n(make setup.*?)```", text, re.DOTALL)
    assert block
    return [shlex.split(line, comments=True) for line in block[1].splitlines()]


class Shell:
    """Gives commands in one folder, with the environment of one home there."""

    def __init__(self, folder: Path, llm: FakeLLM) -> None:
        self.folder = folder
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ABCDLINK_", "PREFECT_"))}
        self.environment = {
            **clean,
            "ABCDLINK_LABEL_STUDIO_URL": f"http://127.0.0.1:{free_port()}",
            "ABCDLINK_PREFECT_PORT": str(free_port()),
            "ABCDLINK_LLM_BASE_URL": llm.base_url,
            "ABCDLINK_LLM_MODEL": MODEL,
        }

    def __call__(self, *command: str) -> str:
        done = subprocess.run(
            [BIN / command[0], *command[1:]],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def wait_for(self, run: str, name: str) -> Path:
        """Wait until a file of a run is there."""
        path, deadline = self.folder / ".abcdlink" / "runs" / run / name, time.monotonic() + LIMIT
        while not path.exists():
            log = self.folder / ".abcdlink" / "logs" / "worker.log"
            assert time.monotonic() < deadline, log.read_text(encoding="utf-8")[-4000:]
            time.sleep(0.5)
        return path


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with FakeLLM(answer) as llm:
        made = Shell(tmp_path, llm)
        try:
            yield made
        finally:
            made("abcdlink", "down")


@pytest.mark.timeout(1500)
def test_the_guide_brings_own_documents_and_an_own_domain_to_annotators(shell: Shell) -> None:
    """With the first commands of the guide; and in a quick start, which asks no LLM."""
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
    bootstrap = by_name["run", "bootstrap"]
    shell(*["trial" if part == "spring" else part for part in bootstrap], "--quick", "--batches", "1")
    page = json.loads(shell.wait_for("trial", project_file(batch_slug(1), PUSHED)).read_text())
    assert page["task_keys"]
    shell(*bootstrap)
    shell.wait_for("spring", project_file(batch_slug(1), PUSHED))
    assert "annotators for each task" in shell(*by_name["annotate", "status"])
    report = Path(shell("abcdlink", "report", "trial").strip()).read_text(encoding="utf-8")
    assert "This run is a quick start" in report
    manifest = json.loads((shell.folder / ".abcdlink/runs/spring/manifest.json").read_text())
    assert manifest["domain"]["folder"] == str(shell.folder / ".abcdlink" / "domains" / "my-domain")

"""What the documentation mentions exists: commands, options, make targets, settings, folders, deployments."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer
import yaml

from abcdlink.cli.app import make_app
from abcdlink.settings import Settings
from tests import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = re.compile(r"```(?:sh|bash|console)?\n(.*?)```|`([^`\n]+)`", re.DOTALL)


def lines_of_code() -> list[tuple[str, str]]:
    """Return (file name, line) for each line of code and inline code in the documentation."""
    found = []
    for path in DOCUMENTS:
        for block, inline in CODE.findall(path.read_text(encoding="utf-8")):
            found += [(path.name, line.strip()) for line in (block or inline).splitlines() if line.strip()]
    return found


def called(name: str) -> list[tuple[str, str]]:
    return [(where, line) for where, line in lines_of_code() if re.match(rf"(?:\.venv/bin/)?{name}( |$)", line)]


@pytest.mark.parametrize(("where", "line"), called("abcdlink"), ids=lambda value: value)
def test_documented_commands_exist_with_their_options(where: str, line: str) -> None:
    words = shlex.split(line.split("#", maxsplit=1)[0])[1:]
    command = typer.main.get_command(make_app())
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        assert words[0] in command.commands, f"{where}: {line}: there is no command {words[0]!r} (`make setup`?)"
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    used = {word.split("=")[0] for word in words if word.startswith("--")}
    assert used <= known, f"{where}: {line}"


@pytest.mark.parametrize(("where", "line"), called("make"), ids=lambda value: value)
def test_documented_make_targets_exist(where: str, line: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    tiers = re.search(r"^TIERS := (.*)$", makefile, re.MULTILINE)
    targets = {target for rule in re.findall(r"^([\w .-]+):(?!=)", makefile, re.MULTILINE) for target in rule.split()}
    for word in shlex.split(line.split("#", maxsplit=1)[0])[1:]:
        assert "=" in word or word in targets | set(tiers[1].split() if tiers else ()), f"{where}: {line}"


def test_the_template_holds_every_setting_and_nothing_else() -> None:
    template = (ROOT / "deployments" / ".env.example").read_text(encoding="utf-8")
    named = set(re.findall(r"ABCDLINK_[A-Z0-9_]+", template))
    assert named == {f"ABCDLINK_{name.upper()}" for name in Settings.model_fields}


def test_the_layout_in_the_readme_matches_the_project() -> None:
    layout = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Layout")[2]
    for folder in re.findall(r"^([\w./]+/) ", layout, re.MULTILINE):
        assert (ROOT / folder).is_dir(), folder


def test_every_link_in_the_documentation_leads_to_a_file() -> None:
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_every_test_in_the_documentation_exists() -> None:
    named = {path for _, line in lines_of_code() for path in re.findall(r"\btests/[\w/]+(?:\.\w+)?", line)}
    assert named
    assert not [path for path in sorted(named) if not (ROOT / path).exists()]


def test_every_deployment_names_an_existing_flow() -> None:
    described = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text(encoding="utf-8"))
    for deployment in described["deployments"]:
        file, _, flow = deployment["entrypoint"].partition(":")
        assert re.search(rf"^def {flow}\(", Path(ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), deployment


HASHES = ROOT / "deployments" / "hashes"


def versions(file: Path) -> dict[str, str]:
    """Return package -> version from lines such as ``name==version``."""
    found = re.findall(r"^([\w.-]+)==([\w.+!-]+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


@pytest.mark.parametrize("environment", ["main", "label-studio"])
def test_every_locked_version_has_hashes(environment: str) -> None:
    """`make hashes` brings them up to date."""
    pins = versions(ROOT / "deployments" / "constraints" / f"{environment}.txt")
    files = [HASHES / f"{environment}.txt", *([HASHES / "torch.txt"] if "torch" in pins else [])]
    found = {name: version for file in files for name, version in versions(file).items()}
    assert pins.items() <= found.items()
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    assert len(re.findall(r" \\\n    --hash=sha256:[0-9a-f]{64}", text)) >= len(found)


def test_every_dependency_has_a_locked_version() -> None:
    """A dependency of the project that is not locked would be missing after `make setup`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["embedded"], *extras["dev"]]
    names = {re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", one)[0]).lower() for one in wanted}
    assert names <= versions(HASHES / "main.txt").keys() | {"torch"}

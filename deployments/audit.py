"""Reads pip-audit's report on standard input; fails if a package is vulnerable or none could be checked."""

from __future__ import annotations

import json
import sys


def main() -> int:
    """Print the findings; returns 0 if all packages were checked and none is known to be vulnerable."""
    text = sys.stdin.read()
    if not text.strip():
        sys.stdout.write("The database of known vulnerabilities could not be reached: nothing was checked.\n")
        return 2
    packages = [one for one in json.loads(text)["dependencies"] if one["name"] != "abcdlink"]
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    bad = [one for one in packages if one.get("vulns")]
    for one in bad:
        sys.stdout.write(f"{one['name']} {one['version']}: {', '.join(each['id'] for each in one['vulns'])}\n")
    checked = len(packages) - len(skipped)
    sys.stdout.write(f"{checked} of {len(packages)} packages were checked; {len(bad)} are vulnerable.\n")
    if not checked:
        sys.stdout.write("The database of known vulnerabilities could not be reached: nothing was checked.\n")
        return 2
    if skipped:
        sys.stdout.write(f"Not in the database: {', '.join(skipped)}\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

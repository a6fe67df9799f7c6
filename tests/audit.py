"""Ask a vulnerability service about every locked package, and say what it did not answer.

python -m tests.audit      # in an environment that has pip-audit

``pip-audit`` skips a package that its service does not know, and then prints that no vulnerability
was found.  A mirror without the service knows none of them.  So this command counts the answers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

#: `requirements/verify.txt` is a part of it (tests/test_dependencies.py).
FILE = Path(__file__).parents[1] / "requirements" / "tests.txt"
_COMMAND = ["--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json"]


class Result(NamedTuple):
    """Lines for people, and the exit code: 1 where a vulnerability is known, else 0."""

    lines: list[str]
    code: int


def result(printed: str, errors: str) -> Result:
    """Read the answer of pip-audit: its output, and what it wrote to the error stream."""
    try:
        packages = json.loads(printed)["dependencies"]
    except (ValueError, KeyError, TypeError):
        reason = next((t for t in reversed(errors.splitlines()) if t.strip()), "no answer")
        return Result([f"NOT AUDITED: the vulnerability service cannot be reached ({reason})"], 0)
    skipped = [p["name"] for p in packages if "skip_reason" in p]
    known = [(p, v) for p in packages for v in p.get("vulns", ())]
    n_audited = len(packages) - len(skipped)
    if not n_audited:
        return Result(
            [
                "NOT AUDITED: the vulnerability service answers for none of the "
                f"{len(packages)} packages, so it cannot be reached from here"
            ],
            0,
        )
    lines = [
        f"{p['name']} {p['version']}: {v['id']}, mended in {', '.join(v['fix_versions']) or 'none'}"
        for p, v in known
    ]
    lines.append(f"{n_audited} of {len(packages)} packages audited, {len(known)} vulnerabilities")
    if skipped:
        lines.append(f"NOT AUDITED: {', '.join(skipped)}")
    return Result(lines, int(bool(known)))


def main() -> int:
    """Audit the locked packages and print the result."""
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", *_COMMAND, "-r", str(FILE)],
        capture_output=True,
        text=True,
        check=False,
    )
    lines, code = result(done.stdout, done.stderr)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())

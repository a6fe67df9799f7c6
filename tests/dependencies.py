"""Every package that the README's two commands install, with its version and its licence.

python -m tests.dependencies > docs/dependencies.md      # in the environment of the tests
"""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
FILES = ("verify", "tests")

HEAD = """\
# Dependencies

`requirements/verify.txt` and `requirements/tests.txt` hold the exact versions that the README's two
commands install, with the hashes of every file. `python3 .ci/tox.py -e lock` resolves the newest
versions again. It then asks a vulnerability service about each of them (`python -m tests.audit`),
and says which ones the service did not answer for. `python -m tests.dependencies` writes this page
from the packages' own metadata.

Two packages are needed only for a PDF on a machine without LaTeX (`pip install '.[pdf]'`):
`pypandoc-binary` and `typst`. The wheel of `pypandoc-binary` is MIT code around a program of
another licence: it contains pandoc, which is under the GPL, version 2 or later. The suite runs
pandoc as a separate program and links nothing of it.

| package | version | licence | for |
| --- | --- | --- | --- |
"""


def locked(name: str) -> dict[str, str]:
    """Package -> version in ``requirements/NAME.txt``, for this machine."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8").splitlines()
    stated = [Requirement(line.rstrip(" \\")) for line in lines if re.match(r"[a-z0-9]", line)]
    return {
        each.name: str(each.specifier).removeprefix("==")
        for each in stated
        if each.marker is None or each.marker.evaluate()
    }


def licence(package: str) -> str:
    """The licence as the package's metadata state it, in one line."""
    found = metadata.metadata(package)
    classifiers = [
        text.rpartition(" :: ")[2]
        for text in found.get_all("Classifier") or ()
        if text.startswith("License :: ") and not text.endswith("OSI Approved")
    ]
    first = (found.get("License") or "").strip().partition("\n")[0]
    return found.get("License-Expression") or ", ".join(classifiers) or first or "not stated"


def page() -> str:
    """The page `docs/dependencies.md`."""
    main, tests = (locked(name) for name in FILES)
    rows = [
        f"| {name} | {version} | {licence(name)} | {'both' if name in main else 'tests'} |"
        for name, version in sorted({**main, **tests}.items())
    ]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(page(), end="")

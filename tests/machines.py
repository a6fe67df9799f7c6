"""The suite's numbers on other machines, as far as this one can play them.

    python -m tests.machines                       all that follows
    python -m tests.machines kernels               OpenBLAS's kernels and a generic processor
    python -m tests.machines versions              the oldest packages, and each Python
    python -m tests.machines oldest                the oldest packages alone
    python -m tests.machines kernels --only Zen --tests tests/records -k ifca.eq3
                                                   one row, on a part of the tests

``kernels`` compares the recorded values, checks that every claim is complete, and tests the stores.
``versions`` builds the wheel, installs it beside the packages of `requirements/oldest.txt` and of
`requirements/verify.txt`, runs two claims, names one that does not exist, and replays a trial.
``oldest`` is the share of it that continuous integration runs.  It leaves packages out that cannot
be downloaded, because that is no fault of the program.  A line says what is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from verify.cli import exits

ROOT = Path(__file__).resolve().parents[1]
#: Each with the instructions that it needs.
KERNELS = {"Prescott": "sse2", "Haswell": "avx2", "Zen": "avx2", "SkylakeX": "avx512f"}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
#: What must agree everywhere.
TESTS = ("tests/records", "tests/test_every_claim.py", "tests/trials/run")
#: One claim with a certificate and one that samples, with the first words of their verdicts.
VERDICTS = {"ifca.eq3": "PROVED", "ifca.thm1-as-printed": "REFUTED"}
#: Downloads fail now and then.  Seconds before the next try of an installation.
PAUSES = (5, 10, 20)


def kernels(only: str = "", tests: Sequence[str] = TESTS) -> Iterator[tuple[str, bool]]:
    """Each kernel of OpenBLAS with Numba's code for a generic processor, and whether it passes."""
    flags = _flags()
    for kernel, needed in KERNELS.items():
        if only not in ("", kernel):
            continue
        if needed not in flags:
            print(f"{kernel}: left out, because this processor lacks {needed}", flush=True)
            continue
        variables = {"OPENBLAS_CORETYPE": kernel, "NUMBA_CPU_NAME": "generic"}
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *tests]
        yield kernel, _call(command, variables) == 0


def _flags() -> str:
    """The instruction sets of this processor, where the system tells them."""
    told = Path("/proc/cpuinfo")
    return told.read_text() if told.exists() else ""


def oldest() -> Iterator[tuple[str, bool]]:
    """The oldest Python with the oldest packages, where they can be downloaded."""
    version, lock = PYTHONS[0], "oldest"
    python = _interpreter(version)
    if python is None:
        print(f"Python {version}: left out, because there is no such interpreter here", flush=True)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not _installs(python, lock, folder / "python"):
            print(f"requirements/{lock}.txt: left out, because a download failed", flush=True)
            return
        yield (
            f"Python {version}, requirements/{lock}.txt",
            _works(_wheel(folder), folder / "python"),
        )


def versions() -> Iterator[tuple[str, bool]]:
    """Each Python with the locked packages, and the oldest one with the oldest packages."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = _wheel(Path(folder))
        for version in PYTHONS:
            python = _interpreter(version)
            if python is None:
                print(f"Python {version}: left out, because there is no such interpreter here")
                continue
            for lock in ("oldest", "verify") if version == PYTHONS[0] else ("verify",):
                place = Path(folder, f"{version}-{lock}")
                passes = _installs(python, lock, place) and _works(wheel, place)
                yield f"Python {version}, requirements/{lock}.txt", passes


def _wheel(folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    assert _in_some_try(pip), "the wheel could not be built"
    (found,) = folder.glob("*.whl")
    return found


def _interpreter(version: str) -> str | None:
    """A Python of this version on the path or of pyenv, that starts."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    known = [shutil.which(f"python{version}"), *pyenv.glob(f"{version}.*/bin/python")]
    for python in filter(None, map(str, filter(None, known))):
        command = [python, "-c", "import ensurepip, venv, sys; print(sys.version_info[:2])"]
        told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        if told.strip() == str(tuple(map(int, version.split(".")))):
            return python
    return None


def _pip(folder: Path) -> list[str]:
    return [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--only-binary", ":all:"]


def _installs(python: str, lock: str, folder: Path) -> bool:
    """Whether the packages of ``requirements/<lock>.txt`` install in a new environment."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    return _in_some_try([*_pip(folder), "-r", str(ROOT / "requirements" / f"{lock}.txt")])


def _in_some_try(command: list[str]) -> bool:
    """Whether one of the tries ends well."""
    for pause in (*PAUSES, 0):
        if subprocess.call(command) == 0:
            return True
        time.sleep(pause)
    return False


def _works(wheel: Path, folder: Path) -> bool:
    """Whether two claims, an error and a replay of the wheel give what they must."""
    subprocess.run([*_pip(folder), "--no-deps", str(wheel)], check=True)
    program, run = str(folder / "bin" / "cfl-verify"), str(folder / "run")
    _call([program, "run", *VERDICTS, "--executor", "serial", "--output", run], cwd=folder)
    told = subprocess.run(
        [program, "status", run, "--json"], capture_output=True, text=True, check=False
    ).stdout
    found = json.loads(told or "{}")
    if {k: str(v).split()[0] for k, v in found.get("claims", {}).items()} != VERDICTS:
        return False
    if _call([program, "run", "ifca.none", "--output", "none"], cwd=folder) != exits.USAGE:
        return False
    return _call([program, "replay", run, found["experiments"][0]["trial"]], cwd=folder) == 0


def _call(command: list[str], variables: Mapping[str, str] | None = None, cwd: Path = ROOT) -> int:
    return subprocess.call(command, cwd=cwd, env={**os.environ, **(variables or {})})


def main() -> int:
    """0 where every machine that could be tried passes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", default=["kernels", "versions"])
    parser.add_argument("--only", choices=("", *KERNELS), default="", help="one row of kernels")
    parser.add_argument("--tests", nargs=argparse.REMAINDER, help="for pytest, the last option")
    given = parser.parse_args()
    rows = {
        "kernels": lambda: kernels(given.only, given.tests or TESTS),
        "versions": versions,
        "oldest": oldest,
    }
    if unknown := set(given.parts) - set(rows):
        parser.error(f"no part {min(unknown)}: choose from {', '.join(rows)}")
    failed = []
    for part in given.parts:
        for name, passes in rows[part]():
            print(f"{name}: {'passes' if passes else 'FAILS'}", flush=True)
            failed += [] if passes else [name]
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

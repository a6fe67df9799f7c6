#!/usr/bin/env python3
"""Build the wheel and the source archive twice from the last commit, and compare them bit for bit.

python .ci/dist.py [FOLDER]      in an environment with setuptools; FOLDER is `dist` by default

The times in both are those of the commit (or of SOURCE_DATE_EPOCH).  A file that is missing or that
does not belong there ends the task in one line.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = "import sys; from setuptools import build_meta as b; b.build_{kind}(sys.argv[1])"
PACKAGES = ("bounds", "reports", "trials", "verify")


def epoch() -> int:
    """SOURCE_DATE_EPOCH, or the time of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    command = ["git", "log", "-1", "--format=%ct"]
    return int(given or subprocess.check_output(command, cwd=ROOT, text=True))


def build(kind: str, time: int) -> tuple[str, bytes]:
    """Name and content of a ``wheel`` or ``sdist``, from a fresh copy of the last commit."""
    with tempfile.TemporaryDirectory() as made:
        source, target = Path(made, "source"), Path(made, "target")
        source.mkdir()
        target.mkdir()
        archive = subprocess.check_output(["git", "archive", "HEAD"], cwd=ROOT)
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(source, filter="data")
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(time), "PYTHONHASHSEED": "0"}
        subprocess.run(
            [sys.executable, "-c", BUILD.format(kind=kind), str(target)],
            cwd=source,
            env=environment,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        (path,) = target.iterdir()
        content = path.read_bytes()
        return path.name, content if kind == "wheel" else settled(content, time)


def settled(archive: bytes, time: int) -> bytes:
    """A source archive with sorted names, one time, and no owner."""
    out = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive)) as old,
        gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=time) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda m: m.name):
            content = old.extractfile(member) if member.isfile() else None
            member.mtime, member.uid, member.gid, member.uname, member.gname = time, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, content)
    return out.getvalue()


def faults(wheel: bytes) -> list[str]:
    """What is missing in a wheel, and what does not belong there."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as files:
        names = files.namelist()
    found = [f"{p}/py.typed is missing" for p in PACKAGES if f"{p}/py.typed" not in names]
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        found.append("LICENSE is missing")
    allowed = re.compile(rf"({'|'.join(PACKAGES)}|cfl_verify-[\w.]+\.dist-info)/")
    found += [f"{name} does not belong there" for name in names if not allowed.match(name)]
    found += [f"{name} is no source" for name in names if re.search(r"__pycache__|\.pyc$", name)]
    return found


def main(folder: str = "dist") -> int:
    """Build, compare, check, write."""
    time = epoch()
    target = Path(folder)
    for kind in ("wheel", "sdist"):
        name, content = build(kind, time)
        if build(kind, time) != (name, content):
            print(f"{name}: two builds differ", file=sys.stderr)
            return 1
        wrong = faults(content) if kind == "wheel" else []
        if wrong:
            print(f"{name}: {'; '.join(wrong[:4])}", file=sys.stderr)
            return 1
        target.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(content)
        print(f"{hashlib.sha256(content).hexdigest()}  {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))

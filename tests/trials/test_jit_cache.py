"""Compiled kernels are keyed on all sources of the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from trials import jit_cache


def test_any_source_changes_the_directory(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "laws").mkdir(parents=True)
    (package / "kernel.py").write_text("x = 1\n")
    helper = package / "laws" / "helper.py"
    helper.write_text("y = 1\n")
    before = jit_cache.sources_hash(package)
    assert jit_cache.sources_hash(package) == before
    helper.write_text("y = 2\n")
    changed = jit_cache.sources_hash(package)
    assert changed != before
    helper.rename(package / "laws" / "renamed.py")
    assert jit_cache.sources_hash(package) not in {before, changed}


def test_kernels_are_compiled_into_the_keyed_directory(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    program = "import trials, numba; print(numba.config.CACHE_DIR)"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=Path(jit_cache.__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert Path(found).parent == tmp_path / "cfl-verify" / "numba"
    assert Path(found).name == jit_cache.sources_hash(Path(jit_cache.__file__).parent)


def test_the_users_choice_wins(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    program = "import trials, numba; print(numba.config.CACHE_DIR)"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=Path(jit_cache.__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert found == str(tmp_path)

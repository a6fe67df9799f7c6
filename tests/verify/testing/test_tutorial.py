"""`docs/your-own-implementation.md` does what it shows."""

import importlib
import importlib.metadata
import os
import re
import sys
from pathlib import Path

import pytest

from tests import forking
from verify.testing import SUBJECTS, verify
from verify.testing.report import failure_text

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "your-own-implementation.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def block(start):
    """The example that begins so."""
    (found,) = (text for text in BLOCKS if text.startswith(start))
    return found


@pytest.fixture
def wrong_step(tmp_path, monkeypatch):
    """The reader's folder with the first example as a module."""
    (tmp_path / "my_ifca.py").write_text(block("# my_ifca.py"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("my_ifca").step
    sys.modules.pop("my_ifca", None)


def test_the_bug_is_reported_as_printed(wrong_step):
    (failure,) = verify(wrong_step, "ifca.step", checks=["kernel"]).failures
    for line in failure_text(failure, None).splitlines():
        assert f"      {line}\n" in PAGE


@pytest.mark.usefixtures("wrong_step")
def test_the_factor_that_the_page_names_is_the_repair():
    scope = {}
    right = block("# my_ifca.py").replace("gradient = x.T", "gradient = 2 * x.T")
    exec(compile(right, "my_ifca.py", "exec"), scope)
    report = verify(scope["step"], "ifca.step", examples=6)
    assert report.passed
    assert f"{len(report.outcomes)} of {len(report.outcomes)} checks passed" in PAGE


def test_the_marker_makes_a_test_of_every_check(wrong_step, tmp_path):
    (tmp_path / "test_it.py").write_text(block("import pytest"))
    command = ["-m", "pytest", "--collect-only", "-q", "test_it.py"]
    if not any(p.name == "cfl_verify" for p in importlib.metadata.entry_points(group="pytest11")):
        command += ["-p", "verify.pytest_plugin"]
    path = f"{ROOT}{os.pathsep}{tmp_path}"
    done = forking.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, check=True)
    for check in SUBJECTS["ifca.step"].checks:
        assert f"test_step[{check.name}]" in done.stdout


def test_the_other_examples_run(wrong_step):
    scope = {"step": wrong_step}
    for start in (
        "def as_step",
        "from verify.testing import verify",
        "from hypothesis import HealthCheck",
    ):
        exec(compile(block(start), "docs/your-own-implementation.md", "exec"), scope)


def test_the_page_lists_every_subject_with_its_call():
    for name, subject in SUBJECTS.items():
        assert f"| `{name}` | `{subject.signature}` |" in PAGE

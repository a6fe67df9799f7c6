"""One arithmetic for all processors of a level, chosen before NumPy is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from verify import arithmetic

ROOT = Path(__file__).parents[2]
V3 = "flags : fpu sse4_2 movbe f16c avx fma abm bmi1 avx2 bmi2"
REPORT = (
    "import json, os, warnings; warnings.simplefilter('error');"
    "from verify.arithmetic import settle; obeyed = settle();"
    "from trials.run.machine import arithmetic; print(json.dumps([obeyed, dict(arithmetic())]))"
)


def child(**variables):
    """Whether a fresh process obeys, and its arithmetic."""
    ours = arithmetic.variables((2, 4))
    own = {k: v for k, v in os.environ.items() if k not in (*ours, arithmetic.VARIABLE)}
    text = subprocess.check_output([sys.executable, "-c", REPORT], cwd=ROOT, env=own | variables)
    return json.loads(text)


@pytest.mark.skipif(not arithmetic.reaches_level(), reason="this processor is below x86-64-v3")
def test_a_process_computes_as_any_processor_of_the_level():
    obeyed, facts = child()
    assert obeyed
    assert facts["processor"] == arithmetic.LEVEL
    assert not any(name in facts["simd"] for name in ("AVX512", "V4"))
    kernels = {one.rsplit(" ", 1)[1] for one in facts["blas"].split(", ")}
    assert kernels == {"Haswell"}


@pytest.mark.skipif(not arithmetic.reaches_level(), reason="this processor is below x86-64-v3")
def test_what_the_user_has_set_stays():
    _, facts = child(OPENBLAS_CORETYPE="Prescott", NUMBA_CPU_NAME="generic")
    assert facts["processor"] == "generic"
    assert "Haswell" not in facts["blas"]


def test_native_changes_nothing(monkeypatch):
    monkeypatch.setenv(arithmetic.VARIABLE, "native")
    monkeypatch.delitem(sys.modules, "numpy")
    before = dict(os.environ)
    assert not arithmetic.settle()
    assert dict(os.environ) == before


def test_a_process_that_has_loaded_numpy_is_left_alone(monkeypatch):
    monkeypatch.delenv(arithmetic.VARIABLE, raising=False)
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    assert sys.modules["numpy"] is np
    assert not arithmetic.settle()
    assert "NUMBA_CPU_NAME" not in os.environ


def test_an_unknown_arithmetic_is_one_line():
    told = subprocess.run(
        [sys.executable, "-m", "verify", "list"],
        env={**os.environ, arithmetic.VARIABLE: "fast"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 3
    assert told.stderr == "error: CFL_VERIFY_ARITHMETIC=fast must be common or native\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [(V3, True), (V3.replace("avx2", ""), False), (V3.replace("fma", "fma4"), False), ("", False)],
)
def test_the_level_needs_every_instruction(tmp_path, monkeypatch, text, expected):
    monkeypatch.setattr(arithmetic.platform, "machine", lambda: "x86_64")
    (tmp_path / "cpuinfo").write_text(f"processor : 0\n{text}\nbugs :\n")
    assert arithmetic.reaches_level(tmp_path / "cpuinfo") is expected


def test_another_architecture_or_an_unknown_processor_is_left_alone(tmp_path, monkeypatch):
    assert not arithmetic.reaches_level(tmp_path / "none")
    (tmp_path / "cpuinfo").write_text(V3)
    monkeypatch.setattr(arithmetic.platform, "machine", lambda: "aarch64")
    assert not arithmetic.reaches_level(tmp_path / "cpuinfo")


def test_older_numpy_knows_its_instructions_by_other_names():
    assert arithmetic.variables((2, 0))["NPY_ENABLE_CPU_FEATURES"] == "AVX F16C FMA3 AVX2"
    assert arithmetic.variables((2, 4))["NPY_ENABLE_CPU_FEATURES"] == "X86_V3"

"""The same bits on every processor of one level: `settle` chooses the arithmetic of a process.

Numba compiles for the processor at hand, NumPy picks its loops by it, and OpenBLAS its kernels.
Each choice sums in another order, so that two machines differ in the last digits of a trial.  The
command line, its workers and the tests ask all three for one common level instead: x86-64-v3,
which every x86 processor since 2013 to 2015 has (AVX2 and FMA; Intel Haswell, AMD Zen).

The libraries read these variables when they are loaded.  So this module imports none of them, and
must run first.  A variable that the user has set stays.  A processor below the level, one of
another kind, and ``CFL_VERIFY_ARITHMETIC=native`` keep the machine's own arithmetic.  Either way
each block of a run records the arithmetic that made it (`trials.run.machine`).
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

VARIABLE = "CFL_VERIFY_ARITHMETIC"
COMMON, NATIVE = "common", "native"
LEVEL = "x86-64-v3"

#: What the level adds to x86-64-v2, by the names of /proc/cpuinfo.
_NEEDED = frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "abm"})


class UnknownArithmetic(ValueError):
    """The variable names no arithmetic."""


def settle() -> bool:
    """Ask the libraries that are not loaded yet for the common level.  True where they obey.

    Raises
    ------
    UnknownArithmetic
        if ``CFL_VERIFY_ARITHMETIC`` is neither ``common`` nor ``native``.
    """
    wish = os.environ.get(VARIABLE, COMMON)
    if wish not in (COMMON, NATIVE):
        raise UnknownArithmetic(f"{VARIABLE}={wish} must be {COMMON} or {NATIVE}")
    if wish == NATIVE or "numpy" in sys.modules or not reaches_level():
        return False
    for name, value in variables(_numpy_version()).items():
        os.environ.setdefault(name, value)
    return True


def variables(numpy_version: tuple[int, int]) -> Mapping[str, str]:
    """The environment of the common level.

    NumPy 2.4 gave its groups of instructions new names, and warns of names that it does not know.
    """
    loops = "X86_V3" if numpy_version >= (2, 4) else "AVX F16C FMA3 AVX2"
    return {
        "NUMBA_CPU_NAME": LEVEL,
        "NUMBA_CPU_FEATURES": "",  # those of the name, and none of the processor at hand
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_ENABLE_CPU_FEATURES": loops,
    }


def reaches_level(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the processor has every instruction of the level.  False where that is not known."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    try:
        lines = cpuinfo.read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    flags = next((line.split(":", 1)[1].split() for line in lines if line.startswith("flags")), [])
    return set(flags) >= _NEEDED


def _numpy_version() -> tuple[int, int]:
    try:
        major, minor = version("numpy").split(".")[:2]
        return int(major), int(minor)
    except (PackageNotFoundError, ValueError):
        return 2, 0

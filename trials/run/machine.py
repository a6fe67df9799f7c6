"""What a machine adds to the bits of a result, and how far two results are apart.

Bits are promised for one kind of processor and one set of versions (`docs/decisions/0006`).  On
another machine a library may sum in another order.  Then two results agree to rounding, unless a
trial makes a choice by its last digits.
"""

from __future__ import annotations

import hashlib
import math
import os
import platform
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np
import scipy.linalg  # noqa: F401 - it loads its BLAS, which is named below
from llvmlite import binding
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

#: Results whose relative distance is larger differ by more than rounding.  Sums of a million terms
#: lose up to nine of sixteen digits; a trial that took another turn shares none.
ROUNDING = 1e-6
#: Numbers below this size are compared by their absolute distance.
_SMALL = 1e-8


_DIGITS = 16  # of a machine's name


@cache
def arithmetic() -> Mapping[str, str]:
    """What decides the last bits of a result here, beside the code and the versions.

    ``processor`` is the one for which Numba compiles, with a digest of the instructions that it may
    use.  ``simd`` are the instruction sets that NumPy's loops use, ``blas`` each BLAS with its
    version and the family of its kernels, ``libm`` the library of exponentials and logarithms.
    """
    every = [i for i in threadpool_info() if i.get("user_api") == "blas"]
    # Another package of the process may have loaded a BLAS that no trial calls.
    ours = [i for i in every if re.search("numpy|scipy", str(i.get("filepath")))] or every
    blas = {
        f"{i['internal_api']} {i.get('version') or '?'} {i.get('architecture') or '?'}"
        for i in ours
    }
    return MappingProxyType(
        {
            "platform": f"{platform.system()} {platform.machine()}",
            "processor": _processor(),
            "simd": _numpy_simd(),
            "blas": ", ".join(sorted(blas)) or "unknown",
            "libm": " ".join(part for part in platform.libc_ver() if part) or platform.system(),
        }
    )


def _processor() -> str:
    name = os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if name == "generic" else binding.get_host_cpu_features().flatten()
    digest = hashlib.sha256(features.encode()).hexdigest()[:8] if features else ""
    return f"{name} {digest}".strip()


def _numpy_simd() -> str:
    """The instruction sets above the baseline of NumPy's build that its loops use here."""
    loops = np._core._multiarray_umath  # type: ignore[attr-defined]
    has = getattr(loops, "__cpu_features__", {})
    used = [name for name in getattr(loops, "__cpu_dispatch__", ()) if has.get(name)]
    return " ".join(used) or "baseline"


def machine_name(facts: Mapping[str, str]) -> str:
    """Sixteen hexadecimal digits that name a kind of machine: those of `arithmetic`."""
    text = "\n".join(f"{name}={facts[name]}" for name in sorted(facts))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def machine_differences(theirs: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    """What differs between two machines, in words.

    >>> machine_differences({"blas": "openblas 0.3 Haswell"}, {"blas": "openblas 0.3 SkylakeX"})
    ['blas openblas 0.3 Haswell against openblas 0.3 SkylakeX']
    """
    return [
        f"{name} {theirs.get(name, 'not recorded')} against {ours.get(name, 'not recorded')}"
        for name in sorted({*theirs, *ours})
        if theirs.get(name) != ours.get(name)
    ]


def ulps(one: ArrayLike, two: ArrayLike) -> int | None:
    """The largest number of floats between two arrays of one shape, None where one has a gap.

    >>> ulps([1.0, np.nan], [1.0 + 2**-51, np.nan]), ulps([0.0], [-0.0]), ulps([1.0], [np.nan])
    (2, 0, None)
    """
    a, b = np.atleast_1d(np.asarray(one, float)), np.atleast_1d(np.asarray(two, float))
    apart = (a != b) & ~(np.isnan(a) & np.isnan(b))
    if not (np.isfinite(a[apart]).all() and np.isfinite(b[apart]).all()):
        return None
    return max(
        (abs(_place(x) - _place(y)) for x, y in zip(a[apart], b[apart], strict=True)), default=0
    )


def _place(value: np.float64) -> int:
    """The number of a float among all floats, in their order, 0 for zero."""
    bits = int(np.abs(value).view(np.int64))
    return -bits if value < 0 else bits


def distance(one: ArrayLike, two: ArrayLike) -> float:
    """The largest relative distance of two arrays of one shape, infinite where one has a gap.

    >>> distance([1.0, 2.0, np.nan], [1.0, 2.0 + 2e-15, np.nan]) < 1.2e-15
    True
    >>> distance([1.0, np.nan], [1.0, 0.0])
    inf
    """
    a, b = np.atleast_1d(np.asarray(one, float)), np.atleast_1d(np.asarray(two, float))
    apart = (a != b) & ~(np.isnan(a) & np.isnan(b))
    if not apart.any():
        return 0.0
    if not (np.isfinite(a[apart]).all() and np.isfinite(b[apart]).all()):
        return math.inf
    sizes = np.maximum(np.maximum(np.abs(a[apart]), np.abs(b[apart])), _SMALL)
    with np.errstate(over="ignore"):
        found = np.abs(a[apart] - b[apart]) / sizes
    far = np.isinf(found)  # the difference of two floats may be larger than the largest float
    found[far] = np.abs(a[apart][far] / 2 - b[apart][far] / 2) / (sizes[far] / 2)
    return float(found.max())

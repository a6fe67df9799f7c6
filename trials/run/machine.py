"""What a machine adds to the bits of a result, and how far two results are apart.

Bits are promised for one kind of processor and one set of versions (`docs/decisions/0006`).  On
another machine a library may sum in another order.  Then two results agree to rounding, unless a
trial makes a choice by its last digits.
"""

from __future__ import annotations

import math
import os
import platform

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


def arithmetic() -> dict[str, str]:
    """The processor for which kernels are compiled, and the kernels of the BLAS in use."""
    loaded = {i["architecture"] for i in threadpool_info() if i.get("architecture")}
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name(),
        "blas": ", ".join(sorted(loaded)) or "unknown",
    }


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
    return float((np.abs(a[apart] - b[apart]) / sizes).max())

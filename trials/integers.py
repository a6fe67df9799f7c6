"""Small integers that one compiled kernel passes to another.

Numba compiles another version of a kernel for every literal argument.  A number of NumPy's type
shares the version for any integer.
"""

from __future__ import annotations

from typing import cast

import numpy as np

ZERO = cast(int, np.int64(0))
ONE = cast(int, np.int64(1))
TWO = cast(int, np.int64(2))

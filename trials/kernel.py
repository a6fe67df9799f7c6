"""The decorator of every compiled function: ``@kernel``, or ``@kernel(fastmath=...)``.

A kernel is kept in the cache of `trials.jit_cache` and runs without Python's lock.  It has no entry
for C: nobody calls one, and Numba compiles it for every function by default::

    @kernel(fastmath={"contract"})
    def add_squares(x: FloatArray) -> float:
        total = 0.0
        for value in x:
            total += value * value
        return total
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, TypeVar, overload

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def kernel(function: Function) -> Function: ...


@overload
def kernel(
    *, fastmath: bool | Set[str] = False, error_model: str = "python"
) -> Callable[[Function], Function]: ...


def kernel(function: Any = None, **options: Any) -> Any:
    """Compile ``function``, or return the decorator with Numba's ``options``."""
    compiled: Any = numba.njit
    return compiled(function, cache=True, nogil=True, no_cfunc_wrapper=True, **options)

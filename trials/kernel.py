"""The decorator of every compiled function: ``@kernel``, or ``@kernel(fastmath=...)``.

A kernel is kept in the cache of `trials.jit_cache` and runs without Python's lock.  It has no entry
for C: nobody calls one, and Numba compiles it for every function by default::

    @kernel(fastmath={"contract"})
    def add_squares(x: FloatArray) -> float:
        total = 0.0
        for value in x:
            total += value * value
        return total

It states how it rounds and divides.  Numba would take what is not stated from the caller for which
it compiles the function first, and keep that form for all callers.
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


def kernel(
    function: Any = None, *, fastmath: bool | Set[str] = False, error_model: str = "python"
) -> Any:
    """Compile ``function``, or return the decorator with Numba's options."""
    compiled: Any = numba.njit
    return compiled(
        function,
        cache=True,
        nogil=True,
        no_cfunc_wrapper=True,
        fastmath=fastmath,
        error_model=error_model,
    )

"""The decorators of compiled functions: ``@kernel`` where Python calls one, else ``@inner_kernel``.

A kernel is kept in the cache of `trials.jit_cache` and runs without Python's lock.  It has no entry
for C: nobody calls one, and Numba compiles it for every function by default::

    @kernel(fastmath={"contract"})
    def add_squares(x: FloatArray) -> float:
        total = 0.0
        for value in x:
            total += value * value
        return total

An inner kernel is called by kernels, which hold copies of it.  It has neither machine code nor a
file of its own (`trials.compiling`).  A test that calls it gets a form that is compiled for Python.

Both state how they round and divide.  Numba would take what is not stated from the caller for which
it compiles the function first, and keep that form for all callers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Set
from typing import Any, TypeVar, overload

import numba

from trials.compiling import OPTIONS, KernelCompiler, compile_inner

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
        **OPTIONS,
        pipeline_class=KernelCompiler,
        fastmath=fastmath,
        error_model=error_model,
    )


@overload
def inner_kernel(function: Function) -> Function: ...


@overload
def inner_kernel(
    *, fastmath: bool | Set[str] = False, error_model: str = "python"
) -> Callable[[Function], Function]: ...


def inner_kernel(function: Any = None, **options: Any) -> Any:
    """Compile ``function`` into the kernels that call it, or return the decorator."""
    if function is None:
        return functools.partial(inner_kernel, **options)
    settings: Any = numba.config
    return function if settings.DISABLE_JIT else InnerKernel(function, options)


class InnerKernel:
    """A function that kernels call: they see a form without machine code, and Python another."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._inner = compile_inner(
            function, **{"fastmath": False, "error_model": "python", **options}
        )

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes a value of this class for."""
        return self._inner._numba_type_

    @functools.cached_property
    def outer(self) -> Any:
        """The form that Python can call."""
        return kernel(**self._options)(self.py_func)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.outer(*arguments, **named)

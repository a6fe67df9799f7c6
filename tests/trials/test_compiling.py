"""Inner functions: the values of Python's, one rounding for all callers, and no machine code."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.core.caching import NullCache
from numba.core.typing import templates

from trials import compiling
from trials.compiling import InnerLibrary, KernelLibrary, _parts
from trials.kernel import inner_kernel, kernel

FAST = {"reassoc", "contract", "nsz"}

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="without the compiler")


def without_a_file(dispatcher):
    """The kernel, compiled by every process: else a second one compiles nothing to look at."""
    dispatcher._cache = NullCache()
    return dispatcher


def _left_to_right(values):
    total = 0.0
    for value in values:
        total += value
    return total


@inner_kernel
def exact_sum(values):
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@inner_kernel(fastmath=FAST)
def fast_sum(values):
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@kernel(fastmath=FAST)
def fast_caller(values):
    return exact_sum(values)


@inner_kernel
def fill(out, value):
    for i in range(out.size):
        out[i] = value + i
    return out.size


@without_a_file
@kernel
def filled(n, value):
    out = np.empty(n)
    written = fill(out, value) + fill(out[: n // 2], -value)
    return out, written


def _only_form(inner):
    (form,) = inner._inner.overloads.values()
    return form


def test_an_inner_kernel_rounds_as_it_says_whatever_the_caller_says():
    """Numba compiles a function that says nothing with the options of its first caller.

    The sum from left to right is Python's own.
    """
    x = np.random.default_rng(0).normal(size=1003) * 1e8
    assert fast_caller(x) == exact_sum(x) == _left_to_right(x)
    assert fast_sum(x) != _left_to_right(x)  # so the order of this sum shows


def test_an_inner_kernel_writes_and_returns_what_python_does():
    """Two calls in one kernel, of one form, and an array that the kernel made."""
    out, written = filled(5, 10.0)
    assert out.tolist() == [-10.0, -9.0, 12.0, 13.0, 14.0]
    assert written == 7
    assert len(fill._inner.overloads) == 1


def test_an_inner_kernel_has_neither_machine_code_nor_a_file():
    """The program that runs knows no symbol of it.  That of its caller is known."""
    filled(4, 1.0)
    form = _only_form(fill)
    assert isinstance(form.library, InnerLibrary)
    assert form.library.get_pointer_to_function(form.fndesc.llvm_func_name) == 0
    assert not fill._inner.stats.cache_path
    (caller,) = filled.overloads.values()
    assert isinstance(caller.library, KernelLibrary)
    assert caller.library.get_pointer_to_function(caller.fndesc.llvm_func_name) != 0


def _compiled(inner, *types):
    inner._inner.compile(types)
    form = _only_form(inner)
    form.library._ensure_finalized()
    return form


def test_numbas_own_functions_have_no_machine_code_either():
    @inner_kernel
    def sevens(n):
        return np.full(n, 7, np.uint16)

    library = _compiled(sevens, numba.int64).library
    for name in ("impl_np_full", "ol_np_empty"):  # one calls the other
        (library,) = (called for called in library._linking_libraries if name in called.name)
        assert isinstance(library, InnerLibrary)
    assert sevens(3).tolist() == [7, 7, 7]


def test_numba_compiles_as_ever_what_is_no_kernel():
    """Its own decorator is back after a kernel, and after one that cannot be compiled."""
    decorator = templates._OverloadFunctionTemplate._get_jit_decorator

    @kernel
    def nonsense(x):
        return np.full(x, "no number") + x

    with pytest.raises(numba.TypingError):
        nonsense(2)
    assert templates._OverloadFunctionTemplate._get_jit_decorator is decorator

    @numba.njit
    def plain(n):
        return np.full(n, 5, np.int16)

    assert plain(2).tolist() == [5, 5]
    called = next(iter(plain.overloads.values())).library._linking_libraries
    (library,) = (library for library in called if "impl_np_full" in library.name)
    assert not isinstance(library, InnerLibrary)


def test_what_may_reorder_sums_and_what_has_a_loop_is_optimised_alone(monkeypatch):
    """The first decides how sums round.  The second would not be vectorised in a kernel."""

    @inner_kernel
    def straight(x):
        return 2.0 * x + 1.0

    @inner_kernel(fastmath=FAST)
    def fast(x):
        return 2.0 * x + 1.0

    @inner_kernel
    def looped(x):
        for i in range(x.size):
            x[i] *= 2.0

    alone, optimise = [], InnerLibrary._optimize_final_module
    monkeypatch.setattr(
        InnerLibrary,
        "_optimize_final_module",
        lambda library: alone.append(library.name.rpartition(".")[2]) or optimise(library),
    )
    forms = [_compiled(inner, numba.float64) for inner in (straight, fast)]
    forms.append(_compiled(looped, numba.float64[::1]))
    assert alone == ["fast", "looped"]
    assert [form.library._simplification() == {} for form in forms] == [False, True, False]


def test_python_calls_a_form_of_its_own():
    """A test may call what only kernels call, before a kernel did and afterwards."""

    @inner_kernel(error_model="numpy")
    def ratio(x, y):
        return x / y

    assert ratio(1.0, 4.0) == 0.25
    assert ratio(1.0, 0.0) == np.inf
    assert ratio.py_func(3.0, 2.0) == 1.5
    assert ratio.__name__ == "ratio"
    assert ratio._inner.overloads == {}


@inner_kernel
def leaf(x):
    return 3.0 * x + 1.0


@inner_kernel
def branch(x):
    return 2.0 * leaf(x)


@inner_kernel
def without_a_leaf(x):
    """No turn of the loop is left, nor the call in it."""
    for _ in range(0):
        x = leaf(x)
    return x


def test_what_is_called_is_linked_after_all_that_call_it():
    """LLVM leaves out a function that nothing in the module asks for by then.

    `leaf` stands in the list of the first one, where nobody asks for it any more.
    """

    @without_a_file
    @kernel
    def tree(x):
        return without_a_leaf(x) + branch(x)

    assert tree(0.5) == 0.5 + 2.0 * (3.0 * 0.5 + 1.0)
    forms = [_only_form(inner).library for inner in (without_a_leaf, branch, leaf)]
    modules = [part._get_module_for_linking() for part in _parts(forms)]
    first, second, last = (modules.index(form._final_module) for form in forms)
    assert max(first, second) < last


def test_a_function_that_is_no_kernel_holds_all_that_an_inner_kernel_calls():
    @numba.njit
    def plain(x):
        return branch(x)

    assert plain(2.0) == branch(2.0) == 14.0


def test_a_function_without_a_body_is_an_error_before_it_is_called(monkeypatch):
    """The program would call the address zero."""
    monkeypatch.setattr(compiling, "_parts", lambda libraries: [])

    @kernel
    def bare(x):
        return leaf(x)

    with pytest.raises(AssertionError, match=r"is not linked with .*leaf"):
        bare(1.0)


def test_constants_of_an_inner_kernel_are_named_where_its_copies_are():
    """A message that is made from an argument is built with the constants of the function."""

    @inner_kernel
    def refuse(limit, x):
        if x > limit:
            raise ValueError(limit, x)
        return x

    @kernel
    def checked(limit, x):
        return 2.0 * refuse(limit, x)

    assert checked(1.0, 0.5) == 1.0
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        checked(1.0, 1.5)
    assert caught.value.args == (1.0, 1.5)


@inner_kernel
def even(n):
    return n == 0 or odd(n - 1)


@inner_kernel
def odd(n):
    return n != 0 and even(n - 1)


def test_an_inner_kernel_may_call_itself_but_not_through_another_one():
    """Numba finds the second function by its address when the program runs.  It has none."""

    @inner_kernel
    def factorial(n):
        return n * factorial(n - 1) if n > 1 else 1

    @kernel
    def product(n):
        return factorial(n)

    @kernel
    def parity(n):
        return even(n)

    assert product(5) == 120
    with pytest.raises(NotImplementedError, match="calls itself through another function"):
        parity(4)

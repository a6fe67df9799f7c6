"""The decorator of kernels: each rounds as it says, whoever calls it first."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from trials.kernel import kernel

FAST = {"reassoc", "contract", "nsz"}


def _left_to_right(values):
    total = 0.0
    for value in values:
        total += value
    return total


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="without the compiler")
def test_a_kernel_rounds_as_it_says_whatever_its_first_caller_says():
    """Numba compiles a function that says nothing with the options of its first caller.

    Python's own sum goes from left to right.
    """

    @kernel
    def exact_sum(values):
        total = 0.0
        for i in range(values.size):
            total += values[i]
        return total

    @kernel(fastmath=FAST)
    def fast_sum(values):
        total = 0.0
        for i in range(values.size):
            total += values[i]
        return total

    @kernel(fastmath=FAST)
    def fast_caller(values):
        return exact_sum(values)

    x = np.random.default_rng(0).normal(size=1003) * 1e8
    assert fast_caller(x) == _left_to_right(x)
    assert exact_sum(x) == _left_to_right(x)
    assert fast_sum(x) != _left_to_right(x)  # so that the order of a sum shows

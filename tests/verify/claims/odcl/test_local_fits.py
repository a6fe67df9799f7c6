"""The exact tail of the event E, far below the smallest float."""

import math

import mpmath
import pytest

from verify.claims.odcl.local_fits import _log_outside_e


@pytest.mark.parametrize("n", [40, 4_000, 40_000])
def test_the_tail_of_fair_signs_does_not_underflow(n):
    """With skew one the curvature is fixed, so that only the gradient's mean has to be small."""
    point = {"n": n, "scale": 1.0, "noise": 1.0, "skew": 1.0}
    found = _log_outside_e(point, 0.5, 1.5)
    # mu = N = 1: more than n (1 + 0.375) / 2 heads, or as many tails
    heads = math.floor(n * (1 + 0.375) / 2)
    with mpmath.workdps(30):
        tail = mpmath.nsum(lambda i: mpmath.binomial(n, int(i)), [heads + 1, min(heads + 400, n)])
        expected = float(mpmath.log(2 * tail) - n * mpmath.log(2))
    assert found == pytest.approx(expected, rel=1e-9)

"""The expectation of the moment matrix: stated values that are rational, irrational, undefined."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from bounds.sxy.moments import MEAN_OF_Y
from verify.claims.sxy.expectation import (
    _real,
    expected_moment,
    mean_of_y,
    mixture,
    one_point_moment,
)
from verify.mutation.mutants import mutants
from verify.procedures.base import PROFILES

X = sp.Symbol("x")
POINT = {"d": 2, "k": 2, "atoms": 3, "models": "apart", "unit": 0, "seed": 1}


@pytest.mark.parametrize(
    ("expr", "at", "value"),
    [
        (X / 3, Fraction(1, 7), Fraction(1, 21)),
        (X ** sp.Rational(1, 2), Fraction(4, 9), Fraction(2, 3)),
        (X ** sp.Rational(1, 2), Fraction(-1), None),
        (X ** sp.Rational(-1, 4), Fraction(0), None),
    ],
)
def test_rational_values_are_exact_and_others_that_are_not_real_are_none(expr, at, value):
    assert _real(expr, {"x": at}) == value


def test_an_irrational_value_has_sixty_digits():
    found = _real(sp.sqrt(X), {"x": Fraction(31)})
    assert 0 < abs(found**2 - 31) < Fraction(1, 10**57)


def test_an_irrational_statement_is_refuted_and_an_undefined_one_is_no_number():
    assert mean_of_y.build(PROFILES["quick"]).violation(POINT) == 0.0
    changed = {m.name: replace(mean_of_y, statement=m.statement) for m in mutants(MEAN_OF_Y)}
    share = changed["term sum over clusters: p_j^(1/4) more"].build(PROFILES["quick"])
    found = mixture(POINT)
    stated = sum(
        float(p) ** 1.25 * float(v[0] ** 2)
        for p, v in zip(found.shares, found.residuals, strict=True)
    )
    observed = expected_moment(found)
    missed = abs(float(observed[0][0]) - stated) / max(abs(float(x)) for r in observed for x in r)
    assert share.violation(POINT) >= missed * (1 - 1e-12) > 0.01
    residual = changed["term sum over clusters: v_a^(1/4) more"].build(PROFILES["quick"])
    assert any(min(v) < 0 for v in found.residuals)
    assert math.isnan(residual.violation(POINT))


def test_the_moment_of_one_point_is_that_of_isserlis():
    alpha, beta, delta, sigma = 2.0, 3.0, 0.7, 1.3
    variance = alpha * delta**2 + sigma**2
    wanted = np.diag([variance * alpha + 2 * (alpha * delta) ** 2, variance * beta])
    assert one_point_moment(alpha, beta, delta, sigma) == pytest.approx(wanted, abs=1e-12)

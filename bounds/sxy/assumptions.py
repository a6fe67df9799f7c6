"""Boxes of constants and the assumptions that the statements of Su, Xu & Yang share."""

from __future__ import annotations

from typing import Any

import sympy as sp

from bounds.statement import Assumption, Constant, Statement
from bounds.sxy.symbols import (
    PAPER,
    alpha,
    beta,
    gamma,
)


def prefactor(symbol: sp.Symbol, meaning: str, low: float = 0.0, high: float = 1e3) -> Constant:
    """A constant that multiplies a bound.  A larger value makes the statement easier to meet."""
    return Constant(symbol=symbol, low=low, high=high, generous="high", meaning=meaning)


def rate(symbol: sp.Symbol, meaning: str) -> Constant:
    """A constant that a smaller value makes easier to meet: in an exponent, or before ``>=``."""
    return Constant(symbol=symbol, low=1e-3, high=1e3, generous="low", meaning=meaning)


#: Section 3: the spectrum of every covariance lies in [alpha, beta].
SPECTRUM = (
    Assumption(name="spectrum above 0", left=alpha, right=sp.Integer(0), strict=True),
    Assumption(name="spectrum ordered", left=beta, right=alpha),
)
#: Section 4.2: a learning rate that is "properly small".
STABLE_STEP = Assumption(name="stable step", left=sp.Integer(1), right=gamma, strict=True)


def statement(id_: str, title: str, source: str, **fields: Any) -> Statement:
    """A statement of Su, Xu & Yang."""
    return Statement(id=id_, title=title, source=source, publication=PAPER, **fields)

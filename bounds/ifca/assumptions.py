"""Boxes of constants and the assumptions that the statements of IFCA share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy as sp

from bounds.ifca.symbols import (
    C_N,
    FLOOR,
    JOURNAL,
    SIGNAL,
    C_d,
    C_Delta,
    C_n,
    C_p,
    C_sigma,
    C_theta,
    Delta,
    alpha,
    c,
    c_1,
    d,
    m,
    n,
    p,
    p_max,
    sigma,
    theta_max,
)
from bounds.statement import Assumption, Constant, Publication, Statement


def prefactor(symbol: sp.Symbol, meaning: str, low: float = 0.0, high: float = 1e3) -> Constant:
    """A constant that multiplies a bound.  A larger value makes the statement easier to meet."""
    return Constant(symbol=symbol, low=low, high=high, generous="high", meaning=meaning)


def rate(symbol: sp.Symbol, meaning: str) -> Constant:
    """A constant in an exponent.  A smaller value makes the statement easier to meet."""
    return Constant(symbol=symbol, low=1e-3, high=1e3, generous="low", meaning=meaning)


STEP_CONSTANT = Constant(
    symbol=c_1, low=1e-3, high=1e3, generous="choose", meaning=r"step size $\gamma=c_1/p$"
)
OWN_STEP_CONSTANT = replace(STEP_CONSTANT, meaning=r"step sizes $\gamma_j=c_1/p_j$")

CLOSENESS = (
    Assumption(name="closeness below 1/2", left=sp.Rational(1, 2), right=alpha, strict=True),
    Assumption(name="closeness above 0", left=alpha, right=sp.Integer(0), strict=True),
)


def regime(signal: sp.Expr) -> tuple[Assumption, ...]:
    r"""Assumption 2: the sizes that each step needs.

    The constants of the ``\gtrsim`` signs are named ``C_*``.

    ``signal / n`` divides ``log m`` in the condition on n'.  ``signal`` is the argument of the
    exponential in the condition on Delta, with its own constant ``c``.
    """
    own = r"the proof needs this with the $\alpha$ of the step, not only with $\alpha_0$"
    return (
        Assumption(name="bounded optima", left=sp.Integer(1), right=theta_max, constant=C_theta),
        Assumption(name="bounded noise", left=sp.Integer(1), right=sigma, constant=C_sigma),
        Assumption(
            name="samples per client",
            left=n,
            right=sp.log(m) / (signal / n),
            constant=C_n,
            note=own if alpha in signal.free_symbols else "",
        ),
        Assumption(name="dimension", left=d, right=sp.log(m), constant=C_d),
        Assumption(name="smallest cluster", left=p, right=sp.log(m) / m, constant=C_p),
        Assumption(name="samples per cluster", left=p * m * n, right=d, constant=C_N),
        Assumption(
            name="separation",
            left=Delta,
            right=FLOOR + sp.exp(-c * signal),
            constant=C_Delta,
        ),
    )


ASSUMPTION_2 = regime(SIGNAL)


def balanced(ratio: sp.Rational | int) -> Assumption:
    """An added condition: no cluster is more than ``ratio`` times as large as another."""
    return Assumption(
        name="balanced clusters",
        left=sp.sympify(ratio) * p,
        right=p_max,
        note="without it no step size serves all clusters",
        added=True,
    )


def more_samples(ratio: int, note: str) -> Assumption:
    """An added condition: ``ratio`` times as many samples a cluster and step as dimensions."""
    return Assumption(
        name="many samples per cluster",
        left=p * m * n,
        right=ratio * d,
        note=note,
        added=True,
    )


def statement(
    id_: str, title: str, source: str, *, publication: Publication = JOURNAL, **fields: Any
) -> Statement:
    """A statement of IFCA, of the journal version by default."""
    return Statement(id=id_, title=title, source=source, publication=publication, **fields)

"""Assumptions 1-6 of ODCL as relations between its constants, and the form of its statements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from bounds.odcl.symbols import ARXIV, Delta, H, L, N, R, k, m, mu, rho_k
from bounds.statement import Assumption, Statement, Term

theta_max = sp.Symbol("theta_max")

ASSUMPTION_1 = (
    Assumption(name="more than one cluster", left=k, right=sp.Integer(1), strict=True),
    Assumption(name="no empty cluster", left=m, right=k),
    Assumption(name="different optima", left=Delta, right=sp.Integer(0), strict=True),
)
ASSUMPTION_2 = (
    Assumption(
        name="optima inside the parameter space",
        left=R,
        right=theta_max,
        strict=True,
        note=r"$\Theta$ is the ball of radius $R$, $\theta_{max}$ the largest norm of an optimum",
    ),
)
ASSUMPTION_3 = (
    Assumption(
        name="smooth losses",
        left=L,
        right=mu,
        note="an L-smooth loss cannot be more strongly convex than L",
    ),
)
ASSUMPTION_4 = (
    Assumption(name="strongly convex population", left=mu, right=sp.Integer(0), strict=True),
)
ASSUMPTION_5 = (
    Assumption(name="neighbourhood", left=rho_k, right=sp.Integer(0), strict=True),
    Assumption(name="Lipschitz Hessian", left=H, right=sp.Integer(0)),
)
ASSUMPTION_6 = (
    Assumption(name="bounded gradients at the optima", left=N, right=sp.Integer(0), strict=True),
)


def statement(
    id: str, title: str, source: str, *, terms: Mapping[str, Any] | None = None, **fields: Any
) -> Statement:
    """A statement of ODCL, deterministic where no other kind is given.

    ``terms`` : name -> expression, of the summands of the right-hand side.
    """
    summands = tuple(Term(name=name, expr=sp.sympify(x)) for name, x in (terms or {}).items())
    fields = {"kind": "deterministic", "terms": summands, **fields}
    return Statement(id=id, title=title, source=source, publication=ARXIV, **fields)

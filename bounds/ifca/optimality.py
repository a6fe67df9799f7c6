"""Remarks of IFCA after Corollary 1: the error against the minimax rate."""

from __future__ import annotations

import sympy as sp

from bounds.gaussian import LEAST_SQUARES_MSE, N
from bounds.ifca.assumptions import ASSUMPTION_2, prefactor, statement
from bounds.ifca.symbols import T, c_6, d, m, n, p, sigma
from bounds.statement import Assumption, Term

MINIMAX = statement(
    "minimax",
    "Comparison with the minimax rate: known identities, all data",
    "after Corollary 1",
    kind="expectation",
    quantifiers=r"\forall m,n',d,p,\sigma,\ N=2pmn'T",
    observed=r"E\norm{\hat\theta_j-\theta_j^*}^2",
    relation="=",
    terms=(Term(name="least squares", expr=LEAST_SQUARES_MSE),),
    assumptions=(
        Assumption(
            name="the mean exists",
            left=N,
            right=d + 1,
            strict=True,
            note="with fewer samples the mean squared error is infinite",
        ),
    ),
    reading=(
        "The minimax risk over $R^d$ with Gaussian design is that of least squares. The paper "
        "counts $n=2n'\\log(\\Delta/4\\varepsilon)$ samples and drops the two extra steps."
    ),
)

#: Root of the minimax risk with all samples: N = 2 p m n T rows of least squares, d small.
MINIMAX_RATE = sigma * sp.sqrt(d / (2 * p * m * n * T))

NEAR_OPTIMAL = statement(
    "near-optimal",
    "IFCA's error against the minimax rate",
    "after Corollary 1",
    kind="rate",
    quantifiers=r"\forall m,n',d,p,\sigma",
    observed=r"\norm{\hat\theta_j-\theta_j^*}/\sqrt{\sigma^2d/(2pmn'T)}",
    terms=(Term(name="ratio", expr=c_6 * sp.sqrt(2 * T / p)),),
    constants=(prefactor(c_6, "statistical floor"),),
    assumptions=ASSUMPTION_2,
    uses=(
        "ifca.cor1-own-step",
        "ifca.minimax",
    ),
)

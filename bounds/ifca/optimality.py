"""Remarks of IFCA after Corollary 1: the error against the minimax rate."""

from __future__ import annotations

import sympy as sp

from bounds.gaussian import LEAST_SQUARES_MSE, N
from bounds.ifca.assumptions import ASSUMPTION_2, prefactor, statement
from bounds.ifca.symbols import T, c_6, d, m, n, p, sigma
from bounds.ifca.whole_run import ROUNDS
from bounds.statement import Assumption, Term

ORACLE_MSE = statement(
    "ifca.oracle-mse",
    "Comparison with the minimax rate: least squares with known identities and all data",
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
        "This is the value of the minimax risk over $R^d$ with Gaussian design. That no estimator "
        "does better is a proof and no trial: with the prior $N(0,\\tau^2I)$ the Bayes risk is "
        "$\\sigma^2E\\,\\mathrm{tr}(X^\\top X+\\frac{\\sigma^2}{\\tau^2}I)^{-1}$, a lower bound on "
        "every estimator's largest risk. It tends to the risk of least squares as $\\tau$ grows, "
        "and by Jensen's inequality it is at least $\\sigma^2d/(N+\\sigma^2/\\tau^2)$. No claim of "
        "this suite tries all estimators. The paper counts $n=2n'\\log(\\Delta/4\\varepsilon)$ "
        "samples and drops the two extra steps."
    ),
)

#: Root of the minimax risk with all samples: N = 2 p m n T rows of least squares, d small.
MINIMAX_RATE = sigma * sp.sqrt(d / (2 * p * m * n * T))

NEAR_OPTIMAL = statement(
    "ifca.near-optimal",
    "IFCA's error against the minimax rate",
    "after Corollary 1",
    kind="rate",
    quantifiers=r"\forall m,n',d,p,\sigma",
    observed=r"\norm{\hat\theta_j-\theta_j^*}/\sqrt{\sigma^2d/(2pmn'T)}",
    terms=(Term(name="ratio", expr=c_6 * sp.sqrt(2 * T / p)),),
    definitions={T: ROUNDS},
    constants=(prefactor(c_6, "statistical floor"),),
    assumptions=ASSUMPTION_2,
    reading=(
        "The ratio of $\\varepsilon$'s first term to the minimax rate is the logarithmic factor "
        "$\\sqrt{2T}$, $T=2+\\log(\\Delta/4\\varepsilon)$, times $1/\\sqrt p$. Both are evaluated "
        "after the stated number of steps in each cell. The observed error shows the first factor "
        "only."
    ),
    uses=(
        "ifca.cor1-own-step",
        "ifca.oracle-mse",
    ),
)

"""Conditions that Lemma 2 and Theorem 2 need and do not list: models near the optima, small steps.

Both stand in the text around the statements.
"""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Term
from bounds.sxy.assumptions import statement
from bounds.sxy.refinement import LEMMA_2
from bounds.sxy.symbols import C_2, d, gamma, rho, s

LEMMA_2_ANY_MODELS = LEMMA_2.variant(
    "sxy.lemma2-any-models-as-printed",
    "Lemma 2 for any models, as printed",
    "Lemma 2, (13), without a condition on the models",
    kind="deterministic",
    quantifiers=r"\exists C_2,C,c\;\forall M,n,d,k,s,\theta_{t-1}",
    failure=None,
    assumptions=(
        *LEMMA_2.assumptions,
        Assumption(name="failure below one half", left=d, right=1 + sp.log(C_2)),
    ),
    reading=(
        "Two clusters of equally many clients, Gaussian features and no noise ($\\sigma$ is an "
        "upper limit of it). Both models are the mean of the optima, so that the losses (8) are "
        "equal, and the first label serves all. Then $S_{1,t}$ is the second cluster. Its sum is "
        "at least its quadratic form $d(\\theta_{t-1},\\theta^*)\\frac1N\\chi^2_{N/2}$, and the "
        "left side is the value that this exceeds with probability $1-e^{-1}$ (Laurent & Massart). "
        "From $d=1+\\log C_2$ on the lemma's failure probability is at most $e^{-1}$."
    ),
)

#: The client's step at eta = 1/s, where each row has the squared length d.
STEP_OF_ONE_ROW = {gamma: d / s}

STABLE_STEP_NEEDED = statement(
    "sxy.stable-step-needed",
    "Without a stable step a round with right labels moves away",
    "Theorem 2, the condition $\\gamma<1$ of the text above it (not in the paper)",
    kind="deterministic",
    quantifiers=r"\forall d\;\forall\text{ odd }s\ge3,\ \eta=\frac1s",
    observed=r"\frac{d(\theta_t,\theta^*)}{d(\theta_{t-1},\theta^*)}",
    relation=r"\ge",
    terms=(
        Term(name="growth", expr=rho * (gamma - 1) ** s / d),
        Term(name="error before", expr=sp.Integer(-1)),
    ),
    definitions=STEP_OF_ONE_ROW,
    assumptions=(
        Assumption(name="unstable step", left=rho * (gamma - 1) ** s / d, right=sp.Integer(1)),
    ),
    reading=(
        "$\\eta\\lesssim1/s$ is the theorem's only condition on the step. Every client has one row "
        "of the squared length $d$, which is that of a Gaussian row, and the rows of a cluster are "
        "orthogonal. A round multiplies the error by $1-\\frac\\rho d(1-(1-\\gamma)^s)$. For "
        "odd $s$, $\\gamma=d/s>2$ makes this as negative as $(\\gamma-1)^s$ is large: with "
        "$d=30$, $s=3$ and two clusters it is $-11$. $\\eta\\le c/s$ with a smaller $c$ does the "
        "same at $d/c$."
    ),
    uses=("sxy.lemma1",),
)

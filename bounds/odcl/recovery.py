r"""Theorem 1 of ODCL: the proof's events, the constant M, the sample requirement and the error.

The constant M comes from Lemma 3 with :math:`\delta=\epsilon=n^{-3}`.  But :math:`\epsilon` is a
length.  So M holds the log of a length, and changes with the unit of :math:`\theta`.  The corrected
forms take :math:`\epsilon=R/n^3`.
"""

from __future__ import annotations

import sympy as sp

from bounds.odcl.assumptions import statement
from bounds.odcl.local_fits import LEMMA_4
from bounds.odcl.symbols import (
    G_F,
    Delta,
    F_star,
    L,
    M,
    N,
    R,
    alpha,
    d,
    m,
    mu,
    n,
    rho,
    size_k,
    size_min,
)
from bounds.statement import Assumption

ratio, gamma, largest, free, sigma = sp.symbols("ratio gamma largest free sigma")
THREE = Assumption(name="three samples", left=n, right=sp.Integer(3))


def _net(radius: sp.Expr) -> sp.Expr:
    r"""3 + log 2 + d (log 6 radius + 3): the bound of C(epsilon, delta) / (2 log n)."""
    return 3 + sp.log(2) + d * (sp.log(6 * radius) + 3)


def constant_m(radius: sp.Expr, length: sp.Expr) -> sp.Expr:
    """M, with the mesh's ``length`` and the parameter space's ``radius`` in units of it."""
    return (
        16 * L * F_star * (sp.log(2) + 3) / mu**2
        + 64 * R**2 * L * _net(radius) / mu
        + 16 * R * N * (sp.log(2) + 3) / mu
        + length * (2 * G_F + 16 * R * L * (1 + _net(radius))) / mu
    )


def eq_8(radius: sp.Expr, length: sp.Expr) -> sp.Expr:
    """The right-hand side of (8), in the same units."""
    net = 2 * (sp.log(2) + d * sp.log(6 * radius) + (d + 1) * 3 * sp.log(n))
    logs = sp.log(2) + 3 * sp.log(n)
    return (
        32 * R**2 * L * net / (n * mu)
        + 16 * L * F_star * logs / (n * mu**2)
        + 16 * R * N * logs / (n * mu)
        + length * (16 * R * L + 2 * G_F + 8 * R * L * net / n) / (n**3 * mu)
    )


#: M as printed, and with a mesh that is a share of the radius.
M_PRINTED = constant_m(R, sp.Integer(1))
M_CORRECTED = constant_m(sp.Integer(1), R)


def _radius(constant: sp.Expr) -> dict[str, sp.Expr]:
    return {"radius": constant * sp.log(n) / n}


EQ_7 = statement(
    "odcl.eq7",
    "(7): a fit's distance from the mean fit of its cluster",
    "(7)",
    quantifiers=r"\forall i\in C_k",
    observed=r"\norm{\hat\theta_i-\bar\theta_k}",
    terms={"largest": 2 * largest},
    reading="Exactly $2(1-1/|C_k|)$ times the largest distance is attained.",
)

EQ_7_SHARP = statement(
    "odcl.eq7-sharp",
    "A fit's distance from the mean fit, with the best factor",
    "(7), sharpened",
    quantifiers=r"\forall i\in C_k",
    observed=r"\norm{\hat\theta_i-\bar\theta_k}",
    terms={"largest": 2 * (1 - 1 / size_k) * largest},
)
EQ_7_ATTAINED = statement(
    "odcl.eq7-attained",
    "No smaller factor serves all fits",
    "(7), the sharpened factor is attained",
    quantifiers=r"\forall|C_k|\;\exists\{\hat\theta_i\}",
    observed=r"\norm{\hat\theta_i-\bar\theta_k}",
    relation=r"\ge",
    terms={"largest": 2 * (1 - 1 / size_k) * largest},
    reading="One error is opposite to all others, which are equal.",
    uses=("odcl.eq7-sharp",),
)

_MESH = (
    "The mesh $\\epsilon$ of Lemma 3 is a length. With $\\epsilon=R/n^3$ instead of $n^{-3}$ the "
    "log is $\\log6$ and the last fraction of $M$ gets a factor $R$."
)
_EIGHT = r"\text{right-hand side of (8)}"
EQ_8_AS_PRINTED = statement(
    "odcl.eq8-as-printed",
    "The right-hand side of (8) is at most M log n / n",
    "after (8), as printed",
    quantifiers=r"\forall n\ge3",
    observed=_EIGHT,
    terms=_radius(M_PRINTED),
    assumptions=(THREE,),
)
EQ_8 = statement(
    "odcl.eq8",
    "The right-hand side of (8) is at most M log n / n, with a mesh of R/n³",
    "after (8), corrected",
    quantifiers=r"\forall n\ge3",
    observed=_EIGHT,
    terms=_radius(M_CORRECTED),
    assumptions=(THREE,),
    reading=_MESH,
)

_SQUARED = r"\norm{\hat\theta_i-\theta_k^\star}^2"
EQ_9_AS_PRINTED = statement(
    "odcl.eq9-as-printed",
    "(9): the squared error of a local fit",
    "(9), as printed",
    kind="probability",
    quantifiers=r"\forall n\ge3\;\forall i\in C_k",
    observed=_SQUARED,
    terms=_radius(M_PRINTED),
    failure=2 / n**3,
    assumptions=(THREE,),
)
EQ_9 = statement(
    "odcl.eq9",
    "(9): the squared error of a local fit, in any unit",
    "(9), corrected",
    kind="probability",
    quantifiers=r"\forall n\ge3\;\forall i\in C_k",
    observed=_SQUARED,
    terms=_radius(M_CORRECTED),
    failure=2 / n**3,
    assumptions=(THREE,),
    reading=f"{_MESH} The fits that are tried have one dimension, in which their law is exact.",
    uses=("odcl.lemma3", "odcl.eq8"),
)

EQ_11 = statement(
    "odcl.eq11",
    "(11): the sample requirement makes the clusters separable",
    "(11)",
    quantifiers=r"\forall M,\alpha,D,\ \gamma<D/2",
    observed=r"\alpha\sqrt{4M\log n/n}",
    terms={"separation": Delta - 2 * gamma},
    assumptions=(
        Assumption(name="narrow events", left=Delta, right=2 * gamma, strict=True),
        Assumption(
            name="samples per user",
            left=ratio,
            right=4 * M * alpha**2 / (Delta - 2 * gamma) ** 2,
            strict=True,
        ),
    ),
)
#: The left-hand side of (6) on the event Sigma.
SIGMA_RADIUS = alpha * sp.sqrt(4 * M / ratio)

_REQUIREMENT = Assumption(
    name="samples per user", left=ratio, right=16 * M * alpha**2 / Delta**2, strict=True
)
_ALPHA_ABOVE_1 = Assumption(name="separable", left=alpha, right=sp.Integer(1), strict=True)
PSI_EVENT = statement(
    "odcl.psi-event",
    "Where every fit is near its optimum, the mean of every cluster is within D/4 of it",
    "proof of Theorem 1 (not in the paper: without Chebyshev's inequality)",
    quantifiers=r"\forall\norm{\hat\theta_i-\theta_k^\star}^2\le M\frac{\log n}n",
    observed=r"\max_k\norm{\bar\theta_k-\theta_k^\star}",
    terms={"quarter of the separation": Delta / 4},
    assumptions=(_ALPHA_ABOVE_1, _REQUIREMENT),
    reading=(
        "A mean is no further from the optimum than the furthest fit, and Theorem 1's requirement "
        "says $M\\log n/n<D^2/(16\\alpha^2)$. So $\\Lambda$ with $\\gamma=D/4$ contains the "
        "intersection of the $\\Upsilon_i$, and needs no probability of its own."
    ),
)
PSI = statement(
    "odcl.psi-prob",
    "Recovery fails with a probability of at most 2m/n³, for every loss",
    "outline and proof of Theorem 1, corrected",
    quantifiers=r"\forall n\ge3,M,\alpha,D\ \text{with (9)}",
    observed=r"P(\Psi^c)",
    terms={"local fits": 2 * m / n**3},
    assumptions=(THREE, _ALPHA_ABOVE_1, _REQUIREMENT),
    reading=(
        "$\\Psi$ contains the intersection of the $\\Upsilon_i$ (odcl.psi-event), and each of "
        "these $m$ events fails with probability $2/n^3$ by (9). So the outline's order $1/n^2$ is "
        "right for $m\\le n$. The proof's Chebyshev step gives $1/n$ only, and with it the second "
        "term of Theorem 1's error bound, which has the smallest cluster's size and is not needed. "
        "$M$ is the smallest with which (9) holds, so that a fit may miss its event."
    ),
    uses=("odcl.eq9", "odcl.psi-event"),
)

THEOREM_1_MSE = statement(
    "odcl.thm1-mse",
    "Theorem 1's error with explicit constants, without the smallest cluster's size",
    "Theorem 1, corrected",
    kind="expectation",
    quantifiers=r"\forall n\ge3,d,\ \text{losses of Assumptions 1 to 6}",
    observed=r"E\norm{\tilde\theta_k-\theta_k^\star}^2",
    terms={
        **{
            term.name: term.expr.subs({rho: sp.Rational(1, 2), m: size_k}) for term in LEMMA_4.terms
        },
        "rare events": 8 * R**2 * m / n**3,
    },
    assumptions=(
        THREE,
        Assumption(
            name="samples per user",
            left=n / sp.log(n),
            right=16 * M_CORRECTED * alpha**2 / Delta**2,
            strict=True,
        ),
    ),
    reading=(
        "The error is at most that of the true cluster's mean plus $4R^2P(\\Psi^c)$, as in the "
        "paper's outline, with $P(\\Psi^c)\\le2m/n^3$. The mean's error is that of odcl.lemma4 "
        "with $\\rho=\\frac12$. It is tried on a design that shows one of $d$ coordinates a "
        "sample. There the terms of order $n^{-2}$ are below a hundredth of the first, so that "
        "the trials are of the first, and tell no change of the others."
    ),
    uses=("odcl.psi-prob", "odcl.lemma4", "odcl.eq11"),
)

THEOREM_1_RATE = statement(
    "odcl.thm1-rate",
    "The error beyond the requirement: the own cluster's size rules",
    "Theorem 1, first term",
    kind="rate",
    quantifiers=r"\forall k",
    observed=r"E\norm{\tilde\theta_k-\theta_k^\star}^2",
    relation=r"\propto",
    terms={"variance": size_min**0 / (n * size_k)},
    reading=(
        "Theorem 1 adds $R^2N^2/(n|C_{(K)}|\\mu_F^2D^2)$, and Remark 18 has the order "
        "$1/(n|C_{(K)}|)$ for every cluster. Both sizes and $K$ are varied: only the own size "
        "matters, and not $m$. The rate hides the factor $n/(n-d-1)$ of least squares with "
        "Gaussian features, by which the mean of local fits exceeds the fit of all data of a large "
        "cluster: 1.06 at $n=400$, $d=20$, two at $n=2(d+1)$, infinite at $n\\le d+1$."
    ),
    uses=("odcl.thm1-mse",),
)

AVERAGING_FACTOR = statement(
    "odcl.averaging-factor",
    "Averaging with known clusters is worse than their data by n/(n-d-1)",
    'Theorem 1, "equivalent to ... a centralized learner" (not in the paper: the factor)',
    kind="rate",
    quantifiers=r"\forall n\ge d+2,d,|C_k|,\sigma",
    observed=r"E\norm{\bar\theta_k-\theta_k^\star}^2",
    relation=r"\propto",
    terms={"variance": d * sigma**2 / (free * size_k)},
    definitions={free: n - d - 1},
    reading=(
        "Least squares with Gaussian features of covariance $I$ and noise $\\sigma$. The fit of "
        "all data of a cluster has $d\\sigma^2/(n|C_k|-d-1)$, so that averaging costs the factor "
        "$n/(n-d-1)$ in large clusters, however many users there are: 1.06 at $n=400$, $d=20$ of "
        "Section 5, two at $n=2(d+1)$. With $n\\le d+1$ the mean has no finite error. The orders "
        "in $n$ agree, as the paper says."
    ),
    uses=("odcl.thm1-rate",),
)

_SEPARATE = (Assumption(name="different optima", left=Delta, right=sp.Integer(0), strict=True),)
THRESHOLD_KM = statement(
    "odcl.thm1-threshold-km",
    "The samples at which K-means++ recovers the clusters",
    "Theorem 1 with Lemma 2",
    kind="threshold",
    quantifiers=r"\forall D,m,|C_{(K)}|",
    observed=r"n_{1/2}",
    relation=r"\le",
    terms={"samples": m * sp.log(m) / (size_min * Delta**2)},
    assumptions=_SEPARATE,
    reading=(
        "The order of $\\alpha_{km}^2/D^2$. The theorem bounds $n/\\log n$, and its failure "
        "probability $2m/n^3$ is below one for $3\\log n>\\log2m$ only: hence the logarithm."
    ),
)
THRESHOLD_CC = statement(
    "odcl.thm1-threshold-cc",
    "The samples at which the interval (13) is not empty",
    "Theorem 1 with Lemma 1",
    kind="threshold",
    quantifiers=r"\forall D,m,|C_{(K)}|",
    observed=r"n_{1/2}",
    relation=r"\le",
    terms={"samples": m**2 * sp.log(m) / (size_min**2 * Delta**2)},
    assumptions=_SEPARATE,
    reading=(
        "The order of $\\alpha_{cc}^2/D^2$. The theorem bounds $n/\\log n$, and its failure "
        "probability $2m/n^3$ is below one for $3\\log n>\\log2m$ only: hence the logarithm."
    ),
)

_PRINTED_REQUIREMENT = {"requirement": 16 * M_PRINTED * alpha**2 / Delta**2}
#: The left-hand side of the sample requirement.
SAMPLES = n / sp.log(n)

THEOREM_1_VACUITY = statement(
    "odcl.thm1-vacuity",
    "Theorem 1's sample requirement at the paper's experiments",
    "Theorem 1, Section 5, Appendix D",
    kind="vacuity",
    quantifiers=r"\text{Fig. 2 to 5}",
    observed=r"\frac n{\log n}",
    relation=r"\ge",
    terms=_PRINTED_REQUIREMENT,
    reading=(
        "The experiments have unbounded features, so no $L$, $N_k$, $G_{F_k}$ exist. Lower limits "
        "stand for them: the mean curvature for $L$, zero for $N_k$ and $G_{F_k}$, the largest "
        "norm that an optimum must have for $R$, and the largest possible $D$. The true "
        "requirement is larger."
    ),
)
FIG_5_PHASE = statement(
    "odcl.fig5-phase-as-printed",
    "n = 600 is above the threshold of Theorem 1",
    "Appendix D.3, last paragraph, as printed",
    kind="vacuity",
    quantifiers=r"n=600",
    observed=r"\frac n{\log n}",
    relation=r"\ge",
    terms=_PRINTED_REQUIREMENT,
    reading=THEOREM_1_VACUITY.reading,
)

REMARK_14 = statement(
    "odcl.remark14",
    "Remark 14: a gradient's distance from the population's",
    "Remark 14",
    quantifiers=r"\forall\theta\in\Theta,x\in\mathcal{X}",
    observed=r"\norm{\nabla\ell(\theta;x)-\nabla F_k(\theta)}",
    terms={"smoothness": 2 * L * R, "optimum": N, "population": G_F},
    reading="The display lacks gradient signs in its third expression.",
)

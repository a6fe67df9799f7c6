r"""Inexact local fits of ODCL: Lemmas 5 to 8, Theorem 2 and its remarks.

A local fit is the T-th iterate of projected SGD with step :math:`1/(\mu_ft)`.
The stochastic gradients on the parameter space are bounded by :math:`\Gamma`.
Theorem 2 uses :math:`\varepsilon` for a distance (Lemma 7) and for a squared distance (Lemma 8).
The statements here keep its letter and say which.
"""

from __future__ import annotations

import sympy as sp

from bounds.odcl.assumptions import statement
from bounds.odcl.symbols import C, Delta, L, M, T, alpha, delta, n, varepsilon
from bounds.statement import Assumption, Constant, Statement

Gamma, mu_f, t, ratio, slack = sp.symbols("Gamma mu_f t ratio slack")
_ERROR = r"\norm{\theta_i^T-\hat\theta_i}^2"
#: A rate is about growth.
_MULTIPLE = Constant(
    symbol=C, low=0.0, high=1e3, generous="high", meaning="the constant of the order"
)
_LOW_DELTA = (
    Assumption(name="delta below 1/e", left=sp.exp(-1), right=delta, strict=True),
    Assumption(name="delta above 0", left=delta, right=sp.Integer(0), strict=True),
)
_FROM_8 = Assumption(name="iterates", left=t, right=sp.Integer(8))

LEMMA_5 = statement(
    "odcl.lemma5",
    "Lemma 5: the mean squared error of SGD",
    "Lemma 5",
    kind="expectation",
    quantifiers=r"\forall T\ge1\;\forall i\in[m]",
    observed=rf"E{_ERROR}",
    terms={"error": 4 * Gamma**2 / (mu_f**2 * T)},
)

LEMMA_6_AS_PRINTED = statement(
    "odcl.lemma6-as-printed",
    "Lemma 6: the squared error of SGD with high probability",
    "Lemma 6, as printed",
    kind="probability",
    quantifiers=r"\forall\delta\in(0,1/e)\;\forall t\ge8",
    observed=r"\norm{\theta_i^t-\hat\theta_i}^2",
    terms={
        "mean": 12 * Gamma**2 / (mu_f**2 * t),
        "deviation": 8 * Gamma * (121 * Gamma + 1) * sp.log(sp.log(t) / delta) / t,
    },
    failure=delta,
    assumptions=(*_LOW_DELTA, _FROM_8),
    reading=(
        "The lemma is stated for all iterations and all users at once. A single iteration of a "
        "single user is tried, which asks for less."
    ),
)

LEMMA_6 = statement(
    "odcl.lemma6",
    "The squared error of SGD with high probability, in units that agree",
    "Lemma 6, corrected",
    kind="probability",
    quantifiers=r"\forall\delta\in(0,1/e)\;\forall t\ge8",
    observed=r"\norm{\theta_i^t-\hat\theta_i}^2",
    terms={"error": (624 * sp.log(sp.log(t) / delta) + 1) * Gamma**2 / (mu_f**2 * t)},
    failure=delta,
    assumptions=(*_LOW_DELTA, _FROM_8),
    reading=(
        "This is Proposition 1 of the cited source (Rakhlin, Shamir and Sridharan 2012), at the "
        "last of $t$ iterations of one user."
    ),
)

_BETA = 12 * Gamma**2 / mu_f**2 + 8 * Gamma * (121 * Gamma + 1) * (1 + sp.log(1 / delta))
LEMMA_7_LEFT = (
    12 * Gamma**2 / (mu_f**2 * T) + 8 * Gamma * (121 * Gamma + 1) * sp.log(sp.log(T) / delta) / T
)


def _lemma_7(id_: str, title: str, source: str, smallest: int, reading: str) -> Statement:
    return statement(
        id_,
        title,
        source,
        quantifiers=rf"\forall T\ge{smallest},\delta\in(0,\frac13)",
        observed=r"\frac{12\Gamma^2}{\mu_f^2T}+8\Gamma(121\Gamma+1)\frac{\log(\log(T)/\delta)}T",
        terms={"error": _BETA * sp.log(sp.log(T)) / T},
        assumptions=(
            Assumption(name="iterates", left=T, right=sp.Integer(smallest)),
            Assumption(name="delta below 1/3", left=sp.Rational(1, 3), right=delta, strict=True),
        ),
        reading=reading,
        uses=("odcl.lemma6-as-printed",),
    )


LEMMA_7_AS_PRINTED = _lemma_7(
    "odcl.lemma7-as-printed",
    "Lemma 7: from Lemma 6 to one factor log log T",
    "proof of Lemma 7, as printed",
    15,
    "The proof replaces the right-hand side of Lemma 6 by $\\beta_\\delta\\log\\log(T)/T$.",
)
LEMMA_7 = _lemma_7(
    "odcl.lemma7",
    "From Lemma 6 to one factor log log T, from 16 iterations on",
    "proof of Lemma 7, corrected",
    16,
    "The step needs $\\log\\log T\\ge1$, that is $T\\ge e^e=15.15$.",
)


def _threshold(
    id_: str, title: str, source: str, factor: int, distance: sp.Expr, reading: str
) -> Statement:
    """A requirement with ``factor`` times the precision, for means at least ``distance`` apart."""
    room = Delta**2 / (4 * alpha**2) - factor * slack
    return statement(
        id_,
        title,
        source,
        quantifiers=r"\forall M,\alpha,D,\varepsilon\xi_F",
        observed=r"2\alpha\sqrt{M\frac{\log n}n+2\varepsilon\xi_F}",
        terms={"distance of the means": distance},
        assumptions=(
            Assumption(name="samples per user", left=ratio, right=4 * M / room, strict=True),
            Assumption(
                name="precision", left=Delta**2 / (4 * alpha**2), right=factor * slack, strict=True
            ),
        ),
        reading=reading,
        uses=("odcl.lemma7",),
    )


_ROUTE = (
    "Lemma 7 and strong convexity give $\\norm{\\theta_i^T-\\theta_k^\\star}^2\\le M\\log n/n+"
    "2\\varepsilon G_{F_k}/\\mu_{F_k}$. The clusters are separable where twice its root times "
    "$\\alpha$ is below the distance $D-2\\gamma$ of the means. "
)
_QUARTER = "The proof of Theorem 1 has $\\gamma=D/4$, so that the distance is $D/2$."
THEOREM_2_THRESHOLD = _threshold(
    "odcl.thm2-threshold",
    "Theorem 2: the sample requirement makes the clusters separable",
    "Theorem 2 and Remark 17",
    4,
    Delta / sp.sqrt(2),
    _ROUTE
    + "The proof may choose $\\gamma$. With $\\gamma\\le(1-1/\\sqrt2)D/2=0.146D$ the distance "
    "is at least $D/\\sqrt2$. The square of the left-hand side is below "
    "$D^2/4+4\\alpha^2\\varepsilon\\xi_F<D^2/2$.",
)
THEOREM_2_ROOM = _threshold(
    "odcl.thm2-threshold-room",
    "With those events the sample requirement needs twice the room for the precision",
    "Theorem 2 and Remark 17 with $\\gamma=D/4$, corrected",
    8,
    Delta / 2,
    _ROUTE + _QUARTER + " So $4\\varepsilon\\xi_F$ becomes $8\\varepsilon\\xi_F$, and Remark 17's "
    "condition $\\varepsilon<D^2/(32\\xi_F\\alpha^2)$.",
)

REMARK_18_ITERATIONS = statement(
    "odcl.remark18-iterations-as-printed",
    "Remark 18 asks for the iterations that Theorem 2 asks for",
    "Remark 18, as printed",
    quantifiers=r"\forall L,\Gamma,\mu_f,n",
    observed=r"\text{Remark 18}",
    relation=r"\ge",
    terms={
        "Theorem 2": (12 * Gamma**2 / mu_f**2 + 8 * Gamma * (121 * Gamma + 1) * (1 + 3 * sp.log(n)))
        / varepsilon**2
    },
    assumptions=(Assumption(name="smooth losses", left=L, right=mu_f),),
    reading="Both are lower limits of $T/\\log\\log T$.",
)
REMARK_18 = (
    6 * L * Gamma**2 / mu_f**2 + 4 * L * Gamma * (121 * Gamma + 1) * (1 + 3 * sp.log(n))
) / varepsilon**2

THEOREM_2_MSE = statement(
    "odcl.thm2-mse",
    "Theorem 2: the error that inexact fits add",
    "Theorem 2, term in epsilon",
    kind="rate",
    quantifiers=r"T=\lceil4\Gamma^2/(\mu_f^2\varepsilon)\rceil",
    observed=r"E\norm{\tilde\theta_k-\bar\theta_k}^2",
    relation=r"\le",
    terms={"inexact": C * varepsilon},
    constants=(_MULTIPLE,),
    reading=(
        "Here $\\varepsilon$ is a squared distance. The term is not divided by the cluster's size, "
        "so the size's exponent is at most zero. In this design the users' errors are independent "
        "and average out, so that the term over $m$ would hold as well."
    ),
    uses=("odcl.lemma5",),
)

REMARK_16 = statement(
    "odcl.remark16",
    "Remark 16: the weighted average of the iterates under sub-Gaussian noise",
    "Remark 16",
    kind="rate",
    quantifiers=r"\forall T",
    observed=r"E\norm{\theta_T-\hat\theta_i}^2",
    relation=r"\le",
    terms={"error": C / T},
    constants=(_MULTIPLE,),
    reading="The noise is Gaussian. The order is the one that the remark carries over.",
)

r"""The local fits of ODCL and the mean of several: Lemmas 3, 4, 11, 13 and Appendix E.

Two letters of Appendix E have two meanings in print, and the difference matters.  :math:`\rho` is
the radius of the neighbourhood of Assumption 5, a length that may be any positive number, and the
share :math:`\rho` of the strong convexity that the proof gives away, a number below one.  Here
``rho_k`` is the radius and ``rho`` the share.
"""

from __future__ import annotations

import sympy as sp

from bounds.odcl.assumptions import statement
from bounds.odcl.symbols import (
    G_F,
    F_star,
    H,
    L,
    N,
    R,
    alpha,
    d,
    delta,
    epsilon,
    m,
    mu,
    n,
    rho,
    rho_k,
)
from bounds.statement import Assumption, Constant

HALF = sp.Rational(1, 2)
C_0, c_1, c_2 = sp.symbols("C_0 c_1 c_2")
spread, largest_norm, order = sp.symbols("spread largest_norm order")
mean_square, squared_bias = sp.symbols("mean_square squared_bias")
grad = sp.Symbol("grad")


def prefactor(meaning: str) -> Constant:
    r"""The constant of an :math:`\mathcal O`."""
    return Constant(symbol=C_0, low=0.0, high=1e3, generous="high", meaning=meaning)


def tail_rate(symbol: sp.Symbol, meaning: str) -> Constant:
    """A constant that divides an exponent.  A larger value makes the statement easier to meet."""
    return Constant(symbol=symbol, low=1e-3, high=1e2, generous="high", meaning=meaning)


TAIL_RATES = (
    tail_rate(c_1, "of the tail of the empirical gradient"),
    tail_rate(c_2, "of the tail of the empirical Hessian"),
)
POSITIVE_SHARE = Assumption(name="share above 0", left=rho, right=sp.Integer(0), strict=True)
PROPER_SHARE = (
    POSITIVE_SHARE,
    Assumption(name="share below 1", left=sp.Integer(1), right=rho, strict=True),
)

# --- one local fit ------------------------------------------------------------------------------

ERM_RATE = statement(
    "odcl.erm-rate",
    "The squared error of a local fit",
    "Section 2, after (3)",
    kind="rate",
    quantifiers=r"\forall i\in C_k",
    observed=r"E\norm{\hat\theta_i-\theta_k^\star}^2",
    relation=r"\propto",
    terms={"error": d / n},
    reading=(
        "The paper says $\\mathcal{O}(1/n)$ with high probability. The mean is tried, on a design "
        "that meets all assumptions. The exponent of $d$ is that of least squares."
    ),
)

#: :math:`C(\epsilon,\delta)` of Lemma 3: the log of the size of a net of the parameter space.
NET = 2 * (sp.log(2 / delta) + d * sp.log(6 * R / epsilon))
_EXCESS_TERMS = {
    "net": 16 * R**2 * L * NET / n,
    "gradient": 8 * R * N * sp.log(2 / delta) / n,
    "smallest loss": 8 * L * F_star * sp.log(2 / delta) / (mu * n),
    "mesh": (8 * R * L + G_F + 4 * R * L * NET / n) * epsilon,
}
_DELTA = (
    Assumption(name="delta below 1/2", left=HALF, right=delta, strict=True),
    Assumption(name="delta above 0", left=delta, right=sp.Integer(0), strict=True),
)
_MESH = Assumption(name="mesh above 0", left=epsilon, right=sp.Integer(0), strict=True)
_EXCESS = r"F_k(\hat\theta_i)-F_k(\theta_k^\star)"

LEMMA_3_AS_PRINTED = statement(
    "odcl.lemma3-as-printed",
    "Lemma 3 for every mesh",
    "Lemma 3, as printed",
    quantifiers=r"\forall k\;\forall i\in C_k\;\forall\delta\in(0,\frac12),\epsilon>0",
    observed=_EXCESS,
    terms=_EXCESS_TERMS,
    assumptions=(*_DELTA, _MESH),
    reading=(
        "The excess risk is never negative. So the right-hand side must not be either, or the "
        "event would have probability zero instead of at least $1-2\\delta$."
    ),
)

LEMMA_3 = statement(
    "odcl.lemma3",
    "Lemma 3 for every mesh that is not wider than the parameter space",
    "Lemma 3, corrected",
    kind="probability",
    quantifiers=r"\forall k\;\forall i\in C_k\;\forall\delta\in(0,\frac12),\epsilon\in(0,6R]",
    observed=_EXCESS,
    terms=_EXCESS_TERMS,
    failure=2 * delta,
    assumptions=(
        *_DELTA,
        _MESH,
        Assumption(name="mesh within the parameter space", left=6 * R, right=epsilon),
    ),
    reading=(
        "A net of the ball of radius $R$ has at most $(6R/\\epsilon)^d$ points. For "
        "$\\epsilon>6R$ the formula is below one, and no net is that small. The tried fits have "
        "one dimension, in which their law is exact, so that the factor $d$ is not tried. Samples "
        "that show one of $d$ coordinates would not need it: their excess of about "
        "$\\sigma^2d/(2n)$ is below the third term at $L=d$."
    ),
)

# --- the event E of Appendix E ------------------------------------------------------------------

LEMMA_11 = statement(
    "odcl.lemma11",
    "Lemma 11: on E the fit is near the optimum",
    "Lemma 11",
    quantifiers=r"\forall\rho\in(0,1)\;\text{on}\;E",
    observed=r"\norm{\theta_1-\theta^\star}",
    terms={"gradient": 2 * grad / ((1 - rho) * mu)},
    assumptions=PROPER_SHARE,
    reading=(
        "The statement is proved with the share $\\rho<1$. Its proof's last step is wrong "
        "($\\delta_\\rho^2/\\norm{\\theta^\\star-\\theta_1}>\\delta_\\rho$ where the norm exceeds "
        "$\\delta_\\rho$); strong convexity along the segment gives the contradiction."
    ),
)

LEMMA_11_CURVATURE = statement(
    "odcl.lemma11-curvature",
    "Lemma 11: on E the loss is strongly convex in the ball",
    "Lemma 11",
    quantifiers=r"\forall\rho\in(0,1)\;\text{on}\;E\;"
    r"\forall\theta:\norm{\theta-\theta^\star}\le\delta_\rho",
    observed=r"\lambda_{\min}(\nabla^2f(\theta))",
    relation=r"\ge",
    terms={"curvature": (1 - rho) * mu},
    assumptions=PROPER_SHARE,
)

_TAIL = 4 * d * sp.exp(-alpha * n)
_ALPHA = sp.Min(
    (1 - rho) ** 2 * mu**2 * rho_k**2 / (8 * c_1 * N**2), rho**2 * mu**2 / (8 * c_2 * L**2)
)

P_TAIL = statement(
    "odcl.p-tail",
    "The probability that E fails",
    "Appendix E, after Lemma 11, corrected",
    quantifiers=r"\forall\rho\in(0,1),\rho_k>0,\ H=0",
    observed=r"P(E^c)",
    terms={"tail": _TAIL.subs(alpha, _ALPHA)},
    constants=TAIL_RATES,
    assumptions=PROPER_SHARE,
    reading=(
        "The paper has one letter for the radius $\\rho_k$ and the share $\\rho$. Assumption 5 "
        "holds in every smaller ball, so that its $\\rho_k=\\rho<1$ may be assumed. Here they are "
        "two numbers, and the tail holds in every unit of $\\theta$. Pinelis' inequality for means "
        "of bounded vectors gives $c_1=1$, and Tropp's matrix Hoeffding inequality gives $c_2=4$ "
        "because $0\\preceq\\nabla^2\\ell\\preceq LI$. Quadratic losses have $H=0$, so that "
        "$\\delta_\\rho=\\rho_k$."
    ),
)

# --- Lemma 13 -----------------------------------------------------------------------------------

_MOMENTS = (
    Assumption(name="moment of order 2 or more", left=order, right=sp.Integer(2)),
    Assumption(name="dimension", left=d, right=sp.Integer(1)),
)
_SUM = r"(E\norm{\sum_iX_i}^{k})^{1/k}"

LEMMA_13_AS_PRINTED = statement(
    "odcl.lemma13-as-printed",
    "Lemma 13: moments of a sum of random matrices",
    "Lemma 13, as printed",
    quantifiers=r"\forall k\ge2,d\ge1",
    observed=_SUM,
    terms={
        "spread": sp.sqrt(2 * sp.E * sp.log(d)) * spread,
        "largest": 2 * sp.E * sp.log(d) * largest_norm,
    },
    assumptions=_MOMENTS,
)

_ORDER = sp.Max(order, 2 * sp.log(d))
LEMMA_13 = statement(
    "odcl.lemma13",
    "Moments of a sum of random matrices with the order of the moment",
    "Lemma 13, corrected",
    quantifiers=r"\forall k\ge2,d\ge1",
    observed=_SUM,
    terms={
        "spread": sp.sqrt(sp.E * _ORDER) * spread,
        "largest": 2 * sp.E * _ORDER * largest_norm,
    },
    assumptions=_MOMENTS,
    reading=(
        "The source (Chen, Gittens and Tropp 2012, Theorem A.1) has $\\max\\{k,2\\log d\\}$ where "
        "the paper has $2\\log d$. Appendix E uses $k=4$, where $4\\log(ed)$ is enough."
    ),
)

# --- the mean of m fits: Lemma 4 ----------------------------------------------------------------

EQ_25 = statement(
    "odcl.eq25",
    "(25): variance and bias of the mean of m fits",
    "(25)",
    quantifiers=r"\forall m\ge1",
    observed=r"E\norm{\bar\theta-\theta^\star}^2",
    relation="=",
    terms={"variance": mean_square / m, "bias": (m - 1) / m * squared_bias},
)

_MEAN = r"E\norm{\bar\theta_k-\theta_k^\star}^2"
_RADIUS = Assumption(name="radius above 0", left=rho_k, right=sp.Integer(0), strict=True)

LEMMA_4_D1_AS_PRINTED = statement(
    "odcl.lemma4-d1-as-printed",
    "Lemma 4 with the constants of Appendix E in one dimension",
    "Lemma 4 with Appendix E, d = 1 and H = 0, as printed",
    quantifiers=r"\exists C_0,c_1,c_2\;\forall n,m,\ d=1,H=0",
    observed=_MEAN,
    terms={
        "variance": C_0 * N**2 / (n * m * mu**2),
        "tail": C_0 * (R**2 + N**2 / (mu**2 * n)) * sp.exp(-_ALPHA * n),
    },
    constants=(prefactor("of the bound"), *TAIL_RATES),
    assumptions=(*PROPER_SHARE, _RADIUS),
    reading=(
        "All of $\\lambda_k$, $\\upsilon_k$, $\\nu_k$ hold a power of $\\log d$ or of $H$, so they "
        "are zero for $d=1$ and a quadratic loss, and $\\tau_k=N^2/\\mu^2$. What is left has no "
        "term for the bias, which does not average. The constants are at the generous end of "
        "their box."
    ),
)

#: log(2 e d): the factor that takes the place of log d.
LOG_D = sp.log(2 * sp.E * d)
_LAMBDA = 96 * L**2 * N**2 * LOG_D / ((1 - rho) ** 2 * mu**4) + 48 * H**2 * N**4 / (
    (1 - rho) ** 4 * mu**6
)
_UPSILON = 314 * L**2 * N**2 * LOG_D / ((1 - rho) ** 2 * mu**4) + 192 * H**2 * N**4 / (
    (1 - rho) ** 4 * mu**6
)
_ALPHA_EXPLICIT = sp.Min(
    (1 - rho) ** 2 * mu**2 * sp.Min(rho_k, rho * mu / (2 * H)) ** 2 / (8 * N**2),
    rho**2 * mu**2 / (32 * L**2),
)

LEMMA_4 = statement(
    "odcl.lemma4",
    "Lemma 4 with log(2ed) and explicit constants",
    "Lemma 4 with Appendix E, corrected",
    quantifiers=r"\forall n,m,d,\ \rho\in(0,1)",
    observed=_MEAN,
    terms={
        "variance": 2 * N**2 / (n * m * mu**2),
        "bias": _LAMBDA / n**2,
        "curvature": _UPSILON / (m * n**2),
        "tail": (16 * R**2 + 12 * (2 * R + N / mu) ** 2) * d * sp.exp(-_ALPHA_EXPLICIT * n),
    },
    assumptions=(*PROPER_SHARE, _RADIUS),
    uses=("odcl.eq25", "odcl.lemma11", "odcl.p-tail"),
    reading=(
        "The proof is Appendix E's with four changes. The bounds of the proof are kept inside the "
        "event E, where $\\norm{\\theta_1-\\theta^\\star}\\le2\\norm{\\nabla f}/((1-\\rho)\\mu)$, "
        "so $\\beta$ and $\\tau$ are not needed. "
        "$E\\norm{\\nabla f(\\theta^\\star)}^4\\le3N^4/n^2$. "
        "Matrix Hoeffding integrates to $E\\norm P^2\\le8L^2\\log(2ed)/n$ and "
        "$E\\norm P^4\\le128L^4\\log^2(2ed)/n^2$, in every dimension. (26) is applied once, so "
        "that no term of order $n^{-3}$ appears."
    ),
)

LEMMA_4_FEW_USERS = statement(
    "odcl.lemma4-rate",
    "The mean of few fits: the variance rules",
    "Lemma 4, leading term",
    kind="rate",
    quantifiers=r"m\le n/100",
    observed=_MEAN,
    relation=r"\propto",
    terms={"variance": 1 / (n * m)},
)

LEMMA_4_FLOOR = statement(
    "odcl.lemma4-floor",
    "The mean of very many fits: the bias stays",
    "Lemma 4, term of order 1/n² that no cluster size divides",
    kind="rate",
    quantifiers=r"m\ge n^2",
    observed=_MEAN,
    relation=r"\propto",
    terms={"bias": m**0 / n**2},
    reading=(
        "The term $\\lambda_k/n^2$ does not fall with the cluster. On a design whose fits are "
        "biased the mean squared error stays at that order however many users there are."
    ),
)

# --- a step of Appendix E: beta -----------------------------------------------------------------

_BETA_TAIL = r"2^4\cdot4dR^4e^{-\alpha n}"
_BETA_ASSUMPTIONS = (
    Assumption(name="alpha above 0", left=alpha, right=sp.Integer(0), strict=True),
)
LEMMA_4_BETA = statement(
    "odcl.lemma4-beta",
    "Appendix E: the rare event inside beta, for all n with one constant",
    "Appendix E, definition of beta (not in the paper: the constant)",
    quantifiers=r"\forall n,\alpha>0",
    observed=_BETA_TAIL,
    terms={"beta": 256 * sp.exp(-2) * d * R**4 / (alpha**2 * n**2)},
    assumptions=_BETA_ASSUMPTIONS,
    reading=(
        "The paper has $dR^4/\\alpha$ in $\\beta$, which holds as an order in $n$ for a given "
        "$\\alpha$. With one constant for all $\\alpha$ the square is needed: the largest value of "
        "$x^2e^{-x}$ is $4e^{-2}$, at $x=\\alpha n=2$."
    ),
)
BETA_TAIL = 64 * d * R**4 * sp.exp(-alpha * n)

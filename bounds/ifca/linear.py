r"""IFCA on the linear model: journal version (TIT 2022, Section V-A and Appendix A/B).

=====================  ===================  ====================================================
paper                  here                 meaning
=====================  ===================  ====================================================
:math:`m`              ``m``                clients (worker machines)
:math:`n'`             ``n``                fresh samples a client uses in one step
:math:`d`              ``d``                dimension
:math:`k`              ``k``                clusters
:math:`p_j,\ p`        ``p_j``, ``p``       fraction of clients in cluster j; the smallest one
(none)                 ``p_max``            the largest fraction; the paper never names it
:math:`\Delta`         ``Delta``            smallest distance between two optima
:math:`\sigma`         ``sigma``            noise standard deviation
:math:`\rho`           (derived)            :math:`\Delta^2/\sigma^2`, signal-to-noise ratio
:math:`\alpha`         ``alpha``            :math:`\|\theta_j-\theta_j^*\|\le(1/2-\alpha)\Delta`
:math:`\gamma`         ``gamma``            step size, :math:`\gamma=c_1/p`
=====================  ===================  ====================================================

The squared loss is :math:`F_i(\theta)=\|Y_i-X_i\theta\|^2/n'`, so a full step on cluster :math:`j`
moves by :math:`2\gamma p_j(\theta_j^*-\theta_j)` on average: the factor that the proof of Theorem 1
writes :math:`1-2\gamma N/(mn')`, without the absolute value that it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from bounds.gaussian import LEAST_SQUARES_MSE, N
from bounds.statement import Assumption, Constant, Statement, Term

PAPER = "Ghosh, Chung, Yin & Ramchandran, IEEE Trans. Inf. Theory 2022"

m, n, d, k = sp.symbols("m n d k")
p, p_j, p_max = sp.symbols("p p_j p_max")
Delta, sigma, gamma, err = sp.symbols("Delta sigma gamma err")
alpha = sp.Symbol("alpha")
rho = sp.Symbol("rho")
T, varepsilon = sp.symbols("T varepsilon")
c, c_1, c_2, c_3, c_4, c_5, c_6, c_7, c_8 = sp.symbols("c c_1:9")
C_n, C_d, C_p, C_N, C_Delta = sp.symbols("C_n C_d C_p C_N C_Delta")
C_theta, C_sigma, theta_max = sp.symbols("C_theta C_sigma theta_max")

#: The exponents' argument :math:`(\alpha\rho/(\rho+1))^2 n'` and its form without closeness.
#: (unevaluated inside, so that it is printed as the paper prints it).
SIGNAL = sp.UnevaluatedExpr(alpha * rho / (rho + 1)) ** 2 * n
SIGNAL_FREE = sp.UnevaluatedExpr(rho / (rho + 1)) ** 2 * n
#: The statistical term :math:`(\sigma/p)\sqrt{d/(mn')}`.
FLOOR = sigma / p * sp.sqrt(d / (m * n))


def _bound_constant(
    symbol: sp.Symbol, meaning: str, low: float = 0.0, high: float = 1e3
) -> Constant:
    return Constant(symbol=symbol, low=low, high=high, generous="high", meaning=meaning)


def _rate_constant(symbol: sp.Symbol, meaning: str) -> Constant:
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
    r"""Assumption 2: sizes that each step needs; the ``\gtrsim`` constants are named ``C_*``.

    ``signal / n`` divides ``log m`` in the condition on n'; ``signal`` is the argument of the
    exponential in the condition on Delta (with its own constant ``c``).
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
    """Not in the paper: no cluster is more than ``ratio`` times as large as another."""
    return Assumption(
        name="balanced clusters",
        left=sp.sympify(ratio) * p,
        right=p_max,
        note="not in the paper: without it no step size serves all clusters",
    )


def _statement(id_: str, title: str, source: str, **fields: object) -> Statement:
    return Statement(id=f"ifca.{id_}", title=title, paper=PAPER, source=source, **fields)  # type: ignore[arg-type]


# --- Lemma 1: one client's identity -------------------------------------------------------------

LEMMA_1 = _statement(
    "lemma1",
    "Lemma 1: a client prefers one wrong model",
    "Lemma 1",
    kind="deterministic",
    quantifiers=r"\exists c_1,c_2>0\;\forall n',d,\rho,\alpha,j'\ne j",
    observed=r"P(\mathcal{E}_i^{j,j'})",
    terms=(Term(name="tail", expr=c_1 * sp.exp(-c_2 * SIGNAL)),),
    constants=(_bound_constant(c_1, "prefactor"), _rate_constant(c_2, "rate")),
    assumptions=CLOSENESS,
)

LEMMA_1_UNION = _statement(
    "lemma1-union",
    "Lemma 1, union bound: a client is misidentified",
    "Lemma 1, second display",
    kind="deterministic",
    quantifiers=r"\exists c_1,c_2>0\;\forall n',d,k,\rho,\alpha",
    observed=r"P(\overline{\mathcal{E}_i})",
    terms=(Term(name="tail", expr=c_1 * k * sp.exp(-c_2 * SIGNAL)),),
    constants=(_bound_constant(c_1, "prefactor"), _rate_constant(c_2, "rate")),
    assumptions=CLOSENESS,
)

LEMMA_1_SHARP = _statement(
    "lemma1-sharp",
    "Lemma 1 with the signal-to-noise ratio to the first power",
    "Lemma 1, sharpened here",
    kind="deterministic",
    quantifiers=r"\forall n',d,\rho,\alpha,j'\ne j",
    observed=r"P(\mathcal{E}_i^{j,j'})",
    terms=(Term(name="tail", expr=sp.exp(-sp.log(2) / 2 * alpha**2 * rho / (rho + 1) * n)),),
    assumptions=CLOSENESS,
    reading=(
        "Not in the paper. The exact Chernoff exponent is $(n'/2)\\log(1+(b-a)^2/(4G))$ with "
        "$(b-a)^2/(4G)\\ge \\alpha^2\\rho/(\\rho(1/2-\\alpha)^2+1)$; since that lower bound's "
        "smaller form $\\alpha^2\\rho/(\\rho/4+1)$ is at most 1 and $\\log(1+x)\\ge x\\log 2$ on "
        "$[0,1]$, the lemma holds with $c_1=1$, $c_2=(\\log 2)/2$ and $\\rho/(\\rho+1)$ to the "
        "first power."
    ),
)

BETTER_THAN_GUESSING = _statement(
    "better-than-guessing",
    "Any positive closeness beats a random guess between two models",
    'Section VII and after Assumption 2, "slightly better than random"',
    kind="deterministic",
    quantifiers=r"\forall n',d,\rho,\alpha>0,j'\ne j",
    observed=r"P(\mathcal{E}_i^{j,j'})",
    terms=(Term(name="guess", expr=sp.Rational(1, 2)),),
    assumptions=CLOSENESS,
    reading="The reading under which the sentence is true: the guess is about a client's label.",
)

LEMMA_1_INIT = _statement(
    "lemma1-init-as-printed",
    "Proof of Lemma 1: the distance that the initialisation condition gives",
    "proof of Lemma 1, before (15)",
    kind="deterministic",
    quantifiers=r"\forall \alpha\in(0,1/2),\ \norm{\theta_1-\theta_1^*}\le(\frac12-\alpha)\Delta",
    observed=r"\norm{\theta_1-\theta_1^*}",
    terms=(Term(name="quarter", expr=Delta / 4),),
    assumptions=CLOSENESS,
    reading=(
        "Left over from the conference version, whose initialisation is $\\Delta/4$; what (15) "
        "uses is $(1/2-\\alpha)\\Delta$."
    ),
)

LOWER_DEVIATION = 4 * alpha * rho / ((1 + 2 * alpha) ** 2 * rho + 4)
UPPER_DEVIATION = 4 * alpha * rho / ((1 - 2 * alpha) ** 2 * rho + 4)
TAIL_SIGNAL = sp.UnevaluatedExpr(alpha * rho / ((1 + 2 * alpha) * rho + 1)) ** 2 * n

EQ_16 = _statement(
    "eq16",
    "Proof of Lemma 1: lower chi-square tail",
    "(16)",
    kind="deterministic",
    quantifiers=r"\exists c_1,c_2>0\;\forall n',\rho,\alpha",
    observed=r"P(u_j/n'-1\le-\frac{4\alpha\rho}{(1+2\alpha)^2\rho+4})",
    terms=(Term(name="tail", expr=c_1 * sp.exp(-c_2 * TAIL_SIGNAL)),),
    constants=(_bound_constant(c_1, "prefactor"), _rate_constant(c_2, "rate")),
    assumptions=CLOSENESS,
)

EQ_17 = _statement(
    "eq17",
    "Proof of Lemma 1: upper chi-square tail",
    "(17) in print, (18) in the preprint",
    kind="deterministic",
    quantifiers=r"\exists c_3,c_4>0\;\forall n',\rho,\alpha",
    observed=r"P(u_1/n'-1>\frac{4\alpha\rho}{(1-2\alpha)^2\rho+4})",
    terms=(Term(name="tail", expr=c_3 * sp.exp(-c_4 * TAIL_SIGNAL)),),
    constants=(_bound_constant(c_3, "prefactor"), _rate_constant(c_4, "rate")),
    assumptions=CLOSENESS,
)

PAIRWISE_LAW = _statement(
    "lemma1-law",
    "The exact law behind Lemma 1",
    "exact form of Lemma 1",
    kind="law",
    quantifiers=r"\forall n',d,\rho,\alpha,j'\ne j",
    observed=r"P(\mathcal{E}_i^{j,j'})",
    relation="=",
    terms=(Term(name="law", expr=sp.Function(r"P_F")(sp.Symbol("l_-") / sp.Symbol("l_+"), n)),),
    assumptions=CLOSENESS,
    reading=(
        "$P_F(r,n')=P(F_{n',n'}\\ge r)$, with $l_+>0>-l_-$ the eigenvalues of "
        "$S\\,\\mathrm{diag}(1,-1)$ and $S$ the covariance of the two residuals."
    ),
)

# --- Lemma 2: Gaussian matrices -----------------------------------------------------------------

LEMMA_2_OPNORM = _statement(
    "lemma2-opnorm",
    "Lemma 2: operator norm of a Gaussian matrix",
    "Lemma 2, first part",
    kind="probability",
    quantifiers=r"\exists c,c_1>0\;\forall N,d",
    observed=r"\norm{X}_{op}",
    terms=(Term(name="norm", expr=c * sp.Max(sp.sqrt(d), sp.sqrt(N))),),
    failure=2 * sp.exp(-c_1 * sp.Max(d, N)),
    constants=(_bound_constant(c, "prefactor"), _rate_constant(c_1, "rate")),
)

LEMMA_2_NOISE = _statement(
    "lemma2-noise",
    "Lemma 2: the noise term",
    "Lemma 2, second part",
    kind="deterministic",
    quantifiers=r"\exists c_2,c_3,c_4>0\;\forall N,d,\sigma",
    observed=r"P(\norm{X^\top\epsilon}>c_4\sigma\sqrt{dN})",
    terms=(Term(name="tail", expr=c_2 * sp.exp(-c_3 * sp.Min(d, N))),),
    constants=(
        _bound_constant(c_2, "prefactor"),
        _rate_constant(c_3, "rate"),
        _bound_constant(c_4, "multiple of the typical size"),
    ),
)

# --- Proof of Theorem 1 -------------------------------------------------------------------------

A = sp.Symbol("a")
GRAM, NOISE = sp.symbols("gram noise")

EQ_2_AS_PRINTED = _statement(
    "eq2-as-printed",
    "Proof of Theorem 1: triangle inequality without the absolute value",
    "(2)",
    kind="deterministic",
    quantifiers=r"\forall N,d,\gamma,m,n',X,\epsilon,\theta_1",
    observed=r"\norm{T_1}",
    terms=(
        Term(name="contraction", expr=(1 - A) * err),
        Term(name="fluctuation", expr=A * GRAM * err),
        Term(name="noise", expr=A * NOISE),
    ),
    reading=(
        "Here $a=2\\gamma N/(mn')$. As printed the first coefficient is $1-a$, which is negative "
        "once $\\gamma>1/(2p_j)$; with $\\gamma=c_1/p$ that happens to every cluster with "
        "$p_j>p/(2c_1)$."
    ),
)

EQ_2 = _statement(
    "eq2",
    "Proof of Theorem 1: triangle inequality",
    "(2), corrected",
    kind="deterministic",
    quantifiers=r"\forall N,d,\gamma,m,n',X,\epsilon,\theta_1",
    observed=r"\norm{T_1}",
    terms=(
        Term(name="contraction", expr=sp.Abs(1 - A) * err),
        Term(name="fluctuation", expr=A * GRAM * err),
        Term(name="noise", expr=A * NOISE),
    ),
    reading="(2) with $|1-2\\gamma N/(mn')|$.",
)

EQ_3 = _statement(
    "eq3",
    "Proof of Theorem 1: enough clients are identified correctly",
    "(3)",
    kind="deterministic",
    quantifiers=r"\exists c>0\;\forall m,p_1\ge p,\ P(\mathcal{E}_i)\ge\frac12",
    observed=r"P(|S_1\cap S_1^*|\le\frac14p_1m)",
    terms=(Term(name="tail", expr=2 * sp.exp(-c * p * m)),),
    constants=(_rate_constant(c, "rate"),),
)

EQ_4 = _statement(
    "eq4",
    "Proof of Theorem 1: concentration of the Gram matrix",
    "(4)",
    kind="probability",
    quantifiers=r"\forall N\gtrsim d",
    observed=r"\norm{X^\top X-E X^\top X}_{op}",
    terms=(Term(name="norm", expr=6 * sp.sqrt(d * N)),),
    failure=2 * sp.exp(-d / 2),
    assumptions=(Assumption(name="samples", left=N, right=d, constant=C_N),),
    reading=(
        "The source's bound is $4\\sqrt{d/N}+4d/N$ relative to $N$, so (4) is a theorem for "
        "$N\\ge 4d$; the cells meet that."
    ),
)

EQ_5_AS_PRINTED = _statement(
    "eq5-as-printed",
    "Proof of Theorem 1: correctly identified clients contract, any step size",
    "(5)",
    kind="upper bound",
    quantifiers=r"\exists c_5,c_6>0\;\forall \gamma>0",
    observed=r"\norm{T_1}",
    terms=(
        Term(name="contraction", expr=(1 - c_5 * gamma * p) * err),
        Term(name="floor", expr=c_6 * gamma * sigma * sp.sqrt(d / (m * n))),
    ),
    failure=1 / m,
    constants=(_rate_constant(c_5, "contraction"), _bound_constant(c_6, "noise")),
    assumptions=ASSUMPTION_2,
    reading=(
        "(5) is stated for every step size and then used at $\\gamma=1/(2c_5p)$; it inherits the "
        "missing absolute value of (2)."
    ),
)

EQ_5 = _statement(
    "eq5",
    "Proof of Theorem 1: correctly identified clients contract, small steps",
    "(5), for steps with $2\\gamma p_{\\max}\\le1$",
    kind="probability",
    quantifiers=r"\exists c_5,c_6>0\;\forall \gamma\le 1/(2p_{\max})",
    observed=r"\norm{T_1}",
    terms=EQ_5_AS_PRINTED.terms,
    failure=1 / m,
    constants=EQ_5_AS_PRINTED.constants,
    assumptions=(
        *ASSUMPTION_2,
        Assumption(name="small step", left=sp.Integer(1), right=2 * gamma * p_max),
    ),
    reading="The step sizes for which $1-2\\gamma N/(mn')$ needs no absolute value.",
)

EQ_7 = _statement(
    "eq7",
    "Proof of Theorem 1: gradient of one misidentified client",
    "(7)",
    kind="probability",
    quantifiers=r"\exists c_1,c_2,c_5>0\;\forall n',d,\ \norm{\theta_j^*}\lesssim1,\sigma\lesssim1",
    observed=r"\norm{\nabla F_i(\theta_1)}",
    terms=(Term(name="norm", expr=c_5 * sp.Max(1, d / n)),),
    failure=c_1 * sp.exp(-c_2 * sp.Min(d, n)),
    constants=(
        _bound_constant(c_1, "prefactor"),
        _rate_constant(c_2, "rate"),
        _bound_constant(c_5, "size"),
    ),
)

STRANGERS = sp.Symbol("strangers")

EQ_8 = _statement(
    "eq8",
    "Proof of Theorem 1: what the misidentified clients add",
    "(8)",
    kind="probability",
    quantifiers=r"\exists c_5>0\;\forall m,n',d,k,\gamma,S_1",
    observed=r"\norm{T_2}",
    terms=(Term(name="strangers", expr=c_5 * gamma / m * STRANGERS * sp.Max(1, d / n)),),
    failure=1 / m,
    constants=(_bound_constant(c_5, "size of one gradient"),),
    assumptions=(
        Assumption(name="bounded optima", left=sp.Integer(1), right=theta_max, constant=C_theta),
        Assumption(name="bounded noise", left=sp.Integer(1), right=sigma, constant=C_sigma),
        Assumption(name="enough samples", left=n, right=sp.log(m), constant=C_n),
        Assumption(name="dimension", left=d, right=sp.log(m), constant=C_d),
    ),
    reading=(
        "Tried where strangers are certain, which is outside Assumption 2: there the third term "
        "of (1) is not needed, because no client is misidentified."
    ),
)

HALF_CORRECT = _statement(
    "half-correct",
    "Proof of Theorem 1: a client is identified correctly with probability one half",
    "before (3)",
    kind="deterministic",
    quantifiers=r"\forall m,n',k\le m,\rho,\alpha\ \text{in Assumption 2}",
    observed=r"P(\overline{\mathcal{E}_i})",
    terms=(Term(name="half", expr=sp.Rational(1, 2)),),
    assumptions=(
        *CLOSENESS,
        Assumption(name="samples per client", left=SIGNAL, right=sp.log(m), constant=C_n),
    ),
)

Q = sp.Symbol("q")
POLY_M = _statement(
    "poly-m",
    "Theorem 1: all identities are right but for 1/poly(m), of any degree",
    "Theorem 1 with the paper's definition of poly(m)",
    kind="deterministic",
    quantifiers=r"\forall q\ge1\;\exists C_n\;\forall m,n',k,\rho,\alpha",
    observed=r"P(\exists i:\overline{\mathcal{E}_i})",
    terms=(Term(name="polynomial", expr=m**-Q),),
    assumptions=(
        *CLOSENESS,
        Assumption(name="samples per client", left=SIGNAL, right=(Q + 2) * sp.log(m), constant=C_n),
    ),
    reading=(
        "The paper's $\\mathrm{poly}(m)$ is a polynomial of arbitrarily large constant degree. "
        "Monte Carlo resolves the first degree at best; the exact law decides every degree $q$, "
        "with $C_n$ growing like $q+2$. The other failures, of order $e^{-cd}$ and $e^{-cpm}$, "
        "follow from ifca.lemma2-noise, ifca.eq4 and ifca.eq3 with $C_d,C_p$ growing like $q$."
    ),
)

EQ_10 = _statement(
    "eq10",
    "Proof of Theorem 1: expected number of strangers in a cluster",
    "(10)",
    kind="deterministic",
    quantifiers=r"\exists c_6,c_7>0\;\forall m,n',\rho,\alpha,k",
    observed=r"E|S_1\cap\overline{S_1^*}|",
    terms=(Term(name="count", expr=c_6 * m * sp.exp(-c_7 * SIGNAL)),),
    constants=(_bound_constant(c_6, "prefactor"), _rate_constant(c_7, "rate")),
    assumptions=CLOSENESS,
)

EQ_12 = _statement(
    "eq12",
    "Proof of Theorem 1: no strangers at all, by Markov's inequality",
    "(11)-(12)",
    kind="deterministic",
    quantifiers=r"\exists c_8>0\;\forall m,n',\rho,\alpha,k",
    observed=r"P(|S_1\cap\overline{S_1^*}|\ge1)",
    terms=(Term(name="tail", expr=sp.exp(-c_8 / 2 * SIGNAL)),),
    constants=(_rate_constant(c_8, "rate"),),
    assumptions=(
        *CLOSENESS,
        Assumption(name="samples per client", left=SIGNAL, right=sp.log(m), constant=C_n),
    ),
    reading=(
        "The count is an integer, so below one it is zero. Printed is $\\ge 1-\\mathrm{poly}(m)$, "
        "which says nothing; $1-1/\\mathrm{poly}(m)$ is meant."
    ),
)

# --- Theorem 1: one step ------------------------------------------------------------------------


def one_step(contraction: sp.Expr, signal: sp.Expr) -> Sequence[Term]:
    """The three terms of (1): contraction, statistical floor, misidentification."""
    return (
        Term(name="contraction", expr=contraction * err),
        Term(name="floor", expr=c_2 * FLOOR),
        Term(name="misidentification", expr=c_3 * sp.exp(-c_4 * signal)),
    )


ONE_STEP_CONSTANTS = (
    STEP_CONSTANT,
    _bound_constant(c_2, "statistical floor", high=1e2),
    _bound_constant(c_3, "misidentification", high=1e2),
    _rate_constant(c_4, "misidentification rate"),
)
HALF = sp.Rational(1, 2)

THEOREM_1_AS_PRINTED = _statement(
    "thm1-as-printed",
    "Theorem 1: one step, clusters of any sizes",
    "Theorem 1, (1)",
    kind="upper bound",
    quantifiers=r"\exists c_1,\dots,c_4>0\;\forall m,n',d,k,p_j,\Delta,\sigma,\alpha"
    r"\ \forall j\in[k]",
    observed=r"\norm{\theta_j^+-\theta_j^*}",
    terms=one_step(HALF, SIGNAL),
    failure=1 / m,
    constants=ONE_STEP_CONSTANTS,
    assumptions=(*CLOSENESS, *ASSUMPTION_2),
    reading=(
        "One step size $\\gamma=c_1/p$ for all clusters, $c_1$ universal: it may depend on neither "
        "$k$ nor the $p_j$. $\\mathrm{poly}(m)$, a polynomial of arbitrarily large degree, is read "
        "as $m$ here (weaker); ifca.poly-m takes every degree. Even a $c_1$ that knew "
        "$r=p_{\\max}/p$ could not do better than the factor $(r-1)/(r+1)$, at $c_1=1/(1+r)$."
    ),
)

MEAN_STEP = (
    "The mean step on cluster $j$ contracts by $|1-2c_1p_j/p|$, at most $1/2$ for all $j$ only if "
    "$1/4\\le c_1$ and $c_1p_{\\max}/p\\le3/4$: possible if and only if $p_{\\max}\\le 3p$. With "
    "$p_{\\max}\\le 2p$ and $c_1=1/3$ the factor is at most $1/3$."
)
NO_STRANGERS = (
    "Under Assumption 2 the third term is not needed at all: no client is misidentified but with "
    "probability $1/m$."
)

THEOREM_1 = _statement(
    "thm1",
    "Theorem 1: one step, clusters within a factor two of each other",
    "Theorem 1, (1), corrected",
    kind="upper bound",
    quantifiers=THEOREM_1_AS_PRINTED.quantifiers,
    observed=THEOREM_1_AS_PRINTED.observed,
    terms=THEOREM_1_AS_PRINTED.terms,
    failure=1 / m,
    constants=ONE_STEP_CONSTANTS,
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading=f"{MEAN_STEP} $\\alpha$ is the step's own, in Assumption 2 as well. {NO_STRANGERS}",
)

THEOREM_1_OWN_STEP = _statement(
    "thm1-own-step",
    "Theorem 1: one step, clusters of any sizes, own step sizes",
    "Theorem 1, (1), corrected by step sizes $c_1/p_j$",
    kind="upper bound",
    quantifiers=THEOREM_1_AS_PRINTED.quantifiers,
    observed=THEOREM_1_AS_PRINTED.observed,
    terms=THEOREM_1_AS_PRINTED.terms,
    failure=1 / m,
    constants=(OWN_STEP_CONSTANT, *ONE_STEP_CONSTANTS[1:]),
    assumptions=(*CLOSENESS, *ASSUMPTION_2),
    reading=(
        "Averaging gradients over $|S_j|$ instead of $m$ (as model averaging does) gives cluster "
        "$j$ the step size $c_1/p_j$; then every ratio of sizes is covered."
    ),
)

CONTRACTION_RATE = _statement(
    "thm1-contraction",
    "Theorem 1: the contraction factor far from the optima",
    "Theorem 1, first term",
    kind="rate",
    quantifiers=r"\exists c_1>0\;\forall j\in[k]",
    observed=r"\norm{\theta_j^+-\theta_j^*}/\norm{\theta_j-\theta_j^*}",
    terms=(Term(name="factor", expr=HALF),),
    assumptions=(balanced(2), *ASSUMPTION_2),
    reading="$c_1=1/3$, clusters within a factor two: the law's own factor is $1/3$.",
)

FLOOR_RATE = _statement(
    "thm1-floor",
    "Theorem 1: how the error floor scales",
    "Theorem 1, second term",
    kind="rate",
    quantifiers=r"\forall m,n',d,p,\sigma",
    observed=r"\norm{\theta_j^+-\theta_j^*}\ \text{at}\ \theta_j=\theta_j^*",
    relation=r"\le",
    terms=(Term(name="floor", expr=c_2 * FLOOR),),
    constants=(_bound_constant(c_2, "statistical floor"),),
    assumptions=ASSUMPTION_2,
)

# --- Corollary 1: the whole run -----------------------------------------------------------------

ACCURACY_TERMS = (
    Term(name="floor", expr=c_6 * FLOOR),
    Term(name="misidentification", expr=c_7 * sp.exp(-c_8 * SIGNAL_FREE)),
)
ROUNDS = 2 + sp.log(Delta / (4 * varepsilon))
COROLLARY_CONSTANTS = (
    STEP_CONSTANT,
    _bound_constant(c_6, "statistical floor", high=1e2),
    _bound_constant(c_7, "misidentification", high=1e2),
    _rate_constant(c_8, "misidentification rate"),
)

COROLLARY_1_AS_PRINTED = _statement(
    "cor1-as-printed",
    "Corollary 1: the whole run, clusters of any sizes",
    "Corollary 1",
    kind="upper bound",
    quantifiers=r"\exists c_1,c_6,c_7,c_8>0\;\forall m,n',d,k,p_j,\Delta,\sigma,\alpha_0\ "
    r"\text{after}\ T=2+\log\frac{\Delta}{4\varepsilon}\ \text{steps}",
    observed=r"\norm{\hat\theta_j-\theta_j^*}",
    terms=ACCURACY_TERMS,
    failure=T / m,
    constants=COROLLARY_CONSTANTS,
    assumptions=(*CLOSENESS, *ASSUMPTION_2),
    reading="$\\log$ is natural and $T$ is rounded up.",
)

COROLLARY_1 = _statement(
    "cor1",
    "Corollary 1: the whole run, clusters within a factor two of each other",
    "Corollary 1, corrected",
    kind="upper bound",
    quantifiers=COROLLARY_1_AS_PRINTED.quantifiers,
    observed=COROLLARY_1_AS_PRINTED.observed,
    terms=ACCURACY_TERMS,
    failure=T / m,
    constants=COROLLARY_CONSTANTS,
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading=(
        "The proof halves the error per step, which over $\\log(\\Delta/4\\varepsilon)$ steps with "
        "the natural logarithm leaves $(4\\varepsilon/\\Delta)^{\\log 2}$, not "
        "$4\\varepsilon/\\Delta$. With $c_1=1/3$ and $p_{\\max}\\le2p$ the factor is $1/3<1/e$, "
        "and the printed number of steps suffices."
    ),
)

COROLLARY_1_OWN_STEP = _statement(
    "cor1-own-step",
    "Corollary 1: the whole run, clusters of any sizes, own step sizes",
    "Corollary 1, corrected by step sizes $c_1/p_j$",
    kind="upper bound",
    quantifiers=COROLLARY_1_AS_PRINTED.quantifiers,
    observed=COROLLARY_1_AS_PRINTED.observed,
    terms=ACCURACY_TERMS,
    failure=T / m,
    constants=(OWN_STEP_CONSTANT, *COROLLARY_CONSTANTS[1:]),
    assumptions=(*CLOSENESS, *ASSUMPTION_2),
    reading="As ifca.thm1-own-step; the smallest cluster down to $p=1/(50k)$.",
)

COROLLARY_1_ROUNDS_AS_PRINTED = _statement(
    "cor1-rounds-as-printed",
    "Proof of Corollary 1: halving for $\\log(\\Delta/4\\varepsilon)$ steps, natural logarithm",
    "proof of Corollary 1, last display",
    kind="deterministic",
    quantifiers=r"\forall \Delta,\varepsilon,\ 4\varepsilon\le\Delta",
    observed=r"(\frac12)^{\log(\Delta/4\varepsilon)}\,\frac{\Delta}{4}",
    terms=(Term(name="accuracy", expr=varepsilon),),
    reading="The paper's $\\log$ read as natural, as elsewhere in it.",
)

COROLLARY_1_ROUNDS = _statement(
    "cor1-rounds",
    "Proof of Corollary 1: halving for $\\log_2(\\Delta/4\\varepsilon)$ steps",
    "proof of Corollary 1, last display, corrected",
    kind="deterministic",
    quantifiers=r"\forall \Delta,\varepsilon,\ 4\varepsilon\le\Delta",
    observed=r"(\frac12)^{\log_2(\Delta/4\varepsilon)}\,\frac{\Delta}{4}",
    terms=(Term(name="accuracy", expr=varepsilon),),
    reading="The same display with the logarithm to base two.",
)

COROLLARY_1_BURN_IN = _statement(
    "cor1-burn-in",
    "Proof of Corollary 1: two steps bring the closeness to 1/4",
    "proof of Corollary 1, condition (a)",
    kind="deterministic",
    quantifiers=r"\exists C_1>0\;\forall \alpha_0\in(0,\frac12),\ T'=\log(C_1(1-2\alpha_0))",
    observed=r"(\frac12)^{T'}(\frac12-\alpha_0)",
    terms=(Term(name="eighth", expr=sp.Rational(1, 8)),),
    reading="$C_1=8$, natural logarithm; and the simplified form $T'=2$.",
)

# --- The sentences around the theorems ----------------------------------------------------------

MINIMAX = _statement(
    "minimax",
    "Comparison with the minimax rate: known identities, all data",
    "after Corollary 1",
    kind="comparison",
    quantifiers=r"\forall m,n',d,p,\sigma,\ N=2pmn'T",
    observed=r"E\norm{\hat\theta_j-\theta_j^*}^2",
    relation="=",
    terms=(Term(name="least squares", expr=LEAST_SQUARES_MSE),),
    reading=(
        "The minimax risk over $R^d$ with Gaussian design is that of least squares. The paper "
        "counts $n=2n'\\log(\\Delta/4\\varepsilon)$ samples and drops the two extra steps."
    ),
)

NEAR_OPTIMAL = _statement(
    "near-optimal",
    "IFCA's error against the minimax rate",
    "after Corollary 1",
    kind="rate",
    quantifiers=r"\forall m,n',d,p,\sigma",
    observed=r"\norm{\hat\theta_j-\theta_j^*}/\sqrt{\sigma^2d/(2pmn'T)}",
    terms=(Term(name="ratio", expr=c_6 * sp.sqrt(2 * T / p)),),
    constants=(_bound_constant(c_6, "statistical floor"),),
    assumptions=ASSUMPTION_2,
)

TWO_CLUSTERS = _statement(
    "k2-slightly-better",
    "Two clusters: any positive closeness suffices",
    "abstract and Section V-A, with Corollary 1",
    kind="probability",
    quantifiers=r"k=2,\ \forall\alpha_0>0,\ T\ \text{steps}",
    observed=r"\norm{\hat\theta_j-\theta_j^*}",
    terms=ACCURACY_TERMS,
    failure=T / m,
    constants=COROLLARY_CONSTANTS,
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading="Assumption 1 with $\\alpha_0$ down to 0.01; starts in four directions, the worst "
    "among them.",
)

TWO_CLUSTERS_RANDOM = _statement(
    "k2-random-as-printed",
    "Two clusters: Assumption 1 is only slightly more than a random start",
    "after Assumption 2",
    kind="probability",
    quantifiers=r"k=2,\ \forall d",
    observed=r"\min_\pi\max_j\norm{\theta_{\pi(j)}^{(0)}-\theta_j^*}",
    terms=(Term(name="almost half", expr=sp.Rational(11, 20) * Delta),),
    failure=HALF,
    reading=(
        "Read as: a random start (labels free) misses the ball of radius $\\Delta/2$ by at most "
        "$\\Delta/20$ with probability at least one half. In high dimension a random vector is "
        "nearly orthogonal to both optima, so its distance is a fixed multiple of $\\Delta$ above "
        "one half."
    ),
)

ERR_T = sp.Symbol("err_t")

SLOW_START = _statement(
    "slow-start-as-printed",
    "A small closeness makes the beginning slow",
    "after Theorem 1",
    kind="probability",
    quantifiers=r"\alpha_0\ \text{small}",
    observed=r"\norm{\theta_j^{(1)}-\theta_j^*}",
    relation=r"\ge",
    terms=(Term(name="slow", expr=HALF * err),),
    failure=HALF,
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading=(
        "Read as: from $\\alpha_0\\le0.02$ the first step leaves more than half of the error, with "
        "probability one half. Under Assumption 2 $n'$ grows like $\\alpha_0^{-2}$, nobody is "
        "misidentified, and the first step contracts as every other: the third term of (1) makes "
        "the bound slow, not the algorithm."
    ),
)

CLOSENESS_STAYS = _statement(
    "alpha-stays",
    "The closeness never falls below its initial value",
    "proof of Corollary 1, what the proof needs",
    kind="probability",
    quantifiers=r"\forall t",
    observed=r"\max_j\norm{\theta_j^{(t)}-\theta_j^*}",
    terms=(Term(name="start", expr=(HALF - alpha) * Delta),),
    failure=T / m,
    assumptions=(
        *CLOSENESS,
        Assumption(name="start above the floor", left=(HALF - alpha) * Delta, right=2 * FLOOR),
        balanced(2),
        *ASSUMPTION_2,
    ),
    reading="Not monotone, but it stays in the ball; that is all that Theorem 1 asks of each step.",
)

CLOSENESS_INCREASES_AS_PRINTED = _statement(
    "alpha-increases-as-printed",
    "The closeness never decreases",
    'after Theorem 1; proof of Corollary 1, "for all t"',
    kind="probability",
    quantifiers=r"\forall t,j",
    observed=r"\norm{\theta_j^{(t+1)}-\theta_j^*}",
    terms=(Term(name="before", expr=ERR_T),),
    failure=T / m,
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading="Every cluster at every step of a run, the floor included, as the proof of Corollary 1 "
    "asserts; a run violates it when some cluster's error grows at some step.",
)

CLOSENESS_INCREASES = _statement(
    "alpha-increases",
    "The closeness does not decrease while the error exceeds twice the floor",
    "proof of Corollary 1, corrected",
    kind="probability",
    quantifiers=r"\forall t,j\ \text{with}\ \norm{\theta_j^{(t)}-\theta_j^*}\ge2c_2\frac{\sigma}{p}"
    r"\sqrt{\frac{d}{mn'}}",
    observed=r"\norm{\theta_j^{(t+1)}-\theta_j^*}",
    terms=(Term(name="before", expr=ERR_T),),
    failure=T / m,
    constants=(_bound_constant(c_2, "statistical floor"),),
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading=(
        "(1) gives $\\frac12\\norm{\\theta-\\theta^*}+\\mathrm{floor}\\le"
        "\\norm{\\theta-\\theta^*}$ "
        "only above twice the floor; at the floor fresh samples move it up as often as down. "
        "Every cluster is watched by itself: a run violates the statement when a step increases "
        "the error of some cluster that was above twice the floor."
    ),
)

STATEMENTS: tuple[Statement, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Statement)
)

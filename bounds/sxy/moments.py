"""Lemmas 3 and 6, Proposition 1 and (19): how far sample moments are from their expectations."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Term
from bounds.sxy.assumptions import prefactor, statement
from bounds.sxy.symbols import (
    C_1,
    C_2,
    C,
    N,
    alpha,
    d,
    delta,
    k,
    l,
    m,
    p,
    p_j,
    rank,
    sigma,
    u_1,
    u_2,
    v_a,
    v_b,
)

SCALE = delta**2 + sigma**2
HIDDEN = (
    "The $O$ hides a constant for each of the two terms, and the larger of the two serves both. "
    "$N$ counts all rows, those of the round among them, so that a union over the pairs of rows "
    "costs a factor $N$ at most. "
    "The cells have strictly sub-Gaussian features and noise, $\\Sigma_j\\preceq I$ and "
    "$2d\\le N^2$. "
    "With equal constants the second term is the larger one until there are $\\log^5N$ pairs for "
    "each dimension, and no cell has as many. So the trials cannot tell the symbols of the first "
    "term. Those of sxy.lemma3-sharp, which has one logarithm, do. "
)
#: Probabilities of failure that a few trials resolve.  A projection error is never far above its
#: median, and 32 trials without a failure resolve a third.
HALF, THIRD = sp.Rational(1, 2), sp.Rational(1, 3)
SHARP = (
    "Not in the paper: with a fixed probability of failure the first term needs no logarithm, and "
    "the second one instead of three. "
)
C_3, C_4 = sp.symbols("C_3 C_4")
TWO_CONSTANTS = (
    prefactor(C_1, "first term", high=1e4),
    prefactor(C_2, "second term", high=1e6),
)
ANCHOR_CONSTANTS = (
    prefactor(C_3, "first term of the anchor", high=1e4),
    prefactor(C_4, "second term of the anchor", high=1e6),
)


_WHOLE = sp.Integer(1)


def _rates(
    dimension: sp.Expr,
    sample: sp.Expr,
    share: sp.Expr = _WHOLE,
    constants: tuple[sp.Symbol, sp.Symbol] = (C_1, C_2),
    names: tuple[str, str] = ("first", "second"),
    *,
    sharp: bool = False,
) -> tuple[Term, Term]:
    """The two terms of the rate of a moment matrix in ``dimension`` from ``sample`` pairs."""
    ratio = dimension / sample
    first = ratio if sharp else ratio * sp.log(N)
    second = ratio * (sp.log(N) if sharp else sp.log(N) ** 3)
    return (
        Term(name=names[0], expr=constants[0] * SCALE * sp.sqrt(first) / share),
        Term(name=names[1], expr=constants[1] * SCALE * second / share),
    )


def _anchor_rates(*, sharp: bool = False) -> tuple[Term, Term]:
    """The terms of Lemma 6 beside those of Proposition 1."""
    names = ("anchor, first", "anchor, second")
    return _rates(k, l, constants=(C_3, C_4), names=names, sharp=sharp)


LEMMA_3 = statement(
    "sxy.lemma3",
    "Lemma 3: the moment matrix of the clients",
    "Lemma 3",
    kind="upper bound",
    quantifiers=r"\exists C_1,C_2\;\forall m,d,k,N\ge2m,p,\theta_t,\theta_j^*,\sigma",
    observed=r"\norm{Y_t-EY_t}",
    terms=_rates(d, m),
    failure=3 * N**-10,
    constants=TWO_CONSTANTS,
    reading=HIDDEN
    + (
        "Write $s=\\delta^2+\\sigma^2$. The matrix Bernstein inequality has the variance "
        "$112mds^2$, "
        "because $E\\norm{b}^2\\le7sd$ and $\\norm{E aa^\\top}\\le16s$ for $a=\\varepsilon_i$, "
        "$b=\\tilde\\varepsilon_i$. With $\\log(2dN^{10})\\le12\\log N$ its first term gives "
        "$C_1=52$. The products are cut at $1300sd\\log^2N$, which all of them meet with "
        "probability "
        "$1-N^{-10}$, and the second term gives $C_2=21000$. No cell tells $d$ from $k$ in the "
        "first term, or $m$ from $N$ and the logarithms in either: $\\log^3N$ makes the second "
        "as large as what is observed (sxy.lemma3-sharp tells $d$ and $m$)."
    ),
)

#: E|b|^2 and |E aa'| of a client with the error u_1: standard Gaussian features, no sub-Gaussian
#: constant.
SQUARE_OF_B, NORM_OF_A = (d + 2) * u_1**2 + d * sigma**2, 3 * u_1**2 + sigma**2

INDEPENDENCE_AS_PRINTED = statement(
    "sxy.lemma14-independence-as-printed",
    "Lemma 14 in Lemma 3: the two residuals of a client as independent vectors",
    "Lemma 14, its first condition, and the proof of Lemma 3",
    kind="deterministic",
    quantifiers=r"\forall d,p,\theta_t,\theta_j^*,\sigma",
    observed=r"\norm{E\,\norm{b_i}^2a_ia_i^\top}",
    terms=(
        Term(
            name="product",
            expr=sp.Mul(
                *(p * x + (1 - p) * x.subs(u_1, u_2) for x in (SQUARE_OF_B, NORM_OF_A)),
                evaluate=False,
            ),
        ),
    ),
    reading=(
        "Lemma 14 asks for two independent sequences and multiplies $E\\norm b^2$ by "
        "$\\norm{Eaa^\\top}$. "
        "The residuals $a_i$ and $b_i$ of a client share its label $z_i$, over which Lemma 3 takes "
        "the expectation. Two clusters have the shares $p$ and $1-p$ and errors along one line, of "
        "the lengths $u_1$ and $u_2$. Features are standard Gaussian."
    ),
)

GIVEN_LABEL = statement(
    "sxy.lemma14-given-label",
    "Lemma 14 in Lemma 3: the two residuals are independent given the label",
    "Lemma 14 and the proof of Lemma 3, corrected",
    kind="deterministic",
    quantifiers=INDEPENDENCE_AS_PRINTED.quantifiers,
    observed=INDEPENDENCE_AS_PRINTED.observed,
    terms=(Term(name="largest", expr=3 * (d + 2) * SCALE**2),),
    reading=(
        "Given the label the two are independent, so the product is that of one cluster, and the "
        "mean over the labels is at most the largest. $\\delta$ is the larger error. So Lemma 3 "
        "keeps its rate, and Lemma 14 needs $E[\\norm{b_i}^2\\mid z_i]=O(d)$ and "
        "$\\norm{E[a_ia_i^\\top\\mid z_i]}=O(1)$, which hold in the unit $\\delta_t^2+\\sigma^2$."
    ),
    uses=("sxy.lemma14-independence-as-printed",),
)

LEMMA_3_SHARP = LEMMA_3.variant(
    "sxy.lemma3-sharp",
    "Lemma 3 with one logarithm",
    "Lemma 3, sharpened",
    quantifiers=r"\exists C_1,C_2\;\forall m,d,k,N\ge2m,p,\theta_t,\theta_j^*,\sigma",
    terms=_rates(d, m, sharp=True),
    failure=HALF,
    reading=SHARP + "For $d\\gg m$ the rows are nearly orthogonal. Then "
    "$\\norm{Y_t}\\approx\\frac dm\\max_i|r_i\\tilde r_i|$ for the residuals $r_i,\\tilde r_i$ of "
    "the $m$ clients, and the largest of these products grows like $\\log m$.",
)

LEMMA_6 = statement(
    "sxy.lemma6",
    "Lemma 6: the moment matrix of an anchor in its subspace",
    "Lemma 6",
    kind="upper bound",
    quantifiers=r"\exists C_1,C_2\;\forall\ell,k,N\ge2\ell,\theta_t,\theta_j^*,\sigma,\hat U_t",
    observed=r"\norm{A_t-EA_t}",
    terms=_rates(k, l),
    failure=3 * N**-10,
    constants=TWO_CONSTANTS,
    reading=f"{HIDDEN}The proof's constants are those of Lemma 3. $\\delta$ stands for "
    "$\\norm{\\theta_j^*-\\theta_t}$ of the anchor's own cluster.",
    uses=("sxy.lemma3",),
)

LEMMA_6_SHARP = LEMMA_6.variant(
    "sxy.lemma6-sharp",
    "Lemma 6 with one logarithm",
    "Lemma 6, sharpened",
    terms=_rates(k, l, sharp=True),
    failure=HALF,
    reading=SHARP,
    uses=("sxy.lemma3-sharp",),
)

PROP_1 = statement(
    "sxy.prop1",
    "Proposition 1: the projection errors of all clusters",
    "Proposition 1",
    kind="upper bound",
    quantifiers=r"\exists C_1,C_2\;\forall m,d,k,N\ge2m,p,\theta_t,\theta_j^*,\sigma",
    observed=r"\max_j\frac{p_j}{p_{\min}}"
    r"\norm{(\hat U_t\hat U_t^\top-I)\Sigma_j(\theta_j^*-\theta_t)}^2",
    terms=_rates(d, m, p),
    failure=N**-10,
    constants=TWO_CONSTANTS,
    reading=f"{HIDDEN}Each cluster's error is multiplied by $p_j/p_{{\\min}}$, so that one bound "
    "serves all. Lemma 5 multiplies the proof's "
    "constants of Lemma 3 by 9: $C_1=500$ and $C_2=210000$. Twelve half steps are made. The last "
    "cluster's residual is as short as the deviation allows it to be lost.",
    uses=("sxy.lemma3", "sxy.lemma5-sharp"),
)

PROP_1_SHARP = PROP_1.variant(
    "sxy.prop1-sharp",
    "Proposition 1 with its first term and no logarithm",
    "Proposition 1, sharpened",
    quantifiers=r"\exists C_1\;\forall m,d,k,p,\theta_t,\theta_j^*,\sigma",
    terms=(Term(name="first", expr=C_1 * SCALE * sp.sqrt(d / m) / p),),
    failure=THIRD,
    constants=TWO_CONSTANTS[:1],
    reading="Not in the paper: where $m\\le d$ the term exceeds what any subspace can lose. So "
    "the second term is not needed.",
    uses=("sxy.lemma3-sharp",),
)

PROP_2_19 = statement(
    "sxy.prop2-19",
    "Proposition 2: the anchor's estimate of its residual",
    "Proposition 2, (19)",
    kind="upper bound",
    quantifiers=r"\exists C_1,\dots,C_4\;\forall m,\ell,d,k,N\ge2(m+\ell),p,"
    r"\theta_t,\theta_j^*,\sigma",
    observed=r"|\norm{\Sigma_j(\theta_j^*-\theta_t)}^2-\hat\sigma_t^2|",
    terms=(*_rates(d, m, p), *_anchor_rates()),
    failure=N**-10,
    constants=(*TWO_CONSTANTS, *ANCHOR_CONSTANTS),
    reading=(
        f"{HIDDEN}$\\hat\\sigma_t^2$ is the leading singular value of $A_t$. It differs by at most "
        "$\\norm{A_t-EA_t}$ from what the subspace keeps, so the proof's constants are those of "
        "Proposition 1 "
        "and of Lemma 6. The anchor belongs to the smallest cluster."
    ),
    uses=("sxy.prop1", "sxy.lemma6"),
)

PROP_2_19_SHARP = PROP_2_19.variant(
    "sxy.prop2-19-sharp",
    "Proposition 2: the anchor's estimate, with one logarithm",
    "Proposition 2, (19), sharpened",
    quantifiers=r"\exists C_1,C_3,C_4\;\forall m,\ell,d,k,N\ge2(m+\ell),p,"
    r"\theta_t,\theta_j^*,\sigma",
    terms=(*PROP_1_SHARP.terms, *_anchor_rates(sharp=True)),
    failure=THIRD,
    constants=(*TWO_CONSTANTS[:1], *ANCHOR_CONSTANTS),
    reading=SHARP,
    uses=("sxy.prop1-sharp", "sxy.lemma6-sharp"),
)

LOST = r"\max_jp_j\norm{(\hat U_t\hat U_t^\top-I)\Sigma_j(\theta_j^*-\theta_t)}^2"
#: How the first term falls with the clients where the dimension is the same.
_IN_CLIENTS = (Term(name="first", expr=C_1 * SCALE / sp.sqrt(m)),)

PROP_1_RATE_GAP = statement(
    "sxy.prop1-rate-gap",
    "Proposition 1: how the squared projection error falls with the clients, with a gap",
    "Proposition 1",
    kind="rate",
    quantifiers=r"\forall m\gg d/p^2",
    observed=LOST,
    terms=_IN_CLIENTS,
    constants=TWO_CONSTANTS[:1],
    reading="All residuals are equally long and orthogonal, so the eigengap of $EY_t$ is fixed. "
    "$C_1$ stands for the factor $\\sqrt{d\\log N}$. The exponent is that of $m/d$ at a fixed $d$: "
    "no power of $d$ beside it is tried.",
    uses=("sxy.prop1",),
)

LOST_LAST = r"p_{\min}\norm{(\hat U_t\hat U_t^\top-I)\Sigma_k(\theta_k^*-\theta_t)}^2"
#: Free dimensions, and the variance of an entry of Y beside a residual of length one.
free, entry = sp.symbols("free entry")
PROP_1_GAP = statement(
    "sxy.prop1-gap",
    "Proposition 1 with a gap: the squared projection error falls like 1/m",
    "Proposition 1, where all residuals are long (not in the paper)",
    kind="rate",
    quantifiers=r"\forall m",
    observed=LOST_LAST,
    relation="=",
    terms=(Term(name="gap", expr=C_1 * SCALE / m),),
    constants=TWO_CONSTANTS[:1],
    reading=(
        "The proposition has the square root of $d/m$, which only a residual too short to be seen "
        "needs. All residuals are orthogonal and as long as each other. $C_1$ stands for what $d$, "
        "$p$ and $\\sigma$ give, which are the same in all cells."
    ),
    uses=("sxy.prop1", "sxy.prop1-rate-gap"),
)
PROP_1_GAP_LAW = statement(
    "sxy.prop1-gap-law",
    "Proposition 1 with a gap: the squared projection error in all of its parameters",
    "Proposition 1, where all residuals are long (not in the paper)",
    kind="rate",
    quantifiers=r"\forall m,d,p,\sigma,\ \Sigma_j=I",
    observed=LOST_LAST,
    relation="=",
    terms=(Term(name="gap", expr=C_1 * SCALE * entry * free / (m * p)),),
    definitions={free: d - k, entry: (SCALE + 2 * p * delta**2) / delta**2},
    constants=TWO_CONSTANTS[:1],
    reading=(
        "To first order the subspace loses $(I-P)(Y-EY)v/(p\\norm v^2)$ of the smallest cluster's "
        "residual $v$. For Gaussian features and orthogonal residuals of one length an entry of "
        "it has the variance that gives $C_1=1$. So the clients that a given error needs "
        "grow like $d/p^2$."
    ),
    uses=("sxy.prop1-gap",),
)

PROP_1_RATE_NO_GAP = statement(
    "sxy.prop1-rate-no-gap",
    "Proposition 1: how the squared projection error falls with the clients, without a gap",
    "Proposition 1",
    kind="rate",
    quantifiers=r"\forall m\gg d/p^2",
    observed=LOST,
    relation="=",
    terms=_IN_CLIENTS,
    constants=TWO_CONSTANTS[:1],
    reading=(
        "One residual is as short as the deviation allows it to be lost, "
        "$p\\norm{v}^2\\propto\\sqrt{d/m}$. Then the rate of the proposition is attained. $C_1$ "
        "stands for the factor $\\sqrt{d\\log N}$. The exponent is that of $m/d$ at a fixed "
        "$d$: no power of $d$ beside it is tried."
    ),
    uses=("sxy.prop1",),
)

THRESHOLD_M = statement(
    "sxy.thm1-threshold-m",
    "Theorem 1: the clients that a round needs",
    "Theorem 1, (3)",
    kind="threshold",
    quantifiers=r"\forall d,p_{\min}",
    observed=r"m",
    terms=(Term(name="clients", expr=C * d / p**2),),
    constants=(prefactor(C, "clients"),),
    reading=(
        "A round works when the subspace keeps three quarters of every squared residual. The size "
        "at which it does so in half of the rounds must not grow faster than stated. (3) hides a "
        "logarithm, that of Lemma 3, so $d$ stands for $d\\log N$ here, with the rows $N$ of a "
        "round at $m=16d/p^2$. In $d$ alone the exponent of the thresholds is near 1.15 up to 56 "
        "dimensions."
    ),
    uses=("sxy.prop1",),
)

THRESHOLD_L = statement(
    "sxy.thm1-threshold-l",
    "Theorem 1: the points that an anchor needs",
    "Theorem 1, (3)",
    kind="threshold",
    quantifiers=r"\forall k",
    observed=r"\ell",
    terms=(Term(name="pairs", expr=C * k),),
    constants=(prefactor(C, "pairs"),),
    reading=(
        "The subspace is exact. A step works when the direction keeps three quarters of the "
        "squared "
        "residual and its sign is right. The size at which it does so in half of the steps must "
        "not "
        "grow faster than stated."
    ),
    uses=("sxy.lemma6",),
)

MEAN_OF_Y = statement(
    "sxy.mean-of-y",
    "The expectation of the clients' moment matrix",
    "Appendix A.4, first display",
    kind="deterministic",
    quantifiers=r"\forall d,k,p,\theta_t,\theta_j^*\;\forall\text{ laws of }\phi(x),\zeta\;"
    r"\forall a,b\le d",
    observed=r"(EY_t)_{ab}",
    relation="=",
    terms=(Term(name="sum over clusters", expr=p_j * v_a * v_b),),
    reading=(
        "The term is summed over the clusters. $v_a$ is the entry $a$ of "
        "$\\Sigma_j(\\theta_j^*-\\theta_t)$. The left side is the mean over all pairs of rows of a "
        "client, for laws with finitely many values."
    ),
)

SPAN = statement(
    "sxy.span",
    "The rank of the expected moment matrix, and its span",
    "Remark 1 and Appendix A.1",
    kind="deterministic",
    quantifiers=r"\forall d,k,p,\Sigma_j,\theta_t,\theta_j^*,\ p_j>0",
    observed=r"\mathrm{rank}[EY_t,\Sigma_1(\theta_1^*-\theta_t),\dots,\Sigma_k(\theta_k^*-\theta_t)]",
    relation="=",
    terms=(Term(name="rank", expr=rank),),
    reading=(
        "$r$ is the rank of the residuals $\\Sigma_j(\\theta_j^*-\\theta_t)$, at most $k$. It is "
        "also "
        "that of $EY_t$, so both have the same span. The search also compares the rank of $EY_t$ "
        "alone."
    ),
    uses=("sxy.mean-of-y",),
)
ONE_POINT = statement(
    "sxy.one-point",
    "One data point a client shows the residual only where the features' spread is small",
    'Remark 1, "crucially utilizes the fact that each client has at least two data points"',
    kind="deterministic",
    quantifiers=r"\forall\alpha,\sigma,\ k=1,d=2,\ \Sigma=\mathrm{diag}(\alpha,\beta)",
    observed=r"\max\{\beta:\ \text{the residual leads}\ E\varepsilon\varepsilon^\top\}",
    relation="=",
    terms=(
        Term(
            name="largest",
            expr=alpha * (3 * alpha * delta**2 + sigma**2) / (alpha * delta**2 + sigma**2),
        ),
    ),
    reading=(
        "With one row $E\\varepsilon\\varepsilon^\\top=(u^\\top\\Sigma u+\\sigma^2)\\Sigma+"
        "2\\Sigma uu^\\top\\Sigma$ takes the place of $EY$, for Gaussian features. The error $u$ "
        "is along the first axis, of length $\\delta$. Beyond the stated value, which lies between "
        "$\\alpha$ and $3\\alpha$, the leading direction is orthogonal to the residual. So two "
        "points are needed, as the remark says, where the covariance is not close to a multiple of "
        "the identity."
    ),
)

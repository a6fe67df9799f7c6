"""Lemma 11: the features and the noise of any few clients."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Term
from bounds.sxy.assumptions import prefactor, statement
from bounds.sxy.symbols import C, N, d, n, nu, sigma

SHARE = nu * sp.log(sp.E / nu)
#: (10) makes nu at least of this order; the proof uses it.
ENOUGH = Assumption(name="nu of order d/N", left=nu, right=d / N)
AT_MOST_ALL = Assumption(name="a share", left=sp.Integer(1), right=nu)

_PHI = {
    "quantifiers": r"\exists C\;\forall N,n,d,\nu",
    "observed": r"\sup_{N_I\le\nu N}\frac1N\norm{\phi(x_I)}^2",
    "terms": (Term(name="share", expr=C * SHARE),),
    "failure": 4 * sp.exp(-d),
    "assumptions": (ENOUGH, AT_MOST_ALL),
}

LEMMA_11_PHI = statement(
    "sxy.lemma11-phi",
    "Lemma 11: the features of any few clients",
    "Lemma 11, (37)",
    kind="probability",
    constants=(prefactor(C, "prefactor"),),
    reading=(
        "Gaussian features of covariance $I$. A search gives a lower limit of the supremum, and a "
        "union bound over all sets of rows limits the probability. With $C=16$ a root of the "
        "logarithm is not told apart."
    ),
    **_PHI,
)

LEMMA_11_PHI_SEARCHED = statement(
    "sxy.lemma11-phi-searched",
    "Lemma 11: the features of any few clients, with a small constant",
    "Lemma 11, (37)",
    kind="supremum",
    constants=(prefactor(C, "prefactor", high=3.0),),
    reading="A lower limit of the supremum against the statement with $C=3$.",
    **_PHI,
)


LEMMA_11_ZETA = statement(
    "sxy.lemma11-zeta",
    "Lemma 11: the noise of any few clients",
    "Lemma 11, (37)",
    kind="probability",
    quantifiers=r"\exists C\;\forall N,n,d,\nu,\sigma",
    reading="Gaussian noise, whose sub-Gaussian norm is a multiple of $\\sigma$. $C=9$ is "
    "exhibited, and the supremum tends to $2\\nu\\sigma^2\\log(e/\\nu)$. So a root of the "
    "logarithm is told apart for $\\nu<10^{-8}$ only, which no cell has.",
    observed=r"\sup_{N_I\le\nu N}\frac1N\norm{\zeta_I}^2",
    terms=(Term(name="share", expr=C * sigma**2 * SHARE),),
    failure=4 * sp.exp(-d),
    constants=(prefactor(C, "prefactor"),),
    assumptions=(ENOUGH, AT_MOST_ALL),
)

LEMMA_11_EQUAL_SIZES = statement(
    "sxy.lemma11-equal-sizes",
    "Lemma 11 without its logarithm, for clients of equal sizes",
    "Lemma 11, (37), where every client has log(e/nu) rows (not in the paper)",
    kind="probability",
    quantifiers=LEMMA_11_ZETA.quantifiers,
    observed=LEMMA_11_ZETA.observed,
    terms=(Term(name="share", expr=C * sigma**2 * nu),),
    failure=LEMMA_11_ZETA.failure,
    constants=(prefactor(C, "prefactor"),),
    assumptions=(
        ENOUGH,
        AT_MOST_ALL,
        Assumption(name="rows of a client", left=n, right=sp.log(sp.E / nu)),
    ),
    reading=(
        "The proof counts sets of rows, $\\binom N{\\nu N}$ of them. Only whole clients can be "
        "chosen: $\\binom M{\\nu M}\\le\\exp(\\frac Nn\\nu\\log\\frac e\\nu)\\le e^{\\nu N}$ "
        "sets. So "
        "$\\norm{\\zeta_I}\\le\\sigma(\\sqrt{\\nu N}+\\sqrt{2(\\nu N+d)})$ for all of them with "
        "probability $1-e^{-d}$, and $C=9$ for $\\nu N\\ge d$. The features lose their logarithm "
        "by "
        "the same count, and with them (13), (9) and (18): $\\nu$ takes the place of "
        "$\\nu\\log\\frac e\\nu$."
    ),
    uses=("sxy.lemma11-zeta",),
)

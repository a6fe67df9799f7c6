"""Lemma 11: the features and the noise of any few clients."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Term
from bounds.sxy.assumptions import prefactor, statement
from bounds.sxy.symbols import C, N, d, nu, sigma

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
        "union bound over all sets of rows limits the probability."
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
    reading="Gaussian noise, whose sub-Gaussian norm is a multiple of $\\sigma$.",
    observed=r"\sup_{N_I\le\nu N}\frac1N\norm{\zeta_I}^2",
    terms=(Term(name="share", expr=C * sigma**2 * SHARE),),
    failure=4 * sp.exp(-d),
    constants=(prefactor(C, "prefactor"),),
    assumptions=(ENOUGH, AT_MOST_ALL),
)

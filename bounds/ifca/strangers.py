r"""Proof of Theorem 1 of IFCA, second part: clients that are identified with a wrong cluster.

:math:`T_2` is the part of a step that these strangers contribute: the gradient of one (7), their
sum (8), their expected number (10) and the probability that there is none (12).
"""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import ASSUMPTION_2, CLOSENESS, prefactor, rate, statement
from bounds.ifca.symbols import (
    C_N,
    SIGNAL,
    C_d,
    C_n,
    C_p,
    C_sigma,
    C_theta,
    c_1,
    c_2,
    c_5,
    c_6,
    c_7,
    c_8,
    d,
    gamma,
    m,
    n,
    p,
    sigma,
    theta_max,
)
from bounds.statement import Assumption, Term

#: What Assumption 2 says of the optima and of the noise.
_BOUNDED = (
    Assumption(name="bounded optima", left=sp.Integer(1), right=theta_max, constant=C_theta),
    Assumption(name="bounded noise", left=sp.Integer(1), right=sigma, constant=C_sigma),
)

EQ_7 = statement(
    "ifca.eq7",
    "Proof of Theorem 1: gradient of one misidentified client",
    "(7)",
    kind="probability",
    quantifiers=r"\exists c_1,c_2,c_5>0\;\forall n',d",
    observed=r"\norm{\nabla F_i(\theta_1)}",
    terms=(Term(name="norm", expr=c_5 * sp.Max(1, d / n)),),
    failure=c_1 * sp.exp(-c_2 * sp.Min(d, n)),
    constants=(
        prefactor(c_1, "prefactor"),
        rate(c_2, "rate"),
        prefactor(c_5, "size"),
    ),
    assumptions=_BOUNDED,
    uses=(
        "ifca.lemma2-opnorm",
        "ifca.lemma2-noise",
    ),
)

STRANGERS = sp.Symbol("strangers")

EQ_8 = statement(
    "ifca.eq8",
    "Proof of Theorem 1: the contribution of the misidentified clients",
    "(8)",
    kind="probability",
    quantifiers=r"\exists c_5>0\;\forall m,n',d,k,\gamma,S_1",
    observed=r"\norm{T_2}",
    terms=(Term(name="strangers", expr=c_5 * gamma / m * STRANGERS * sp.Max(1, d / n)),),
    failure=1 / m,
    constants=(prefactor(c_5, "size of one gradient"),),
    assumptions=(
        *_BOUNDED,
        Assumption(name="enough samples", left=n, right=sp.log(m), constant=C_n),
        Assumption(name="dimension", left=d, right=sp.log(m), constant=C_d),
    ),
    reading=(
        "The cells lie outside Assumption 2, where misidentified clients are certain. Under "
        "Assumption 2 no client is misidentified, so the third term of (1) is not needed."
    ),
    uses=("ifca.eq7",),
)

EQ_9 = EQ_8.variant(
    "ifca.eq9",
    "Proof of Theorem 1: the contribution of the misidentified clients, in their number alone",
    "(9)",
    quantifiers=r"\exists c_5>0\;\forall m,n',d,k,p_j,S_1,\ \gamma=c_1/p",
    terms=(Term(name="strangers", expr=c_5 * STRANGERS),),
    assumptions=(
        *EQ_8.assumptions,
        Assumption(name="smallest cluster", left=p, right=sp.log(m) / m, constant=C_p),
        Assumption(name="samples per cluster", left=p * m * n, right=d, constant=C_N),
    ),
    reading=(
        "$\\frac\\gamma m\\max(1,d/n')=c_1\\max(\\frac1{pm},\\frac d{pmn'})$ is of order one. The "
        "cells have many strangers, as those of ifca.eq8. They tell a further factor $1/k$ and not "
        "$1/\\sqrt k$: with $pm\\gtrsim\\log m$ that takes thousands of clusters."
    ),
    uses=("ifca.eq8",),
)

T2_FINAL = EQ_9.variant(
    "ifca.t2",
    "Proof of Theorem 1: the final bound on the misidentified clients' contribution",
    "last display of the part on T2",
    quantifiers=r"\exists c_1,c_2>0\;\forall m,n',d,k,p_j,\rho,\alpha",
    terms=(Term(name="tail", expr=c_1 * sp.exp(-c_2 * SIGNAL)),),
    constants=(prefactor(c_1, "prefactor"), rate(c_2, "rate")),
    assumptions=(*CLOSENESS, *ASSUMPTION_2),
    reading=(
        "Under Assumption 2 there is no stranger but with probability $1/m$, so the contribution "
        "is zero and every bound holds."
    ),
    uses=("ifca.eq9", "ifca.eq12"),
)

EQ_10 = statement(
    "ifca.eq10",
    "Proof of Theorem 1: expected number of strangers in a cluster",
    "(10)",
    kind="deterministic",
    quantifiers=r"\exists c_6,c_7>0\;\forall m,n',\rho,\alpha,k",
    observed=r"E|S_1\cap\overline{S_1^*}|",
    terms=(Term(name="count", expr=c_6 * m * sp.exp(-c_7 * SIGNAL)),),
    constants=(prefactor(c_6, "prefactor"), rate(c_7, "rate")),
    assumptions=CLOSENESS,
    uses=("ifca.lemma1",),
)

EQ_12 = statement(
    "ifca.eq12",
    "Proof of Theorem 1: no strangers at all, by Markov's inequality",
    "(11)-(12)",
    kind="deterministic",
    quantifiers=r"\exists c_8>0\;\forall m,n',\rho,\alpha,k",
    observed=r"P(|S_1\cap\overline{S_1^*}|\ge1)",
    terms=(Term(name="tail", expr=sp.exp(-c_8 / 2 * SIGNAL)),),
    constants=(rate(c_8, "rate"),),
    assumptions=(
        *CLOSENESS,
        Assumption(name="samples per client", left=SIGNAL, right=sp.log(m), constant=C_n),
    ),
    reading=(
        "The count is an integer, so it is zero when it is below one. The printed probability is "
        "$\\ge 1-\\mathrm{poly}(m)$, which holds trivially. The proof means "
        "$1-1/\\mathrm{poly}(m)$."
    ),
    uses=("ifca.eq10",),
)

Q = sp.Symbol("q")
POLY_M = statement(
    "ifca.poly-m",
    "Theorem 1: all identities are right but for 1/poly(m), of any degree",
    "Theorem 1 with the paper's definition of poly(m)",
    kind="deterministic",
    quantifiers=r"\forall q\ge1\;\exists C_n\;\forall m,n',k,\rho,\alpha",
    observed=r"P(\exists i:\overline{\mathcal{E}_i})",
    terms=(Term(name="polynomial", expr=m**-Q),),
    assumptions=(
        *CLOSENESS,
        Assumption(
            name="samples per client", left=SIGNAL, right=(Q + 2) / 3 * sp.log(m), constant=C_n
        ),
    ),
    reading=(
        "The paper's $\\mathrm{poly}(m)$ is a polynomial of arbitrarily large constant degree. "
        "Monte Carlo trials resolve the first degree at best. The exact law decides every degree "
        "$q$, with $C_n(q+2)/3$ in place of $C_n$. The other failures, of order $e^{-cd}$ and "
        "$e^{-cpm}$, follow from ifca.lemma2-noise, ifca.eq4 and ifca.eq3 with $C_d,C_p$ growing "
        "like $q$."
    ),
    uses=("ifca.lemma1-union",),
)

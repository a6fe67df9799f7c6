"""Lemma 2 of IFCA: the norms of Gaussian matrices."""

from __future__ import annotations

import sympy as sp

from bounds.gaussian import N
from bounds.ifca.assumptions import prefactor, rate, statement
from bounds.ifca.symbols import c, c_1, c_2, c_3, c_4, d
from bounds.statement import Term

LEMMA_2_OPNORM = statement(
    "ifca.lemma2-opnorm",
    "Lemma 2: operator norm of a Gaussian matrix",
    "Lemma 2, first part",
    kind="probability",
    quantifiers=r"\exists c,c_1>0\;\forall N,d",
    observed=r"\norm{X}_{op}",
    terms=(Term(name="norm", expr=c * sp.Max(sp.sqrt(d), sp.sqrt(N))),),
    failure=2 * sp.exp(-c_1 * sp.Max(d, N)),
    constants=(prefactor(c, "prefactor"), rate(c_1, "rate")),
)

LEMMA_2_NOISE = statement(
    "ifca.lemma2-noise",
    "Lemma 2: the noise term",
    "Lemma 2, second part",
    kind="deterministic",
    quantifiers=r"\exists c_2,c_3,c_4>0\;\forall N,d,\sigma",
    observed=r"P(\norm{X^\top\epsilon}>c_4\sigma\sqrt{dN})",
    terms=(Term(name="tail", expr=c_2 * sp.exp(-c_3 * sp.Min(d, N))),),
    constants=(
        prefactor(c_2, "prefactor"),
        rate(c_3, "rate"),
        prefactor(c_4, "multiple of the typical size"),
    ),
    uses=("ifca.lemma2-opnorm", "ifca.eq20"),
)

RANK, DEVIATION = sp.symbols("r tau")

HANSON_WRIGHT = statement(
    "ifca.eq20",
    "Proof of Lemma 2: concentration of the noise term about its typical size",
    "(18) in print, (20) in the preprint (Hanson and Wright's inequality)",
    kind="deterministic",
    quantifiers=r"\exists c>0\;\forall X,\sigma,\ \tau\ge0,\ t=\tau\sigma\norm{X}_{op}",
    observed=r"P(|\norm{X^\top\epsilon}-\sigma\norm{X}_F|>t\mid X)",
    terms=(Term(name="tail", expr=2 * sp.exp(-c * DEVIATION**2)),),
    constants=(rate(c, "rate"),),
    reading=(
        "Given X the squared norm is a weighted sum of squared normal variables, with the squared "
        "singular values of $\\sigma X$ as weights. Chernoff's bound gives each side's tail at "
        "most $e^{-\\tau^2/2}$, so $c=1/2$ serves for every X. No larger $c$ does: a single normal "
        "variable ($r=1$) exceeds $1+\\tau$ with a probability of order $e^{-\\tau^2/2-\\tau}$. "
        "Tried on X of rank r with equal singular values, whose law is a chi distribution with r "
        "degrees of freedom, and $r=1$ among them."
    ),
)

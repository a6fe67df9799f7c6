"""Lemmas 4, 5 and 15: orthogonal iteration, its gap-free projection errors, and its start."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Term
from bounds.sxy.assumptions import prefactor, rate, statement
from bounds.sxy.symbols import (
    C,
    C_f,
    H,
    N,
    c,
    cosine,
    d,
    delta_f,
    epsilon,
    gamma_0,
    k,
    l,
    q,
    t,
)

ANGLE = (
    Assumption(name="angle", left=gamma_0, right=sp.Integer(0)),
    Assumption(name="no right angle", left=sp.pi / 2, right=gamma_0, strict=True),
    Assumption(name="gap", left=sp.Integer(1), right=q, strict=True),
)
DISTANCE = r"\norm{Q_tQ_t^\top-U_1U_1^\top}"

LEMMA_4_AS_PRINTED = statement(
    "sxy.lemma4-as-printed",
    "Lemma 4: convergence of orthogonal iteration, as printed",
    "Lemma 4",
    kind="deterministic",
    quantifiers=r"\forall Y,k,Q_0\;\forall t",
    observed=DISTANCE,
    terms=(Term(name="distance", expr=sp.tanh(gamma_0) * q**t),),
    assumptions=ANGLE,
    reading=(
        "The print has $\\tanh(\\theta)$. $\\theta$ is not defined, and $\\gamma$ is the only "
        "angle of "
        "the lemma."
    ),
)

LEMMA_4 = statement(
    "sxy.lemma4",
    "Lemma 4: convergence of orthogonal iteration",
    "Lemma 4, corrected to the tangent",
    kind="deterministic",
    quantifiers=LEMMA_4_AS_PRINTED.quantifiers,
    observed=DISTANCE,
    terms=(Term(name="distance", expr=sp.tan(gamma_0) * q**t),),
    assumptions=ANGLE,
    reading=(
        "The cited theorem (Golub & Van Loan 2013, Theorem 8.2.2) and the proof of Lemma 5 have "
        "the "
        "tangent."
    ),
)

PROJECTION = r"\max_i\norm{Q_tQ_t^\top x_i-x_i}"
NEAR = r"\norm{M-\sum_{i\le k}x_ix_i^\top}\le\epsilon"
THREE_ROOTS = (Term(name="projection", expr=3 * sp.sqrt(epsilon)),)
START_FAILURE = C_f * N**-10

LEMMA_5_AS_PRINTED = statement(
    "sxy.lemma5-as-printed",
    "Lemma 5: the gap-free bound, for any accuracy",
    "Lemma 5",
    kind="probability",
    quantifiers=rf"\exists C,C'>0\;\forall M,x_i,\ {NEAR},\ \norm{{x_i}}\le H",
    observed=PROJECTION,
    terms=THREE_ROOTS,
    definitions={t: C * k * sp.log(d * N * H / epsilon)},
    failure=START_FAILURE,
    constants=(
        prefactor(C, "iterations"),
        prefactor(C_f, "multiple of $N^{-10}$"),
    ),
    reading=(
        "$H$ has the unit of $x_i$, and $\\epsilon$ has its square. In a large unit the logarithm "
        "is "
        "zero or negative, and the lemma asks for no iteration at all. Its proof bounds a term by "
        "$\\epsilon$ and then by a multiple of $\\sqrt\\epsilon$, which needs "
        "$\\epsilon\\lesssim1$."
    ),
    uses=("sxy.lemma4", "sxy.lemma15"),
)

LEMMA_5 = statement(
    "sxy.lemma5",
    "Lemma 5: the gap-free bound, for any accuracy and in any unit",
    "Lemma 5, corrected by the unit",
    kind="probability",
    quantifiers=LEMMA_5_AS_PRINTED.quantifiers,
    observed=PROJECTION,
    terms=THREE_ROOTS,
    definitions={t: C * k * sp.log(d * N * sp.Max(1, H / sp.sqrt(epsilon)))},
    failure=START_FAILURE,
    constants=LEMMA_5_AS_PRINTED.constants,
    reading=(
        "$H/\\sqrt\\epsilon$ has no unit. The proof of the lemma gives $C=16$ and $C'=3.35$ for "
        "$dN\\ge2$. It needs $\\tan\\gamma(1+1/k)^{-2t}H\\le\\sqrt\\epsilon$, and Lemma 15 bounds "
        "$\\tan\\gamma$ by $22dN^{11}$. The law of the start gives $C=5/2$, with which the lemma "
        "is tried. With it the lemma also holds without $k$ and without $H$ (sxy.lemma5-sharp), "
        "and up to $d=10^9$ without $d$."
    ),
    uses=("sxy.lemma4", "sxy.lemma15"),
)

LEMMA_5_SHARP = statement(
    "sxy.lemma5-sharp",
    "Lemma 5: the gap-free bound without the factor k",
    "Lemma 5, corrected and sharpened",
    kind="deterministic",
    quantifiers=rf"\forall M,x_i,\ {NEAR}\;\forall Q_0",
    observed=PROJECTION,
    terms=THREE_ROOTS,
    definitions={t: sp.log(1 / cosine) / (2 * sp.log(8))},
    reading=(
        "$\\cos\\gamma_0=\\sigma_{\\min}(U_k^\\top Q_0)$ for the top $k$ left singular vectors of "
        "$M$. "
        "Let $P=I-Q_tQ_t^\\top$ and $B=(MM^\\top)^t$. Then "
        "$\\norm{Px_i}^2\\le\\epsilon+\\norm{PM}$, because $u^\\top\\sum_ix_ix_i^\\top "
        "u\\le\\epsilon+"
        "u^\\top Mu$ for $u$ in the range of $P$. Moreover $\\norm{PM}^{2t}\\le\\norm{PB}\\le"
        "\\sigma_{k+1}^{2t}/\\cos\\gamma_0$ (Halko, Martinsson & Tropp 2011, Proposition 8.6 and "
        "Theorem 9.1), and $\\sigma_{k+1}\\le\\epsilon$. So $2t\\log8\\ge\\log(1/\\cos\\gamma_0)$ "
        "gives $\\norm{Px_i}^2\\le9\\epsilon$. Neither $k$ nor $H$ occurs. With Lemma 15 the "
        "logarithm is of order $\\log(Nd)$, so $T_1=\\Omega(\\log(Nd))$ is enough."
    ),
)

ROUNDS_IN_K = statement(
    "sxy.rounds-in-k",
    "Theorem 1: how the half steps grow with the number of clusters",
    "Theorem 1, (3), and Proposition 1",
    kind="rate",
    quantifiers=r"\forall k,d",
    observed=r"T_1",
    terms=(Term(name="half steps", expr=C * k),),
    constants=(prefactor(C, "half steps"),),
    reading=(
        "The print says that $\\Omega(k\\log(Nd))$ half steps are enough. The needed number is "
        "that at which all projection errors fall to $3\\sqrt\\epsilon$. $C$ stands for the factor "
        "$\\log(Nd)$, because the dimension is the same in each comparison."
    ),
    uses=("sxy.lemma5-sharp",),
)

LEMMA_15 = statement(
    "sxy.lemma15",
    "Lemma 15: the angle between a subspace and a random one",
    "Lemma 15",
    kind="probability",
    quantifiers=r"\exists c,C'>0\;\forall d,\ell,\epsilon",
    observed=r"\sigma_{\min}(U^\top Q)",
    relation=r"\ge",
    terms=(
        Term(
            name="angle",
            expr=c * delta_f / (sp.sqrt(l) * (sp.sqrt(d) + sp.log(1 / delta_f))),
        ),
    ),
    failure=C_f * delta_f,
    constants=(
        prefactor(C_f, "multiple of the probability"),
        rate(c, "smallest angle"),
    ),
    reading=(
        "The smallest singular value of an $\\ell\\times\\ell$ Gaussian matrix is below "
        "$\\epsilon/\\sqrt\\ell$ with probability at most $2.35\\epsilon$ (Sankar, Spielman & Teng "
        "2006), and the largest of a $d\\times\\ell$ one is above $\\sqrt d+\\sqrt\\ell+"
        "\\sqrt{2\\log(1/\\epsilon)}$ with probability at most $\\epsilon$. So $c=1/2$ and "
        "$C'=3.35$. "
        "The symbol $\\delta$ stands for the lemma's $\\epsilon$."
    ),
)

LEMMA_15_LINE = statement(
    "sxy.lemma15-line",
    "Lemma 15: the angle between two lines",
    "Lemma 15, $\\ell=1$",
    kind="probability",
    quantifiers=r"\exists c,C'>0\;\forall d,\epsilon",
    observed=r"P(|U^\top Q|<\cdot)",
    terms=(Term(name="failure", expr=C_f * delta_f),),
    definitions={cosine: LEMMA_15.expr.subs(l, 1)},
    constants=LEMMA_15.constants,
    reading=(
        "For $\\ell=1$ the square of $U^\\top Q$ has the law Beta$(1/2,(d-1)/2)$. Its density at "
        "zero "
        "gives $c=1$ and $C'=1$."
    ),
    uses=("sxy.lemma15",),
)

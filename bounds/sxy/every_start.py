"""Theorem 1 and Proposition 1 when one event serves every start."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Term
from bounds.sxy.assumptions import prefactor, rate, statement
from bounds.sxy.symbols import C, c, d, m

#: Far more clients than the d log N of (3), as d grows.
CLIENTS = d**2 / 10

EVERY_START_AS_PRINTED = statement(
    "sxy.every-start-as-printed",
    "Theorem 1: a round from any start when one event serves all of them, as printed",
    "Theorem 1, the order of its quantifiers, and Proposition 1",
    kind="rate",
    quantifiers=r"P(\forall\theta_0,\ \norm{\theta_0}\le R:\ \dots)\ge1-O(N^{-9})",
    observed=r"E\max_j\norm{(I-\hat U\hat U^\top)v_j}^2/\norm{v_j}^2",
    terms=(Term(name="lost", expr=C * sp.sqrt(d / m)),),
    definitions={m: CLIENTS},
    constants=(prefactor(C, "lost share"),),
    reading=(
        "The print has the probability before the starts. Theorem 2 has it there too, and one "
        "event does serve all its starts. So a start may depend on the data. The rate is that of "
        "Proposition 1, on which the theorem rests, with $v_j=\\Sigma_j(\\theta_j^*-\\theta_0)$. "
        "$C$ stands for $\\sqrt{\\log N}$. With $m=d^2/10$ clients the share that the subspace "
        "loses must fall like $d^{-1/2}$. Two clusters of equal shares, $R=2\\Delta$ and "
        "$\\sigma=\\Delta/2$ are fixed."
    ),
    uses=("sxy.prop1",),
)

EVERY_START = statement(
    "sxy.every-start",
    "Theorem 1: a round of d²/10 clients fails from a start that the data choose",
    "Theorem 1, for starts that may depend on the data (not in the paper)",
    kind="rate",
    quantifiers=r"\exists\theta_0(\text{data}),\ \norm{\theta_0}\le R",
    observed=EVERY_START_AS_PRINTED.observed,
    relation=r"\ge",
    terms=(Term(name="lost", expr=c * d**2 / m),),
    definitions={m: CLIENTS},
    constants=(rate(c, "lost share"),),
    reading=(
        "The share does not fall with $d$, so $m$ of order $d^2$ is needed. Let $\\theta_0=Rw$ "
        "with $w$ between the two rows of one client. Its residuals are close "
        "to $-R\\langle x_{i1},w\\rangle$ and $-R\\langle x_{i2},w\\rangle$, each of order "
        "$R\\sqrt d$, and its part of $Y$ has the norm $R^2d^2/m$. With $k$ such clients the $k$ "
        "singular vectors are rows of theirs while $m\\le c'd^2/k$, and the subspace keeps no more "
        "of $\\theta_0$ than $w$ has along the first rows. A start can be tuned to clients of all "
        "$T=\\Theta(1)$ rounds, which divides $c'$ by $T$. A start that is drawn before the data, "
        "as the proof assumes it, needs $m$ of order $d$."
    ),
    uses=("sxy.prop1",),
)

"""Algorithm 2 of IFCA: gradient averaging, model averaging and random subsets of the clients."""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import statement
from bounds.ifca.symbols import gamma, m
from bounds.statement import Term

LABELLED, PARTICIPANTS = sp.symbols("labelled participants")

OPTION_EQUALITY = statement(
    "ifca.alg2-option-equality",
    "Model averaging with one local step is gradient averaging with another step",
    "Algorithm 2, options I and II, $\\tau=1$",
    kind="deterministic",
    quantifiers=r"\forall\gamma,m,n',d,k,M_t,\theta^{(t)},\ S_j\ne\emptyset",
    observed=r"\gamma_{\mathrm{II}}",
    relation="=",
    terms=(Term(name="step", expr=gamma * LABELLED / m),),
    reading=(
        "$\\gamma_{\\mathrm{II}}$ is the step with which option II makes the step that option I "
        "makes with $\\gamma$. So one $\\gamma$ means a longer step in option II, by the factor "
        "$m/|S_j|$."
    ),
)
PARTICIPATION = statement(
    "ifca.alg2-participation",
    "A random subset shortens the mean step of gradient averaging",
    "Algorithm 2, option I, $M_t$",
    kind="deterministic",
    quantifiers=r"\forall\gamma,m,|M_t|,n',d,k,\theta^{(t)}",
    observed=r"E_{M_t}[\theta_j^{(t+1)}-\theta_j^{(t)}]\ \text{over that of}\ M_t=[m]",
    relation="=",
    terms=(Term(name="share", expr=PARTICIPANTS / m),),
    reading=(
        "Option I divides by $m$ and not by the number of participants. $M_t=[m]$ is full "
        "participation. With fewer clients the direction is right on average, and the step is "
        "shorter by the share of the participants, so a run takes as many times more rounds."
    ),
)

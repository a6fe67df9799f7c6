"""Local steps of Phase 2: Lemma 1, the matrix P, gamma and kappa, and savings."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Term
from bounds.sxy.assumptions import STABLE_STEP, statement
from bounds.sxy.symbols import (
    KAPPA_FEDAVG,
    KAPPA_FEDPROX,
    P_avg,
    P_prox,
    d,
    eta,
    gamma,
    gamma_rest,
    kappa,
    kappa_prox,
    lambda_ij,
    least,
    least_G,
    pull,
    s,
    x,
)

STEP_INDEX = sp.Symbol("i")


def filters(weight: sp.Expr) -> dict[sp.Symbol, sp.Expr]:
    """P's eigenvalue for both rules where the client's Gram matrix has x, with a label's weight."""
    powers = sp.Sum((1 - eta * weight * x) ** STEP_INDEX, (STEP_INDEX, 0, s - 1))
    return {P_avg: powers, P_prox: 1 / (1 + eta * weight * x)}


_RECURSION = {
    "kind": "deterministic",
    "observed": r"\theta_{j,t}-\theta_{j,t-1}",
    "relation": "=",
    "terms": (Term(name="step", expr=eta * pull),),
}

LEMMA_1 = statement(
    "sxy.lemma1",
    "Lemma 1: a round is one linear step",
    "Lemma 1, (11)",
    quantifiers=r"\forall\phi(x),y,\theta_{t-1},\eta,s,n_i,\text{ hard labels}",
    definitions=filters(sp.Integer(1)),
    **_RECURSION,
)

LEMMA_1_SOFT = statement(
    "sxy.lemma1-soft",
    "Lemma 1 with labels of any weights, the weight inside P",
    "Lemma 1, (11), with the generic likelihoods of Phase 2",
    quantifiers=r"\forall\phi(x),y,\theta_{t-1},\eta,s,n_i,\ \lambda_{i,t}\in\Delta^{k-1}",
    definitions=filters(lambda_ij),
    reading=(
        "A client's local steps use the gradient of $\\lambda_{ij,t}\\norm{y_i-\\phi(x_i)\\theta_j}"
        "^2/(2n_i)$, so that $P_i$ has $\\eta\\lambda_{ij,t}$ in the place of $\\eta$. For hard "
        "labels nothing changes."
    ),
    **_RECURSION,
)

_TELESCOPE = {
    "kind": "deterministic",
    "quantifiers": r"\forall s,\text{ eigenvalues }x\text{ of }X",
    "observed": "1-(1-x)^s",
    "relation": "=",
}

TELESCOPE_AS_PRINTED = statement(
    "sxy.telescope-as-printed",
    "Proof of Lemma 1: the telescoping sum",
    "proof of Lemma 1, (a) of FedAvg",
    terms=(Term(name="sum", expr=sp.Sum((1 - x) ** STEP_INDEX * x, (STEP_INDEX, 0, s))),),
    **_TELESCOPE,
)

TELESCOPE = statement(
    "sxy.telescope",
    "Proof of Lemma 1: the telescoping sum with s terms",
    "proof of Lemma 1, (a) of FedAvg, corrected",
    terms=(Term(name="sum", expr=sp.Sum((1 - x) ** STEP_INDEX * x, (STEP_INDEX, 0, s - 1))),),
    reading="The sum ends at $s-1$, as in the definition of $P_i$.",
    **_TELESCOPE,
)

_KAPPA = {kappa: KAPPA_FEDAVG, kappa_prox: KAPPA_FEDPROX}

P_SPECTRUM_LOWER = statement(
    "sxy.p-spectrum-lower",
    "The smallest eigenvalue of P",
    "proof of Lemma 7, from [SXY21, Lemma 3]",
    kind="deterministic",
    quantifiers=r"\forall\phi(x),s,\ \gamma<1",
    observed=r"\lambda_{\min}(P_i)",
    relation=r"\ge",
    terms=(Term(name="stability", expr=s / kappa),),
    definitions=_KAPPA,
    assumptions=(STABLE_STEP,),
)

P_SPECTRUM_UPPER = statement(
    "sxy.p-spectrum-upper",
    "The largest eigenvalue of P",
    "proof of Lemma 7, from [SXY21, Lemma 3]",
    kind="deterministic",
    quantifiers=r"\forall\phi(x),s,\ \gamma<1",
    observed=r"\lambda_{\max}(P_i)",
    terms=(Term(name="local steps", expr=s),),
    assumptions=(STABLE_STEP,),
)

KAPPA_AT_LEAST_ONE = statement(
    "sxy.kappa-at-least-one",
    "kappa is at least one",
    "Section 4.2, after the definition of kappa",
    kind="deterministic",
    quantifiers=r"\forall s,\ \gamma<1",
    observed=r"\kappa",
    relation=r"\ge",
    terms=(Term(name="one", expr=sp.Integer(1)),),
    definitions=_KAPPA,
    assumptions=(STABLE_STEP,),
)

VERTEX = statement(
    "sxy.vertex",
    "The best likelihoods are a vertex of the simplex",
    "(7) and (8)",
    kind="deterministic",
    quantifiers=r"\forall\phi(x_i),y_i,\theta_{t-1},\ \lambda\in\Delta^{k-1}",
    observed=r"L(\theta_{t-1},\lambda;D_i)",
    relation=r"\ge",
    terms=(Term(name="vertex", expr=least),),
)

#: Rounds of Theorem 3 without rho and the logarithm, in units of the largest curvature, so that
#: eta is gamma.
ROUNDS = KAPPA_FEDAVG / (s * gamma)

NO_SAVING = statement(
    "sxy.no-saving",
    "No number of local steps needs fewer rounds than the best single step",
    "after Theorem 3, corrected",
    kind="deterministic",
    quantifiers=r"\forall s,\ \gamma<1",
    observed=r"\frac{\kappa}{s\eta}\max_i\frac{\norm{\phi(x_i)}^2}{n_i}",
    relation=r"\ge",
    terms=(Term(name="one local step", expr=sp.Integer(1)),),
    definitions={kappa: KAPPA_FEDAVG},
    assumptions=(STABLE_STEP,),
    reading=(
        "$\\kappa/(s\\eta)$ is the largest curvature over $1-(1-\\gamma)^s$. So the theorem's "
        "number of rounds is never below that of single steps of the largest size."
    ),
)

SAVING_SAME_STEP = statement(
    "sxy.saving-same-step",
    "At one step size, more local steps need fewer rounds",
    "after Theorem 3, at a fixed step size",
    kind="deterministic",
    quantifiers=r"\forall s,\ \gamma<1",
    observed=r"\left.\frac{\kappa}{s\eta}\right|_{2s}",
    terms=(Term(name="rounds", expr=ROUNDS),),
    definitions={kappa: KAPPA_FEDAVG},
    assumptions=(STABLE_STEP,),
    reading=(
        "The sentence does not say with which step size single steps are compared. With the same "
        "one it is true."
    ),
)

KAPPA_OF_MOST = statement(
    "sxy.kappa-of-most",
    "The decrease is that of the clients that hold most rows",
    "Lemma 7, with the stability of some of the clients (not in the paper)",
    kind="deterministic",
    quantifiers=r"\forall\phi(x),s,\ G\subseteq I_j,\ \gamma<1,\ \gamma_{I_j\setminus G}\le2",
    observed=r"\lambda_{\min}(K_j)",
    relation=r"\ge",
    terms=(Term(name="decrease", expr=s * least_G / kappa),),
    definitions=_KAPPA,
    assumptions=(
        STABLE_STEP,
        Assumption(name="step of the other clients", left=sp.Integer(2), right=gamma_rest),
    ),
    reading=(
        "Here $\\gamma$ and $\\kappa$ are those of the clients in $G$, any part of the cluster, "
        "and $\\lambda_G=\\lambda_{\\min}(\\frac1N\\sum_{i\\in G}\\phi(x_i)^\\top\\phi(x_i))$. "
        "While the step of the others is at most 2, they add positive semidefinite matrices to "
        "$K_j$: $1-(1-x)^s\\ge0$ for $0\\le x\\le2$. Above 2 an even number of steps adds a "
        "negative eigenvalue. So Theorem 2 holds with the $\\kappa$ of clients that hold most rows "
        "of each cluster."
    ),
    uses=("sxy.p-spectrum-lower",),
)

KAPPA_ONE_ROW = statement(
    "sxy.kappa-one-row",
    "One client with a single row makes the stated decrease many times too small",
    "Theorem 2, (9), where one client has one row (not in the paper)",
    kind="deterministic",
    quantifiers=r"\forall d,s,\ \gamma<1",
    observed=r"\frac{\kappa N}{sN_j}\lambda_{\min}(K_j)",
    relation=r"\ge",
    terms=(Term(name="factor", expr=(1 - sp.exp(-1)) * sp.Min(d, s * gamma)),),
    definitions={kappa: KAPPA_FEDAVG},
    assumptions=(STABLE_STEP,),
    reading=(
        "All clients but one have many rows, with the Gram matrix $n_iI$. One client has a single "
        "row of length $\\sqrt d$. It is the $\\gamma$ and the $\\kappa$ of all, but no part of "
        "the "
        "data: $N_j$ counts the rows of the others. The abstract's clients of $O(1)$ rows are such "
        "clients, and more local steps than $d$ save nothing by the bound. In fact they do."
    ),
    uses=("sxy.kappa-of-most",),
)

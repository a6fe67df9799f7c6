"""The effect of wrong labels on a round: the set of wrong labels, (14), (15) and (16)."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Term
from bounds.sxy.assumptions import statement
from bounds.sxy.symbols import (
    classes,
    clusters_phi,
    dist,
    label_change,
    phi_S,
    pull_S,
    sign,
    zeta_S,
)

_EQ_14 = {
    "kind": "deterministic",
    "quantifiers": r"\forall\phi(x),y,\theta_{t-1},z,j",
    "observed": r"B\mathcal{E}_{j,t}(\phi(x)\theta_{j,t-1}-y)",
    "relation": "=",
    "terms": (Term(name="wrong labels", expr=pull_S),),
}

EQ_14_AS_PRINTED = statement(
    "sxy.eq14-as-printed",
    "The clustering error is a sum over the wrongly labelled clients",
    "Section 4.2.1, (14)",
    definitions={sign: sp.Integer(1)},
    **_EQ_14,
)

EQ_14 = statement(
    "sxy.eq14",
    "The clustering error is a signed sum over the wrongly labelled clients",
    "Section 4.2.1, (14), corrected",
    definitions={sign: label_change},
    reading=(
        "$\\mathcal{E}_{j,t}=\\Lambda_{j,t}-\\Lambda_j$ has the blocks $-I$ at the clients that "
        "cluster $j$ loses. The norm of the sum keeps its limit."
    ),
    **_EQ_14,
)

_EQ_15 = {
    "kind": "deterministic",
    "quantifiers": r"\forall\phi(x),y,\theta_{t-1},z,j",
    "observed": r"\norm{\phi(x_{S_{j,t}})\theta_{j,t-1}-y_{S_{j,t}}}^2",
}

EQ_15_AS_PRINTED = statement(
    "sxy.eq15-as-printed",
    "Residuals of the wrongly labelled clients",
    "Section 4.2.1, (15), last line",
    terms=(Term(name="residuals", expr=2 * (dist * phi_S + zeta_S) ** 2),),
    **_EQ_15,
)

EQ_15 = statement(
    "sxy.eq15",
    "Residuals of the wrongly labelled clients, cluster by cluster",
    "Section 4.2.1, (15), corrected",
    terms=(Term(name="residuals", expr=2 * (dist * clusters_phi + zeta_S) ** 2),),
    reading=(
        "The clients of $S_{j,t}$ have the errors of their own clusters, so the features of each "
        "cluster have a norm of their own: $\\sum_\\ell\\norm{\\phi(x_{S\\cap I_\\ell})}^2$ is at "
        "most $k\\norm{\\phi(x_S)}^2$ and can be equal to it."
    ),
    **_EQ_15,
)


EQ_16 = statement(
    "sxy.eq16",
    "The wrong labels are among those that the binary functions mark",
    "(16), and the displays before Lemma 9, corrected",
    reading=(
        "(16) counts every tie as wrong, and a client with a tie has one label. The upper bounds "
        "that follow need the inequality only."
    ),
    kind="deterministic",
    quantifiers=r"\forall\phi(x_i),y_i,\theta,z_i,j",
    observed=r"1\{i\in I_j\ominus I_{j,t}\}",
    terms=(Term(name="classes", expr=classes),),
)

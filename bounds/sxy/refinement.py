"""Theorem 2 and Lemma 2: contraction, floor, clients, and where the theorem says something."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Constant, Contrast, Term
from bounds.sxy.assumptions import STABLE_STEP, prefactor, rate, statement
from bounds.sxy.deviation import DEVIATION, P_E
from bounds.sxy.moments import HALF
from bounds.sxy.round_matrices import ENOUGH_ROWS, TWO_CLUSTERS
from bounds.sxy.symbols import (
    C_1,
    C_2,
    C,
    C_n,
    C_nu,
    Delta,
    M,
    N,
    c,
    d,
    dist,
    epsilon,
    eta,
    expected,
    gamma,
    k,
    kappa,
    known,
    n,
    nu,
    rho,
    s,
    sigma,
    t,
)

#: (10) for clients of one size, and for clients of any sizes.
NU = P_E + C * DEVIATION
NU_ANY = expected + C * DEVIATION


def deviation(share: sp.Expr) -> sp.Expr:
    """nu log(e/nu) for a share nu."""
    return share * sp.log(sp.E / share)


DECREASE = s * eta * rho / kappa


def _small(share: sp.Expr) -> tuple[Assumption, Assumption]:
    """The theorem's condition on nu, and that nu is a share, which the print leaves out."""
    return (
        Assumption(
            name="few wrong labels", left=rho / kappa, right=deviation(share), constant=C_nu
        ),
        Assumption(name="nu is a share", left=sp.Integer(1), right=share),
    )


_BOXES = (
    rate(C_1, "share of the decrease"),
    prefactor(C_2, "prefactor of the wrong labels"),
    Constant(symbol=C, low=0.1, high=1e3, generous="high", meaning="prefactor in nu"),
    rate(c, "rate of p_e"),
)
_SHARE_OF_NU = (
    "$\\nu\\log(e/\\nu)$ falls for $\\nu>1$ and is negative for $\\nu>e$, so that the condition "
    "$\\nu\\log(e/\\nu)\\lesssim\\rho/\\kappa$ needs $\\nu\\le1$ beside it."
)

_FEW_FEATURES = "with more than four features a failure is rarer than the trials resolve."
_OVER_K = "over $k$ it is still six times the error of known labels"
#: What no cell of a round, and none of many rounds, can tell.
_SECOND_TERM = (
    " The trials do not tell a further factor $1/k$ or $1/d$ in the second term. It is far above "
    f"the noise of a round, and {_FEW_FEATURES}"
)
_FLOOR_TERM = (
    " The trials do not tell a further factor $1/k$, $\\rho$ or $1/d$ in the floor: "
    f"{_OVER_K}, and {_FEW_FEATURES}"
)

LEMMA_2 = statement(
    "sxy.lemma2",
    "Lemma 2: the clustering error of one round",
    "Lemma 2, (13)",
    kind="probability",
    quantifiers=r"\exists C_2,C,c\;\forall M,n,d,k,s,\ d(\theta_{t-1},\theta^*)\le\epsilon\Delta",
    observed=r"\max_j\frac1s\norm{B\mathcal{E}_{j,t}(\phi(x)\theta_{j,t-1}-y)}",
    terms=(Term(name="wrong labels", expr=C_2 * (dist + sigma) * deviation(NU)),),
    failure=C_2 * sp.exp(-d),
    constants=_BOXES[1:],
    assumptions=(TWO_CLUSTERS, STABLE_STEP, _small(NU)[1]),
    reading=_SHARE_OF_NU
    + (
        " $C_2=100$ is exhibited, and the bound is trivial. With $C_2=1$ it would not be, but a "
        "thousand times the largest error of a trial: a label is wrong in two to four trials of a "
        "hundred."
    ),
    uses=("sxy.eq14", "sxy.eq15", "sxy.eq36", "sxy.lemma11-phi", "sxy.lemma11-zeta"),
)

LEMMA_2_SHARP = LEMMA_2.variant(
    "sxy.lemma2-sharp",
    "Lemma 2 in the share of the rows with wrong labels, without a logarithm",
    "Lemma 2, (13), sharpened",
    kind="upper bound",
    quantifiers=r"\exists C_2\;\forall M,n,d,k,s,\sigma,\theta_{t-1}",
    terms=(Term(name="wrong labels", expr=C_2 * (dist + sigma) * nu),),
    failure=HALF,
    constants=_BOXES[1:2],
    assumptions=(STABLE_STEP,),
    reading=(
        "Not in the paper. $\\nu$ is the observed share of the rows with a wrong label that "
        "concerns one cluster, at least $kd/N$ and $e^{1-n_i}$. Clients have equally many rows. "
        "So Lemma 11 needs no logarithm: outside $3e^{-d}$ all sets of clients with at most "
        "$\\nu N$ "
        "rows have $\\norm{\\phi(x_I)}\\le4\\sqrt{\\nu N}$, "
        "$\\norm{\\zeta_I}\\le3\\sigma\\sqrt{\\nu N}$, and errors $u_\\ell$ of the $k$ "
        "models with $\\sum_\\ell\\norm{\\phi(x_{I\\cap I_\\ell})u_\\ell}^2\\le64\\nu "
        "N\\max_\\ell\\norm{u_\\ell}^2$ (a net of $9^{kd}$ points). (14) and (15) give "
        "$C_2=46$. With the share of (36) in its place this is Lemma 2."
    ),
    uses=("sxy.eq14", "sxy.eq15", "sxy.lemma11-equal-sizes"),
)

_ROUND = (
    Term(name="contraction", expr=(1 - C_1 * DECREASE) * dist),
    Term(name="wrong labels", expr=C_2 * s * eta * sigma * deviation(NU)),
)

THM_2 = statement(
    "sxy.thm2-contraction",
    "Theorem 2: every round contracts up to the wrong labels",
    "Theorem 2, (9), corrected",
    kind="probability",
    quantifiers=r"\exists C_1,C_2,C,c,\epsilon\;\forall M,n,d,k,s,\eta,\sigma,\ t",
    observed=r"d(\theta_t,\theta^*)",
    terms=_ROUND,
    failure=C * k * sp.exp(-d),
    constants=_BOXES,
    assumptions=(TWO_CLUSTERS, STABLE_STEP, ENOUGH_ROWS, *_small(NU)),
    reading=_SHARE_OF_NU
    + (
        " The trials do not tell a further factor $1/k$ or $1/\\sqrt d$ in the second term. It is "
        "far above the noise of a round."
    ),
    uses=("sxy.lemma2", "sxy.thm2-decrease", "sxy.noise-floor"),
)

UNBALANCED = statement(
    "sxy.unbalanced",
    "Theorem 2 with clients of any sizes",
    'Theorem 2, (9), and the abstract, "works even when local data volume is highly unbalanced"',
    kind="probability",
    quantifiers=r"\exists C_1,C_2,C,c,\epsilon\;\forall M,n_i,d,k,s,\eta,\sigma,\ t",
    observed=r"d(\theta_t,\theta^*)",
    terms=(
        _ROUND[0],
        Term(name="wrong labels", expr=C_2 * s * eta * sigma * deviation(NU_ANY)),
    ),
    failure=C * k * sp.exp(-d),
    constants=_BOXES[:3],
    assumptions=(TWO_CLUSTERS, STABLE_STEP),
    reading=_SHARE_OF_NU + " Trials with $\\nu>1$ count as met." + _SECOND_TERM,
    uses=("sxy.thm2-contraction",),
)

FLOOR = statement(
    "sxy.thm2-floor",
    "Theorem 2 over many rounds: the floor",
    "Theorem 2, (9), over t rounds, corrected",
    kind="probability",
    quantifiers=r"\exists C_1,C_2,C,c,\epsilon\;\forall M,n,d,k,s,\eta,\sigma",
    observed=r"d(\theta_{T+t},\theta^*)",
    terms=(
        Term(name="start", expr=(1 - C_1 * DECREASE) ** t * epsilon * Delta),
        Term(name="floor", expr=C_2 / C_1 * sigma * kappa / rho * deviation(NU)),
    ),
    failure=C * k * sp.exp(-d),
    constants=_BOXES,
    assumptions=(TWO_CLUSTERS, STABLE_STEP, ENOUGH_ROWS, *_small(NU)),
    reading=_SHARE_OF_NU + _FLOOR_TERM,
    uses=("sxy.thm2-contraction",),
)

_FLOOR_WITHOUT_NU = C_2 * sigma * sp.sqrt(kappa * d / (rho * N))

FLOOR_SHARP = FLOOR.variant(
    "sxy.thm2-floor-sharp",
    "Theorem 2 over many rounds: a floor without nu",
    "Theorem 2, (9), over t rounds, sharpened",
    quantifiers=r"\exists C_1,C_2,C,C_n,\epsilon\;\forall M,n,d,k,s,\eta,\sigma",
    terms=(
        FLOOR.term("start"),
        Term(name="floor", expr=_FLOOR_WITHOUT_NU),
    ),
    constants=_BOXES[:3],
    assumptions=(
        TWO_CLUSTERS,
        STABLE_STEP,
        ENOUGH_ROWS,
        Assumption(name="rows of a client", left=n, right=d + sp.log(M * k), constant=C_n),
        Assumption(name="noise", left=Delta / 12, right=sigma),
        Assumption(name="floor inside the ball", left=epsilon * Delta, right=_FLOOR_WITHOUT_NU),
    ),
    reading=(
        "Not in the paper. The floor of (9) has $\\kappa/\\rho$ and "
        "$\\nu\\ge\\sqrt{dk\\log k/M}$. "
        "With $\\epsilon=\\frac1{10}$ and $C_n=19$ no label is wrong within "
        "$\\frac98\\epsilon\\Delta$ of the optima: outside $e^{-d}$ all clients have "
        "$\\norm{\\phi(x_i)(\\theta_a^*-\\theta_b^*)}\\ge\\Delta(\\sqrt n-h)$, "
        "$\\norm{\\phi(x_i)}\\le\\sqrt n+\\sqrt d+h$ and "
        "$\\norm{\\zeta_i}\\le\\sigma(\\sqrt n+h)$ "
        "with $h^2=2(d+\\log(4Mk))$. So the rounds are those of known labels. "
        "They tend to $K_j^{-1}B\\Lambda_j\\zeta$, and the rest shrinks along every eigenvector of "
        "$K_j$. Given the features the limit is normal with a covariance of at most "
        "$\\kappa\\sigma^2(\\phi(x_{I_j})^\\top\\phi(x_{I_j}))^{-1}$ "
        "(sxy.floor-sqrt-kappa), "
        "which gives $3\\sigma\\sqrt{\\kappa d/(\\rho N)}$ outside $2ke^{-d}$. That is at most "
        "$\\epsilon\\Delta/2$, so a run stays within "
        "$\\frac{\\sqrt5}2\\epsilon\\Delta$. The limit counts twice, once in what shrinks. "
        "The trials tell a further factor $1/k$ in the floor, and not $1/\\sqrt k$: with more "
        "clusters forty rounds leave too much of the start. They do not tell $d$ from a number: "
        + _FEW_FEATURES
    ),
    uses=("sxy.thm2-decrease", "sxy.floor-sqrt-kappa"),
)

_PER_CLIENT = {
    "quantifiers": r"\exists C_1,C_2,C,c\;\forall M,n_i,d,k,s,\eta,\sigma",
    "failure": P_E,
    "constants": _BOXES,
}

PER_CLIENT_AS_PRINTED = statement(
    "sxy.per-client-as-printed",
    "Theorem 2 for a client's own local model",
    "Theorem 2, last display, with the definition after the theorem",
    kind="probability",
    observed=r"\norm{\hat\theta_{i,t}-\theta_{z_i}^*},\quad\hat\theta_{i,t}=[\theta_{i\cdot,t}]_{z_{i,t}}",
    terms=(
        Term(name="start", expr=C_2 * Delta * sp.exp(-C_1 * DECREASE * t)),
        Term(name="floor", expr=C_2 * sigma * kappa / rho * deviation(NU)),
    ),
    reading=(
        "$\\theta_{i\\cdot,t}$ are the models after the client's local steps on its own rows. The "
        "global models are at their optima here, which is the best case, and one local step is "
        "made."
    ),
    **_PER_CLIENT,
)

PER_CLIENT = statement(
    "sxy.per-client",
    "Theorem 2 for the global model that a client chooses",
    "Theorem 2, last display, with the definition in its proof",
    kind="probability",
    observed=r"\norm{\theta_{z_{i,t},t}-\theta_{z_i}^*}",
    terms=(
        Term(name="start", expr=(1 - C_1 * DECREASE) ** t * epsilon * Delta),
        Term(name="floor", expr=C_2 / C_1 * sigma * kappa / rho * deviation(NU)),
    ),
    assumptions=(TWO_CLUSTERS, STABLE_STEP, ENOUGH_ROWS, *_small(NU)),
    reading=(
        "The proof takes $\\hat\\theta_{i,t}=\\theta_{z_{i,t},t}$, the server's model. The trials "
        f"do not tell a further factor $1/k$ in the floor: {_OVER_K}. Nor do they tell the "
        "server's model from the client's own one, of the printed definition: it exceeds the "
        "floor from some $10^5$ clients on (sxy.per-client-as-printed)."
    ),
    uses=("sxy.thm2-floor", "sxy.lemma10"),
    **_PER_CLIENT,
)

DOMINATED_BOUND = statement(
    "sxy.dominated-bound",
    "The floor of the bound exceeds the error of known labels",
    'after Theorem 2, "this estimation error is dominated by our uniform deviation bound"',
    kind="deterministic",
    quantifiers=r"\forall M,n,d,k,\rho\le\frac1k,\kappa,\ \nu\le1",
    observed=r"\sqrt{d/N_j}",
    terms=(Term(name="floor", expr=kappa / rho * deviation(C * DEVIATION)),),
    constants=(prefactor(C, "prefactor in nu"),),
    reading="With $C=1$ in (10), and in units of $\\sigma$.",
)

DOMINATED = statement(
    "sxy.dominated",
    "The final error is at most a tenth above that of known labels",
    "after Theorem 3, corrected",
    kind="probability",
    quantifiers=r"\forall M,n,d,k,s,\gamma,\sigma",
    observed=r"d(\hat\theta,\theta^*)",
    terms=(Term(name="known labels", expr=sp.Rational(11, 10) * known),),
    failure=k * sp.exp(-d),
    assumptions=(
        TWO_CLUSTERS,
        STABLE_STEP,
        ENOUGH_ROWS,
        Assumption(name="rows of a client", left=n, right=2 * (d + sp.log(M * k))),
        Assumption(name="noise", left=Delta / 3, right=sigma),
        Assumption(
            name="enough rounds",
            left=sigma / (3 * Delta),
            right=(1 - gamma * s * rho / (4 * kappa)) ** t,
        ),
    ),
    reading=(
        "Wherever the theorem's condition on $\\nu$ can hold, wrong labels are rare, and the final "
        "error is that of rounds with the true labels. With more noise than a third of $\\Delta$ "
        "labels are wrong for good, and after too few rounds the error is that of the start."
    ),
)

DOMINATED_LARGE = statement(
    "sxy.dominated-large",
    "The final error of many clients with few rows and hundreds of features",
    "after Theorem 3, corrected",
    kind="probability",
    quantifiers=r"\forall M,n,d,k,\sigma",
    observed=DOMINATED.observed,
    terms=DOMINATED.terms,
    failure=DOMINATED.failure,
    reading=(
        "The rounds go on until the slowest direction has shrunk by $10^{-3}$. With eight rows a "
        "client the theorem's condition on $\\nu$ cannot hold, but the labels are right."
    ),
    uses=("sxy.dominated",),
)

SAVING_RUNS = statement(
    "sxy.saving-runs",
    "Many local steps save rounds, unless kappa is close to one",
    "after Theorem 3, last sentence of Section 4",
    kind="comparison",
    quantifiers=r"\forall M,n,d,s",
    observed=r"d(\theta_{T+10},\theta^*)/d(\theta_T,\theta^*)",
    contrasts=(
        Contrast(left="single", relation="<", right="close"),
        Contrast(left="many", relation="<", right="single"),
    ),
    reading=(
        "Ten rounds each: one local step with $\\gamma=0.95$ (single), $s$ local steps with "
        "$\\kappa=1.1$ (close), $s$ local steps with $\\gamma=0.95$ (many). Local steps with "
        "$\\kappa$ close to one lose. Those with a large $\\kappa$ save rounds, though the bound "
        "does not see it."
    ),
)

#: The theorem's failure probability is below one.
LIKELY = Assumption(name="a probability", left=sp.Integer(1), right=C * k * sp.exp(-d), strict=True)

VACUITY = statement(
    "sxy.vacuity",
    "Where Theorem 2 says something",
    "Theorem 2",
    quantifiers=r"\exists M,n,d,k",
    reading="Constants that proofs for Gaussian features give, but $C=1$ in (10).",
    kind="vacuity",
    observed=r"d(\theta_{T+t},\theta^*)",
    terms=(Term(name="floor", expr=C_2 / C_1 * sigma * kappa / rho * deviation(NU)),),
    constants=_BOXES,
    assumptions=(TWO_CLUSTERS, *_small(NU), LIKELY),
)

FEW_POINTS = statement(
    "sxy.few-points",
    "The share of wrong labels where all clients have few rows",
    "(36), with nu from (10) and $n_i=O(1)$",
    kind="vacuity",
    quantifiers=r"\exists M,d,k",
    observed=r"\max_j\frac1NN_{S_{j,t}}",
    terms=(Term(name="nu", expr=NU),),
    constants=_BOXES[2:],
    assumptions=(TWO_CLUSTERS,),
    reading=(
        "A share is at most one. The first term of (10) does not fall with $M$. No rate above "
        "$\\frac12\\log\\frac54$ serves Lemma 10: at the optima with $\\Delta=\\sigma$ the exact "
        "probability of a wrong label falls with that exponent. So $4ke^{-cn_i}<1$ needs "
        "$n_i\\ge19$ for two clusters and more for others, whatever $c$ is."
    ),
)

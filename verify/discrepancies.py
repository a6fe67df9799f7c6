"""What in the papers turned out different from print, for the report; and its notation table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Discrepancy:
    """One finding about a paper's text.

    Attributes
    ----------
    evidence : ids of the claims that show it (empty for slips that need no experiment).
    severity : ``statement`` (a stated result is false), ``proof`` (a step is), ``slip`` (a typo).
    """

    where: str
    printed: str
    found: str
    corrected: str
    severity: Literal["statement", "proof", "slip"]
    evidence: Sequence[str] = ()


DISCREPANCIES: dict[str, Discrepancy] = {
    "ifca-step-size": Discrepancy(
        where="TIT 2022 and NeurIPS 2020, Theorem 1 and Corollary 1",
        printed="One step size $\\gamma=c_1/p$ with a universal $c_1$, for clusters of any sizes.",
        found=(
            "The mean step multiplies the error of cluster $j$ by $|1-2c_1p_j/p|$. The smallest "
            "cluster needs $c_1\\ge1/4$, the largest $c_1p_{\\max}/p\\le3/4$; once "
            "$p_{\\max}>3p$ no $c_1$ serves both, and for $c_1p_{\\max}\\ge p$ the largest cluster "
            "diverges."
        ),
        corrected=(
            "Require $p_{\\max}\\le2p$ (with $c_1=1/3$), or give cluster $j$ the step size "
            "$c_1/p_j$ by averaging gradients over $|S_j|$."
        ),
        severity="statement",
        evidence=(
            "ifca.thm1-as-printed",
            "ifca.cor1-as-printed",
            "ifca.neurips-thm1-as-printed",
            "ifca.neurips-cor1-as-printed",
            "ifca.thm1",
            "ifca.thm1-own-step",
        ),
    ),
    "ifca-absolute-value": Discrepancy(
        where="TIT 2022, proof of Theorem 1, (2) and (5)",
        printed="$\\norm{T_1}\\le(1-\\frac{2\\gamma N}{mn'})\\norm{\\theta_1-\\theta_1^*}+\\dots$",
        found=(
            "The absolute value is missing. The proof bounds $N$ from below only, and its own "
            "choice $\\gamma=1/(2c_5p)$ with $c_5=1/4$ (what $N\\ge p_1mn'/4$ and (4) give) makes "
            "the factor $|1-4p_j/p|\\ge3$: the proof's step size diverges even for equal clusters."
        ),
        corrected="$|1-\\frac{2\\gamma N}{mn'}|$, and an upper bound on $N$ as well.",
        severity="proof",
        evidence=("ifca.eq2-as-printed", "ifca.eq2", "ifca.eq5-as-printed", "ifca.eq5"),
    ),
    "ifca-monotone": Discrepancy(
        where="TIT 2022, proof of Corollary 1 and the text after Theorem 1",
        printed="For all $t$ the error does not increase, so $\\alpha_t$ is non-decreasing.",
        found=(
            "True only while the error exceeds twice the error floor. At the floor the fresh "
            "samples of the next step move it up about as often as down."
        ),
        corrected="Non-decreasing until the error first falls below twice the floor.",
        severity="statement",
        evidence=("ifca.alpha-increases-as-printed", "ifca.alpha-increases"),
    ),
    "ifca-logarithm": Discrepancy(
        where="TIT 2022 and NeurIPS 2020, Corollary 1 and its proof",
        printed="$T=\\log(\\Delta/4\\varepsilon)$ halvings reduce $\\Delta/4$ to $\\varepsilon$.",
        found=(
            "With the natural logarithm they leave $(4\\varepsilon/\\Delta)^{\\log2}\\Delta/4$, "
            "larger than $\\varepsilon$ without bound; the logarithm must be to base two, or the "
            "factor at most $1/e$."
        ),
        corrected="$\\log_2$, or a contraction factor of $1/e$ (with $c_1=1/3$ it is $1/3$).",
        severity="proof",
        evidence=("ifca.cor1-rounds-as-printed", "ifca.cor1-rounds", "ifca.cor1"),
    ),
    "ifca-low-signal": Discrepancy(
        where="TIT 2022, Lemma 1 and Assumption 2",
        printed="Exponent $n'(\\alpha\\rho/(\\rho+1))^2$, hence "
        "$n'\\gtrsim(\\frac{\\rho+1}{\\alpha_0\\rho})^2\\log m$.",
        found=(
            "True but loose at low signal-to-noise ratio: the exact exponent is of order "
            "$n'\\alpha^2\\rho/(\\rho+1)$, larger by a factor $(\\rho+1)/\\rho$. The two-threshold "
            "argument of (13) gives the square away."
        ),
        corrected="$\\exp(-\\frac{\\log2}{2}n'\\alpha^2\\frac{\\rho}{\\rho+1})$; "
        "$n'\\gtrsim\\frac{\\rho+1}{\\alpha_0^2\\rho}\\log m$ suffices.",
        severity="slip",
        evidence=("ifca.lemma1", "ifca.lemma1-sharp", "ifca.lemma1-law"),
    ),
    "ifca-adversary": Discrepancy(
        where="TIT 2022, Assumption 1",
        printed="The condition suggests that the worst start leans towards another optimum.",
        found=(
            "A start moved straight towards the other optimum has exponent "
            "$(n'/2)\\log(1+\\rho/4)$ whatever $\\alpha$ is: the two residuals then differ only "
            "along the segment. The worst starts lie across it."
        ),
        corrected="Test initialisations orthogonal to the segment as well.",
        severity="slip",
        evidence=("ifca.lemma1", "ifca.lemma1-law"),
    ),
    "ifca-quarter": Discrepancy(
        where="TIT 2022, proof of Lemma 1, before (15)",
        printed="$\\norm{\\theta_1-\\theta_1^*}\\le\\frac14\\Delta$.",
        found="The journal's initialisation gives $(\\frac12-\\alpha)\\Delta$, which is larger for "
        "$\\alpha<1/4$; (15) itself uses the right one.",
        corrected="$\\norm{\\theta_1-\\theta_1^*}\\le(\\frac12-\\alpha)\\Delta$.",
        severity="slip",
        evidence=("ifca.lemma1-init-as-printed",),
    ),
    "ifca-random-start": Discrepancy(
        where="TIT 2022, abstract and after Assumption 2",
        printed="For $k=2$ the initialisation need only be slightly better than random.",
        found=(
            "Any $\\alpha_0>0$ suffices, but a random start is not at $\\alpha\\approx0$: in "
            "dimension $d$ it is nearly orthogonal to both optima and misses the ball by a fixed "
            "fraction of $\\Delta$. What sits at $\\alpha=0$ is the midpoint of the optima."
        ),
        corrected="Slightly better than the midpoint of the two optima.",
        severity="statement",
        evidence=("ifca.k2-random-as-printed", "ifca.k2-slightly-better"),
    ),
    "ifca-poly": Discrepancy(
        where="TIT 2022, (12)",
        printed="$\\ge1-\\mathrm{poly}(m)$.",
        found="Below zero for every polynomial: the inequality says nothing.",
        corrected="$\\ge1-1/\\mathrm{poly}(m)$.",
        severity="slip",
        evidence=("ifca.eq12",),
    ),
    "ifca-gradient-sign": Discrepancy(
        where="TIT 2022, before (6)",
        printed="$\\nabla F_i(\\theta_1)=\\frac{2}{n'}X_i^\\top(Y_i-X_i\\theta_1)$.",
        found="The sign is wrong; only its norm is used afterwards.",
        corrected="$-\\frac{2}{n'}X_i^\\top(Y_i-X_i\\theta_1)$.",
        severity="slip",
    ),
    "ifca-sample-count": Discrepancy(
        where="TIT 2022, after Corollary 1",
        printed="$n=2n'T=2n'\\log(\\Delta/4\\varepsilon)$.",
        found="The journal's $T$ is $2+\\log(\\Delta/4\\varepsilon)$; two steps are dropped.",
        corrected="$n=2n'(2+\\log(\\Delta/4\\varepsilon))$.",
        severity="slip",
        evidence=("ifca.minimax",),
    ),
    "ifca-alpha-of-the-step": Discrepancy(
        where="TIT 2022, Theorem 1",
        printed="Assumption 2 is in terms of $\\alpha_0$, the theorem in terms of any $\\alpha$.",
        found="(11) absorbs a factor $m$ by $n'\\gtrsim(\\frac{\\rho+1}{\\alpha\\rho})^2\\log m$ "
        "with the step's own $\\alpha$; for $\\alpha<\\alpha_0$ nothing provides that.",
        corrected="Require $\\alpha\\ge\\alpha_0$.",
        severity="slip",
        evidence=("ifca.thm1",),
    ),
}

SYMBOLS: tuple[tuple[str, str], ...] = (
    ("$m$", "clients"),
    ("$n'$", "fresh samples a client uses in one step ($n$ in the cells)"),
    ("$d$", "dimension of a model"),
    ("$k$", "clusters"),
    ("$p_j,\\ p,\\ p_{\\max}$", "fraction of the clients in cluster $j$; smallest; largest"),
    ("$\\theta_j^*,\\ \\theta_j$", "optimum of cluster $j$; current model"),
    ("$\\Delta$", "smallest distance between two optima"),
    ("$\\sigma$", "standard deviation of the noise"),
    ("$\\rho$", "signal-to-noise ratio $\\Delta^2/\\sigma^2$"),
    ("$\\alpha$", "closeness: $\\norm{\\theta_j-\\theta_j^*}\\le(\\frac12-\\alpha)\\Delta$"),
    ("$\\gamma$", "step size"),
    ("$\\varepsilon$", "final accuracy"),
    ("$S_j,\\ S_j^*$", "clients identified with, and belonging to, cluster $j$"),
    ("$C_n,C_d,C_p,C_N,C_\\Delta$", "hidden constants of the assumptions' $\\gtrsim$"),
)

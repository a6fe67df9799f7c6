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
            "$p_{\\max}>3p$ no $c_1$ serves both, and for $c_1p_{\\max}>p$ the largest cluster "
            "diverges. Even a $c_1$ that knew $r=p_{\\max}/p$ could reach the factor "
            "$(r-1)/(r+1)$ at best, at $c_1=1/(1+r)$."
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
            "The absolute value is missing. The proof bounds $N$ from below only, so every $c_5$ "
            "that it can give is at most $1/2$ ($N\\ge p_1mn'/4$ alone gives $1/4$), and its "
            "choice $\\gamma=1/(2c_5p)\\ge1/p$ makes $|1-2\\gamma p_j|\\ge1$: the proof's own step "
            "size does not contract even for equal clusters."
        ),
        corrected="$|1-\\frac{2\\gamma N}{mn'}|$, and an upper bound on $N$ as well.",
        severity="proof",
        evidence=("ifca.eq2-as-printed", "ifca.eq2", "ifca.eq5-as-printed", "ifca.eq5"),
    ),
    "ifca-monotone": Discrepancy(
        where="TIT 2022, proof of Corollary 1 and the text after Theorem 1",
        printed="For all $t$ and $j$ the error does not increase; $\\alpha_t$ is non-decreasing.",
        found=(
            "True of a cluster only while its error exceeds twice the error floor. At the floor "
            "the fresh samples of the next step move it up about as often as down."
        ),
        corrected="No cluster's error increases until it first falls below twice the floor.",
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
        severity="slip",
        evidence=("ifca.cor1-rounds-as-printed", "ifca.cor1-rounds", "ifca.cor1"),
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
            "True of a client's guess: any $\\alpha>0$ makes it better than one half. Not true of "
            "a random starting point: a random vector of the optima's norm is nearly orthogonal to "
            "both in high dimension and misses the ball of radius $\\Delta/2$ by a fixed fraction "
            "of $\\Delta$. What sits at $\\alpha=0$ is the midpoint of the optima."
        ),
        corrected="Slightly better than the midpoint of the two optima.",
        severity="slip",
        evidence=(
            "ifca.k2-random-as-printed",
            "ifca.k2-slightly-better",
            "ifca.better-than-guessing",
        ),
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
    "ifca-slow-start": Discrepancy(
        where="TIT 2022, after Theorem 1",
        printed="With very small $\\alpha_0$ the convergence can be slow at the beginning.",
        found=(
            "Not under Assumption 2, whose $n'$ grows like $\\alpha_0^{-2}$: nobody is "
            "misidentified, and the first step contracts like all others. What is slow is the "
            "bound's third term."
        ),
        corrected="Slow at the beginning only with fewer samples than Assumption 2 asks for.",
        severity="statement",
        evidence=("ifca.slow-start-as-printed",),
    ),
    "ifca-third-term": Discrepancy(
        where="TIT 2022 and NeurIPS 2020, Theorem 1, (1)",
        printed="A third term $c_3\\exp(-c_4(\\frac{\\alpha\\rho}{\\rho+1})^2n')$.",
        found=(
            "Under Assumption 2 it is superfluous: by (12) the number of strangers, an integer, is "
            "zero but with probability $1/\\mathrm{poly}(m)$, so $T_2=0$."
        ),
        corrected="(1) without its third term, under the same assumptions.",
        severity="slip",
        evidence=("ifca.eq12", "ifca.poly-m", "ifca.thm1", "ifca.eq8"),
    ),
    "ifca-definition-of-error": Discrepancy(
        where="TIT 2022, proof of Lemma 1, first line",
        printed="$\\mathcal{E}_i^{1,j}=\\{F_i(\\theta_j)\\le F_i(\\theta_1)\\}$ by definition.",
        found="For $k>2$ the left side is contained in the right one; enough for the upper bound.",
        corrected="$\\subseteq$.",
        severity="slip",
        evidence=("ifca.lemma1",),
    ),
    "ifca-indices": Discrepancy(
        where="TIT 2022, (13), before (8), and the last display of the proof of Corollary 1",
        printed='$u_j$ in the second term of (13); "for all $j\\in\\overline{S_1^*}$"; '
        "$(\\frac12)^{T'}$.",
        found="Wrong indices.",
        corrected="$u_1$; $i\\in\\overline{S_1^*}$; $(\\frac12)^{T}$.",
        severity="slip",
    ),
    "ifca-lower-bound": Discrepancy(
        where="TIT 2022 and NeurIPS 2020, after Corollary 1",
        printed="One cannot obtain an error rate better than $O(\\cdot)$.",
        found="A lower bound is meant.",
        corrected="$\\Omega(\\cdot)$.",
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

"""Su, Xu & Yang, NeurIPS 2022: mixed regression in two phases."""

from bounds.sxy.symbols import PAPER as PUBLICATION
from verify.claim import Finding
from verify.claims.sxy import (
    anchors,
    clustering_error,
    descent,
    descents,
    deviation,
    end_to_end,
    every_start,
    expectation,
    global_convergence,
    label_errors,
    local_spectrum,
    local_steps,
    moments,
    needed_conditions,
    refinement,
    round_matrices,
    savings,
    shattering,
    subsets,
    subspace,
    wrong_labels,
)
from verify.papers import Paper, collect

#: Findings that no claim shows: slips without consequence.
SLIPS = (
    Finding(
        id="sxy-union-of-events",
        where="Appendix A.3, first paragraph",
        printed="$\\mathcal{E}=\\cup_{i\\in H}\\cup_{t=1}^T\\mathcal{E}_{i,t}$.",
        found="The proof uses that all events hold at once.",
        corrected="$\\cap_{i\\in H}\\cap_{t=0}^{T-1}\\mathcal{E}_{i,t}$.",
        severity="slip",
    ),
    Finding(
        id="sxy-rest-assignment",
        where="Phase 1, Step 15",
        printed="$\\theta_{i,t}\\leftarrow\\theta_{i,t+1}$.",
        found="The assignment is the wrong way round.",
        corrected="$\\theta_{i,t+1}\\leftarrow\\theta_{i,t}$.",
        severity="slip",
    ),
    Finding(
        id="sxy-lemma13-factor",
        where="Lemma 13",
        printed="$\\norm{\\frac1n\\sum_i(A_i-EA_i)}\\le C(\\sqrt{nd\\log\\frac1\\delta}+\\dots)$.",
        found="The proof bounds the sum without the factor $1/n$.",
        corrected="$\\norm{\\sum_i(A_i-EA_i)}$.",
        severity="slip",
    ),
    Finding(
        id="sxy-prop1-probability",
        where="Proposition 1 against its proof, last lines of appendix A.4",
        printed="With probability at least $1-N^{-10}$ (statement), $1-O(1/N)$ (proof).",
        found="Lemma 3 fails with probability up to $3N^{-10}$ and Lemma 5 with $O(N^{-10})$. "
        "Theorem 1 needs more than the proof's $O(1/N)$.",
        corrected="$1-O(N^{-10})$ in both places.",
        severity="slip",
    ),
    Finding(
        id="sxy-lemma5-letters",
        where="proof of Lemma 5, cases 1 and 2 and last line",
        printed="$\\norm{\\sum_i\\phi(x_i)x_i^\\top}$, $\\ell=\\max\\{p:\\sigma_p/\\sigma_{p+1}>"
        "1+\\delta\\}$, and $(1+\\delta)^t\\le e$ with $\\delta=1/k$.",
        found="There is no $\\phi$ in the lemma. A gap beyond the $k$-th singular value would ask "
        "for more columns than $Q_t$ has. $(1+\\frac1k)^t$ grows with $t$ without limit.",
        corrected="$\\norm{\\sum_ix_ix_i^\\top}$, the largest such $p\\le k$, and "
        "$(1+\\delta)^k\\le e$.",
        severity="slip",
    ),
    Finding(
        id="sxy-lemma6-residual",
        where="proof of Lemma 6",
        printed="$\\varepsilon_j=(y_j-\\phi(x_j))\\phi(x_j)$, divided by "
        "$\\sqrt{\\norm{\\theta_j^*-\\theta_j}^2+\\sigma^2}$.",
        found="The residual lacks the model $\\theta_t$, and $\\theta_j$ is not defined there.",
        corrected="$(y_j-\\langle\\phi(x_j),\\theta_t\\rangle)\\phi(x_j)$ and "
        "$\\norm{\\theta_j^*-\\theta_t}$.",
        severity="slip",
    ),
    Finding(
        id="sxy-lemma8-frobenius",
        where="proof of Lemma 8",
        printed="$\\norm{B\\Lambda_j^2B^\\top}_F\\le s\\norm{K_j}_F\\le"
        "\\frac{s\\sqrt d}N\\norm{K_j}$.",
        found="The middle lacks the factor $1/N$ of (29). It is not below the right-hand side.",
        corrected="$\\frac sN\\norm{K_j}_F$ in the middle.",
        severity="slip",
    ),
    Finding(
        id="sxy-bernstein-dimension",
        where="proofs of Lemmas 13 and 14, (40)",
        printed="With probability $1-\\delta$, by the matrix Bernstein inequality, "
        "$\\norm{\\sum_iY_i}\\lesssim\\sqrt{Nd\\log\\frac1\\delta}+\\tau\\log\\frac1\\delta$.",
        found="The inequality has the factor $2d$ before the exponential. For fixed $\\delta$ and "
        "growing $d$ it does not give the display. With $\\delta=N^{-10}$ and $2d\\le N^2$, as "
        "in our reading of Lemma 3, the factor changes the constant alone.",
        corrected="$\\log\\frac{2d}\\delta$ in the place of $\\log\\frac1\\delta$.",
        severity="slip",
    ),
    Finding(
        id="sxy-truncated-integral",
        where="proof of Lemma 13, third term",
        printed="$\\int_0^\\tau P\\{\\norm{A_i}\\ge\\tau\\}dt=\\tau\\frac\\delta n$.",
        found="$P\\{\\norm{A_i}>\\tau\\}\\le\\frac{2\\delta}n$ a few lines before.",
        corrected="$\\le\\tau\\frac{2\\delta}n$.",
        severity="slip",
    ),
)

PAPER = Paper(
    id="sxy",
    placebos="verify.claims.sxy.placebos",
    title="Global Convergence of Federated Learning for Mixed Regression",
    publications=(PUBLICATION,),
    claims=collect(
        expectation,
        moments,
        subspace,
        every_start,
        descent,
        anchors,
        descents,
        local_steps,
        local_spectrum,
        savings,
        round_matrices,
        wrong_labels,
        label_errors,
        deviation,
        shattering,
        subsets,
        refinement,
        clustering_error,
        needed_conditions,
        global_convergence,
        end_to_end,
    ),
    findings=SLIPS,
    data=(
        "Mixed regression: client $i$ of cluster $z_i$ holds $n_i$ pairs $(x,y)$ with "
        "$y=\\langle x,\\theta_{z_i}^*\\rangle+\\zeta$. The features have the cluster's covariance "
        "$\\Sigma_{z_i}$, with spectrum in $[\\alpha,\\beta]$, and are sub-Gaussian. The noise is "
        "independent of them, with variance at most $\\sigma^2$. Where an exact law or exact "
        "moments exist, the claims use them instead of data."
    ),
)

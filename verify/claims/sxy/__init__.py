"""Su, Xu & Yang, NeurIPS 2022: mixed regression in two phases."""

from bounds.sxy.symbols import PAPER as PUBLICATION
from verify.claim import Finding
from verify.claims.sxy import (
    anchors,
    descent,
    descents,
    deviation,
    expectation,
    global_convergence,
    label_errors,
    local_steps,
    moments,
    refinement,
    round_matrices,
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
)

PAPER = Paper(
    id="sxy",
    title="Global Convergence of Federated Learning for Mixed Regression",
    publications=(PUBLICATION,),
    claims=collect(
        expectation,
        moments,
        subspace,
        descent,
        anchors,
        descents,
        local_steps,
        round_matrices,
        wrong_labels,
        label_errors,
        deviation,
        shattering,
        subsets,
        refinement,
        global_convergence,
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

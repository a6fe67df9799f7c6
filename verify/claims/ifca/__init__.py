"""IFCA: Ghosh, Chung, Yin & Ramchandran, TIT 2022 and NeurIPS 2020.

The two publications are one paper.  They share letters, algorithm and proofs, the conference
version's statements are the journal's under another initialisation, and most findings concern both.
So they have one folder, one notation table and one dependency graph.  Each statement names its
publication.
"""

from bounds.ifca.symbols import CONFERENCE, JOURNAL
from verify.claim import Finding
from verify.claims.ifca import (
    closeness,
    correct_clients,
    figure_3,
    identity,
    lemma_3,
    matrices,
    neurips,
    one_step,
    optimality,
    options,
    practice,
    random_starts,
    rounds,
    strangers,
    strongly_convex,
    strongly_convex_run,
    strongly_convex_step,
    two_clusters,
    whole_run,
)
from verify.papers import Paper, collect

#: Findings that no claim shows: slips without consequence.
SLIPS = (
    Finding(
        id="ifca-gradient-sign",
        where="TIT 2022, before (6)",
        printed="$\\nabla F_i(\\theta_1)=\\frac{2}{n'}X_i^\\top(Y_i-X_i\\theta_1)$.",
        found="The sign is wrong; only its norm is used afterwards.",
        corrected="$-\\frac{2}{n'}X_i^\\top(Y_i-X_i\\theta_1)$.",
        severity="slip",
    ),
    Finding(
        id="ifca-indices",
        where="TIT 2022, (13), before (8), and the last display of the proof of Corollary 1",
        printed='$u_j$ in the second term of (13); "for all $j\\in\\overline{S_1^*}$"; '
        "$(\\frac12)^{T'}$.",
        found="Wrong indices.",
        corrected="$u_1$; $i\\in\\overline{S_1^*}$; $(\\frac12)^{T}$.",
        severity="slip",
    ),
    Finding(
        id="ifca-sc-floor-k",
        where="TIT 2022, proof of Corollary 2, first display and (36)",
        printed="$\\frac{\\eta^2k}{\\delta\\alpha_0^2\\lambda^2\\Delta^4n'}$, recalled from "
        "Theorem 2.",
        found="Theorem 2 has no $k$ in this term. With it, (38) would give $k^2$ in the second "
        "term of Corollary 2, which has $k$.",
        corrected="Without $k$.",
        severity="slip",
    ),
    Finding(
        id="ifca-sc-variance",
        where="TIT 2022, before (21) and before (26)",
        printed="$E\\norm{T_{12}}^2=\\frac{v^2}{n'|S_1\\cap S_1^*|}$.",
        found="Assumption 5 bounds the variance from above.",
        corrected="$\\le$.",
        severity="slip",
    ),
)

PAPER = Paper(
    id="ifca",
    placebos="verify.claims.ifca.placebos",
    title="An Efficient Framework for Clustered Federated Learning (IFCA)",
    publications=(JOURNAL, CONFERENCE),
    claims=collect(
        identity,
        matrices,
        correct_clients,
        strangers,
        one_step,
        whole_run,
        rounds,
        closeness,
        optimality,
        two_clusters,
        neurips,
        lemma_3,
        strongly_convex,
        strongly_convex_step,
        strongly_convex_run,
        options,
        practice,
        random_starts,
        figure_3,
    ),
    findings=SLIPS,
    data=(
        "Clustered linear regression: a client of cluster $j$ observes $n$ pairs $(x,y)$ with "
        "$x\\sim N(0,I_d)$ and $y=\\langle x,\\theta_j^*\\rangle+\\varepsilon$, "
        "$\\varepsilon\\sim N(0,\\sigma^2)$. Where Gaussian features make the law of a statistic "
        "exact, trials draw from that law instead of from the data. Tests compare both ways with "
        "each other."
    ),
)

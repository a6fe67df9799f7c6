"""IFCA: Ghosh, Chung, Yin & Ramchandran, TIT 2022 and NeurIPS 2020.

The two publications are one paper.  They share letters, algorithm and proofs, the conference
version's statements are the journal's under another initialisation, and most findings concern both.
So one folder, one notation table and one dependency graph hold them; each statement says in which
publication it stands.
"""

from bounds.ifca.symbols import CONFERENCE, JOURNAL
from verify.claim import Finding
from verify.claims.ifca import (
    closeness,
    correct_clients,
    identity,
    matrices,
    neurips,
    one_step,
    optimality,
    strangers,
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
)

PAPER = Paper(
    id="ifca",
    title="An Efficient Framework for Clustered Federated Learning (IFCA)",
    publications=(JOURNAL, CONFERENCE),
    claims=collect(
        identity,
        matrices,
        correct_clients,
        strangers,
        one_step,
        whole_run,
        closeness,
        optimality,
        two_clusters,
        neurips,
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

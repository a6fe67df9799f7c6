"""ODCL: Armacki, Bajovic, Jakovetic & Kar, IEEE TSP 2024.

`coverage.toml` beside this file lists what the paper asserts, line by line, with the claims that
try it or the reason why none does.
"""

from bounds.odcl.symbols import ARXIV
from verify.claim import Finding
from verify.claims.odcl import (
    clusterpath,
    convex,
    experiments,
    footnotes,
    inexact,
    kmeans,
    local_fits,
    part_one,
    practice,
    recovery,
    requirements,
    separability,
)
from verify.papers import Paper, collect

#: Findings that no claim shows: slips without consequence.
SLIPS = (
    Finding(
        id="odcl-equal-clusters",
        where="Definition 3 and (16)",
        printed="For any $k,l\\in[K]$: $\\norm{\\mu_k-\\mu_l}\\ge c(\\Delta_k+\\Delta_l)$.",
        found="For $k=l$ this asks for $0\\ge2c\\Delta_k$.",
        corrected="For any $k\\ne l$.",
        severity="slip",
    ),
    Finding(
        id="odcl-condition-6",
        where="(6)",
        printed="$\\alpha\\max\\norm{\\hat\\theta_i-\\bar\\theta_k}\\le\\min\\norm{\\bar\\theta_k-"
        "\\bar\\theta_l}$ for some $\\alpha>0$.",
        found="(4), which (6) specialises, is strict and has $\\alpha>1$. With equality two equal "
        "clusters may fuse at the only penalty that recovers both.",
        corrected="$<$ and $\\alpha>1$, which (11) gives.",
        severity="slip",
    ),
    Finding(
        id="odcl-interval-numbers",
        where="proof of Lemma 1; Appendix D.2",
        printed="The interval defined by (12). The value of $\\lambda$ based on (6). The interval "
        "(6).",
        found="(12) is the objective and (6) the recovery condition. The interval is (13).",
        corrected="(13) in all places.",
        severity="slip",
    ),
    Finding(
        id="odcl-path-ends",
        where="Appendix D.2 against Appendix C",
        printed="D.2: $K_{\\lambda_1}=1$ and $K_{\\lambda_N}=m$. C: $K_{\\lambda_1}=m$ and "
        "$K_{\\lambda_N}=1$.",
        found="The penalties increase in Appendix C, so the number of clusters falls from $m$.",
        corrected="$K_{\\lambda_1}=m$, $K_{\\lambda_N}=1$.",
        severity="slip",
    ),
    Finding(
        id="odcl-balanced-size",
        where="Appendix D.2",
        printed="$m=100$, $K=4$ and $|C_k|=m/K=10$.",
        found="$100/4$ is 25.",
        corrected="$|C_k|=25$.",
        severity="slip",
    ),
)

PAPER = Paper(
    id="odcl",
    title="A One-shot Framework for Distributed Clustered Learning in Heterogeneous Environments",
    publications=(ARXIV,),
    claims=collect(
        separability,
        convex,
        footnotes,
        clusterpath,
        kmeans,
        local_fits,
        recovery,
        requirements,
        inexact,
        part_one,
        experiments,
        practice,
    ),
    findings=SLIPS,
    data=(
        "Each of $m$ users fits a model to $n$ samples from the law of its cluster and sends it "
        "once. The server clusters the $m$ models and returns the mean of each cluster. Claims "
        "about clustering search over data sets; claims about the fits draw from exact laws where "
        "there are any."
    ),
)

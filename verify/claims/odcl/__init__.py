"""ODCL: Armacki, Bajovic, Jakovetic & Kar, IEEE TSP 2024.

`coverage.toml` beside this file lists what the paper asserts, line by line, with the claims that
try it or the reason why none does.
"""

from bounds.odcl.symbols import ARXIV
from verify.claim import Finding
from verify.claims.odcl import (
    any_centers,
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
    Finding(
        id="odcl-remark24",
        where="Remark 24 against Lemma 9",
        printed="The first part is $\\mathcal{O}(\\frac1{n|C_k|}+\\frac1{n^2})$.",
        found="Lemma 9 has the size of the found cluster, and the factor $K-1$.",
        corrected="$(K-1)\\mathcal{O}(\\frac1{n|C_k'|}+\\frac1{n^2})$.",
        severity="slip",
    ),
    Finding(
        id="odcl-mean-of-constants",
        where="proof of Theorem 3",
        printed="$\\overline M=\\frac1m\\sum_{i\\in C_k}M_{ik}$.",
        found="The sum of one cluster's constants is divided by the number of all users. Theorem 3 "
        "sums over all clusters.",
        corrected="$\\overline M=\\frac1m\\sum_{i\\in C_k,k\\in[K]}M_{ik}$.",
        severity="slip",
    ),
    Finding(
        id="odcl-kmpp-indices",
        where="Algorithm 3",
        printed="$D_{i,k}=\\min_{\\{\\nu_1,\\ldots,\\nu_{k-1}\\}}\\norm{a_i-\\nu_k}$, "
        "$D_{k,i}^2$ in the probability.",
        found="$\\nu_k$ is the center that is drawn, and both orders of the indices are used.",
        corrected="$D_{i,k}=\\min_{l<k}\\norm{a_i-\\nu_l}$ and $D_{i,k}^2$.",
        severity="slip",
    ),
    Finding(
        id="odcl-first-two-classes",
        where="Section 5",
        printed="The first two classes (i.e., the digits 1 and 2 for MNIST).",
        found="MNIST's first two classes are the digits 0 and 1.",
        corrected="Either of the two.",
        severity="slip",
    ),
    Finding(
        id="odcl-smallest-and-largest",
        where="Appendix D.1, on Fig. 3",
        printed="The sample requirements of Oracle Averaging depend only on the size of the "
        "largest cluster; those of the method on $M$ as well.",
        found="By Lemma 4 the bias is below the variance for $n\\ge|C_k|\\lambda_k"
        "\\mu_{F_k}^2/N_k^2$, which depends on the problem too.",
        corrected="Both depend on the largest cluster and on the problem's constants.",
        severity="slip",
    ),
)

PAPER = Paper(
    id="odcl",
    placebos="verify.claims.odcl.placebos",
    title="A One-shot Framework for Distributed Clustered Learning in Heterogeneous Environments",
    publications=(ARXIV,),
    claims=collect(
        separability,
        convex,
        footnotes,
        clusterpath,
        kmeans,
        any_centers,
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

"""The path of convex clustering in ODCL: coarser clusterings, Appendices C and D.2, Remark 23."""

from __future__ import annotations

import sympy as sp

from bounds.odcl.assumptions import statement
from bounds.odcl.convex import ALL, PAIR_END
from bounds.odcl.symbols import (
    clusters_before,
    gap,
    m,
    offset_k,
    size_k,
    size_min,
    size_second,
)

COARSENING_INTERVAL = statement(
    "odcl.coarsening-interval",
    "The coarsening interval reaches at least as far as the recovery interval",
    "Appendix D.2",
    quantifiers=rf"{ALL}\;\exists k\ne l",
    observed=r"\max_k\frac{\norm{\mu_k-\bar\mu}}{m-|C_k|}",
    relation=r"\ge",
    terms={"upper end of (13)": PAIR_END},
    reading=(
        "The coarsening interval of Sun, Toh & Yuan (2021) has the lower end of (13) and this "
        "upper end. With two clusters both are equal, so it is not larger in the strict sense. The "
        "interval (13) of the coarser clustering itself, which clusterpath verifies, may be empty: "
        "for the single points $-\\frac12,0,\\frac12$ with the first two as one cluster it is "
        "$\\frac14\\le\\lambda<\\frac14$."
    ),
)
COARSENING = statement(
    "odcl.coarsening",
    "Inside the coarsening interval there is more than one cluster",
    "Appendix D.2, the guarantee that it refers to",
    quantifiers=rf"{ALL}\;\forall k",
    observed=r"\lambda_{fused}(\{a_1,\dots,a_m\})",
    relation=r"\ge",
    terms={"offset over others": offset_k / (m - size_k)},
)

MONOTONE_PATH = statement(
    "odcl.monotone-path",
    "Clusters only merge as the penalty grows",
    "Appendix C, clusterpath with equal weights",
    quantifiers=r"\forall\{a_i\}\;\forall\lambda\le\lambda'",
    observed=r"K_{\lambda'}",
    terms={"clusters before": clusters_before},
    reading="Every cluster at the larger penalty must also be a union of clusters at the smaller.",
)
NEEDS_SIZES = statement(
    "odcl.needs-sizes",
    "The two smallest sizes and the smallest distance give a lower limit of the upper end of (13)",
    "Appendix C, the upper end and the two smallest clusters",
    quantifiers=ALL,
    observed=r"\min_{k\ne l}\frac{\norm{\mu_k-\mu_l}}{2m-|C_k|-|C_l|}",
    relation=r"\ge",
    terms={"two smallest": gap / (2 * m - size_min - size_second)},
    reading=(
        "The paper says that the upper end requires the knowledge of these two sizes. With the "
        "smallest distance of two means they give a lower limit, and not the end itself: for the "
        "clusters $\\{0\\}$, $\\{10\\}$ and $\\{1,1\\}$ it is $1/6$ where the end is $1/5$."
    ),
)
A_POSTERIORI = statement(
    "odcl.a-posteriori",
    "At least two clusterings of the path verify (13)",
    "Appendix C, step 2 (a) (not in the paper)",
    quantifiers=r"\forall\{a_i\}\ \text{distinct}",
    observed=r"\#\{\text{clusterings of the path with (13)}\}",
    relation=r"\ge",
    terms={"single points and one cluster": sp.Integer(2)},
    reading=(
        "The paper says that (13), verified after the fact, makes the true clustering likelier. "
        "It gives no law of the clusterings. What can be said is that (13) holds for the single "
        "points, whose lower end is zero, and for the one cluster of all points, which has no "
        "upper end. Both belong to the path that step 1 asks for."
    ),
)
WEIGHTS = statement(
    "odcl.weights-remark23",
    "Smaller weights between the clusters only help",
    "Remark 23 (not in the paper)",
    quantifiers=rf"{ALL}\;\forall w_{{kl}}\in[0,1]",
    observed=r"w_{kl}\lambda_{merged}(w_{kl})",
    relation=r"\ge",
    terms={"distance over all": gap / m},
    reading=(
        "Remark 23 says that recovery guarantees require weights across clusters to be non-zero. "
        "Recovery itself does not: this is the sharpened upper end divided by the weight, and at "
        "weight zero the clusters never meet. $\\lambda_{fused}$ does not depend on the weight."
    ),
    uses=("odcl.eq13-sharp",),
)

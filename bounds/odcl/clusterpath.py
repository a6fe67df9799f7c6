"""The path of convex clustering in ODCL: coarser clusterings, Appendices C and D.2, Remark 23."""

from __future__ import annotations

import sympy as sp

from bounds.odcl.assumptions import statement
from bounds.odcl.convex import ALL, PAIR_END
from bounds.odcl.symbols import (
    clusters_before,
    diameter_k,
    eta,
    gap,
    m,
    offset_k,
    size_k,
    size_min,
    size_second,
)
from bounds.statement import Term

COARSENING_INTERVAL = statement(
    "coarsening-interval",
    "The coarsening interval reaches at least as far as the recovery interval",
    "Appendix D.2",
    kind="deterministic",
    quantifiers=rf"{ALL}\;\exists k\ne l",
    observed=r"\max_k\frac{\norm{\mu_k-\bar\mu}}{m-|C_k|}",
    relation=r"\ge",
    terms=(Term(name="upper end of (13)", expr=PAIR_END),),
    reading=(
        "The coarsening interval of Sun, Toh & Yuan (2021) has the lower end of (13) and this "
        "upper end. With two clusters both are equal, so it is not larger in the strict sense."
    ),
)
COARSENING = statement(
    "coarsening",
    "Inside the coarsening interval there is more than one cluster",
    "Appendix D.2, the guarantee that it refers to",
    kind="deterministic",
    quantifiers=rf"{ALL}\;\forall k",
    observed=r"\lambda_{fused}(\{a_1,\dots,a_m\})",
    relation=r"\ge",
    terms=(Term(name="offset over others", expr=offset_k / (m - size_k)),),
)
COARSENING_OWN = statement(
    "coarsening-own-interval",
    "The interval (13) of a coarser clustering is longer",
    "Appendix D.2, second reading",
    kind="deterministic",
    quantifiers=r"\forall\{a_i\},\{C_k\},\ K\ge3",
    observed=r"\text{length of (13) with}\ C_1\cup C_2",
    relation=r"\ge",
    terms=(
        Term(name="upper end of (13)", expr=PAIR_END),
        Term(name="lower end of (13)", expr=-diameter_k / size_k),
    ),
    reading=(
        "Clusterpath checks (13) for the clustering that it found. The text may also mean that "
        "this interval is longer for a coarser clustering."
    ),
)

MONOTONE_PATH = statement(
    "monotone-path",
    "Clusters only merge as the penalty grows",
    "Appendix C, clusterpath with equal weights",
    kind="deterministic",
    quantifiers=r"\forall\{a_i\}\;\forall\lambda\le\lambda'",
    observed=r"K_{\lambda'}",
    terms=(Term(name="clusters before", expr=clusters_before),),
    reading="Every cluster at the larger penalty must also be a union of clusters at the smaller.",
)
NEEDS_SIZES = statement(
    "needs-sizes",
    "The upper end of (13) needs the sizes of the two smallest clusters",
    "Appendix C",
    kind="deterministic",
    quantifiers=ALL,
    observed=r"\min_{k\ne l}\frac{\norm{\mu_k-\mu_l}}{2m-|C_k|-|C_l|}",
    relation="=",
    terms=(Term(name="two smallest", expr=gap / (2 * m - size_min - size_second)),),
    reading=(
        "Read as: these two sizes, $m$ and the smallest distance of two means give the upper end."
    ),
)
A_POSTERIORI = statement(
    "a-posteriori",
    "One clustering of the path verifies (13)",
    "Appendix C, step 2 (a)",
    kind="deterministic",
    quantifiers=r"\forall\{a_i\}",
    observed=r"\#\{\text{clusterings of the path with (13)}\}",
    terms=(Term(name="the true one", expr=sp.Integer(1)),),
    reading="Step 2 (a) takes (13), verified after the fact, as a sign of the true clustering.",
)
WEIGHTS_AS_PRINTED = statement(
    "weights-remark23-as-printed",
    "Recovery needs weights between the clusters",
    "Remark 23, as printed",
    kind="deterministic",
    quantifiers=r"\forall\{a_i\},\{C_k\}\;\exists\eta>0",
    observed=r"\text{a weight}\ w_{kl}\ \text{that recovers}",
    relation=r"\ge",
    terms=(Term(name="positive", expr=eta),),
    reading=(
        "Weights are one inside the clusters and $w_{kl}$ between them. The statement is that "
        "every $w_{kl}$ with which some penalty recovers is above some $\\eta>0$."
    ),
)
WEIGHTS = statement(
    "weights-remark23",
    "Smaller weights between the clusters only help",
    "Remark 23, corrected",
    kind="deterministic",
    quantifiers=rf"{ALL}\;\forall w_{{kl}}\in[0,1]",
    observed=r"w_{kl}\lambda_{merged}(w_{kl})",
    relation=r"\ge",
    terms=(Term(name="distance over all", expr=gap / m),),
    reading=(
        "The sharpened upper end divided by the weight. At weight zero the clusters never meet, "
        "and $\\lambda_{fused}$ does not depend on the weight."
    ),
    uses=("odcl.eq13-sharp",),
)

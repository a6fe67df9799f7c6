r"""Convex clustering in ODCL: the interval (13), Lemma 1 and the objective (12).

A data set with a clustering has two penalties (`trials.clustering.recovery`).  From
:math:`\lambda_{fused}` on, every cluster is one point.  From :math:`\lambda_{merged}` on, some two
clusters are one.  The clustering is recovered exactly for
:math:`\lambda_{fused}\le\lambda<\lambda_{merged}`.  So a sufficient interval is right when its ends
lie inside this one.

Shrinking the clusters around their means scales the radius and :math:`\lambda_{fused}` by the same
factor.  It changes neither the means nor :math:`\lambda_{merged}`.  So the separation from which on
some penalty recovers a shape is

.. math::

    \alpha^* = \frac{\min_{k\ne l}\|\mu_k-\mu_l\|}{\max_{i,k}\|\mu_k-a_i\|}
               \cdot \frac{\lambda_{fused}}{\lambda_{merged}} .

Lemma 1 says :math:`\alpha^*\le\alpha_{cc}` for every data set.

*The sharp upper end.*  Take a set of clusters with N points in all, masses n_k and means b_k, that
are one at :math:`\lambda`.  Then there are flows f_kl = -f_lk, |f_kl| <= lambda, with sum_l n_l
f_kl = b_k - mean(b).  Multiply by n_k b_k and sum: sum_{k<l} n_k n_l |b_k - b_l|^2 / N <= lambda
sum_{k<l} n_k n_l |b_k - b_l|.  The left side is at least min|b_k - b_l| / N times the sum on the
right.  Hence lambda >= min|b_k - b_l| / N.
"""

from __future__ import annotations

from bounds.odcl.assumptions import statement
from bounds.odcl.symbols import (
    ALPHA_CC,
    diameter_k,
    distance_kl,
    distance_sq,
    gap,
    m,
    size_k,
    size_l,
    size_min,
    t,
)

ALL = r"\forall\{a_i\},\{C_k\}"
FUSED = r"\lambda_{fused}"
MERGED = r"\lambda_{merged}"

EQ_13_LOWER = statement(
    "odcl.eq13-lower",
    "Lower end of (13): from there on a cluster is one",
    "(13), lower end",
    quantifiers=rf"{ALL}\;\forall k",
    observed=r"\lambda_{fused}(C_k)",
    terms={"diameter over size": diameter_k / size_k},
)
PAIR_END = distance_kl / (2 * m - size_k - size_l)
EQ_13_UPPER = statement(
    "odcl.eq13-upper",
    "Upper end of (13): below it no two clusters are one",
    "(13), upper end",
    quantifiers=rf"{ALL}\;\exists k\ne l",
    observed=MERGED,
    relation=r"\ge",
    terms={"distance over sizes": PAIR_END},
    reading="The smallest value over the pairs is the end of the interval.",
)
EQ_13 = statement(
    "odcl.eq13",
    "Every penalty of (13) recovers the clusters",
    "(13)",
    quantifiers=rf"{ALL}\;\forall t\in[0,1)",
    observed=r"\text{recovered at}\ \lambda",
    relation="=",
    terms={"lower end": (1 - t) * diameter_k / size_k, "upper end": t * PAIR_END},
    reading="$k$ in the lower end gives the largest value, $k,l$ in the upper end the smallest.",
    uses=("odcl.eq13-lower", "odcl.eq13-upper"),
)
EQ_13_SHARP = statement(
    "odcl.eq13-sharp",
    "A larger upper end than that of (13)",
    "(13), sharpened",
    quantifiers=ALL,
    observed=MERGED,
    relation=r"\ge",
    terms={"distance over all": gap / m},
    reading=(
        "At most $m$ points take part in a fusion, and a fusion of $N$ points needs a penalty of "
        "at least the smallest distance of its means over $N$. With two clusters this is (13), "
        "with more it is larger, because $2m-|C_k|-|C_l|\\ge m$."
    ),
)

LEMMA_1 = statement(
    "odcl.lemma1",
    "Convex clustering recovers what is separated",
    "Lemma 1",
    quantifiers=ALL,
    observed=r"\alpha^*",
    terms={"separation": ALPHA_CC},
    reading=(
        "$\\alpha^*$ is the separation from which on some penalty recovers the clusters of this "
        "shape. Condition (4) is strict, so $\\alpha^*=\\alpha_{cc}$ is allowed."
    ),
    uses=("odcl.eq13-lower", "odcl.eq13-upper"),
)
ALPHA_SHARP = 2 * m / size_min
LEMMA_1_SHARP = statement(
    "odcl.lemma1-sharp",
    "A smaller separation than that of Lemma 1",
    "Lemma 1, sharpened",
    quantifiers=ALL,
    observed=r"\alpha^*",
    terms={"separation": ALPHA_SHARP},
    reading=(
        "The diameter of a cluster is at most twice its radius, and the clusters meet at "
        "$\\min\\norm{\\mu_k-\\mu_l}/m$ or later. The sample requirement of ODCL-CC falls by the "
        "factor $4(1-|C_{(K)}|/m)^2$, nearly four with many clusters."
    ),
    uses=("odcl.eq13-lower", "odcl.eq13-sharp"),
)
LEMMA_1_ATTAINED = statement(
    "odcl.lemma1-attained",
    "No smaller separation serves all data sets",
    "Lemma 1, the sharpened value is attained",
    quantifiers=r"\forall K\ge2,\ |C_{(K)}|\ \text{even},\ m\;\exists\{a_i\}",
    observed=r"\alpha^*",
    relation=r"\ge",
    terms={"separation": ALPHA_SHARP},
    reading=(
        "The means are the corners of a regular simplex. One half of the smallest cluster lies at "
        "$+r$ and one half at $-r$ from its mean, the other clusters are points."
    ),
    uses=("odcl.lemma1-sharp",),
)

UNIQUE = statement(
    "odcl.unique",
    "The objective (12) is strongly convex with modulus one",
    "Appendix B.2.1, after (12)",
    quantifiers=r"\forall\{a_i\},\lambda\ge0,U,V,\ t\in[0,1]",
    observed=r"P((1-t)U+tV)-(1-t)P(U)-tP(V)",
    terms={"curvature": -t * (1 - t) * distance_sq / 2},
    reading="Strong convexity makes the solution unique.",
)

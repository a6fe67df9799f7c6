r"""K-means in ODCL: Definition 2, Lemma 2 with (16) and (17), Lemma 10 and Algorithm 2.

*Fixed points.*  Lloyd's iteration and gradient clustering stop at the same partitions: every point
is nearest to its own mean.  Let e be the unit vector from :math:`\mu_k` to :math:`\mu_l`.  The
point :math:`a_i` of cluster k is nearer to :math:`\mu_k` exactly when its deviation along e is at
most :math:`\|\mu_k-\mu_l\|/2`.  So a clustering is a fixed point when its separation is two, and
needs no less when a deviation points at the nearest other mean.

*The separation that a shape needs* does not depend on the size of the clusters' deviations: they
are shrunk until :math:`\min\|\mu_k-\mu_l\|=\alpha\max\|\mu_k-a_i\|`.
"""

from __future__ import annotations

import sympy as sp

from bounds.odcl.assumptions import statement
from bounds.odcl.symbols import ALPHA_KM, c, cost_before, m, radius, size_min
from bounds.statement import Assumption

_ALL = r"\forall\{a_i\},\{C_k\}"
_ONE = {"any separation above one": sp.Integer(1)}
_ANY = (
    "Definition 2 asks for recovery of every data set that is separable with some $\\alpha>1$, "
    "so no data set may need more than one. Remark 15 says that the $\\alpha$ of Definition 1 "
    "depends on the data set, and that the algorithms have critical values of their own. So "
    "Sections 3 and 4.2, by which both algorithms meet Definition 2, say too much. With the "
    "critical value in the place of one in Definition 2 the assertion is Lemmas 1 and 2."
)

DEF_2_CC = statement(
    "odcl.def2-cc",
    "Convex clustering is admissible",
    "Definition 2 and Section 3",
    quantifiers=_ALL,
    observed=r"\alpha^*\ \text{of convex clustering}",
    terms=_ONE,
    reading=_ANY,
)
DEF_2_KM = statement(
    "odcl.def2-km",
    "K-means is admissible",
    "Definition 2 and Section 3",
    quantifiers=_ALL,
    observed=r"\alpha\ \text{at which}\ \{C_k\}\ \text{is a fixed point}",
    terms=_ONE,
    reading=_ANY
    + " A clustering that is no fixed point is no outcome of K-means. Gradient clustering, the "
    "third example of Section 3, has the same fixed points.",
)
DEF_2_FIXED_POINT = statement(
    "odcl.def2-fixed-point",
    "Separation two makes the clustering a fixed point",
    "Definition 2, corrected for K-means and gradient clustering",
    quantifiers=_ALL,
    observed=r"\alpha\ \text{at which}\ \{C_k\}\ \text{is a fixed point}",
    terms={"two": sp.Integer(2)},
    reading="Necessary for recovery, and sharp. It is not sufficient: see Lemma 2.",
)

DEF_2_ATTAINED = statement(
    "odcl.def2-fixed-point-attained",
    "No separation below two makes every clustering a fixed point",
    "Definition 2, the corrected value is attained",
    quantifiers=r"\forall m\;\exists\{a_i\}",
    observed=DEF_2_FIXED_POINT.observed,
    relation=r"\ge",
    terms={"two": sp.Integer(2)},
    reading="One point of a pair looks at the mean of the other cluster, however near it is.",
    uses=("odcl.def2-fixed-point",),
)

LEMMA_2_16 = statement(
    "odcl.lemma2-16",
    "Condition (4) gives the center separation (16)",
    "proof of Lemma 2",
    quantifiers=rf"{_ALL}\;\forall c>0",
    observed=r"c(\Delta_k+\Delta_l)",
    terms={"separation": ALPHA_KM * radius},
    reading="The right-hand side is $\\alpha_{km}$ times the largest radius, as (4) allows.",
    uses=("odcl.def1-def3",),
)
_PROXIMITY = (
    r"2\norm{P_{kl}^i-\mu_k}+c\left(\frac1{\sqrt{|C_k|}}+\frac1{\sqrt{|C_l|}}\right)\norm{A-C}"
)
LEMMA_2_17 = statement(
    "odcl.lemma2-17",
    "Condition (4) gives the proximity condition (17)",
    "proof of Lemma 2",
    quantifiers=rf"{_ALL}\;\forall c>0,\ i\in C_k,\ l\ne k",
    observed=_PROXIMITY,
    terms={"separation": ALPHA_KM * radius},
    reading=(
        "For a projection between the two means, (17) says that their distance is at least the "
        "left-hand side. Projections beyond $\\mu_k$ need no first term."
    ),
)

LEMMA_2 = statement(
    "odcl.lemma2",
    "Spectral K-means recovers what is separated",
    "Lemma 2 with $c=100$, footnote 4",
    quantifiers=_ALL,
    observed=r"\alpha\ \text{at which spectral}\ K\text{-means fails}",
    terms={"separation": ALPHA_KM.subs(c, 100)},
    reading=(
        "Part I runs an approximation algorithm whose factor is proved after the run. Separations "
        "below the stated one are tried as well, down to $4^{-5}$ of it."
    ),
    uses=("odcl.lemma2-16", "odcl.lemma2-17"),
)
LEMMA_2_ONE = statement(
    "odcl.lemma2-one",
    "Spectral K-means needs no large constant",
    "Lemma 2 with $c=1$ (not in the paper)",
    quantifiers=_ALL,
    observed=r"\alpha\ \text{at which spectral}\ K\text{-means fails}",
    terms={"separation": ALPHA_KM.subs(c, 1)},
    reading="Footnote 4 says that $c\\ge100$ suffices. This is how much smaller $c$ may be.",
)
LEMMA_2_SHARP = statement(
    "odcl.lemma2-sharp",
    "Spectral K-means recovers from a twelfth of the stated separation on",
    "Lemma 2, sharpened",
    quantifiers=_ALL,
    observed=r"\alpha\ \text{at which spectral}\ K\text{-means fails}",
    terms={
        "cores": sp.Integer(8),
        "approximation": (2 + 4 * sp.sqrt(10)) * sp.sqrt(m) / sp.sqrt(size_min),
    },
    reading=(
        "Less than $\\alpha_{km}$ with $c=10$, where footnote 4 asks for $c\\ge100$. With these "
        "separations all points are core points of the center of their cluster, for every "
        "10-approximation in Part I. That order of $m/|C_{(K)}|$ is needed: odcl.lemma2-order."
    ),
)
LEMMA_2_ORDER = statement(
    "odcl.lemma2-order",
    "K-means needs a separation of the order that Lemma 2 states",
    "Lemma 2, its order is necessary (not in the paper)",
    quantifiers=r"\forall |C_{(K)}|,m\;\exists\{a_i\}",
    observed=r"\alpha\ \text{at which spectral}\ K\text{-means fails}",
    relation=r"\ge",
    terms={"separation": sp.sqrt(m / size_min)},
    reading=(
        "A large cluster of N points at $\\pm r$ from its mean and two of s points D apart: to "
        "split the large one and join the others saves $Nr^2-sD^2/2$, positive for "
        "$D/r<\\sqrt{2N/s}$."
    ),
)

_FRACTION = 128 / c**2
_DEFINITION_3 = rf"{_ALL}\ \text{{with Definition 3}}"
_LARGE = (
    "Definition 3 asks for a sufficiently large $c$, and footnote 4 takes $c\\ge100$. The proof "
    "needs nine."
)
LEMMA_10_OWN = statement(
    "odcl.lemma10-own",
    "Part I puts at least this share of a cluster right",
    "Lemma 10, part 1, corrected",
    quantifiers=rf"{_DEFINITION_3},\ c\ge9\;\forall k",
    observed=r"\frac{|C_k'\cap C_k|}{|C_k|}",
    relation=r"\ge",
    terms={"share": 1 - _FRACTION},
    reading=(
        "The lemma prints an equation. Theorem 3, which takes the share from it, and the result "
        f"that it cites have inequalities. {_LARGE}"
    ),
)
LEMMA_10_FOREIGN = statement(
    "odcl.lemma10-foreign",
    "Part I adds at most this share of foreign points",
    "Lemma 10, part 2, corrected",
    quantifiers=LEMMA_10_OWN.quantifiers,
    observed=r"\frac{\sum_{l\ne k}|C_k'\cap C_l|}{|C_k|}",
    terms={"share": _FRACTION},
    reading=f"The lemma prints an equation. {_LARGE}",
)
LEMMA_10_ANY_CENTERS = statement(
    "odcl.lemma10-any-centers",
    "Part I with the worst centers of ten times the smallest cost",
    "Lemma 10, for every 10-approximation",
    quantifiers=rf"{_DEFINITION_3},\ c\ge9\;\forall\text{{ centers}}",
    observed=r"\max_k\frac{\max\{|C_k\setminus C_k'|,|C_k'\setminus C_k|\}}{|C_k|}",
    terms={"share": _FRACTION},
    reading=(
        "Algorithm 2 runs a 10-approximation algorithm, and the lemma does not say which. Centers "
        "are chosen against the statement among all whose cost is at most ten times the smallest, "
        f"for two clusters and one feature. {_LARGE}"
    ),
)
LEMMA_10_ON_A_LINE = statement(
    "odcl.lemma10-on-a-line",
    "Part I with the worst centers gets a sixteenth of the stated share wrong on a line",
    "Lemma 10, for two clusters on a line (not in the paper)",
    quantifiers=rf"{_DEFINITION_3}\;\forall\text{{ centers}},\ c\ge8\sqrt2",
    observed=LEMMA_10_ANY_CENTERS.observed,
    terms={"share": 8 / c**2},
    assumptions=(Assumption(name="a share", left=c, right=8 * sp.sqrt(2), strict=True),),
    reading=(
        "Tried, not proved. With a large second cluster the share comes close to "
        "$4/(c-\\sqrt{10})^2$: outliers at the place to which ten times the cost moves the middle."
    ),
)

#: Where the sharpened shares of Lemma 10 begin, and how much they take from c.
_HALF_WAY, _OWN, _FOREIGN = sp.Rational(25, 2), sp.Rational(27, 2), sp.Rational(31, 6)


def _from(low: sp.Rational) -> tuple[Assumption]:
    return (Assumption(name="large constant", left=c, right=low, strict=True),)


_SHARP = (
    "A wrong point lies beyond the middle of two centers, and each center is within "
    "$(1+\\sqrt{10})\\Delta_k$ of its mean. The share tends to $4/c^2$, a thirty-second of the "
    "stated one. No constant below 4 will do: odcl.lemma10-attained."
)
LEMMA_10_OWN_SHARP = statement(
    "odcl.lemma10-own-sharp",
    "Part I puts all but 4/c² of a cluster right, for large c",
    "Lemma 10, part 1, sharpened",
    quantifiers=rf"{_DEFINITION_3}\;\forall k",
    observed=LEMMA_10_OWN.observed,
    relation=r"\ge",
    terms={"share": 1 - 4 / (c - _OWN) ** 2},
    assumptions=_from(_OWN),
    reading=_SHARP,
)
LEMMA_10_FOREIGN_SHARP = statement(
    "odcl.lemma10-foreign-sharp",
    "Part I adds at most 4/c² of foreign points, for large c",
    "Lemma 10, part 2, sharpened",
    quantifiers=LEMMA_10_OWN_SHARP.quantifiers,
    observed=LEMMA_10_FOREIGN.observed,
    terms={"share": 4 / (c - _FOREIGN) ** 2},
    assumptions=_from(_OWN),
    reading=_SHARP,
)
LEMMA_10_ANY_CENTERS_SHARP = statement(
    "odcl.lemma10-any-centers-sharp",
    "Part I with the worst centers gets 4/c² of a cluster wrong, for large c",
    "Lemma 10, for every 10-approximation, sharpened",
    quantifiers=rf"{_DEFINITION_3}\;\forall\text{{ centers}}",
    observed=LEMMA_10_ANY_CENTERS.observed,
    terms={"share": 4 / (c - _HALF_WAY) ** 2},
    assumptions=_from(_HALF_WAY),
    reading=_SHARP,
)
LEMMA_10_ATTAINED = statement(
    "odcl.lemma10-attained",
    "No constant below 4 serves Lemma 10",
    "Lemma 10, the sharpened constant is attained",
    quantifiers=r"\forall n\ge25\;\exists\{a_i\},\{\nu_k\}",
    observed=r"\min\left\{\frac{c^2}4\cdot\frac{|C_k\setminus C_k'|}{|C_k|},"
    r"\frac{10\min\text{cost}}{\text{cost}}\right\}",
    relation=r"\ge",
    terms={"at least": sp.Integer(1)},
    reading=(
        "The first term says that at least a share $4/c^2$ of a cluster is wrong, the second that "
        "the centers cost at most ten times the least. $c$ is the largest constant with "
        "which Definition 3 holds. It grows with the number $n$ of points of the first cluster."
    ),
    uses=("odcl.lemma10-any-centers-sharp",),
)

APPROXIMATION = statement(
    "odcl.approximation",
    "Part I finds a 10-approximation",
    "Algorithm 2 and footnote 6",
    quantifiers=r"\forall\{a_i\},K",
    observed=r"\frac{\text{cost of Part I}}{\min\text{cost}}",
    terms={"factor": sp.Integer(10)},
    reading=(
        "Footnote 6 would allow a factor of 11: it calls $f\\le(1+\\epsilon)\\min f$ an "
        "$\\epsilon$-approximation. The usual meaning, a factor of 10, is tried."
    ),
)
LLOYD_FINITE = statement(
    "odcl.lloyd-finite",
    "Lloyd's iteration lowers the cost and stops",
    "Appendix B.2.2",
    quantifiers=r"\forall\{a_i\},K\;\forall t",
    observed=r"J_{t+1}",
    terms={"cost before": cost_before},
    reading="A run that has not stopped after 300 iterations counts as a violation.",
)
GRADIENT_CLUSTERING = statement(
    "odcl.gradient-clustering",
    "Gradient clustering recovers from one start in each cluster",
    "Section 3, item 3, corrected",
    quantifiers=rf"{_ALL}\;\forall\text{{ starts, one of each cluster}}",
    observed=r"\alpha\ \text{at which gradient clustering fails}",
    terms={"four": sp.Integer(4)},
    reading=(
        "A point is at most two radii from the start in its own cluster and at least $D$ minus two "
        "radii from any other, so every first label is right from $\\alpha=4$ on."
    ),
    uses=("odcl.def2-fixed-point",),
)

r"""Theorem 3 of ODCL: part I of spectral K-means alone, and the cost of an inexact clustering.

With shares :math:`\epsilon_{kl}=|C_k'\cap C_l|/|C_k'|` of foreign users, the mean of the found
cluster is off by :math:`\sum_{l\ne k}\epsilon_{kl}(\theta_l^\star-\theta_k^\star)`, however many
samples there are.  The square of its length is the floor of the mean squared error.
"""

from __future__ import annotations

import sympy as sp

from bounds.odcl.assumptions import statement
from bounds.odcl.kmeans import LEMMA_10_FOREIGN, LEMMA_10_OWN
from bounds.odcl.symbols import (
    C,
    Delta,
    M,
    M_bar,
    c,
    eps_k,
    floor_sq,
    k,
    m,
    n,
    reach_sq,
    size_k,
    size_min,
    total_sq,
    variance,
)
from bounds.render import latex
from bounds.statement import Assumption, Constant

_FITS = r"\forall\{\hat\theta_i\}"
_SPREAD = r"\sum_{i\in C_k}\norm{\hat\theta_i-\bar\theta_k}^2"
EQ_24 = statement(
    "odcl.eq24",
    "Spread of the local fits about their mean",
    "(24)",
    quantifiers=_FITS,
    observed=_SPREAD,
    terms={"spread about the optimum": 4 * total_sq},
)
EQ_24_ONE = statement(
    "odcl.eq24-one",
    "Spread of the local fits about their mean, without the factor",
    "(24), sharpened",
    quantifiers=_FITS,
    observed=_SPREAD,
    terms={"spread about the optimum": total_sq},
    reading="The mean minimises the sum of squared distances.",
)

#: Theorem 3's requirement on n / log n.
REQUIREMENT_PART_ONE = 64 * c**2 * m * M_bar / (Delta**2 * size_min)
_NEEDED = r"\frac n{\log n}\ \text{at which Definition 3 holds}"
THRESHOLD = statement(
    "odcl.thm3-threshold",
    "Enough samples give the center separation",
    "Theorem 3 and its proof, (22) to (24)",
    quantifiers=r"\forall\norm{\hat\theta_i-\theta_k^\star}^2\le M_{ik}\tfrac{\log n}n",
    observed=_NEEDED,
    terms={"requirement": REQUIREMENT_PART_ONE},
    reading="The means are taken to lie $D/2$ apart, as on the event of the proof.",
    uses=("odcl.eq24",),
)
THRESHOLD_SHARP = statement(
    "odcl.thm3-threshold-sharp",
    "A quarter of the samples gives the center separation",
    "Theorem 3, sharpened",
    quantifiers=THRESHOLD.quantifiers,
    observed=_NEEDED,
    terms={"requirement": REQUIREMENT_PART_ONE / 4},
    reading="(24) holds without its factor 4.",
    uses=("odcl.eq24-one",),
)

_AT_THRESHOLD = (
    Assumption(
        name="samples per user", left=n / sp.log(n), right=REQUIREMENT_PART_ONE, strict=True
    ),
    Assumption(name="samples of (8)", left=n, right=sp.Integer(3)),
    Assumption(name="constant of Lemma 10", left=c, right=8 * sp.sqrt(2), strict=True),
)
_UNION = 2 * m / n**3
_EVENT = (
    "The probability is that of the event of the proof: every fit has an error of at most "
    "$M\\log n/n$, by (9) each but with probability $2/n^3$. The means then move by less than "
    "$D/4$. $M$ is the smallest constant for which (9) holds."
)
_LITTLE_POWER = (
    "Part I is exact at this requirement (odcl.thm3-exact), so that no cell comes near the share: "
    "the claim shows that the statement holds and not how far it could be sharpened."
)
THEOREM_3_1 = statement(
    "odcl.thm3-1",
    "Part I keeps most of each cluster together",
    "Theorem 3, part 1",
    kind="probability",
    quantifiers=r"\forall m,K,d,c,n\;\forall k",
    observed=r"\frac{|C_k'\cap C_k|}{|C_k|}",
    relation=r"\ge",
    terms={"share": LEMMA_10_OWN.expr},
    failure=_UNION,
    assumptions=_AT_THRESHOLD,
    reading=_EVENT + " " + _LITTLE_POWER,
    uses=("odcl.lemma10-own", "odcl.thm3-threshold"),
)
THEOREM_3_2 = statement(
    "odcl.thm3-2",
    "Part I adds few foreign users",
    "Theorem 3, part 2",
    kind="probability",
    quantifiers=r"\forall m,K,d,c,n\;\forall k",
    observed=r"\frac{\sum_{l\ne k}|C_k'\cap C_l|}{|C_k|}",
    terms={"share": LEMMA_10_FOREIGN.expr},
    failure=_UNION,
    assumptions=_AT_THRESHOLD,
    reading=_EVENT + " " + _LITTLE_POWER,
    uses=("odcl.lemma10-foreign", "odcl.thm3-threshold"),
)

THEOREM_3_EXACT = statement(
    "odcl.thm3-exact",
    "Part I alone recovers the clusters at the requirement of Theorem 3",
    "Theorem 3, sharpened",
    kind="probability",
    quantifiers=r"\forall m,K,d,n,\ c\ge3\;\forall k",
    observed=r"\frac{|C_k'\cap C_k|}{|C_k|}",
    relation=r"\ge",
    terms={"all of the cluster": sp.Integer(1)},
    failure=_UNION,
    assumptions=(
        *_AT_THRESHOLD[:2],
        Assumption(name="constant of the requirement", left=c, right=sp.Integer(3)),
    ),
    reading=(
        "$M_{ik}$ is the same for all users of a cluster, so $|C_{(K)}|M_{ik}\\le m\\overline M$. "
        "On the event of the proof every fit is then within $r=D/(8c)$ of its optimum, and the "
        "squared errors sum to at most $r^2|C_{(K)}|$. The projection moves every mean by at most "
        "$r$, so projected means are $D-4r$ apart and projected fits within $2r$ of theirs. A cost "
        "of at most $10r^2|C_{(K)}|$ puts a center within $(2+\\sqrt{10})r$ of every mean, a "
        "different one for each. Each fit is nearest to that of its own cluster for $D>18.4r$, "
        "that is for $c\\ge2.3$. So the floor of Theorem 3 is zero at the requirement of Theorem 3."
    ),
    uses=("odcl.approximation",),
)

_EPSILON = r"\epsilon_k=\sum_{l\ne k}\frac{|C_k'\cap C_l|}{|C_k'|}"
_SHARES = r"\forall c\ge12\;\forall C_k'\ \text{with 1), 2)}"
#: Part 1) guarantees own users from c = 8 sqrt(2) < 12 on.  The paper takes c >= 100.
_OWN_USERS = Assumption(name="large constant", left=c, right=sp.Integer(12))
FRACTION = 128 / (c**2 - 128)
EPSILON = statement(
    "odcl.thm3-epsilon",
    "Share of foreign users in a found cluster",
    "Theorem 3, after 3)",
    quantifiers=_SHARES,
    observed=_EPSILON,
    terms={"share": FRACTION},
    assumptions=(_OWN_USERS,),
    uses=("odcl.lemma10-own", "odcl.lemma10-foreign"),
)
EPSILON_SHARP = statement(
    "odcl.thm3-epsilon-sharp",
    "Share of foreign users in a found cluster, sharpened",
    "Theorem 3, after 3), sharpened",
    quantifiers=_SHARES,
    observed=_EPSILON,
    terms={"share": 128 / c**2},
    assumptions=(_OWN_USERS,),
    reading=(
        "With at least $(1-x)|C_k|$ own and at most $x|C_k|$ foreign users the share is at most "
        "$x/((1-x)+x)$, attained."
    ),
    uses=("odcl.lemma10-own", "odcl.lemma10-foreign"),
)
EPSILON_PROOF = statement(
    "odcl.thm3-epsilon-proof",
    "The two shares in the proof of Theorem 3",
    "proof of Theorem 3, last sentence",
    quantifiers=r"\forall c\ge8\sqrt6",
    observed=r"\frac{128}{c^2-128}",
    terms={"share": 256 / (c**2 + 128)},
    assumptions=(Assumption(name="large constant", left=c, right=8 * sp.sqrt(6)),),
)

_FLOOR = r"\norm{\sum_{l\ne k}\epsilon_{kl}(\theta_l^\star-\theta_k^\star)}^2"
_OPTIMA = r"\forall\{\theta_l^\star\},\{\epsilon_{kl}\}"
LEMMA_9 = statement(
    "odcl.lemma9",
    "Mean squared error of a cluster with foreign users",
    "Lemma 9, with the constants of its proof",
    kind="expectation",
    quantifiers=r"\forall n,v,\{\theta_l^\star\},\{\epsilon_{kl}\},\ S\ \text{independent of}\ "
    r"\hat\theta_i,\ E\hat\theta_i=\theta_{(i)}^\star",
    observed=r"E[\norm{\tilde\theta_k-\theta_k^\star}^2\mid S]",
    terms={"variance": 4 * (k - 1) * variance / (n * size_k), "floor": 4 * (k - 1) * floor_sq},
    reading=(
        "For fits with mean $\\theta_k^\\star$ and variance $v/n$ and a clustering $S$ that does "
        "not depend on them, both sides are exact. The $1/n^2$ term of the lemma is the bias, "
        "which is zero here."
    ),
)
THEOREM_3_3_AS_PRINTED = statement(
    "odcl.thm3-3-as-printed",
    "The step from Lemma 9 to part 3 of Theorem 3 drops the number of clusters",
    "proof of Theorem 3, part 3 from Lemma 9",
    quantifiers=rf"\exists C\;{_OPTIMA}",
    observed=_FLOOR,
    terms={"floor": C * floor_sq},
    constants=(
        Constant(symbol=C, low=0.0, high=1e3, generous="high", meaning="the constant of the order"),
    ),
    reading=(
        "As $n$ grows, only the floor is left. Lemma 9 has the factor $K-1$, which the theorem's "
        "order would have to contain as a universal constant. The clusterings are any with "
        "$\\epsilon_k\\le128/(c^2-128)$ at $c=100$, as in Lemma 9. This is about the step and not "
        "about the theorem: at its own requirement Part I makes no error at all (odcl.thm3-exact), "
        "so that its floor is zero."
    ),
)
LEMMA_9_FLOOR = statement(
    "odcl.lemma9-floor",
    "A floor without the number of clusters",
    "proof of Theorem 3, part 3, corrected",
    quantifiers=_OPTIMA,
    observed=_FLOOR,
    terms={"floor": eps_k * reach_sq},
    reading=(
        "Jensen's inequality for the weights $\\epsilon_{kl}/\\epsilon_k$. At most "
        "$\\epsilon_k^2D_{\\max}$, as Remark 19 uses it."
    ),
)
LEMMA_9_FLOOR_ATTAINED = statement(
    "odcl.lemma9-floor-attained",
    "No smaller constant serves all optima",
    "proof of Theorem 3, part 3, the corrected floor is attained",
    quantifiers=r"\forall K,\epsilon_k\;\exists\{\theta_l^\star\},\{\epsilon_{kl}\}",
    observed=_FLOOR,
    relation=r"\ge",
    terms={"floor": eps_k * reach_sq},
    reading="The other optima lie in one place.",
    uses=("odcl.lemma9-floor",),
)
CONDITIONING = statement(
    "odcl.lemma9-conditioning",
    "Users in a wrong cluster have errors of the usual size",
    "proof of Lemma 9, where Lemma 4 is applied to $A_3$",
    quantifiers=r"\exists C\;\forall n,D,\sigma",
    observed=r"E[(\hat\theta_j-\theta_l^\star)^2\mid j\in C_k']",
    terms={"variance": C * variance / n},
    constants=(
        Constant(symbol=C, low=0.0, high=1e3, generous="high", meaning="the constant of the order"),
    ),
    reading=(
        "In one dimension with normal fits, a user is put into the cluster whose optimum is "
        "nearer. A user in the wrong cluster has therefore an error above $D/2$."
    ),
)

_CONSTANT = r"\forall c\ge100"
_AT_100 = (Assumption(name="footnote 4", left=c, right=sp.Integer(100)),)
REMARK_19_OWN = statement(
    "odcl.remark19-own",
    "98.7 per cent of each cluster is right",
    "Remark 19",
    quantifiers=_CONSTANT,
    observed=latex(LEMMA_10_OWN.expr),
    relation=r"\ge",
    terms={"printed": sp.Rational(987, 1000)},
    assumptions=_AT_100,
)
REMARK_19_FOREIGN = statement(
    "odcl.remark19-foreign",
    "1.3 per cent of each cluster is foreign",
    "Remark 19",
    quantifiers=_CONSTANT,
    observed=latex(LEMMA_10_FOREIGN.expr),
    terms={"printed": sp.Rational(13, 1000)},
    assumptions=_AT_100,
)
REMARK_19_FLOOR = statement(
    "odcl.remark19-floor",
    "The floor is 1.69e-4 of the largest squared distance",
    "Remark 19",
    quantifiers=_CONSTANT,
    observed=r"\left(\frac{128}{c^2-128}\right)^2",
    terms={"printed": sp.Rational(169, 1_000_000)},
    assumptions=_AT_100,
    uses=("odcl.thm3-epsilon", "odcl.lemma9-floor"),
)

_CONDITIONS = r"\forall m\ge2|C_{(K)}|,\ c,M,D"
#: Both requirements with one M, so that only their form is compared.
PART_ONE_SAME_M = REQUIREMENT_PART_ONE.subs(M_bar, M)
REMARK_20 = statement(
    "odcl.remark20",
    "Part I lowers the requirement by the order of c² M / D²",
    "Remark 20, with $c=100$ (footnote 4)",
    quantifiers=r"\forall m\ge2|C_{(K)}|,M,D",
    observed=r"\text{requirement of ODCL-KM}-\text{requirement of Theorem 3}",
    relation=r"\ge",
    terms={"reduction": sp.Rational(9, 5) * 100**2 * M / Delta**2},
    reading=(
        "$c$ is one global constant, so that the order's constant may depend on it: $9/5$ at "
        "$c=100$. The difference is $\\frac{64M}{D^2}(1+2c\\sqrt{m/|C_{(K)}|})$."
    ),
    uses=("odcl.requirement-km",),
)
REMARK_20_RELATIVE = statement(
    "odcl.remark20-relative",
    "Part I lowers the requirement by a small share only",
    "Remark 20, the share (not in the paper)",
    quantifiers=_CONDITIONS,
    observed=r"1-\frac{\text{requirement of Theorem 3}}{\text{requirement of ODCL-KM}}",
    terms={"share": 2 / (c * sp.sqrt(m / size_min))},
    reading="At most $\\sqrt2/c$, which is 1.42 per cent at $c=100$.",
    uses=("odcl.requirement-km",),
)
REMARK_21 = statement(
    "odcl.remark21-band",
    "The two regimes of Remark 21 differ by a factor",
    "Remark 21, the width of the band between its two orders (not in the paper)",
    quantifiers=_CONDITIONS,
    observed=r"\frac{c^2Mm/(D^2|C_{(K)}|)+c^2M/D^2}{c^2Mm/(D^2|C_{(K)}|)}",
    terms={"width": 1 + size_min / m},
    reading="At most $3/2$, so both orders are the same order.",
)

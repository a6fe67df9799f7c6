"""Wrong labels uniformly over the models: Lemma 9, Lemma 12, (31), (32) and (36)."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Term
from bounds.sxy.assumptions import prefactor, rate, statement
from bounds.sxy.symbols import C, Delta, M, N, V, c, d, k, m, n, sigma, skew, weights, x

CHI2_IDENTITY = statement(
    "sxy.chi2-identity",
    "The squares of the clients' sizes and their skewness",
    "(32), the equality",
    kind="deterministic",
    quantifiers=r"\forall M,n",
    observed=r"\sum_in_i^2",
    relation="=",
    terms=(Term(name="skewness", expr=N**2 * skew / M),),
)


LEMMA_9_COUNT = statement(
    "sxy.lemma9-count",
    "Proof of Lemma 9: the number of sign patterns of enough polynomials",
    "proof of Lemma 9, the bound by the Milnor-Thom theorem, corrected",
    assumptions=(Assumption(name="enough polynomials", left=m * (k - 1), right=d * k),),
    reading=(
        "The theorem counts the patterns of at least as many polynomials as variables. Fewer "
        "points than variables need no bound: $m\\le dk$ is the assertion. Its bound is at least "
        "$100^{dk}$. The search counts the patterns of 64 models, so it tries the condition and "
        "not the size of the bound."
    ),
    kind="deterministic",
    quantifiers=r"\forall m,k\ge2,d,\text{ points}",
    observed=r"|\{(q_{i,\ell}(\theta))_{i,\ell}:\theta\in R^{dk}\}|",
    terms=(Term(name="Milnor-Thom", expr=(100 * m * (k - 1) / (d * k)) ** (d * k)),),
)

LEMMA_9 = statement(
    "sxy.lemma9-vc",
    "Lemma 9: the VC dimension of the wrong labels",
    "Lemma 9",
    kind="deterministic",
    quantifiers=r"\exists C\;\forall d,k\ge2",
    observed=r"\max\{m:2^m\le(\frac{100m(k-1)}{dk})^{dk}\}",
    terms=(Term(name="dimension", expr=C * d * k * sp.log(k)),),
    constants=(prefactor(C, "prefactor"),),
    uses=("sxy.lemma9-count",),
)

LEMMA_9_BELOW = statement(
    "sxy.lemma9-below",
    "Lemma 9 from below: clients with any subset of wrong labels",
    "Lemma 9, from below (not in the paper)",
    kind="deterministic",
    quantifiers=r"\forall d\ge2,k\ge2\;\exists\text{ clients}",
    observed=r"\text{clients that the class shatters}",
    relation=r"\ge",
    terms=(Term(name="dimension", expr=d * (k - 1)),),
    assumptions=(Assumption(name="two features", left=d, right=sp.Integer(2)),),
    reading=(
        "At least $dk/2$, so that Lemma 9 is sharp up to its $\\log k$. From four features on the "
        "logarithm is needed too: clients with $d$ orthonormal rows are labelled by the cell of "
        "$\\theta_j$, which is any intersection of $k-1$ half-spaces around it, and their VC "
        "dimension is of order $dk\\log k$ (Csikós, Mustafa & Kupavskii 2019). With one "
        "feature the "
        "dimension is two for every $k$: a label $j$ is right where the client's least squares fit "
        "lies in an interval around $\\theta_j$."
    ),
)

LEMMA_12 = statement(
    "sxy.lemma12",
    "Lemma 12: the expected supremum of a weighted empirical process",
    "Lemma 12",
    kind="expectation",
    quantifiers=r"\exists C\;\forall n,\lambda,\text{ classes of VC dimension at most }V",
    observed=r"E\sup_f|G_n(f)-EG_n(f)|",
    terms=(Term(name="deviation", expr=C * sp.sqrt(V) * weights),),
    constants=(prefactor(C, "prefactor"),),
    assumptions=(Assumption(name="two functions at least", left=V, right=sp.Integer(1)),),
    reading=(
        "Tried on the class of all subsets of $V$ points. "
        "The paper's letter for the dimension is $d$. A class of one function has dimension zero "
        "and a supremum that is not zero."
    ),
)

EQ_31 = statement(
    "sxy.mcdiarmid-31",
    "The tail of the supremum",
    "(31)",
    kind="probability",
    quantifiers=r"\forall M,n,\ t=x\sqrt{\sum_in_i^2}",
    observed=r"h(Z_1,\dots,Z_M)-Eh(Z_1,\dots,Z_M)",
    terms=(Term(name="deviation", expr=x * weights),),
    failure=sp.exp(-2 * x**2),
)

DEVIATION = sp.sqrt(d * k * sp.log(k) / M * skew)

EQ_32 = statement(
    "sxy.uniform-32",
    "The wrong labels deviate little, uniformly over all models",
    "(32)",
    kind="probability",
    quantifiers=r"\exists C\;\forall M,n,d,k,\ j",
    observed=r"\sup_\theta|G_j(\theta)-EG_j(\theta)|",
    terms=(Term(name="deviation", expr=C * N * DEVIATION),),
    failure=k ** (-d * k),
    constants=(prefactor(C, "prefactor"),),
    assumptions=(Assumption(name="two features", left=d, right=sp.Integer(2)),),
    reading=(
        "Clients of one cluster whose rows are all alike: one of the $d(k-1)$ points that the "
        "models shatter, at random, and noise $\\pm\\frac12$. That makes $2d(k-1)$ kinds of "
        "clients. The left side is the supremum over all subsets of the kinds: at least the one "
        "over the models, which pick every subset of the kinds with positive noise."
    ),
    uses=(
        "sxy.lemma9-vc",
        "sxy.lemma9-below",
        "sxy.lemma12",
        "sxy.mcdiarmid-31",
        "sxy.chi2-identity",
    ),
)

#: (32) with one feature and two clusters, the constant sqrt(2 log 2) put into C.
DEVIATION_ON_A_LINE = sp.sqrt(skew / M)

EQ_32_LINE = statement(
    "sxy.uniform-32-line",
    "The wrong labels deviate little, uniformly over all models of one feature and two clusters",
    "(32) for $d=1$, $k=2$",
    kind="probability",
    quantifiers=r"\exists C\;\forall M,n,\ j",
    observed=r"\frac1N\sup_\theta|G_j(\theta)-EG_j(\theta)|",
    terms=(Term(name="deviation", expr=C * DEVIATION_ON_A_LINE),),
    failure=sp.Rational(1, 4),
    constants=(prefactor(C, "prefactor"),),
    reading=(
        "The supremum is found exactly. $d$ and $k$ are one and two throughout, so that their "
        "powers are tried by the claim for many features and clusters."
    ),
    uses=EQ_32.uses,
)

EQ_32_SEARCHED = statement(
    "sxy.uniform-32-searched",
    "The wrong labels deviate little in many dimensions",
    "(32)",
    kind="supremum",
    quantifiers=r"\exists C\;\forall M,d,\ k=2",
    observed=r"\frac1N\sup_\theta|G_j(\theta)-EG_j(\theta)|",
    terms=(Term(name="deviation", expr=C * DEVIATION),),
    failure=k ** (-d * k),
    constants=(prefactor(C, "prefactor", high=1.0),),
    reading="A lower limit of the supremum against the statement with $C=1$.",
    uses=("sxy.lemma9-vc", "sxy.lemma12", "sxy.mcdiarmid-31", "sxy.chi2-identity"),
)

EQ_32_RATE = statement(
    "sxy.uniform-32-rate",
    "The deviation of the wrong labels grows with the dimension and the skewness",
    "(32)",
    kind="rate",
    quantifiers=r"\forall M,n,d,\ k=2",
    observed=r"\frac1N\sup_\theta|G_j(\theta)-EG_j(\theta)|",
    relation=r"\propto",
    terms=(Term(name="deviation", expr=sp.sqrt(d * skew / M)),),
    reading=(
        "Two opposite models in a direction that the data choose give a lower limit of the "
        "supremum. It has the exponents of the stated upper limit, so none can be smaller."
    ),
)

EQ_32_IN_K = statement(
    "sxy.uniform-32-in-k",
    "The deviation of the wrong labels grows with the clusters",
    "(32), the exponents of k and d, for a law of the features that attains them",
    kind="rate",
    quantifiers=r"\exists\text{ law of }(x,\zeta)\;\forall M,k\ge2,d\ge2",
    observed=r"E\sup_\theta|G_j(\theta)-EG_j(\theta)|",
    relation=r"\propto",
    terms=(Term(name="deviation", expr=sp.sqrt(V * M)),),
    definitions={V: d * (k - 1)},
    reading=(
        "One row each, uniform on the $d(k-1)$ points that the models shatter, and noise "
        "$\\pm\\frac12$. A rival that wins at the points of a subset has the "
        "others outside its slab, and wins at no client with the noise "
        "$-\\frac12$. So the supremum is at least that over all subsets of the points, for the "
        "$M$ clients of positive noise. Its exponents are those of (32) without the logarithm. "
        "With one feature the deviation is the same for every $k\\ge3$, because a label $j$ is "
        "right in an interval."
    ),
    uses=("sxy.lemma9-below", "sxy.lemma12"),
)

P_E = 4 * k * sp.exp(-c * n * sp.Min(1, Delta**2 / sigma**2) ** 2)

EQ_36 = statement(
    "sxy.eq36",
    "The share of the wrongly labelled rows with one feature and two clusters",
    "(36) for $d=1$, $k=2$, with nu from (10)",
    kind="probability",
    quantifiers=r"\exists C,c\;\forall M,n,\ d(\theta,\theta^*)\le\epsilon",
    observed=r"\max_j\frac1N\sup_\theta N_{S_j(\theta)}",
    terms=(
        Term(name="expectation", expr=P_E.subs(k, 2)),
        Term(name="deviation", expr=C * DEVIATION_ON_A_LINE),
    ),
    failure=sp.Rational(1, 4),
    constants=(prefactor(C, "prefactor"), rate(c, "rate")),
    reading=(
        "$n$ is the smallest size, so that the first term is at least that of (10). The supremum "
        "over the ball is found exactly. With one feature the first term is enough, by Markov's "
        "inequality: $C=0$. The deviation is tried by sxy.uniform-32-line. For all $d$ and $k$ "
        "(36) is Lemma 10 added to (32)."
    ),
    uses=("sxy.uniform-32-line", "sxy.uniform-32", "sxy.lemma10"),
)

r"""Sample requirements and communication in ODCL: Section 4.2, Section 4.3 and Table 1.

Theorem 1 asks for :math:`n/\log n>16M\alpha^2/D^2`.  Section 4.2 puts the separations of Lemmas 1
and 2 into it.  Table 1 summarises these and the statements of two other papers.
"""

from __future__ import annotations

import sympy as sp

from bounds.odcl.assumptions import statement
from bounds.odcl.symbols import (
    ALPHA_CC,
    ALPHA_KM,
    C,
    Delta,
    L,
    M,
    c,
    k,
    kappa,
    m,
    mu,
    n,
    size_max,
    size_min,
    varepsilon,
)
from bounds.statement import Constant, Contrast

#: Theorem 1's requirement on n / log n with the separations of the two algorithms.
THEOREM_1_CC = 16 * M * ALPHA_CC**2 / Delta**2
THEOREM_1_KM = 16 * M * ALPHA_KM**2 / Delta**2
REQUIREMENT_KM = 64 * M * (sp.sqrt(size_min) + c * sp.sqrt(m)) ** 2 / (size_min * Delta**2)
REQUIREMENT_CC_EXPR = 256 * M * (m - size_min) ** 2 / (size_min**2 * Delta**2)

_SIZES = r"\forall m\ge2|C_{(K)}|"
_ORDER = Constant(symbol=C, low=0.0, high=1e3, generous="high", meaning="the constant of the order")
_CC = r"\frac{16M\alpha_{cc}^2}{D^2}"
_KM = r"\frac{16M\alpha_{km}^2}{D^2}"

REQ_CC = statement(
    "odcl.requirement-cc",
    "Requirement of ODCL-CC",
    "Section 4.2, 1)",
    quantifiers=rf"{_SIZES},M,D",
    observed=_CC,
    relation="=",
    terms={"printed": REQUIREMENT_CC_EXPR},
    uses=("odcl.lemma1",),
)
REQ_KM = statement(
    "odcl.requirement-km",
    "Requirement of ODCL-KM",
    "Section 4.2, 2)",
    quantifiers=rf"{_SIZES},c,M,D",
    observed=_KM,
    relation="=",
    terms={"printed": REQUIREMENT_KM},
    uses=("odcl.lemma2",),
)
REQ_KM_DISPLAY = statement(
    "odcl.requirement-km-display",
    "The term of ODCL-KM's requirement in the comparison",
    "Section 4.2, after 2), as in the copy at hand",
    quantifiers=rf"\exists C\;{_SIZES}",
    observed=r"\frac{(\sqrt{|C_{(K)}|}+\sqrt m)^2}{|C_{(K)}|}",
    terms={"printed": C * (sp.sqrt(size_min) + sp.sqrt(m)) ** 2 / size_min**2},
    constants=(_ORDER,),
    reading="The left-hand side is requirement 2) without $64M/D^2$, with $c=1$.",
)

#: The requirement of ODCL-CC over that of ODCL-KM.
RATIO = REQUIREMENT_CC_EXPR / REQUIREMENT_KM
_RATIO = r"\frac{\text{requirement 1)}}{\text{requirement 2)}}"
CC_VS_KM = statement(
    "odcl.cc-vs-km-as-printed",
    "ODCL-CC requires more samples than ODCL-KM",
    "Section 4.2, last paragraph, with $c=100$ (footnote 4)",
    quantifiers=_SIZES,
    observed=_RATIO,
    relation=r"\ge",
    terms={"larger": sp.Integer(1)},
    reading=(
        "Printed: larger by roughly a factor of $m/|C_{(K)}|$. The claim tries whether it is "
        "larger at all. As an order in $m/|C_{(K)}|$ the sentence is right. The constant "
        "$c\\ge100$ decides."
    ),
    uses=("odcl.requirement-cc", "odcl.requirement-km"),
)
CC_VS_KM_FACTOR = statement(
    "odcl.cc-vs-km",
    "ODCL-CC against ODCL-KM with the constant",
    "Section 4.2, last paragraph, corrected",
    quantifiers=rf"{_SIZES},c",
    observed=_RATIO,
    terms={"factor": 4 * m / (c**2 * size_min)},
    reading=(
        "The printed comparison drops $c$. With $c=100$, ODCL-CC requires fewer samples unless "
        "the smallest cluster holds less than one user in 2502."
    ),
    uses=("odcl.requirement-cc", "odcl.requirement-km"),
)

_RUNS = (
    "The runs ask for the smallest distance at which some penalty recovers, and for the largest at "
    "which spectral $K$-means fails. Samples are proportional to the squares. "
)
CC_VS_KM_RUNS = statement(
    "odcl.cc-vs-km-runs",
    "Convex clustering needs more samples than K-means in runs, without clusters of one user",
    "Section 4.2, last paragraph, in runs",
    kind="comparison",
    quantifiers=r"\forall K,d,\ |C_{(K)}|\ge2",
    observed=r"\text{samples needed at a given}\ D",
    contrasts=(Contrast(left="KM", relation="<", right="CC"),),
    reading=_RUNS + "Clusters are equal, or the first is up to twenty times as large.",
)
CC_VS_KM_SINGLE = statement(
    "odcl.cc-vs-km-single-users",
    "K-means needs more samples than convex clustering where all clusters but one are single users",
    "Section 4.2, last paragraph, its limit (not in the paper)",
    kind="comparison",
    quantifiers=r"|C_{(1)}|\ge30,\ |C_{(2)}|=1",
    observed=CC_VS_KM_RUNS.observed,
    contrasts=(Contrast(left="CC", relation="<", right="KM"),),
    reading=_RUNS
    + "A single user need not fuse with anyone, so that only the large cluster sets the lower end "
    "of (13). $K$-means gains by splitting the large cluster.",
)

#: IFCA's accuracy, Corollary 2 of Ghosh et al. (2022): the statistical term and the other one, with
#: everything but the sizes, K, D and n at one, and p = |C_(K)|/m.
_P = size_min / m
IFCA_STATISTICAL = k / (_P ** sp.Rational(5, 2) * sp.sqrt(m * n))
IFCA_OTHER = k / (_P**2 * Delta**4 * n)

TABLE_1_IFCA_CR = statement(
    "odcl.table1-ifca-cr",
    "The logarithm in IFCA's rounds",
    "Table 1, IFCA, communication rounds",
    quantifiers=r"\forall m,|C_{(K)}|,K,D,n",
    observed=r"(D/\varepsilon)^2,\ \varepsilon=\frac K{p^{5/2}\sqrt{mn}}",
    relation="=",
    terms={"printed": Delta**2 * n * size_min**5 / (k**2 * m**4)},
    reading="Corollary 2 of Ghosh et al. (2022), first term, with $p=|C_{(K)}|/m$.",
)
TABLE_1_IFCA_SR = statement(
    "odcl.table1-ifca-sr",
    "IFCA's sample requirement is enough for its rate",
    "Table 1, IFCA, sample requirement",
    quantifiers=rf"\exists C\;{_SIZES},K,D",
    observed=r"|C_{(K)}|/D^8",
    terms={"printed": C * sp.Max(size_max, k / Delta**4)},
    constants=(_ORDER,),
    reading=(
        "The second term $K/(p^2D^4n)$ of IFCA's accuracy is below the first, on which the "
        "communication entry rests, exactly for $n\\ge|C_{(K)}|/D^8$."
    ),
    uses=("odcl.table1-ifca-cr",),
)
_AFA = kappa * k / (varepsilon * mu * m) * sp.log(1 / varepsilon)
ALL_FOR_ALL = _AFA.subs({varepsilon: k / (n * m), kappa: 1, mu: 1})
TABLE_1_AFA = statement(
    "odcl.table1-afa",
    "ALL-FOR-ALL's rounds in Table 1 follow from Section 4.3",
    "Table 1, ALL-FOR-ALL, communication rounds",
    quantifiers=r"\exists C\;\forall m\ge K,n",
    observed=r"\frac{nm}K\log\frac{nm}K",
    terms={"Section 4.3": C * ALL_FOR_ALL},
    constants=(_ORDER,),
    reading=(
        "Section 4.3 at the accuracy $\\varepsilon=K/(nm)$, with equal clusters and "
        "$\\kappa=\\mu=1$."
    ),
)
TABLE_1_CC = statement(
    "odcl.table1-cc",
    "ODCL-CC's sample requirement in Table 1",
    "Table 1, ODCL-CC",
    quantifiers=rf"{_SIZES},D",
    observed=r"\frac{16\alpha_{cc}^2}{256D^2}",
    relation="=",
    terms={"printed": (m - size_min) ** 2 / (size_min**2 * Delta**2)},
    uses=("odcl.requirement-cc",),
)
TABLE_1_KM = statement(
    "odcl.table1-km",
    "ODCL-KM's sample requirement in Table 1",
    "Table 1, ODCL-KM, with the root of Section 4.2",
    quantifiers=rf"{_SIZES},D",
    observed=r"\frac{16\alpha_{km}^2}{64D^2}",
    relation="=",
    terms={"printed": (sp.sqrt(size_min) + sp.sqrt(m)) ** 2 / (size_min * Delta**2)},
    reading=(
        "With $c=1$, as an order hides $c$. The copy at hand has $|C_{(K)}|$ in the bracket. "
        "Section 4.2, 2), the entry of I-ODCL-KM and Remark 20 have its root."
    ),
    uses=("odcl.requirement-km",),
)
_COEFFICIENT = r"\frac{D^2}{\alpha^2}\ \text{in the requirement of Theorem 2}"
TABLE_1_IKM = statement(
    "odcl.table1-ikm",
    "I-ODCL-KM's sample requirement in Table 1",
    "Table 1, I-ODCL-KM, as in the copy at hand",
    quantifiers=rf"\exists C\;{_SIZES},D",
    observed=r"\frac{|C_{(K)}|^2D^2}{(\sqrt{|C_{(K)}|}+\sqrt m)^2}",
    terms={"Theorem 2": C * Delta**2 / ALPHA_KM.subs(c, 1) ** 2},
    constants=(_ORDER,),
    reading="Theorem 2 has $D^2/\\alpha^2$ with $\\alpha_{km}$, $c=1$.",
)
TABLE_1_ICC = statement(
    "odcl.table1-icc",
    "I-ODCL-CC's sample requirement in Table 1",
    "Table 1, I-ODCL-CC",
    quantifiers=rf"{_SIZES},D",
    observed=rf"16{_COEFFICIENT}",
    relation="=",
    terms={"printed": size_min**2 * Delta**2 / (m - size_min) ** 2},
    reading="Up to the factor 16, which an order hides.",
)

ROUNDS = 8 * kappa * m / size_min * sp.log(2 * Delta / varepsilon)
IFCA_ROUNDS = 8 * L / (_P * mu) * sp.log(2 * Delta / varepsilon)
COMM_ROUNDS = statement(
    "odcl.comm-rounds",
    "IFCA's rounds in Section 4.3",
    "Sections 1 and 4.3",
    quantifiers=r"\forall m,|C_{(K)}|,\kappa=L/\mu,D,\varepsilon",
    observed=r"T=\frac{8L}{p\mu}\log\frac{2D}\varepsilon",
    relation="=",
    terms={"printed": ROUNDS},
    reading="Corollary 2 of Ghosh et al. (2022) with $p=|C_{(K)}|/m$.",
)
COMM_FACTOR = statement(
    "odcl.comm-factor",
    "Floats that one-shot clustering saves against IFCA",
    "Sections 1 and 4.3",
    quantifiers=r"\forall m,|C_{(K)}|,K,\kappa,D,\varepsilon",
    observed=r"\frac{T(K+1)md}{2md}",
    relation=r"\ge",
    terms={"rounds": ROUNDS},
    reading=(
        "In a round of IFCA a user receives $K$ models and sends one; in ODCL it sends one and "
        "receives one. The printed factor counts rounds."
    ),
    uses=("odcl.comm-rounds",),
)

r"""Sample requirements and communication in ODCL: Section 4.2, Section 4.3 and Table 1.

Problem. How many samples do ODCL-CC and ODCL-KM need, which needs more, and does Table 1 say what
the theorems say, of this paper and of the two that it summarises?

Guarantee. `bounds.odcl.requirements`: the printed requirements and the entries of Table 1.

Algorithm. Formulas against formulas.  Convex clustering and spectral K-means on the same fits
(experiment ``odcl.needed-distance``) for the comparison in runs.

Computation. The left-hand sides come from Theorem 1 with the separations of Lemmas 1 and 2, from
Theorem 2, and from Corollary 2 of Ghosh et al. (2022).  A search over sizes from 1 to a million, K,
D, n and c.  An order is tried with a constant of 1000.

Reference. Armacki et al. 2024, Table 1, Sections 4.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from bounds.odcl import requirements as stated
from bounds.odcl.symbols import ALPHA_CC, ALPHA_KM, Delta, c, k, m, n, size_min
from bounds.statement import Statement, evaluate
from trials.experiments.odcl.part_one import NEEDED_DISTANCE
from verify.claim import Finding, row
from verify.claims.common import Point
from verify.claims.odcl.sides import CLUSTERS, SEPARATION
from verify.claims.searching import Proof, search
from verify.decisions.domain import IntRange, LogInterval, Ranges
from verify.decisions.means import Knowledge
from verify.evidence import EvidenceTable, Verdict
from verify.procedures.base import Observed, Presentation, Profile, Sampling
from verify.procedures.comparison import Comparison
from verify.procedures.pages import of_finished
from verify.procedures.search import Search

#: The constant of an order, as generous as its box allows.
ORDER = {"C": 1000.0}
SIZES: Ranges = {
    "size_min": IntRange(
        1, 1_000_000, log=True, meaning="users of the smallest cluster, $|C_{(K)}|$ in the paper"
    ),
    "others": LogInterval(
        1.0,
        1e6,
        meaning="users outside the smallest cluster over users of the smallest cluster",
    ),
    "Delta": LogInterval(1e-3, 1e3, meaning=SEPARATION),
}


def symbols(point: Point) -> dict[str, Any]:
    """A point in the statements' symbols: m users, of whom the smallest cluster has a share."""
    if "others" not in point:
        return dict(point)
    smallest = 1.0 * point["size_min"]
    sizes = {"m": smallest * (1.0 + point["others"]), "size_max": smallest * point["others"]}
    if "L" in point:
        sizes["kappa"] = point["L"] / point["mu"]
    return {**{name: 1.0 * value for name, value in point.items()}, **sizes}


def formula(
    statement: Statement,
    profile: Profile,
    observed: sp.Expr,
    *,
    more: Ranges | None = None,
    domain: Ranges | None = None,
    constants: Mapping[str, float] | None = None,
    proof: Proof | None = None,
) -> Search:
    """A formula of the paper against the one that it should follow from, over all sizes."""
    return search(
        statement,
        profile,
        observed,
        domain or {**SIZES, **(more or {})},
        at=symbols,
        budget=profile.searches // 4,
        constants=constants,
        proof=proof,
    )


# --- Section 4.2 ---------------------------------------------------------------------------------

WITH_M_AND_C: Ranges = {"M": LogInterval(1e-3, 1e6), "c": LogInterval(1.0, 1e3)}

SQUARED_SIZE = Finding(
    id="odcl-km-display",
    where="Section 4.2, after the two requirements",
    printed="The terms are $(m-|C_{(K)}|)^2/|C_{(K)}|^2$ and "
    "$(\\sqrt{|C_{(K)}|}+\\sqrt m)^2/|C_{(K)}|^2$.",
    found="The second is not that of requirement 2), and is smaller by $|C_{(K)}|$.",
    corrected="$(\\sqrt{|C_{(K)}|}+\\sqrt m)^2/|C_{(K)}|$.",
    severity="strong",
)


REQUIREMENTS = (
    row(
        "odcl.requirement-cc",
        stated.REQ_CC,
        formula,
        observed=stated.THEOREM_1_CC,
        more=WITH_M_AND_C,
        identity="both are $16M\\alpha_{cc}^2/D^2$, once expanded",
    ),
    row(
        "odcl.requirement-km",
        stated.REQ_KM,
        formula,
        observed=stated.THEOREM_1_KM,
        more=WITH_M_AND_C,
        identity="both are $16M\\alpha_{km}^2/D^2$, once expanded",
    ),
    row(
        "odcl.requirement-km-display",
        stated.REQ_KM_DISPLAY,
        formula,
        observed=(sp.sqrt(size_min) + sp.sqrt(m)) ** 2 / size_min,
        constants=ORDER,
        proof=Proof(
            argument="The two terms differ by the factor $|C_{(K)}|$, which no constant bounds.",
            values={"size_min": 10_000, "m": 20_000, **ORDER},
        ),
        expected=Verdict.REFUTED,
        finding=SQUARED_SIZE,
    ),
)

LARGER = Finding(
    id="odcl-cc-vs-km",
    where="Section 4.2, last paragraph",
    printed="The sample requirements of ODCL-CC are larger than those of ODCL-KM by roughly a "
    "factor of $m/|C_{(K)}|$.",
    found="The comparison drops the constant $c\\ge100$ of requirement 2). The ratio of the two "
    "requirements is at most $4m/(c^2|C_{(K)}|)$. At $c=100$ and two equal clusters ODCL-CC needs "
    "$1.97\\times10^{-4}$ times the samples of ODCL-KM. As an order, with $c$ hidden, the factor "
    "is right.",
    corrected="ODCL-CC requires fewer samples unless $|C_{(K)}|<m/2502$.",
    severity="strong",
)


_RATIO_AT_100 = stated.RATIO.subs(c, 100)
RATIOS = (
    row(
        "odcl.cc-vs-km-as-printed",
        stated.CC_VS_KM,
        formula,
        observed=_RATIO_AT_100,
        more={"M": LogInterval(1.0, 1e3)},
        proof=Proof(
            argument="Two clusters of one user each, $c=100$.",
            values={"size_min": 1, "m": 2, **ORDER},
        ),
        expected=Verdict.REFUTED,
        finding=LARGER,
    ),
    row(
        "odcl.cc-vs-km",
        stated.CC_VS_KM_FACTOR,
        formula,
        observed=stated.RATIO,
        more=WITH_M_AND_C,
        finding=LARGER,
        identity="the ratio of the printed requirements against its own leading factor",
    ),
)

IN_RUNS = Finding(
    id="odcl-cc-vs-km-runs",
    where="Section 4.2, last paragraph",
    printed="The sample requirements of ODCL-CC are larger than those of ODCL-KM.",
    found="In runs convex clustering does need more samples than spectral K-means where every "
    "cluster has at least two users, although the two printed requirements say the opposite at "
    "$c=100$: Lemma 2 is far from sharp. With sizes $(100,1,1)$ it is K-means that needs more, ten "
    "times as many.",
    corrected="True of the algorithms where $|C_{(K)}|\\ge2$, not of the stated requirements.",
    severity="slip",
)
NEEDED_CELLS = tuple(
    {"k": k, "size": size, "ratio": ratio, "d": d}
    for k, size, ratio, d in (
        *((2, 3, 1, 1), (2, 10, 1, 10), (4, 5, 1, 2), (4, 10, 1, 20), (8, 5, 1, 8)),
        *((3, 2, 20, 2), (3, 5, 4, 4), (3, 5, 10, 2), (4, 10, 5, 4)),
    )
)


def in_runs(
    statement: Statement, profile: Profile, *, cells: tuple[dict[str, int], ...]
) -> Comparison:
    """The distances at which the two algorithms begin to recover, on the same noise."""
    return Comparison(
        statement=statement,
        sampling=Sampling(
            experiment=NEEDED_DISTANCE, max_trials=min(profile.max_trials, 64), first=16
        ),
        cells=cells,
        columns={"CC": "cc_squared", "KM": "km_squared"},
        knowledge=lambda _cell: Knowledge(low=1.0),
        unit="squared distance needed",
        scale="sign",
        present=of_finished(_needed_ratios),
    )


IN_RUNS_CLAIMS = (
    row(
        "odcl.cc-vs-km-runs",
        stated.CC_VS_KM_RUNS,
        in_runs,
        cells=NEEDED_CELLS,
        finding=(LARGER, IN_RUNS),
    ),
    row(
        "odcl.cc-vs-km-single-users",
        stated.CC_VS_KM_SINGLE,
        in_runs,
        cells=tuple(
            {"k": k, "size": 1, "ratio": ratio, "d": d}
            for k, ratio, d in ((2, 100, 2), (3, 30, 2), (3, 100, 2), (3, 100, 4))
        ),
        finding=IN_RUNS,
    ),
)


def _needed_ratios(observed: Sequence[Observed]) -> Presentation:
    """The ratio of the squared distances, beside the printed factor and the requirements'."""
    rows = []
    for one in observed:
        cell = one.params
        m = cell["size"] * (cell["k"] - 1 + cell["ratio"])
        users = {"m": m, "size_min": cell["size"]}
        ratio = float(np.median(one.table["cc_squared"] / one.table["km_squared"]))
        stated_ratio = float(evaluate(_RATIO_AT_100, users))
        printed = m / cell["size"]
        rows.append(
            (cell["k"], cell["size"], cell["ratio"], cell["d"], ratio, printed, stated_ratio)
        )
    return Presentation(
        tables=(
            EvidenceTable(
                title="Samples of convex clustering over those of spectral K-means",
                columns=(
                    *("$K$", "$|C_{(K)}|$", "$|C_{(1)}|/|C_{(K)}|$", "$d$"),
                    *("median in runs", "printed", "requirements"),
                ),
                rows=rows,
            ),
        )
    )


# --- Table 1 ------------------------------------------------------------------------------------

WITH_N_AND_K: Ranges = {
    "n": LogInterval(1.0, 1e9),
    "k": IntRange(2, 1000, log=True, meaning=CLUSTERS),
}
IFCA_SAMPLES = Finding(
    id="odcl-table1-ifca-sr",
    where="Table 1, IFCA, sample requirement; Section 4.3, $n\\ge|C_{(1)}|$",
    headline="For separations $D<1$ the sample size that Table 1 prints for IFCA does not give "
    "the accuracy that its rounds need.",
    printed="$\\Omega(\\max\\{|C_{(1)}|,K/D^4\\})$.",
    found="IFCA's accuracy has a second term $K/(p^2D^4n)$. It is below the first only for "
    "$n\\ge|C_{(K)}|/D^8$, so for $D<1$ the printed size does not give the accuracy on which the "
    "entry for the rounds rests. IFCA's "
    "Assumption 6, which the column for the separation marks, asks for $n\\gtrsim D^{-5}$ as well. "
    "That exceeds $K/D^4$ for $D<1/K$.",
    corrected="$\\Omega(\\max\\{|C_{(K)}|/D^8,K/D^4,1/D^5\\})$.",
    severity="edge",
)


AFA_ROUNDS = Finding(
    id="odcl-table1-afa",
    where="Table 1, ALL-FOR-ALL, against Section 4.3",
    printed="$\\Theta(\\frac{nm}K\\log\\frac{nm}K)$ rounds.",
    found="Section 4.3 has $T=\\Theta(\\frac{\\kappa K}{\\varepsilon\\mu m}"
    "\\log\\frac1\\varepsilon)$, which at the accuracy $\\varepsilon=K/(nm)$ is of order "
    "$n\\log\\frac{nm}K$. The table's entry is $\\log(1/\\varepsilon)/\\varepsilon$, larger by "
    "$m/K$.",
    corrected="$\\Theta(n\\log\\frac{nm}K)$.",
    severity="strong",
)


KM_ENTRY = Finding(
    id="odcl-table1-km",
    where="Table 1, ODCL-KM (as in the copy at hand)",
    printed="$\\frac{(|C_{(K)}|+\\sqrt m)^2}{|C_{(K)}|D^2}$.",
    found="Section 4.2, 2), the entry of I-ODCL-KM and Remark 20 have the root of $|C_{(K)}|$. One "
    "copy, which lacks roots elsewhere too, does not show that the table lacks this one, so no "
    "claim refutes it.",
    corrected="$\\frac{(\\sqrt{|C_{(K)}|}+\\sqrt m)^2}{|C_{(K)}|D^2}$.",
    severity="slip",
)


IKM_ENTRY = Finding(
    id="odcl-table1-ikm",
    where="Table 1, I-ODCL-KM (as in the copy at hand)",
    printed="$\\left(\\frac{|C_{(K)}|^2D^2}{(\\sqrt{|C_{(K)}|}+\\sqrt m)^2}-\\varepsilon"
    "\\right)^{-1}$.",
    found="Theorem 2 has $D^2/\\alpha_{km}^2$, which is of order "
    "$|C_{(K)}|D^2/(\\sqrt{|C_{(K)}|}+\\sqrt m)^2$. The entry asks for too few samples, by the "
    "factor $|C_{(K)}|$.",
    corrected="$|C_{(K)}|D^2$ in the numerator.",
    severity="strong",
)


#: Both terms are powers of n: they are equal at n times the squared ratio of their values at n.
_EQUAL_TERMS = sp.powdenest(n * (stated.IFCA_OTHER / stated.IFCA_STATISTICAL) ** 2, force=True)
TABLE_1 = (
    row(
        "odcl.table1-ifca-cr",
        stated.TABLE_1_IFCA_CR,
        formula,
        observed=(Delta / stated.IFCA_STATISTICAL) ** 2,
        more=WITH_N_AND_K,
        identity="both are $D^2/\\varepsilon^2$ with IFCA's accuracy",
    ),
    row(
        "odcl.table1-ifca-sr",
        stated.TABLE_1_IFCA_SR,
        formula,
        observed=_EQUAL_TERMS,
        more=WITH_N_AND_K,
        constants=ORDER,
        proof=Proof(
            argument="Two clusters of 100 users, $D=1/10$: the terms are equal at "
            "$n=|C_{(K)}|/D^8=10^{10}$.",
            says="the size at which the terms are equal exceeds the printed requirement",
            observed=sp.Integer(10**10),
            values={"C": 1000, "size_max": 100, "k": 2, "Delta": Fraction(1, 10)},
        ),
        expected=Verdict.REFUTED,
        finding=IFCA_SAMPLES,
    ),
    row(
        "odcl.table1-afa",
        stated.TABLE_1_AFA,
        formula,
        observed=n * m / k * sp.log(n * m / k),
        domain={
            "m": IntRange(2000, 1_000_000, log=True),
            "k": IntRange(2, 1000, log=True, meaning=CLUSTERS),
            "n": IntRange(2, 1_000_000, log=True),
        },
        constants=ORDER,
        proof=Proof(
            argument="The two differ by the factor $m/K$, which no constant bounds.",
            values={"n": 10, "m": 4000, "k": 2, **ORDER},
        ),
        expected=Verdict.REFUTED,
        finding=AFA_ROUNDS,
    ),
    row(
        "odcl.table1-cc",
        stated.TABLE_1_CC,
        formula,
        observed=ALPHA_CC**2 / (16 * Delta**2),
        identity="both are requirement 1) without its constant",
    ),
    row(
        "odcl.table1-km",
        stated.TABLE_1_KM,
        formula,
        observed=ALPHA_KM.subs(c, 1) ** 2 / (4 * Delta**2),
        identity="both are requirement 2) without its constants",
        finding=KM_ENTRY,
    ),
    row(
        "odcl.table1-ikm",
        stated.TABLE_1_IKM,
        formula,
        observed=size_min**2 * Delta**2 / (sp.sqrt(size_min) + sp.sqrt(m)) ** 2,
        constants=ORDER,
        proof=Proof(
            argument="The entry's coefficient is $4|C_{(K)}|$ times that of the theorem.",
            values={"size_min": 10_000, "m": 20_000, "Delta": 1, **ORDER},
        ),
        expected=Verdict.REFUTED,
        finding=IKM_ENTRY,
    ),
    row(
        "odcl.table1-icc",
        stated.TABLE_1_ICC,
        formula,
        observed=16 * Delta**2 / ALPHA_CC**2,
        identity="both are $16D^2/\\alpha_{cc}^2$",
    ),
)

# --- Communication -------------------------------------------------------------------------------

WITH_CONDITION: Ranges = {
    "L": LogInterval(1.0, 1e6),
    "mu": LogInterval(
        1e-3, 1.0, meaning="strong convexity of the population losses, $\\mu_F$ in the paper"
    ),
    "varepsilon": LogInterval(1e-9, 1e-3),
    "k": IntRange(1, 1000, log=True, meaning=CLUSTERS),
}


ROUNDS_ONLY = Finding(
    id="odcl-comm-factor",
    where="Sections 1 and 4.3",
    printed="Communication falls by a factor of $O(\\frac{\\kappa m}{|C_{(K)}|}\\log\\frac{2D}"
    "\\varepsilon)$ compared to [16, 17].",
    found="This is IFCA's number of rounds. IFCA broadcasts $K$ models in each, so the floats fall "
    "by $(K+1)/2$ times more. The rounds of [17] are of another order.",
    corrected="Rounds fall by this factor against [16], floats by $(K+1)/2$ times more.",
    severity="slip",
)


COMMUNICATION = (
    row(
        "odcl.comm-rounds",
        stated.COMM_ROUNDS,
        formula,
        observed=stated.IFCA_ROUNDS,
        more=WITH_CONDITION,
        identity="both are IFCA's rounds, in the letters of two papers",
    ),
    row(
        "odcl.comm-factor",
        stated.COMM_FACTOR,
        formula,
        observed=stated.IFCA_ROUNDS * (k + 1) / 2,
        more=WITH_CONDITION,
        finding=ROUNDS_ONLY,
        identity="both are IFCA's rounds, on the left times $(K+1)/2$",
    ),
)

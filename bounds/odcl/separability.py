r"""Definitions 1 and 3 of ODCL: two ways to say that the clusters of a data set lie apart.

Definition 1 asks that :math:`\alpha` times the largest radius be less than the smallest distance of
two cluster means.  Definition 3 asks that the distance of two means be at least
:math:`c(\Delta_k+\Delta_l)`, with
:math:`\Delta_k=|C_k|^{-1/2}\min\{\sqrt K\|A-C\|,\|A-C\|_F\}`.

Definition 1 with some :math:`\alpha` implies Definition 3 on every data set exactly when
:math:`c(\Delta_k+\Delta_l)\le\alpha\max_{i,k}\|\mu_k-a_i\|` on every data set, because the
clusters of a data set may be moved together until (4) only just holds.
"""

from __future__ import annotations

import sympy as sp

from bounds.odcl.assumptions import statement
from bounds.odcl.symbols import c, m, radius, size_min

_OBSERVED = r"c(\Delta_k+\Delta_l)"
_QUANTIFIERS = r"\forall\{a_i\},\{C_k\},c>0\;\forall k\ne l"

DEF_1_DEF_3 = statement(
    "odcl.def1-def3",
    "Definition 1 implies Definition 3",
    "after Definition 3, with the root of Lemma 2",
    quantifiers=_QUANTIFIERS,
    observed=_OBSERVED,
    terms={"separation": 2 * c * sp.sqrt(m) / sp.sqrt(size_min) * radius},
    reading=(
        "The right-hand side is $\\alpha$ times the largest radius. Definition 1 puts the means "
        "further apart than that, and nothing else about their distance. "
        "The denominator is $\\sqrt{|C_{(K)}|}$, as in Lemma 2 (the copy at hand has no root "
        "there). Proof: "
        "$\\sqrt{|C_k|}\\Delta_k\\le\\norm{A-C}_F\\le\\sqrt m\\max\\norm{\\mu_k-a_i}$."
    ),
)

DEF_1_DEF_3_ATTAINED = statement(
    "odcl.def1-def3-attained",
    "No smaller separation gives Definition 3",
    "after Definition 3, the corrected value is attained",
    quantifiers=r"\forall c>0,\ |C_1|=|C_2|\ \text{even}\;\exists\{a_i\}",
    observed=_OBSERVED,
    relation=r"\ge",
    terms={"separation": 2 * c * sp.sqrt(m) / sp.sqrt(size_min) * radius},
    reading=(
        "Two clusters of equal size, each with half of its points at $+r$ and half at $-r$ from "
        "its mean, all along one axis. Then $A-C$ has rank one and the norm $r\\sqrt m$."
    ),
    uses=("odcl.def1-def3",),
)

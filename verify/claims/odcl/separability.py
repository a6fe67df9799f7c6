r"""Definitions 1 and 3 of ODCL: separated data sets.

Problem. A data set has clusters.  When do they lie far enough apart for a clustering algorithm?

Guarantee. `bounds.odcl.separability`: Definition 1 with a certain alpha implies Definition 3.

Algorithm. None.  Both definitions are evaluated on data sets.

Computation. A search over data sets of 3 to 64 points in 2 to 4 clusters of any sizes and 1 to 3
dimensions, for c from 1 to 1000.  The matrix norms come from singular values.

Reference. Armacki et al. 2024, Section 3 and the text after Definition 3.
"""

from __future__ import annotations

import math

import numpy as np

from bounds.odcl.separability import (
    DEF_1_DEF_3,
    DEF_1_DEF_3_ATTAINED,
)
from bounds.statement import Statement
from verify.claim import Finding, claim, row
from verify.claims.common import Point
from verify.claims.odcl.data_sets import Clustered, data_sets, two_valued
from verify.claims.odcl.mean_reductions import ONE_AXIS
from verify.claims.odcl.vector_proofs import CENTER_SEPARATION
from verify.claims.odcl.windows import over, symbols_of
from verify.claims.searching import Proof, search
from verify.decisions.domain import IntRange, LogInterval
from verify.procedures.base import Profile
from verify.procedures.search import Search


def center_separation(data: Clustered, c: float) -> float:
    r"""The largest :math:`c(\Delta_k+\Delta_l)` of two clusters, Definition 3."""
    deviations = data.deviations
    spectral = float(np.linalg.norm(deviations, 2))
    frobenius = float(np.linalg.norm(deviations))
    size, second = sorted(data.sizes.tolist())[:2]
    smaller = min(math.sqrt(data.k) * spectral, frobenius)
    return c * smaller * (1 / math.sqrt(size) + 1 / math.sqrt(second))


def implication(statement: Statement, profile: Profile, *, proof: Proof | None = None) -> Search:
    """Definition 3's requirement against alpha times the radius, on data sets."""
    return search(
        statement,
        profile,
        lambda point: center_separation(Clustered.of(point), point["c"]),
        over(data_sets(points=(3, 64)), c=LogInterval(1.0, 1000.0)),
        at=symbols_of,
        budget=profile.searches // 4,
        everywhere=None if proof else CENTER_SEPARATION,
        proof=proof,
    )


ROOT = Finding(
    id="odcl-def1-def3",
    where="after Definition 3 (as in the copy at hand)",
    printed="Definition 1 implies Definition 3 for $\\alpha=2c\\sqrt m/|C_{(K)}|$.",
    found="The copy has no root over $|C_{(K)}|$. Lemma 2 and its proof have it, and the sentence "
    "is true with it. Without it, it is false as soon as the smallest cluster has two points: with "
    "two clusters $\\{\\pm r\\}$ around means that lie $2cr$ apart, Definition 3 asks for "
    "$2\\sqrt2cr$. One copy, which lacks roots elsewhere too, does not show that the paper "
    "lacks this one, so no claim refutes it.",
    corrected="$\\alpha=2c\\sqrt m/\\sqrt{|C_{(K)}|}$.",
    severity="slip",
)
IMPLICATION = (row("odcl.def1-def3", DEF_1_DEF_3, implication, finding=ROOT),)


@claim("odcl.def1-def3-attained", DEF_1_DEF_3_ATTAINED, finding=ROOT)
def attained(statement: Statement, profile: Profile) -> Search:
    """Two clusters of two values along one axis."""

    def data(point: Point) -> Clustered:
        means = np.array([[0.0, 0.0], [1.0, 0.0]])
        size, axis = 2 * point["half"], np.array([0.0, point["length"]])
        return two_valued(means, (size, size), axis, 2)

    return search(
        statement,
        profile,
        lambda point: center_separation(data(point), point["c"]),
        {
            "half": IntRange(1, 20, meaning="half the number of points of each cluster"),
            "length": LogInterval(1e-3, 1e3, meaning="distance of every point from its mean"),
            "c": LogInterval(1.0, 1000.0),
        },
        at=lambda point: {**data(point).symbols, "c": point["c"]},
        everywhere=ONE_AXIS,
        budget=profile.searches // 8,
    )

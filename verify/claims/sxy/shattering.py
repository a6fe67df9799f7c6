r"""Lemma 9 from below: clients whose wrong labels can be any subset.

Problem. Lemma 9 bounds the VC dimension of the wrong labels by C d k log k.  How many clients do
the models of the class label in every way?

Guarantee. `bounds.sxy.deviation.LEMMA_9_BELOW`: d (k-1) clients, from two features on.

Algorithm. Each client has one row u and the response 1/2, and the model of its cluster is zero.  A
rival theta wins exactly where :math:`0\le u^\top\theta\le1`.  The clients form k-1 groups of d, one
for each rival.  Group g lies on the plane :math:`u^\top a_g=1/2`.  To pick the subset S of a group,
the rival is a_g plus a long vector that is orthogonal to the rows of S alone: the other rows of all
groups leave the slab.  One rival a group gives every subset of all clients.

Computation. Every subset of every group, by the losses themselves.  A group has 2^d subsets, and
the subsets of all groups are unions.

Reference. Lemma 9, (16) and (17).
"""

from __future__ import annotations

import itertools

import numpy as np

from bounds.statement import Statement
from bounds.sxy.deviation import LEMMA_9_BELOW
from trials.checks import FloatArray
from verify.claim import claim
from verify.claims.common import Point
from verify.claims.searching import search
from verify.decisions.domain import IntRange, Ranges
from verify.procedures.base import Profile
from verify.procedures.search import Search

#: The length of a group's vector a.  A longer one has fewer rows of other groups in its slab.
_LENGTH = 1e5
#: Multiples of the vector that pushes rows out of the slab, smallest first.
_PUSHES = (1.0, 1e3, 1e6)
#: Random groups that are tried: rows in general position are shattered.
_DRAWS = 4


def grouped_rows(d: int, groups: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Rows u (groups, d, d) and vectors a (groups, d) with u a = 1/2 in each group."""
    directions = rng.standard_normal((groups, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rows = rng.standard_normal((groups, d, d))
    along = np.einsum("gpd,gd->gp", rows, directions)
    # At a distance of 1/(2 length) from the plane through zero, so that a is that long.
    rows += (0.5 / _LENGTH - along)[..., None] * directions[:, None]
    return rows, _LENGTH * directions


def wins(rows: FloatArray, rival: FloatArray) -> FloatArray:
    """(clients,) 1 where the rival's loss is at most that of the model zero, by (8)."""
    own, other = 0.5**2, (0.5 - rows @ rival) ** 2
    return np.asarray(own >= other, dtype=np.float64)


def picks(rows: FloatArray, a: FloatArray, group: int, chosen: tuple[int, ...]) -> bool:
    """Whether some rival wins at the chosen clients of a group and at no other client of any."""
    d = a.size
    flat = rows.reshape(-1, d)
    wanted = np.zeros(flat.shape[0])
    wanted[[group * d + p for p in chosen]] = 1.0
    outside = np.ones(d)
    outside[list(chosen)] = 0.0
    away = np.linalg.solve(rows[group], outside)
    return any(np.array_equal(wins(flat, a + r * away), wanted) for r in _PUSHES)


def shattered(d: int, k: int, rng: np.random.Generator) -> int:
    """The clients of the groups whose subsets are all picked."""
    rows, a = grouped_rows(d, k - 1, rng)
    subsets = [s for size in range(d + 1) for s in itertools.combinations(range(d), size)]
    whole = [all(picks(rows, a[g], g, s) for s in subsets) for g in range(k - 1)]
    return d * sum(whole)


def _largest(point: Point) -> float:
    """The most clients that some draw shatters."""
    rng, wanted = np.random.default_rng(point["seed"]), point["d"] * (point["k"] - 1)
    found, drawn = 0, 0
    while found < wanted and drawn < _DRAWS:
        found, drawn = max(found, shattered(point["d"], point["k"], rng)), drawn + 1
    return float(found)


@claim("sxy.lemma9-below", LEMMA_9_BELOW)
def lemma_9_below(statement: Statement, profile: Profile) -> Search:
    """Random rows of up to six features, two to eight clusters."""
    domain: Ranges = {"d": IntRange(2, 6), "k": IntRange(2, 8), "seed": IntRange(0, 10_000)}
    budget = min(max(profile.searches // 20, 24), 200)
    return search(statement, profile, _largest, domain, budget=budget)

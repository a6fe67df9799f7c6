r"""The exact law of the angles of a uniformly random subspace with a fixed one.

The span of Q in :math:`R^d` is that of a Gaussian matrix with a k x k block :math:`X` inside the
fixed subspace and a (d - k) x k block :math:`Y` outside it.  Angles depend on :math:`Y^\top Y`
alone, a Wishart matrix with d - k degrees of freedom.  Its triangular factor costs k^2 numbers
whatever d is (Bartlett 1933).

After t rounds of orthogonal iteration on a matrix with singular values :math:`s_1\ge\dots\ge s_d`
the span is that of the columns of
:math:`[I;\ S_2^{2t}YX^{-1}S_1^{-2t}]`.  So with equal values outside no round has to be simulated.
"""

from __future__ import annotations

import math

import numpy as np

from trials.checks import MAX_DRAWN, WHOLE_IN_FLOAT, FloatArray, check_drawn, integer_between
from trials.parameters import Array, Integer, Stream, validated

#: Columns whose square matrix fits into memory.
MOST_COLUMNS = math.isqrt(MAX_DRAWN)


@validated(
    d=Integer(1, WHOLE_IN_FLOAT), k=Integer(1, MOST_COLUMNS), rng=Stream(), n_draws=Integer(1)
)
def gaussian_blocks(
    d: int, k: int, rng: np.random.Generator, n_draws: int
) -> tuple[FloatArray, FloatArray]:
    """The block X and a matrix R with R^T R distributed as Y^T Y.

    Parameters
    ----------
    d, k : dimensions, 1 <= k <= d.

    Returns
    -------
    inside : (n_draws, k, k).
    outside : (n_draws, r, k), r = min(d - k, k); one row of zeros where k = d.
    """
    integer_between("k", k, 1, d, "the dimension d")
    check_drawn("coordinates n_draws k k", n_draws * k * k)
    inside = rng.standard_normal((n_draws, k, k))
    n_rows = min(d - k, k)
    outside = np.zeros((n_draws, max(n_rows, 1), k))
    if n_rows == 0:
        return inside, outside
    normal = rng.standard_normal((n_draws, n_rows, k))
    if d - k <= k:
        return inside, normal
    outside[:] = np.triu(normal, 1)
    degrees = (d - k) - np.arange(k)
    diagonal = np.arange(k)
    outside[:, diagonal, diagonal] = np.sqrt(rng.chisquare(degrees, (n_draws, k)))
    return inside, outside


@validated(
    d=Integer(1, WHOLE_IN_FLOAT), k=Integer(1, MOST_COLUMNS), rng=Stream(), n_draws=Integer(1)
)
def random_tangents(d: int, k: int, rng: np.random.Generator, n_draws: int) -> FloatArray:
    r"""The matrix :math:`(YX^{-1})^\top` up to a rotation that changes no angle, (n_draws, k, r).

    Its singular values are the tangents of the angles.  r is at least 1 and at most k.

    Examples
    --------
    >>> tangents = random_tangents(10**9, 2, np.random.default_rng(0), 3)
    >>> tangents.shape
    (3, 2, 2)
    """
    inside, outside = gaussian_blocks(d, k, rng, n_draws)
    return np.asarray(np.linalg.solve(inside.transpose(0, 2, 1), outside.transpose(0, 2, 1)))


@validated(tangents=Array(("n", "k", "r")))
def smallest_cosines(tangents: FloatArray) -> FloatArray:
    """Cosine of the largest angle, the smallest singular value of U^T Q, (n,)."""
    largest = np.linalg.norm(tangents, 2, axis=(1, 2))
    return np.asarray(1.0 / np.sqrt(1.0 + largest**2))


@validated(
    tangents=Array(("n", "k", "r")), values=Array(("k",), low=1.0), rounds=Array(("n",), low=0.0)
)
def lost_shares(tangents: FloatArray, values: FloatArray, rounds: FloatArray) -> FloatArray:
    r"""The part of each singular vector that orthogonal iteration on :math:`MM^\top` has not found.

    Parameters
    ----------
    tangents : (n, k, r) of `random_tangents`.
    values : (k,) the leading singular values of M over its other ones, which are equal; >= 1.
    rounds : (n,) t of each draw, products with :math:`MM^\top`, half of the half steps.  The
        formula also has a value between two rounds.

    Returns
    -------
    (n, k) the squared distance of the i-th leading singular vector from the span.
    """
    k = tangents.shape[1]
    left = tangents * values[None, :, None] ** (-2.0 * rounds[:, None, None])
    # the span of [I; Z]: I minus the block of its projector is Z^T Z (I + Z^T Z)^-1
    gram = left @ left.transpose(0, 2, 1)
    shares = np.linalg.solve(np.eye(k) + gram, gram)
    return np.clip(np.diagonal(shares, axis1=1, axis2=2), 0.0, 1.0)

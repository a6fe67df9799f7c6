r"""Leading singular subspaces of matrices that are never formed (Algorithm 3 of Su, Xu & Yang).

The matrices are :math:`Y_h=\frac1P\sum_pw_{hp}\,a_pb_p^\top`.  They share the vectors a and b and
differ by their weights.  `orthogonal_iteration` is the paper's algorithm, `krylov_bases` a faster
one, `power_iteration` is for the small matrices of eq. (2), and `detection_sizes` gives the number
of clients that a subspace needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    LARGEST_ENTRY,
    MAX_DRAWN,
    FloatArray,
    IntArray,
    InvalidParameter,
    check_drawn,
    finite_batch,
    integer_between,
    real_array,
)
from trials.norms import last_axis_lengths
from trials.parameters import Array, Integer, Real, Stream, validated

SCRATCH_BYTES = 8 * 2**20
"""Size of the products (anchors k, pairs) formed at once: a quarter of a shared cache of 32 MiB."""

BLOCK_ROWS = 1024
"""Columns that the anchors of one product iterate, and the pairs of a product at least.

Measured against products of all pairs at once, in fractions of the dgemm rate on one thread: at
(P, d, k, anchors) = (200000, 50, 4, 32) 0.71 against 0.41, at (150000, 24, 4, 24) 0.63 against
0.38, at (12500, 500, 8, 100) 1.0 both.
"""


_TINY = 1e-150
"""Products of two sets of smaller vectors would vanish."""

LONGEST_SHARED = 8
"""Largest d at which matrices are formed from shared products of entries.

Measured with 6,000 pairs, times of one GEMM a matrix over those of shared products, for 8 and 16
matrices: 3.7 and 6.1 at d = 2, 2.0 and 2.6 at d = 4, 1.0 and 1.9 at d = 8, 0.8 and 0.9 at d = 12.
"""


@dataclass(frozen=True, kw_only=True)
class SubspaceResult:
    """Orthonormal bases that Algorithm 3 found.

    Attributes
    ----------
    bases : (H, d, k) orthonormal columns Q.
    energy : (H,) ``|Y^T Q|_F^2`` of the second last basis of each.  After convergence it is the sum
        of the k largest squared singular values.
    n_iterations : (H,) half steps taken (broadcasts of the federated algorithm), even.
    """

    bases: FloatArray
    energy: FloatArray
    n_iterations: IntArray


@validated(
    errors=Array(("k", "d")),
    fractions=Array(("k",), low=0.0, high=1.0 + 1e-9, open_low=True),
    sigma=Real(0.0, LARGEST_ENTRY),
)
def detection_sizes(*, errors: ArrayLike, fractions: ArrayLike, sigma: float) -> FloatArray:
    r"""Clients a round from which on Y separates each direction of the residual errors from noise.

    With :math:`u_j=\theta_j^*-\theta_{i,t}`, Gaussian features of identity covariance and
    :math:`s_j^2=\lVert u_j\rVert^2+\sigma^2`, let
    :math:`\mathbb EY=\sum_jp_ju_ju_j^\top=\sum_{c\le r}\lambda_cv_cv_c^\top`.  Then

    .. math:: m_c=\frac{d-r}{\lambda_c^2}\sum_jp_js_j^2\bigl(s_j^2+2\langle u_j,v_c\rangle^2\bigr),

    and the subspace loses the part :math:`m_c/m` of :math:`\lVert v_c\rVert^2`, to first order in
    1/m.  Its error is the part of :math:`(Y-\mathbb EY)v_c/\lambda_c` outside of the span.  With m
    below m_c the subspace holds almost nothing of v_c.

    This is not the paper's condition (3), which requires :math:`m\ge p_{\min}^{-2}\tilde\Omega(d)`
    and hides epsilon in the constant.  Suppose that one u has shrunk to :math:`\epsilon\Delta`
    beside others of :math:`\Delta`.  Then its :math:`\lambda\approx p\epsilon^2\Delta^2` and m_c is
    about :math:`d/(p^2\epsilon^4)`.

    Parameters
    ----------
    errors : (k, d) the u_j.
    fractions : (k,) p > 0, summing to 1.
    sigma : noise level.

    Returns
    -------
    (r,) in the order of the eigenvalues, the largest first, r the rank of E Y.  A larger eigenvalue
    of noisier clients may need more of them, so that the last number need not be the largest.

    Examples
    --------
    One direction of length 1 that a quarter of the clients has, in ten dimensions:

    >>> import numpy as np
    >>> errors = np.zeros((2, 10))
    >>> errors[0, 0] = 1.0
    >>> detection_sizes(errors=errors, fractions=[0.25, 0.75], sigma=0.0).round(6).tolist()
    [108.0]
    """
    u, p = np.asarray(errors), np.asarray(fractions)
    if abs(p.sum() - 1.0) > 1e-9:
        raise InvalidParameter(f"fractions sum to {p.sum():.12g}: they must sum to 1")
    unit = float(np.abs(u).max())
    if unit > 0.0:  # only ratios count, and fourth powers neither overflow nor vanish
        u, sigma = u / unit, sigma / unit
    _, roots, v = np.linalg.svd(np.sqrt(p)[:, None] * u, full_matrices=False)
    rank = int((roots > 1e-12 * roots[0]).sum()) if roots[0] > 0 else 0
    s_sq = (u**2).sum(axis=1) + sigma * sigma
    noise = p * s_sq @ (s_sq[:, None] + 2.0 * (u @ v[:rank].T) ** 2)
    return np.asarray((u.shape[1] - rank) * noise / roots[:rank] ** 4)


@validated(d=Integer(1, MAX_DRAWN), rng=Stream())
def random_basis(d: int, k: int, rng: np.random.Generator) -> FloatArray:
    """A uniformly distributed (d, k) matrix with orthonormal columns."""
    k = integer_between("k", k, 1, d, "the dimension d")
    check_drawn("entries d k", d * k)
    q, r = np.linalg.qr(rng.standard_normal((d, k)))
    return np.asarray(q * np.where(np.diagonal(r) < 0, -1.0, 1.0))


@validated(n_iterations=Integer(0), tol=Real(0.0))
def orthogonal_iteration(
    *,
    first: ArrayLike,
    second: ArrayLike,
    weights: ArrayLike,
    start: ArrayLike,
    n_iterations: int,
    tol: float = 0.0,
) -> SubspaceResult:
    r"""Algorithm 3 for H matrices that share their vectors: orthogonal iteration on Y Y^T.

    .. math:: Y_h=\frac1P\sum_{p=1}^Pw_{hp}\,a_pb_p^\top,\qquad
              Q\leftarrow\operatorname{qr}\bigl(Y_h(Y_h^\top Q)\bigr).

    Parameters
    ----------
    first, second : (P, d) vectors a and b of all clients, one below the other.
    weights : (H, P).
    start : (d, k) orthonormal start of all, or (H, d, k).
    n_iterations : T1 >= 0, even: half steps, as Algorithm 3 counts.
    tol : 0 takes all T1 steps, as printed.  Else matrix h leaves once a step raises its energy
        |Y^T Q|_F^2, which never falls, by at most the fraction ``tol``.

    Raises
    ------
    InvalidParameter : shapes, entries that are not finite, odd n_iterations, k > d, tol < 0.

    Notes
    -----
    A half step takes 4 P d k flops for each matrix, in GEMMs that all matrices share.  With Y
    formed it takes 2 P d^2 once and 2 d^2 k for each half step.  Y is formed where T1 is at least d
    / k and all half steps are taken.  Without Y the flops are fewer for up to d / (2 k) half steps.
    Algorithm 3 takes k log(N d) half steps, which is more for d < 2 k^2 log(N d).  In this case end
    early (``tol``) or use `krylov_bases`.

    With enough clients (`detection_sizes`) the singular values have a gap, and a few half steps are
    enough.  Measured with ``tol=0.01``: at 240 times that size, 6 of 68 half steps hold 0.990 of
    the errors' squares, as much as the SVD.  At 1.8 times it, 19 of 144 hold 0.457 where the SVD
    holds 0.507 (Krylov: 13 half steps, 0.506).  With fewer clients the singular values show no gap.
    Stopping early then returns mostly noise.

    The rule watches the energy because it needs no gap.  A rule on the residual
    |Y Y^T Q - Q Q^T Y Y^T Q| ends at the same steps when it is set to leave the same energy.

    Examples
    --------
    The vector (3, 4) of a matrix of rank one is found in one step:

    >>> found = orthogonal_iteration(
    ...     first=[[3.0, 4.0]], second=[[1.0, 0.0]], weights=[[1.0]], start=[[1.0], [0.0]],
    ...     n_iterations=2,
    ... )
    >>> abs(found.bases[0, :, 0]).round(12).tolist()
    [0.6, 0.8]
    """
    a, b, w, q0, scale = _check_pairs(first, second, weights, start)
    if n_iterations % 2:
        raise InvalidParameter(f"n_iterations={n_iterations} must be even (Algorithm 3)")
    return _iterate_bases(a, b, w, q0, scale, n_iterations, tol)


@validated(tol=Real(0.0))
def krylov_bases(
    *,
    first: ArrayLike,
    second: ArrayLike,
    weights: ArrayLike,
    start: ArrayLike,
    n_blocks: int,
    tol: float = 0.0,
) -> SubspaceResult:
    r"""The best k-dimensional subspaces of the block Krylov spaces of Algorithm 3.

    This is not the paper's algorithm.  Of :math:`\operatorname{span}\{(YY^\top)^tQ_0:t<S\}` that
    one keeps the last block.  This one keeps all S blocks and returns the subspace of largest
    energy |Y^T Q|_F^2.  It needs the same broadcasts.  Its energy is at least that of Algorithm 3
    after 2 (S - 1) half steps.  At (P, d, k) = (5000, 500, 8) eight blocks, 15 half steps, captured
    0.9991 of the k leading singular values' energy, as much as Algorithm 3 after 124.

    Parameters
    ----------
    first, second, weights, start : as for `orthogonal_iteration`.
    n_blocks : S, 1 <= S <= d / k.
    tol : 0 takes all S blocks.  Else matrix h leaves once a block raises its energy by at most the
        fraction ``tol``.

    Returns
    -------
    SubspaceResult
        ``energy`` is that of the returned bases.  ``n_iterations`` is 2 S - 1 for S blocks taken.

    Raises
    ------
    InvalidParameter : shapes, entries that are not finite, a start that is not orthonormal,
        n_blocks outside [1, d / k], tol < 0.

    Notes
    -----
    4 P d k (2 S - 1) flops a matrix.  The blocks take O(d (k S)^2) flops and 16 d k S bytes.  They
    are kept orthonormal by projecting twice.

    Examples
    --------
    >>> found = krylov_bases(
    ...     first=[[3.0, 4.0]], second=[[1.0, 0.0]], weights=[[1.0]], start=[[1.0], [0.0]],
    ...     n_blocks=2,
    ... )
    >>> abs(found.bases[0, :, 0]).round(12).tolist(), found.energy.round(12).tolist()
    ([0.6, 0.8], [25.0])
    """
    a, b, w, q0, scale = _check_pairs(first, second, weights, start)
    n_matrices, d, k = q0.shape
    n_blocks = integer_between("n_blocks", n_blocks, 1, d // k, "d / k")
    bases, energy = np.empty((n_matrices, d, k)), np.zeros(n_matrices)
    taken = np.zeros(n_matrices, dtype=np.int64)
    going = np.arange(n_matrices)
    blocks = np.empty((n_matrices, n_blocks * k, d))  # of the matrices still going, as the images
    images = np.empty_like(blocks)
    current = np.array(q0.transpose(0, 2, 1), order="C")
    image = np.empty_like(current)
    for t in range(n_blocks):
        if t:
            _apply(image, b, a, w, current)  # Y (Y^T V)
            current = _orthogonal_to(blocks[:, : t * k], current)
        _apply(current, a, b, w, image)  # Y^T V
        blocks[:, t * k : (t + 1) * k], images[:, t * k : (t + 1) * k] = current, image
        last = t == n_blocks - 1
        if not last and tol == 0.0:
            continue
        gained, leading = _leading_vectors(images[:, : (t + 1) * k], k)
        done = np.full(len(going), last) | (gained <= energy[going] * (1.0 + tol))
        energy[going], taken[going] = gained, 2 * t + 1
        if not done.any():
            continue
        spans = blocks[done, : (t + 1) * k].transpose(0, 2, 1)
        bases[going[done]] = np.linalg.qr(spans @ leading[done])[0]
        going = going[~done]
        if not going.size:
            break
        blocks, images, w = blocks[~done], images[~done], w[~done]
        current, image = current[~done], image[~done]
    return SubspaceResult(bases=bases, energy=_in_units(energy, scale), n_iterations=taken)


def _leading_vectors(images: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """The k largest eigenvalues' sum (H,) of the Gram matrices of rows (H, r, d), and vectors."""
    values, vectors = np.linalg.eigh(images @ images.transpose(0, 2, 1))
    return np.maximum(values[:, -k:], 0.0).sum(axis=1), vectors[:, :, : -k - 1 : -1]


def _orthogonal_to(kept: FloatArray, current: FloatArray) -> FloatArray:
    """Orthonormal rows (H, k, d) of the part of ``current`` that is orthogonal to ``kept``.

    One pass of Gram-Schmidt leaves rounding errors that grow with the condition number.  The
    second pass removes them.  Where nothing is left of a row, any other one takes its place.
    """
    for _ in range(2):
        current = current - (current @ kept.transpose(0, 2, 1)) @ kept
        q = np.linalg.qr(current.transpose(0, 2, 1))[0]
        current = np.array(q.transpose(0, 2, 1), order="C")
    # A row of zeros became a unit vector, which may lie in the span of those kept.
    overlap = np.abs(current @ kept.transpose(0, 2, 1)).max(axis=(1, 2))
    for h in np.flatnonzero(overlap > 1e-8):
        q = np.linalg.qr(np.concatenate([kept[h], current[h]]).T)[0]
        current[h] = q[:, kept.shape[1] :].T
    return current


def _check_pairs(
    first: ArrayLike, second: ArrayLike, weights: ArrayLike, start: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Check the pairs, and return the vectors, scaled weights, start (H, d, k) and scales (H,).

    Y is the scale times the matrix of the scaled weights, whose powers neither overflow nor vanish.
    """
    a = finite_batch("first", first, ("P", "d"))
    b = finite_batch("second", second, ("P", "d"))
    w = finite_batch("weights", weights, ("H", "P"))
    if b.shape != a.shape:
        raise InvalidParameter(f"second.shape={b.shape} must be first.shape={a.shape}")
    if w.shape[1] != len(a):
        raise InvalidParameter(f"weights.shape={w.shape} must be (H, P) with P={len(a)}")
    d = a.shape[1]
    q0 = real_array("start", start)
    if q0.ndim == 2:
        q0 = np.broadcast_to(q0, (len(w), *q0.shape))
    q0 = finite_batch("start", q0, ("H", "d", "k"))
    if q0.shape[:2] != (len(w), d) or q0.shape[2] > d:
        raise InvalidParameter(
            f"start.shape={q0.shape} must be (d, k) or (H, d, k) with H={len(w)}, d={d}, k <= d"
        )
    if np.abs(q0.transpose(0, 2, 1) @ q0 - np.eye(q0.shape[2])).max() > 1e-8:
        raise InvalidParameter("start must have orthonormal columns")
    (a, a_power), (b, b_power) = _not_tiny(a), _not_tiny(b)
    unit = 1.0
    for x in (a, b):
        unit *= max(x.max(), -x.min(), _TINY)
    heights = np.maximum(w.max(axis=1), -w.min(axis=1))
    heights[heights == 0.0] = 1.0
    scaled = w / heights[:, None]
    scaled /= unit
    with np.errstate(over="ignore"):
        scale = np.ldexp(heights * (unit / len(a)), a_power + b_power)
    return a, b, scaled, q0, scale


def _not_tiny(vectors: FloatArray) -> tuple[FloatArray, int]:
    """Vectors, of a larger unit where all are tiny, and the power of two taken out."""
    largest = float(max(vectors.max(), -vectors.min()))
    if not 0.0 < largest < _TINY:
        return vectors, 0
    power = math.frexp(largest)[1]
    return np.ldexp(vectors, -power), power


def _in_units(energy: FloatArray, scale: FloatArray) -> FloatArray:
    """Energies (H,) of Y from those of the scaled matrix.  Infinite beyond the range of floats."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(energy > 0.0, energy * scale * scale, 0.0)


def _iterate_bases(
    a: FloatArray,
    b: FloatArray,
    w: FloatArray,
    q0: FloatArray,
    scale: FloatArray,
    n_iterations: int,
    tol: float,
) -> SubspaceResult:
    """Run the loop of `orthogonal_iteration`.  Matrices that have converged leave the GEMMs."""
    n_matrices = len(q0)
    # rows of a matrix's block are its basis vectors: both GEMMs then run along the rows of a and b
    rows = np.array(q0.transpose(0, 2, 1), order="C")
    energy = np.zeros(n_matrices)
    taken = np.zeros(n_matrices, dtype=np.int64)
    going = np.arange(n_matrices)
    half = np.empty_like(rows)
    d, k = q0.shape[1:]
    formed = _form(a, b, w) if tol == 0.0 and d <= min(n_iterations * k, len(a)) else None
    for _ in range(n_iterations // 2):
        if not going.size:
            break
        all_go = len(going) == n_matrices
        current = rows if all_go else rows[going]
        weights = w if all_go else w[going]
        middle = half[: len(going)]
        if formed is None:
            _apply(current, a, b, weights, middle)  # Y^T Q
            _apply(middle, b, a, weights, current)  # Y (Y^T Q)
        else:  # all go on: without a tolerance none ends early
            np.matmul(current, formed, out=middle)
            np.matmul(middle, formed.transpose(0, 2, 1), out=current)
        gained = np.einsum("hkd,hkd->h", middle, middle)
        current = np.linalg.qr(current.transpose(0, 2, 1))[0].transpose(0, 2, 1)
        rows[going] = current
        taken[going] += 2
        settled = gained <= energy[going] * (1.0 + tol) if tol > 0 else np.zeros(len(going), bool)
        energy[going] = gained
        going = going[~settled]
    return SubspaceResult(
        bases=np.ascontiguousarray(rows.transpose(0, 2, 1)),
        energy=_in_units(energy, scale),
        n_iterations=taken,
    )


def _form(a: FloatArray, b: FloatArray, w: FloatArray) -> FloatArray:
    """The matrices Y_h (H, d, d) of scaled weights (H, P).

    Short vectors with d weights or more share the products of their entries: one GEMM of all
    weights with these takes the place of one for each matrix, whose sides are too short for it.
    """
    d = a.shape[1]
    if not d <= min(len(w), LONGEST_SHARED):
        return np.stack([(a * weights[:, None]).T @ b for weights in w])
    formed = np.zeros((len(w), d * d))
    for top in range(0, len(a), BLOCK_ROWS):
        block = slice(top, top + BLOCK_ROWS)
        left, right = (np.ascontiguousarray(x[block].T) for x in (a, b))
        formed += w[:, block] @ (left[:, None] * right).reshape(d * d, -1).T
    return formed.reshape(-1, d, d)


def _apply(
    rows: FloatArray, inner: FloatArray, outer: FloatArray, weights: FloatArray, out: FloatArray
) -> None:
    """Set out[h] = ((rows[h] inner^T) * weights[h]) outer for every matrix h.

    `rows` and `out` are (H, k, d).
    """
    n_matrices, k, d = rows.shape
    per_block = max(1, BLOCK_ROWS // k)
    n_columns = min(per_block, n_matrices) * k
    n_pairs = min(len(inner), max(BLOCK_ROWS, SCRATCH_BYTES // (8 * n_columns)))
    scratch, part = np.empty(n_columns * n_pairs), np.empty((n_columns, d))
    for top in range(0, n_matrices, per_block):
        end = min(top + per_block, n_matrices)
        columns = rows[top:end].reshape(-1, d)
        total = out[top:end].reshape(-1, d)
        for a in range(0, len(inner), n_pairs):
            z = min(a + n_pairs, len(inner))
            product = scratch[: len(columns) * (z - a)].reshape(len(columns), z - a)
            np.matmul(columns, inner[a:z].T, out=product)
            shaped = product.reshape(end - top, k, z - a)
            shaped *= weights[top:end, None, a:z]
            if a == 0:
                np.matmul(product, outer[a:z], out=total)
            else:
                total += np.matmul(product, outer[a:z], out=part[: len(columns)])


# ------------------------------------------------------------------------------ power iteration


_UNSCALED = 8  # products of A A^T in a row: their entries lie between 1/k and k^2
_FAINT = 1e-140  # iterates of a smaller norm have lost digits, or all of them


@validated(matrices=Array(("H", "k", "k")), start=Array((..., "k")), n_iterations=Integer(0))
def power_iteration(
    matrices: ArrayLike, start: ArrayLike, n_iterations: int
) -> tuple[FloatArray, FloatArray]:
    """Leading left singular vectors and values of H square matrices, by powers of A A^T.

    Parameters
    ----------
    matrices : (H, k, k) A.
    start : (k,) not zero, the same for all, or (H, k) those of the matrices.
    n_iterations : T2 >= 0.

    Returns
    -------
    vectors : (H, k) unit vectors b (the normalised start where A A^T maps an iterate to zero).
    values : (H,) ``|A^T b|``, the square root of the Rayleigh quotient of A A^T: the paper's
        sigma_hat^2.  (Its appendix writes b^T A b, which may be negative.)

    Examples
    --------
    >>> vectors, values = power_iteration([[[2.0, 0.0], [0.0, 1.0]]], [1.0, 1.0], 40)
    >>> vectors.round(6).tolist(), values.round(6).tolist()
    ([[1.0, 0.0]], [2.0])
    """
    a, b0 = np.asarray(matrices), np.asarray(start)
    if b0.shape[:-1] not in ((), (len(a),)):
        raise InvalidParameter(f"start.shape={b0.shape} must be (k,) or (H, k) with H={len(a)}")
    heights = np.abs(b0).max(axis=-1, keepdims=True)
    if not heights.all():
        raise InvalidParameter("start must not be zero")
    scale = np.abs(a).max(axis=(1, 2), keepdims=True)
    unit = a / np.where(scale > 0, scale, 1.0)  # squares neither overflow nor underflow
    b0 = b0 / heights
    b = np.broadcast_to(b0 / np.linalg.norm(b0, axis=-1, keepdims=True), a.shape[:2])
    across = unit.transpose(0, 2, 1)
    for top in range(0, n_iterations, _UNSCALED):
        image = b[:, :, None]
        for _ in range(min(_UNSCALED, n_iterations - top)):
            image = unit @ (across @ image)
        image = image[:, :, 0]
        norm = np.sqrt((image * image).sum(axis=1, keepdims=True))
        if norm.all():
            following = image / norm
        else:
            following = np.where(norm > 0, image / np.where(norm > 0, norm, 1.0), b)
        for h in np.flatnonzero((norm < _FAINT) & (scale[:, 0] > 0.0)):
            following[h] = _iterate_one(unit[h], b[h], min(_UNSCALED, n_iterations - top))
        b = following
    value = last_axis_lengths(np.einsum("hij,hi->hj", unit, b)) * scale[:, 0, 0]
    return np.array(b), value


def _iterate_one(matrix: FloatArray, b: FloatArray, n_iterations: int) -> FloatArray:
    """The unit vector (k,) after products of A A^T that are scaled one by one."""
    for _ in range(n_iterations):
        image = matrix @ (matrix.T @ b)
        length = last_axis_lengths(image[None])[0]
        if length == 0.0:
            return b
        b = image / length
    return b

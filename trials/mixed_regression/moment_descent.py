r"""Federated moment descent: Phase 1 and Algorithm 3 of Su, Xu & Yang (2022).

A few *anchor* clients descend from one start to their own cluster's parameter.  In round t the
server draws m fresh clients with two points each.  For anchor i, with
:math:`\varepsilon(x,y)=(y-\langle x,\theta_{i,t}\rangle)x`,

.. math:: Y_{i,t}=\frac1m\sum_{i'}\varepsilon(x_{i'1},y_{i'1})\varepsilon(x_{i'2},y_{i'2})^\top,
          \qquad \mathbb E Y_{i,t}=\sum_jp_j\Sigma_j(\theta_j^*-\theta_{i,t})
          (\theta_j^*-\theta_{i,t})^\top\Sigma_j,

so the top k left singular vectors U of Y span the residual errors.  From 2 l fresh points of the
anchor, eq. (2):

.. math:: A_{i,t}=\frac1\ell\sum_jU^\top\varepsilon(x_j,y_j)
          \bigl(U^\top\varepsilon(\tilde x_j,\tilde y_j)\bigr)^\top,\qquad
          \mathbb EA_{i,t}=U^\top\Sigma_{z_i}(\theta^*_{z_i}-\theta_{i,t})
          (\theta^*_{z_i}-\theta_{i,t})^\top\Sigma_{z_i}U.

Its leading left singular vector and value :math:`(\hat\beta,\hat\sigma^2)` give the step
:math:`\theta_{i,t+1}=\theta_{i,t}+\tfrac{\alpha\hat\sigma}{2\beta^2}U\hat\beta`, taken while
:math:`\hat\sigma>\epsilon\Delta`.

No d x d matrix is formed: :math:`Y_i=X_1^\top\operatorname{diag}(w_i)X_2/m`, where the weights
:math:`w_i=r_1r_2` are products of residuals, and X_1, X_2 serve all anchors: the columns that
the anchors iterate are the rows of one matrix, and half a step is two GEMMs.

*Readings.*  (a) A singular vector has no sign, and the proof of (21) uses
:math:`\langle U\hat\beta,\Sigma(\theta^*-\theta)\rangle>0` while (27) bounds its square: as printed
the step goes the wrong way with probability one half.  ``orient=True`` takes the sign from the
anchor's own points, :math:`\mathbb E\varepsilon=\Sigma(\theta^*-\theta)`; ``False`` keeps the
iteration's.  (b) Printed, an anchor at rest is tested again in each round and may move again; the
proof has it stop for good (:math:`\theta_T=\theta_{t^*}`): ``stopping`` is ``printed`` or
``final``.  (c) "Same cluster when closer than Delta/2" need not be transitive: groups are the
connected components, and `AnchorGroups.is_consistent` tells whether all are cliques.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform

from trials.checks import (
    FloatArray,
    InvalidParameter,
    checked_rng,
    finite_batch,
    integer_between,
    one_of,
    real_array,
    real_between,
)
from trials.models.clients import ClientData
from trials.models.run_status import DIVERGENCE_BOUND

IntArray = NDArray[np.int64]

SCRATCH_BYTES = 8 * 2**20
"""Size of the products (anchors k, pairs) formed at once: a quarter of a shared cache of 32 MiB."""

BLOCK_ROWS = 1024
"""Columns that the anchors of one product iterate, and the pairs of a product at least.

Measured against products of all pairs at once, in fractions of the dgemm rate on one thread: at
(P, d, k, anchors) = (200000, 50, 4, 32) 0.71 against 0.41, at (150000, 24, 4, 24) 0.63 against
0.38, at (12500, 500, 8, 100) 1.0 both.
"""

LARGEST_ENTRY = 1e15
"""Larger features or responses are refused: fourth powers of bounded estimates stay finite."""


class AnchorStatus(IntEnum):
    """How an anchor's descent ended."""

    STOPPED = 0
    """The residual estimate fell to epsilon Delta."""
    ROUNDS_SPENT = 1
    """It was still descending after T rounds."""
    DIVERGED = 2
    """A step would have left the divergence bound; the last bounded estimate is kept."""


# ------------------------------------------------------------------------- orthogonal iteration


@dataclass(frozen=True, kw_only=True)
class SubspaceResult:
    """Orthonormal bases that Algorithm 3 found.

    Attributes
    ----------
    bases : (H, d, k) orthonormal columns Q.
    energy : (H,) ``|Y^T Q|_F^2`` of the second last basis of each; the sum of the k largest
        squared singular values once converged.
    n_iterations : (H,) half steps taken (broadcasts of the federated algorithm); even.
    """

    bases: FloatArray
    energy: FloatArray
    n_iterations: IntArray


def detection_sizes(*, errors: ArrayLike, fractions: ArrayLike, sigma: float) -> FloatArray:
    r"""Clients a round from which Y tells each direction of the residual errors from noise.

    With :math:`u_j=\theta_j^*-\theta_{i,t}`, Gaussian features of identity covariance and
    :math:`s_j^2=\lVert u_j\rVert^2+\sigma^2`, let
    :math:`\mathbb EY=\sum_jp_ju_ju_j^\top=\sum_{c\le r}\lambda_cv_cv_c^\top`.  Then

    .. math:: m_c=\frac{d-r}{\lambda_c^2}\sum_jp_js_j^2\bigl(s_j^2+2\langle u_j,v_c\rangle^2\bigr),

    and the subspace loses the part :math:`m_c/m` of :math:`\lVert v_c\rVert^2`, to first order in
    1/m: its error is the part of :math:`(Y-\mathbb EY)v_c/\lambda_c` outside of the span.  With m
    below m_c it knows next to nothing of v_c.

    Not the paper's, whose (3) asks for :math:`m\ge p_{\min}^{-2}\tilde\Omega(d)` and leaves epsilon
    to the constant: where one u has shrunk to :math:`\epsilon\Delta` beside others of
    :math:`\Delta`, its :math:`\lambda\approx p\epsilon^2\Delta^2` and m_c is about
    :math:`d/(p^2\epsilon^4)`.

    Parameters
    ----------
    errors : (k, d) the u_j.
    fractions : (k,) p > 0, summing to 1.
    sigma : noise level.

    Returns
    -------
    (r,) ascending, r the rank of E Y.
    """
    u = finite_batch("errors", errors, ("k", "d"))
    p = real_array("fractions", fractions)
    if p.shape != u.shape[:1] or not (p > 0).all() or abs(p.sum() - 1.0) > 1e-9:
        raise InvalidParameter(f"fractions={fractions!r} must be ({len(u)},), > 0 and sum to 1")
    sigma = real_between("sigma", sigma, 0.0)
    unit = float(np.abs(u).max())
    if unit > 0.0:  # only ratios count; fourth powers neither overflow nor vanish
        u, sigma = u / unit, sigma / unit
    _, roots, v = np.linalg.svd(np.sqrt(p)[:, None] * u, full_matrices=False)
    rank = int((roots > 1e-12 * roots[0]).sum()) if roots[0] > 0 else 0
    s_sq = (u**2).sum(axis=1) + sigma * sigma
    noise = p * s_sq @ (s_sq[:, None] + 2.0 * (u @ v[:rank].T) ** 2)
    return np.asarray((u.shape[1] - rank) * noise / roots[:rank] ** 4)


def random_basis(d: int, k: int, rng: np.random.Generator) -> FloatArray:
    """A uniformly distributed (d, k) matrix with orthonormal columns."""
    d = integer_between("d", d, 1)
    k = integer_between("k", k, 1, d, "the dimension d")
    q, r = np.linalg.qr(checked_rng(rng).standard_normal((d, k)))
    return np.asarray(q * np.where(np.diagonal(r) < 0, -1.0, 1.0))


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

    Returns
    -------
    SubspaceResult

    Raises
    ------
    InvalidParameter : shapes, entries that are not finite, odd n_iterations, k > d, tol < 0.

    Notes
    -----
    4 P d k flops a matrix and half step, in GEMMs that all matrices share, against 2 P d^2 once
    (and 2 d^2 k a half step, or an SVD) with Y formed: cheaper for up to d / (2 k) half steps.
    Where Algorithm 3's k log(N d) are more, as for d < 2 k^2 log(N d), end early (``tol``) or use
    `krylov_bases`.  Where Y tells the residual errors from noise (`detection_sizes`), the singular
    values have a gap and few half steps do: with ``tol=0.01``, 6 of 68 at 240 times that size hold
    all of the errors' squares that the SVD does (0.990), 19 of 144 at 1.8 times it 0.457 of its
    0.507 (Krylov: 13 and 0.506).  Below, the values form a bulk and what an early end leaves is
    noise.  The energy may be watched instead of the residual |Y Y^T Q - Q Q^T Y Y^T Q|: it needs no
    gap, and a rule on the residual ends at the same steps when it is set to leave the same energy.
    """
    a, b, w, q0, scale = _checked_pairs(first, second, weights, start)
    n_iterations = integer_between("n_iterations", n_iterations, 0)
    if n_iterations % 2:
        raise InvalidParameter(f"n_iterations={n_iterations} must be even (Algorithm 3)")
    tol = real_between("tol", tol, 0.0)
    return _iterate_bases(a, b, w, q0, scale, n_iterations, tol)


def krylov_bases(
    *,
    first: ArrayLike,
    second: ArrayLike,
    weights: ArrayLike,
    start: ArrayLike,
    n_blocks: int,
    tol: float = 0.0,
) -> SubspaceResult:
    r"""The best k-dimensional subspaces of the block Krylov spaces that Algorithm 3 walks through.

    Not the paper's algorithm: of :math:`\operatorname{span}\{(YY^\top)^tQ_0:t<S\}` that one keeps
    the last block; this keeps all S and returns the subspace of largest energy |Y^T Q|_F^2.  It
    needs the same broadcasts, and its energy is at least that of Algorithm 3 after 2 (S - 1) half
    steps.  At (P, d, k) = (5000, 500, 8) eight blocks, 15 half steps, captured 0.9991 of the k
    leading singular values' energy, as much as Algorithm 3 after 124.

    Parameters
    ----------
    first, second, weights, start : as for `orthogonal_iteration`.
    n_blocks : S, 1 <= S <= d / k.
    tol : 0 takes all S blocks.  Else matrix h leaves once a block raises its energy by at most the
        fraction ``tol``.

    Returns
    -------
    SubspaceResult
        ``energy`` is that of the returned bases; ``n_iterations`` is 2 S - 1, S the blocks taken.

    Notes
    -----
    4 P d k (2 S - 1) flops a matrix, and O(d (k S)^2) and 16 d k S bytes for the blocks, which are
    kept orthonormal by projecting twice.
    """
    a, b, w, q0, scale = _checked_pairs(first, second, weights, start)
    n_matrices, d, k = q0.shape
    n_blocks = integer_between("n_blocks", n_blocks, 1, d // k, "d / k")
    tol = real_between("tol", tol, 0.0)
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
            kept = blocks[:, : t * k]
            for _ in range(2):
                current -= (current @ kept.transpose(0, 2, 1)) @ kept
                q = np.linalg.qr(current.transpose(0, 2, 1))[0]
                current = np.array(q.transpose(0, 2, 1), order="C")
        _apply(current, a, b, w, image)  # Y^T V
        blocks[:, t * k : (t + 1) * k], images[:, t * k : (t + 1) * k] = current, image
        last = t == n_blocks - 1
        if not last and tol == 0.0:
            continue
        walked = images[:, : (t + 1) * k]
        values, vectors = np.linalg.eigh(walked @ walked.transpose(0, 2, 1))
        gained = np.maximum(values[:, -k:], 0.0).sum(axis=1)
        done = np.full(len(going), last) | (gained <= energy[going] * (1.0 + tol))
        energy[going], taken[going] = gained, 2 * t + 1
        if not done.any():
            continue
        best = vectors[done][:, :, : -k - 1 : -1]
        spans = blocks[done, : (t + 1) * k].transpose(0, 2, 1)
        bases[going[done]] = np.linalg.qr(spans @ best)[0]
        going = going[~done]
        if not going.size:
            break
        blocks, images, w = blocks[~done], images[~done], w[~done]
        current, image = current[~done], image[~done]
    return SubspaceResult(bases=bases, energy=_in_units(energy, scale), n_iterations=taken)


def _checked_pairs(
    first: ArrayLike, second: ArrayLike, weights: ArrayLike, start: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """The vectors, scaled weights, an (H, d, k) start, the scales (H,); refused if they do not fit.

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
    unit = 1.0
    for x in (a, b):
        unit *= max(x.max(), -x.min(), 1e-150)
    heights = np.maximum(w.max(axis=1), -w.min(axis=1))
    heights[heights == 0.0] = 1.0
    scaled = w / heights[:, None]
    scaled /= unit
    with np.errstate(over="ignore"):
        return a, b, scaled, q0, heights * (unit / len(a))


def _in_units(energy: FloatArray, scale: FloatArray) -> FloatArray:
    """Energies of Y from those of the scaled matrix; infinite beyond the range of floats."""
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
    """The loop of `orthogonal_iteration`; matrices that have converged leave the GEMMs."""
    n_matrices = len(q0)
    # rows of a matrix's block are its basis vectors: both GEMMs then run along the rows of a and b
    rows = np.array(q0.transpose(0, 2, 1), order="C")
    energy = np.zeros(n_matrices)
    taken = np.zeros(n_matrices, dtype=np.int64)
    going = np.arange(n_matrices)
    half = np.empty_like(rows)
    for _ in range(n_iterations // 2):
        if not going.size:
            break
        all_go = len(going) == n_matrices
        current = rows if all_go else rows[going]
        weights = w if all_go else w[going]
        middle = half[: len(going)]
        _apply(current, a, b, weights, middle)  # Y^T Q
        gained = np.einsum("hkd,hkd->h", middle, middle)
        _apply(middle, b, a, weights, current)  # Y (Y^T Q)
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


def _apply(
    rows: FloatArray, inner: FloatArray, outer: FloatArray, weights: FloatArray, out: FloatArray
) -> None:
    """out[h] = ((rows[h] inner^T) * weights[h]) outer for every matrix h; rows, out (H, k, d)."""
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


def power_iteration(
    matrices: ArrayLike, start: ArrayLike, n_iterations: int
) -> tuple[FloatArray, FloatArray]:
    """Leading left singular vectors and values of H square matrices, by powers of A A^T.

    Parameters
    ----------
    matrices : (H, k, k) A.
    start : (k,) not zero.
    n_iterations : T2 >= 0.

    Returns
    -------
    vectors : (H, k) unit vectors b (the normalised start where A A^T maps an iterate to zero).
    values : (H,) ``|A^T b|``, the square root of the Rayleigh quotient of A A^T: the paper's
        sigma_hat^2.  (Its appendix writes b^T A b, which may be negative.)
    """
    a = finite_batch("matrices", matrices, ("H", "k", "k"))
    k = a.shape[2]
    if a.shape[1] != k:
        raise InvalidParameter(f"matrices.shape={a.shape} must be (H, k, k)")
    b0 = real_array("start", start)
    if b0.shape != (k,) or not np.isfinite(b0).all() or not b0.any():
        raise InvalidParameter(f"start={start!r} must be ({k},), finite and not zero")
    scale = np.abs(a).max(axis=(1, 2), keepdims=True)
    unit = a / np.where(scale > 0, scale, 1.0)  # squares neither overflow nor underflow
    b0 = b0 / np.abs(b0).max()
    b = np.tile(b0 / np.linalg.norm(b0), (len(a), 1))
    for _ in range(integer_between("n_iterations", n_iterations, 0)):
        image = np.einsum("hij,hlj,hl->hi", unit, unit, b, optimize=True)
        norm = np.linalg.norm(image, axis=1, keepdims=True)
        b = np.where(norm > 0, image / np.where(norm > 0, norm, 1.0), b)
    value = np.linalg.norm(np.einsum("hij,hi->hj", unit, b), axis=1) * scale[:, 0, 0]
    return b, value


# -------------------------------------------------------------------------------- fresh batches


@dataclass(frozen=True, kw_only=True)
class MomentBatch:
    """What one round reads.

    Attributes
    ----------
    first, second : (m, d) features of the two points of each of m clients.
    first_y, second_y : (m,) their responses.
    anchor_features : (H, 2 l, d) fresh points of every anchor; point j is paired with l + j.
    anchor_responses : (H, 2 l).
    """

    first: FloatArray
    second: FloatArray
    first_y: FloatArray
    second_y: FloatArray
    anchor_features: FloatArray
    anchor_responses: FloatArray


def choose_anchors(
    data: ClientData, n_anchors: int, n_rows: int, rng: np.random.Generator
) -> IntArray:
    """``n_anchors`` clients at random, in ascending order, of those with at least ``n_rows`` rows.

    A run of T rounds with l pairs needs ``n_rows = 2 l T``.
    """
    n_anchors = integer_between("n_anchors", n_anchors, 1)
    n_rows = integer_between("n_rows", n_rows, 1)
    able = np.flatnonzero(np.diff(data.offsets) >= n_rows)
    if able.size < n_anchors:
        raise InvalidParameter(
            f"n_anchors={n_anchors} must be <= {able.size}, the clients with {n_rows} rows or more"
        )
    return np.sort(rng.choice(able, n_anchors, replace=False)).astype(np.int64)


def fresh_batches(
    data: ClientData,
    anchors: ArrayLike,
    *,
    n_clients: int,
    n_pairs: int,
    n_rounds: int,
    rng: np.random.Generator,
) -> Callable[[int], MomentBatch]:
    """Batches of one data set in which no client, and no row of an anchor, is used twice.

    Parameters
    ----------
    data : the clients; those with one row are never drawn.
    anchors : (H,) distinct clients, each with at least 2 ``n_pairs n_rounds`` rows.
    n_clients : m clients a round, drawn without replacement from the others with two rows or more
        (their first two rows are read); there must be m T of them.
    n_pairs : l pairs an anchor and round.
    n_rounds : T.
    rng : the stream; used once, here.

    Returns
    -------
    ``draw(t)`` for t = 0, ..., T - 1.
    """
    n_clients = integer_between("n_clients", n_clients, 1)
    n_pairs = integer_between("n_pairs", n_pairs, 1)
    n_rounds = integer_between("n_rounds", n_rounds, 1)
    chosen = np.asarray(anchors)
    sizes = np.diff(data.offsets)
    if chosen.ndim != 1 or not chosen.size or not np.issubdtype(chosen.dtype, np.integer):
        raise InvalidParameter(f"anchors={anchors!r} must be (H,) integers, H >= 1")
    if chosen.min() < 0 or chosen.max() >= sizes.size or np.unique(chosen).size < chosen.size:
        raise InvalidParameter(f"anchors must be distinct and in [0, {sizes.size})")
    needed = 2 * n_pairs * n_rounds
    if sizes[chosen].min() < needed:
        raise InvalidParameter(
            f"anchors must have 2 n_pairs n_rounds = {needed} rows; one has {sizes[chosen].min()}"
        )
    others = np.setdiff1d(np.flatnonzero(sizes >= 2), chosen)
    if others.size < n_clients * n_rounds:
        raise InvalidParameter(
            f"n_clients={n_clients} must be <= {others.size // n_rounds}: {others.size} clients "
            f"besides the anchors have two rows, for {n_rounds} rounds"
        )
    order = rng.permutation(others)[: n_clients * n_rounds].reshape(n_rounds, n_clients)
    tops = data.offsets[chosen]

    def draw(t: int) -> MomentBatch:
        rows = data.offsets[order[t]]
        own = tops[:, None] + np.arange(2 * n_pairs * t, 2 * n_pairs * (t + 1))
        return MomentBatch(
            first=data.features[rows],
            second=data.features[rows + 1],
            first_y=data.responses[rows],
            second_y=data.responses[rows + 1],
            anchor_features=data.features[own],
            anchor_responses=data.responses[own],
        )

    return draw


# ------------------------------------------------------------------------------- moment descent


@dataclass(frozen=True, kw_only=True)
class MomentDescentResult:
    """What the anchors found.

    Attributes
    ----------
    theta : (H, d) final estimates, always finite.
    status : (H,) `AnchorStatus` values.
    n_steps : (H,) steps taken.
    residuals : (T, H) sigma_hat of each round, an estimate of |Sigma (theta* - theta_t)|; repeated
        for an anchor that has left.
    half_steps : (T, H) broadcasts of a (d, k) basis that each round's subspace took, each answered
        by m such matrices; 0 for an anchor that has left.
    distances : (T + 1, H) |theta_t - target| before each round and after the last; None without
        targets.
    """

    theta: FloatArray
    status: NDArray[np.int8]
    n_steps: IntArray
    residuals: FloatArray
    half_steps: IntArray
    distances: FloatArray | None


def run_moment_descent(
    *,
    draw: Callable[[int], MomentBatch],
    k: int,
    alpha: float,
    beta: float,
    threshold: float,
    start: ArrayLike,
    n_rounds: int,
    subspace_iterations: int,
    power_iterations: int,
    rng: np.random.Generator,
    orient: bool = True,
    stopping: str = "final",
    tol: float = 0.0,
    krylov_blocks: int = 0,
    targets: ArrayLike | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
) -> MomentDescentResult:
    """Phase 1 (FedMD) without its last line, which is `group_anchors`.

    Parameters
    ----------
    draw : called once a round t = 0, 1, ...; fresh data (`fresh_batches`).
    k : columns of the bases, 1 <= k <= d.
    alpha, beta : 0 < alpha <= beta, the spectrum's limits that the step alpha sigma_hat / (2
        beta^2) assumes.
    threshold : epsilon Delta >= 0: an anchor moves while its sigma_hat exceeds it.
    start : (d,) theta_0 of all anchors, or (H, d).
    n_rounds : T >= 1.
    subspace_iterations : T1, even.
    power_iterations : T2.
    rng : for the random start of each round's iterations, which all anchors share.
    orient, stopping : the readings (a) and (b) of the module.
    tol : early end of the iterations for the subspaces; 0 as printed.
    krylov_blocks : S > 0 replaces Algorithm 3 by `krylov_bases` with S blocks at most.
    targets : (H, d) to record distances to, the anchors' true parameters.
    divergence_bound : largest norm of an estimate.

    Returns
    -------
    MomentDescentResult

    Raises
    ------
    InvalidParameter : before any work, or naming a batch that does not fit.

    Notes
    -----
    A round costs 4 m d k flops a half step and anchor that still moves; anchors with equal
    estimates (all, in the first round) share one iteration.  `detection_sizes` tells how many
    clients a round descent needs.
    """
    alpha = real_between("alpha", alpha, 0.0, open_low=True)
    beta = real_between("beta", beta, alpha)
    threshold = real_between("threshold", threshold, 0.0)
    n_rounds = integer_between("n_rounds", n_rounds, 1)
    if integer_between("subspace_iterations", subspace_iterations, 2) % 2:
        raise InvalidParameter(f"subspace_iterations={subspace_iterations} must be even")
    integer_between("power_iterations", power_iterations, 1)
    integer_between("krylov_blocks", krylov_blocks, 0)
    one_of("stopping", stopping, ("final", "printed"))
    bound = real_between("divergence_bound", divergence_bound, 0.0, 1e30, open_low=True)
    checked_rng(rng)
    batch = draw(0)
    n_anchors, _, d = finite_batch("anchor_features", batch.anchor_features, ("H", "2l", "d")).shape
    integer_between("k", k, 1, d, "the dimension d")
    theta = _start(start, n_anchors, d, bound)
    goals = None
    if targets is not None:
        goals = finite_batch("targets", targets, ("H", "d"))
        if goals.shape != theta.shape:
            raise InvalidParameter(f"targets.shape={goals.shape} must be {theta.shape}")

    status = np.full(n_anchors, AnchorStatus.ROUNDS_SPENT, dtype=np.int8)
    n_steps = np.zeros(n_anchors, dtype=np.int64)
    residuals = np.zeros((n_rounds, n_anchors))
    half_steps = np.zeros((n_rounds, n_anchors), dtype=np.int64)
    distances = np.empty((n_rounds + 1, n_anchors)) if goals is not None else None
    going = np.arange(n_anchors)
    for t in range(n_rounds):
        if distances is not None and goals is not None:
            distances[t:] = np.linalg.norm(theta - goals, axis=1)
        residuals[t:] = residuals[max(t - 1, 0)]
        if not going.size:
            break
        batch = _checked_batch(draw(t) if t else batch, n_anchors, d)
        basis_start = random_basis(d, k, rng)
        vector_start = rng.standard_normal(k)
        distinct, who = np.unique(theta[going], axis=0, return_inverse=True)
        weights = (batch.first_y - distinct @ batch.first.T) * (
            batch.second_y - distinct @ batch.second.T
        )
        vectors = {"first": batch.first, "second": batch.second, "weights": weights}
        if krylov_blocks:
            found = krylov_bases(**vectors, start=basis_start, n_blocks=krylov_blocks, tol=tol)
        else:
            found = orthogonal_iteration(
                **vectors, start=basis_start, n_iterations=subspace_iterations, tol=tol
            )
        bases = found.bases[who.reshape(-1)]
        half_steps[t, going] = found.n_iterations[who.reshape(-1)]
        direction, sigma_hat = _directions(
            batch.anchor_features[going], batch.anchor_responses[going], theta[going], bases,
            vector_start, power_iterations, orient,
        )  # fmt: skip
        residuals[t:, going] = sigma_hat
        moving = sigma_hat > threshold
        status[going] = np.where(moving, AnchorStatus.ROUNDS_SPENT, AnchorStatus.STOPPED)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a status says it
            length = 0.5 * (alpha / beta) * (sigma_hat / beta)
            stepped = theta[going] + length[:, None] * direction
            lost = moving & ~(np.linalg.norm(stepped, axis=1) <= bound)
        taken = moving & ~lost
        theta[going[taken]] = stepped[taken]
        n_steps[going[taken]] += 1
        status[going[lost]] = AnchorStatus.DIVERGED
        going = going[~lost & (moving | (stopping == "printed"))]
    if distances is not None and goals is not None:
        distances[-1] = np.linalg.norm(theta - goals, axis=1)
    return MomentDescentResult(
        theta=theta, status=status, n_steps=n_steps, residuals=residuals, half_steps=half_steps,
        distances=distances,
    )  # fmt: skip


def _start(start: ArrayLike, n_anchors: int, d: int, bound: float) -> FloatArray:
    theta = real_array("start", start)
    if theta.shape not in ((d,), (n_anchors, d)) or not np.isfinite(theta).all():
        raise InvalidParameter(
            f"start of shape {theta.shape} must be ({d},) or ({n_anchors}, {d}) and finite"
        )
    theta = np.broadcast_to(theta, (n_anchors, d)).copy()
    largest = float(np.linalg.norm(theta, axis=1).max())
    if largest > bound:
        raise InvalidParameter(f"divergence_bound={bound:g} must be >= {largest:g}, start's norm")
    return theta


def _checked_batch(batch: MomentBatch, n_anchors: int, d: int) -> MomentBatch:
    """Refuse a batch whose arrays do not fit together, or that holds NaN."""
    first = finite_batch("first", batch.first, ("m", "d"))
    second = finite_batch("second", batch.second, ("m", "d"))
    points = finite_batch("anchor_features", batch.anchor_features, ("H", "2l", "d"))
    answers = finite_batch("anchor_responses", batch.anchor_responses, ("H", "2l"))
    ys = [finite_batch(name, getattr(batch, name), ("m",)) for name in ("first_y", "second_y")]
    if first.shape[1] != d or second.shape != first.shape or {len(y) for y in ys} != {len(first)}:
        raise InvalidParameter(
            f"first {first.shape}, second {second.shape}, first_y {ys[0].shape} and second_y "
            f"{ys[1].shape} must be (m, {d}) and (m,)"
        )
    if points.shape != (n_anchors, answers.shape[1], d) or len(answers) != n_anchors:
        raise InvalidParameter(
            f"anchor_features {points.shape} and anchor_responses {answers.shape} must be "
            f"({n_anchors}, 2l, {d}) and ({n_anchors}, 2l)"
        )
    if answers.shape[1] % 2:
        raise InvalidParameter(f"2l={answers.shape[1]} points of an anchor must be even")
    largest = max(max(x.max(), -x.min()) for x in (first, second, points, answers, *ys))
    if largest > LARGEST_ENTRY:
        raise InvalidParameter(
            f"the batch's largest entry {largest:g} must be <= {LARGEST_ENTRY:g}: change the units"
        )
    return MomentBatch(
        first=first, second=second, first_y=ys[0], second_y=ys[1],
        anchor_features=points, anchor_responses=answers,
    )  # fmt: skip


def _directions(
    points: FloatArray,
    answers: FloatArray,
    theta: FloatArray,
    bases: FloatArray,
    vector_start: FloatArray,
    power_iterations: int,
    orient: bool,
) -> tuple[FloatArray, FloatArray]:
    """The unit directions U beta_hat (H, d) and sigma_hat (H,) of eq. (2) and line 13."""
    residual = answers - np.einsum("hpd,hd->hp", points, theta)
    projected = residual[:, :, None] * (points @ bases)  # U^T epsilon, (H, 2 l, k)
    n_pairs = points.shape[1] // 2
    moments = projected[:, :n_pairs].transpose(0, 2, 1) @ projected[:, n_pairs:] / n_pairs
    beta_hat, sigma_sq = power_iteration(moments, vector_start, power_iterations)
    if orient:
        along = np.einsum("hpk,hk->h", projected, beta_hat)
        beta_hat = np.where(along < 0, -1.0, 1.0)[:, None] * beta_hat
    return np.einsum("hdk,hk->hd", bases, beta_hat), np.sqrt(sigma_sq)


# ----------------------------------------------------------------------------------- the groups


@dataclass(frozen=True, kw_only=True)
class AnchorGroups:
    """Anchors grouped at Delta/2, the largest group first.

    Attributes
    ----------
    labels : (H,) group of each anchor.
    centres : (g, d) means of the groups; the first k of them start Phase 2.
    sizes : (g,) descending; ties in the order of their first anchors.
    is_consistent : whether every two anchors of a group are closer than Delta/2 (true under the
        conclusion (4) of Theorem 1 with epsilon < 1/4).
    """

    labels: IntArray
    centres: FloatArray
    sizes: IntArray
    is_consistent: bool


def group_anchors(theta: ArrayLike, Delta: float) -> AnchorGroups:
    """The last line of Phase 1: anchors closer than Delta/2 share a cluster.

    Parameters
    ----------
    theta : (H, d) final estimates.
    Delta : smallest distance of two centres, > 0.

    Returns
    -------
    AnchorGroups ; connected components of the graph "closer than Delta/2".  O(H^2 d).
    """
    points = finite_batch("theta", theta, ("H", "d"))
    Delta = real_between("Delta", Delta, 0.0, open_low=True)
    unit = float(np.abs(points).max()) or 1.0  # squares neither overflow nor vanish
    close = squareform(pdist(points / unit)) < 0.5 * (Delta / unit)
    np.fill_diagonal(close, True)
    n_groups, labels = connected_components(close, directed=False)
    sizes = np.bincount(labels, minlength=n_groups)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(n_groups, dtype=np.int64)
    rank[order] = np.arange(n_groups)
    labels = rank[labels]
    centres = np.zeros((n_groups, points.shape[1]))
    np.add.at(centres, labels, points)
    centres /= sizes[order][:, None]
    return AnchorGroups(
        labels=labels,
        centres=centres,
        sizes=sizes[order].astype(np.int64),
        is_consistent=bool(np.array_equal(close, labels[:, None] == labels)),
    )

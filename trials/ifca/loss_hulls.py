"""Hulls of the models at which clients have been evaluated, and bounds of losses off the hulls.

The identities are those of `trials.ifca.skipping`.  R runs of k models each have their hull of at
most Q directions.  `going` (r,) holds the numbers of the runs that are still iterated, and a
*position* is an index into it.  The rows of `models` (r k, d) and `labels` (r, m) are in the order
of positions.  State that is kept from iteration to iteration is in the order of run numbers, and
the *hull* of run r and model j has the number r k + j.  Floats are float64 and integers int64.  All
arrays are C-contiguous.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trials.checks import BoolArray, FloatArray, IntArray
from trials.ifca.linear_kernels import SUMS
from trials.kernel import inner_kernel, kernel
from trials.norms import length

TINY = float(np.finfo(np.float64).tiny)  # sums of squares below may have lost some


class Hulls(NamedTuple):
    """The hulls, and where the current models lie on them.

    Attributes
    ----------
    base : (R, k, d) points of the hulls.
    base_sizes : (R, k) bounds of their norms, rounding errors included.
    basis : (R, k, Q, d) orthonormal directions.
    counts : (R, k) directions of each hull, -1 where there is no hull yet.
    oldest : (R, k) the direction that is replaced next.
    coords : (R, k, Q) coordinates of the models.
    """

    base: FloatArray
    base_sizes: FloatArray
    basis: FloatArray
    counts: IntArray
    oldest: IntArray
    coords: FloatArray

    @classmethod
    def empty(cls, n_runs: int, k: int, d: int, width: int) -> Hulls:
        """R k hulls that have not started."""
        return cls(
            base=np.zeros((n_runs, k, d)),
            base_sizes=np.zeros((n_runs, k)),
            basis=np.empty((n_runs, k, width, d)),
            counts=np.full((n_runs, k), -1, dtype=np.int64),
            oldest=np.zeros((n_runs, k), dtype=np.int64),
            coords=np.zeros((n_runs, k, width)),
        )


class LossForms(NamedTuple):
    """The quadratic forms of the clients' squared residual norms on each hull.

    Attributes
    ----------
    zeroth : (R k, m) squared norms of the residuals at the bases.
    first : (R k, m, Q) the vectors h_i.
    second : (R k, m, Q, Q) the matrices A_i.
    """

    zeroth: FloatArray
    first: FloatArray
    second: FloatArray


class KnownProducts(NamedTuple):
    """Products of the N rows of features with each hull.

    Attributes
    ----------
    products : (R k, Q, N) with the directions.
    residuals : (R k, N) residuals at the bases.
    """

    products: FloatArray
    residuals: FloatArray


class NewDirections(NamedTuple):
    """New directions of h hulls, one of each.

    Attributes
    ----------
    directions : (h, d) unit vectors.  Where a hull starts, it is the model itself.
    hulls : (h,) numbers r k + j of the hulls.
    places : (h,) the columns to fill, -1 where the hull starts.
    filled : (h,) numbers of columns in use, the new one included.
    """

    directions: FloatArray
    hulls: IntArray
    places: IntArray
    filled: IntArray

    def none(self) -> NewDirections:
        """None of the directions."""
        directions, hulls, places, filled = self
        return NewDirections(directions[:0], hulls[:0], places[:0], filled[:0])


class ClientBounds(NamedTuple):
    """What bounds the rounding and the change of a client's loss.

    Attributes
    ----------
    norms : (m,) bounds of the clients' operator norms ||X_i||.
    blurs : (m,) bounds of relative rounding errors.
    """

    norms: FloatArray
    blurs: FloatArray


class Proof(NamedTuple):
    """What the bounds prove about the labels.

    Attributes
    ----------
    labels : (r, m) identities.  Those that are not proved are guesses.
    candidates : (r, m, k) the models that may have the smallest loss, none where the label is
        proved.
    beyond : (r, m) lower bounds of the residual norms of the models that are no candidates, where
        the label is not proved.
    n_open : (r,) number of candidates of all clients.
    radius : (r,) the proved labels stay the same as long as no two models of the run move by this
        much together.
    """

    labels: IntArray
    candidates: BoolArray
    beyond: FloatArray
    n_open: IntArray
    radius: FloatArray


@kernel(fastmath=SUMS)
def project(
    models: FloatArray,
    runs: IntArray,
    going: IntArray,
    hulls: Hulls,
    rests: FloatArray,
    gaps: FloatArray,
) -> None:
    """Project the models of some runs on their hulls.

    Parameters
    ----------
    models : (r k, d).
    runs : positions of the runs.
    going : (r,) run numbers.
    hulls : the hulls.  The coordinates of the listed runs are changed.
    rests : (r k, d), output, models less their projections.
    gaps : (r k,), output, norms of the rests.
    """
    k = hulls.counts.shape[1]
    for pos in runs:
        run = going[pos]
        for j in range(k):
            row, rest = pos * k + j, rests[pos * k + j]
            for c in range(rest.shape[0]):
                rest[c] = models[row, c] - hulls.base[run, j, c]
            for q in range(hulls.counts[run, j]):
                direction, along = hulls.basis[run, j, q], 0.0
                for c in range(rest.shape[0]):
                    along += direction[c] * rest[c]
                for c in range(rest.shape[0]):
                    rest[c] -= along * direction[c]
                hulls.coords[run, j, q] = along
            gaps[row] = length(rest)


@inner_kernel
def prove(
    pos: int,
    run: int,
    i: int,
    clients: ClientBounds,
    hulls: Hulls,
    gaps: FloatArray,
    forms: LossForms,
    proof: Proof,
    bounds: FloatArray,
) -> None:
    """Prove the label of client i in one run, or find the models that may be the best.

    Parameters
    ----------
    pos, run, i : position and number of the run, and the client.
    clients : bounds for the clients.
    hulls, gaps : the models on their hulls, as `project` leaves them.
    forms : the losses on the hulls.
    proof : output.  The entries of this run and client are changed, `n_open` grows, and `radius`
        becomes no larger.
    bounds : (2, k), scratch.
    """
    labels, candidates, beyond, n_open, radius = proof
    norm, blur, k = clients.norms[i], clients.blurs[i], hulls.counts.shape[1]
    lower, upper = bounds[0], bounds[1]
    for j in range(k):
        hull = run * k + j
        c, square, along = hulls.coords[run, j], forms.zeroth[hull, i], 0.0
        for q in range(hulls.counts[run, j]):
            along += abs(c[q])  # rather than a norm, whose squares may underflow
            inner = -2.0 * forms.first[hull, i, q]
            for s in range(hulls.counts[run, j]):
                inner += forms.second[hull, i, q, s] * c[s]
            square += c[q] * inner
        size = np.sqrt(forms.zeroth[hull, i]) + norm * along
        slack = blur * size * size + TINY
        gap = gaps[pos * k + j]
        reach = gap + blur * (gap + hulls.base_sizes[run, j] + along)
        reach *= norm
        if abs(square) < np.inf:
            upper[j] = np.sqrt(max(square, 0.0) + slack) + reach
            lower[j] = np.sqrt(max(square - slack, 0.0)) - reach
        else:  # the terms may have overflowed where their sum would not
            upper[j], lower[j] = np.inf, -np.inf
    best = np.argmin(upper)  # a NaN, if there is one
    least, n = np.inf, 0
    for j in range(k):
        worse = lower[j] > upper[best]  # false if one is NaN
        if worse:
            least = min(least, lower[j])
        candidates[pos, i, j] = not worse
        n += not worse
    labels[pos, i] = best
    if n == 1 and upper[best] < np.inf:
        candidates[pos, i, best] = False
        radius[pos] = min(radius[pos], (least - upper[best]) / max(norm, 1e-300))
    else:
        beyond[pos, i] = least
        n_open[pos] += n


@kernel
def retire(
    hull: int, q: int, along: float, offsets: IntArray, known: KnownProducts, forms: LossForms
) -> None:
    """Move the base of a hull by `along` times its direction `q`, which can then be replaced.

    The entries of that hull in `known` and `forms` are changed.
    """
    products, residuals = known
    zeroth, first, _ = forms
    residuals[hull] -= along * products[hull, q]
    for i in range(offsets.shape[0] - 1):
        rest = residuals[hull, offsets[i] : offsets[i + 1]]
        zeroth[hull, i] = np.dot(rest, rest)
        for p in range(products.shape[1]):
            first[hull, i, p] = np.dot(products[hull, p, offsets[i] : offsets[i + 1]], rest)


@inner_kernel
def absorb(
    i: int,
    top: int,
    predicted: FloatArray,
    responses: FloatArray,
    new: NewDirections,
    known: KnownProducts,
    forms: LossForms,
) -> None:
    """Update the forms of client i after its products with new directions.

    Parameters
    ----------
    i, top : the client and its first row.
    predicted : (h, n_i) products with the directions.
    responses : (n_i,) responses of the client.
    new : the directions.
    known, forms : output.  The entries of the listed hulls and of this client are changed.
    """
    end = top + responses.shape[0]
    for row in range(predicted.shape[0]):
        hull, q = new.hulls[row], new.places[row]
        rest = known.residuals[hull, top:end]
        if q < 0:
            for s in range(rest.size):
                rest[s] = responses[s]
        forms.zeroth[hull, i] = _absorb_one(
            predicted[row], q, new.filled[row], known.products[hull, :, top:end], rest,
            forms.zeroth[hull, i], forms.first[hull, i], forms.second[hull, i],
        )  # fmt: skip


@inner_kernel(fastmath=SUMS)
def _absorb_one(
    predicted: FloatArray,
    q: int,
    filled: int,
    known: FloatArray,
    rest: FloatArray,
    zeroth: float,
    first: FloatArray,
    second: FloatArray,
) -> float:
    """Update one client's form on one hull after the direction `q` is evaluated.

    With q = -1 the base is evaluated instead.  Returns the squared residual norm at the base.
    `known` (Q, n) receives the products with the direction.  `rest` (n,) is the residual at the
    base.  With q = -1 it holds the responses and becomes that residual.
    """
    if q < 0:
        total = 0.0
        for s in range(rest.shape[0]):
            rest[s] -= predicted[s]
            total += rest[s] * rest[s]
        return total
    total = 0.0
    for s in range(rest.shape[0]):
        known[q, s] = predicted[s]
        total += known[q, s] * rest[s]
    first[q] = total
    for p in range(filled):
        total = 0.0
        for s in range(rest.shape[0]):
            total += known[q, s] * known[p, s]
        second[q, p] = total
        second[p, q] = total
    return zeroth

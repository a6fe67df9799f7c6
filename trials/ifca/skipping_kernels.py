"""Kernels of `trials.ifca.skipping`: bounds of losses, hulls, and listed clients.

The symbols are those of `trials.ifca.skipping`.  R runs of k models each have their hull of at most
Q directions.  `going` (r,) holds the numbers of the runs that are still iterated, and a *position*
is an index into it.  The rows of `models` (r k, d) and `labels` (r, m) are in the order of
positions.  State that is kept from iteration to iteration is in the order of run numbers.  Floats
are float64 and integers int64.  All arrays are C-contiguous.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from trials.checks import BoolArray, FloatArray, IntArray
from trials.ifca.linear_kernels import SUMS, fetch, label_client
from trials.models.clients import ClientArrays
from trials.norms import length

TINY = float(np.finfo(np.float64).tiny)  # sums of squares below may have lost some
_ROOT_TINY = float(np.sqrt(TINY))


class LossForms(NamedTuple):
    """The quadratic forms of the clients' squared residual norms on each hull.

    Attributes
    ----------
    zeroth : (R, k, m) squared norms of the residuals at the bases.
    first : (R, k, m, Q) the vectors h_i.
    second : (R, k, m, Q, Q) the matrices A_i.
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


class Proof(NamedTuple):
    """The labels that `certify` proves.

    Attributes
    ----------
    labels : (r, m) identities.  Those of unsure clients are left as they are.
    unsure : (r, m) whether the label is not proved.
    n_unsure : (r,) number of unsure clients.
    radius : (r,) the proved labels stay the same as long as no two models of the run move by this
        much together.
    """

    labels: IntArray
    unsure: BoolArray
    n_unsure: IntArray
    radius: FloatArray


class PairScratch(NamedTuple):
    """Buffers of `label_pairs`: (R k, d), R k times the largest client, and (R, 1) int64."""

    gathered: FloatArray
    predictions: FloatArray
    found: IntArray


class ListedRows(NamedTuple):
    """Pairs of a client and a row of the models, client after client.

    Attributes
    ----------
    firsts : (m + 1,) client i has the pairs ``firsts[i]:firsts[i + 1]``.
    rows : rows of the models.
    signs : +1.0 to add the pair's descent, -1.0 to subtract it.
    """

    firsts: IntArray
    rows: IntArray
    signs: FloatArray


class GradientScratch(NamedTuple):
    """Buffers of `add_listed_gradients`.

    Attributes
    ----------
    gathered, product : (R k, d).
    predictions, scaled : at least R k times the rows of the largest client.
    """

    gathered: FloatArray
    predictions: FloatArray
    scaled: FloatArray
    product: FloatArray


@njit(cache=True, nogil=True, fastmath=SUMS)
def project(
    models: FloatArray,
    runs: IntArray,
    going: IntArray,
    base: FloatArray,
    basis: FloatArray,
    count: IntArray,
    coords: FloatArray,
    rests: FloatArray,
    gaps: FloatArray,
) -> None:
    """Project the models of some runs on their hulls.

    Parameters
    ----------
    models : (r k, d).
    runs : positions of the runs.
    going : (r,) run numbers.
    base : (R, k, d) bases of the hulls.
    basis : (R, k, Q, d) orthonormal directions of the hulls.
    count : (R, k) directions of each hull.
    coords : (R, k, Q), output, coordinates on the hulls.
    rests : (r k, d), output, models less their projections.
    gaps : (r k,), output, norms of the rests.
    """
    k = count.shape[1]
    for pos in runs:
        run = going[pos]
        for j in range(k):
            row, rest = pos * k + j, rests[pos * k + j]
            for c in range(rest.shape[0]):
                rest[c] = models[row, c] - base[run, j, c]
            for q in range(count[run, j]):
                direction, along = basis[run, j, q], 0.0
                for c in range(rest.shape[0]):
                    along += direction[c] * rest[c]
                for c in range(rest.shape[0]):
                    rest[c] -= along * direction[c]
                coords[run, j, q] = along
            gaps[row] = length(rest)


@njit(cache=True, nogil=True)
def certify(
    runs: IntArray,
    going: IntArray,
    norms: FloatArray,
    blurs: FloatArray,
    base_sizes: FloatArray,
    count: IntArray,
    coords: FloatArray,
    gaps: FloatArray,
    forms: LossForms,
    proof: Proof,
) -> None:
    """Find the labels that the bounds prove, and mark the clients of the others.

    Parameters
    ----------
    runs : positions of the runs to label.
    going : (r,) run numbers.
    norms : (m,) bounds of the clients' operator norms ||X_i||.
    blurs : (m,) bounds of relative rounding errors.
    base_sizes : (R, k) norms of the hulls' bases.
    count : (R, k) directions of each hull.
    coords : (R, k, Q) coordinates of the models on their hulls.
    gaps : (r k,) distances of the models from their hulls.
    forms : the losses on the hulls.
    proof : output, for the listed runs.
    """
    zeroth, first, second = forms
    labels, unsure, n_unsure, radius = proof
    k, m = count.shape[1], norms.shape[0]
    lower, upper = np.empty(k), np.empty(k)
    for pos in runs:
        run = going[pos]
        n_unsure[pos], radius[pos] = 0, np.inf
        for i in range(m):
            for j in range(k):
                c, square, along = coords[run, j], zeroth[run, j, i], 0.0
                for q in range(count[run, j]):
                    along += abs(c[q])  # rather than a norm, whose squares may underflow
                    inner = -2.0 * first[run, j, i, q]
                    for s in range(count[run, j]):
                        inner += second[run, j, i, q, s] * c[s]
                    square += c[q] * inner
                size = np.sqrt(zeroth[run, j, i]) + norms[i] * along
                slack = blurs[i] * size * size + TINY
                gap = gaps[pos * k + j]
                reach = gap + blurs[i] * (gap + base_sizes[run, j] + along)
                reach *= norms[i]
                if abs(square) < np.inf:
                    upper[j] = np.sqrt(max(square, 0.0) + slack) + reach
                    lower[j] = np.sqrt(max(square - slack, 0.0)) - reach
                else:  # the terms may have overflowed where their sum would not
                    upper[j], lower[j] = np.inf, -np.inf
            best = np.argmin(upper)
            margin = np.inf
            for j in range(k):
                if j != best:
                    margin = np.minimum(margin, lower[j] - upper[best])  # which is NaN if one is
            if margin > 0.0 and upper[best] < np.inf:
                labels[pos, i] = best
                unsure[pos, i] = False
                radius[pos] = min(radius[pos], margin / max(norms[i], 1e-300))
            else:
                unsure[pos, i] = True
                n_unsure[pos] += 1


@njit(cache=True, nogil=True, fastmath=SUMS)
def _absorb(
    predicted: FloatArray,
    column: int,
    n: int,
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
        for s in range(n):
            rest[s] -= predicted[column + s]
            total += rest[s] * rest[s]
        return total
    total = 0.0
    for s in range(n):
        known[q, s] = predicted[column + s]
        total += known[q, s] * rest[s]
    first[q] = total
    for p in range(filled):
        total = 0.0
        for s in range(n):
            total += known[q, s] * known[p, s]
        second[q, p] = total
        second[p, q] = total
    return zeroth


@njit(cache=True, nogil=True)
def retire(
    hull: int,
    q: int,
    along: float,
    offsets: IntArray,
    known: KnownProducts,
    forms: LossForms,
) -> None:
    """Move the base of a hull by `along` times its direction `q`, which can then be replaced.

    `hull` is a number r k + j.  The entries of that hull in `known` and `forms`, given as for
    `extend`, are changed.
    """
    products, residuals = known
    zeroth, first, _ = forms
    residuals[hull] -= along * products[hull, q]
    for i in range(offsets.shape[0] - 1):
        rest = residuals[hull, offsets[i] : offsets[i + 1]]
        zeroth[hull, i] = np.dot(rest, rest)
        for p in range(products.shape[1]):
            first[hull, i, p] = np.dot(products[hull, p, offsets[i] : offsets[i + 1]], rest)


@njit(cache=True, nogil=True)
def extend(
    data: ClientArrays,
    groups: IntArray,
    new: NewDirections,
    predictions: FloatArray,
    known: KnownProducts,
    forms: LossForms,
) -> None:
    """Evaluate one new direction of each listed hull at all clients, by GEMMs of client groups.

    Parameters
    ----------
    data : rows of the m clients.
    groups : (g + 1,) group g holds the clients ``groups[g]:groups[g + 1]``.
    new : the directions.
    predictions : at least as many floats as directions times the rows of the largest group,
        scratch.
    known, forms : output.  The entries of the listed hulls are changed.  The forms are given with
        one axis of R k hulls in place of (R, k).
    """
    features, responses, offsets = data
    directions, hulls, places, filled = new
    products, residuals = known
    zeroth, first, second = forms
    n_rows = directions.shape[0]
    for g in range(groups.shape[0] - 1):
        top, end = offsets[groups[g]], offsets[groups[g + 1]]
        predicted = predictions[: n_rows * (end - top)].reshape((n_rows, end - top))
        fetch(features[top:end], predictions)
        np.dot(directions, features[top:end].T, predicted)
        for row in range(n_rows):
            hull, q = hulls[row], places[row]
            for i in range(groups[g], groups[g + 1]):
                a, z = offsets[i], offsets[i + 1]
                if q < 0:
                    residuals[hull, a:z] = responses[a:z]
                zeroth[hull, i] = _absorb(
                    predicted[row], a - top, z - a, q, filled[row], products[hull, :, a:z],
                    residuals[hull, a:z], zeroth[hull, i], first[hull, i], second[hull, i],
                )  # fmt: skip


@njit(cache=True, nogil=True, fastmath=SUMS)
def _room(
    predicted: FloatArray,
    first: int,
    responses: FloatArray,
    k: int,
    chosen: int,
    norm: float,
    blur: float,
    size: float,
) -> float:
    """The distance that the chosen model and another may move, together, before the client prefers
    the other.

    `predicted` is that of `label_client`, from row `first` on.  `size` bounds the models' norms.
    """
    own, other = 0.0, np.inf
    for j in range(k):
        total = 0.0
        for s in range(responses.shape[0]):
            error = responses[s] - predicted[first + j, s]
            total += error * error
        if j == chosen:
            own = np.sqrt(total)
        else:
            other = np.minimum(other, np.sqrt(total))
    room = other - own - 2.0 * (blur * (own + other + norm * size) + _ROOT_TINY)
    return room / max(norm, 1e-300) if room > 0.0 else 0.0  # 0 for NaN and two infinities


@njit(cache=True, nogil=True)
def label_pairs(
    data: ClientArrays,
    norms: FloatArray,
    blurs: FloatArray,
    firsts: IntArray,
    runs: IntArray,
    models: FloatArray,
    sizes: FloatArray,
    k: int,
    scratch: PairScratch,
    labels: IntArray,
    radius: FloatArray,
) -> None:
    """Label listed pairs of a client and a run as the plain kernel does, from all k losses.

    Parameters
    ----------
    data : rows of the m clients.
    norms, blurs : (m,) as for `certify`.
    firsts, runs : client i is evaluated for the positions ``runs[firsts[i]:firsts[i + 1]]``.
    models : (r k, d).
    sizes : (r,) largest norm of each run's models.
    k : models of a run.
    scratch : buffers of the kernel.
    labels : (r, m), output.
    radius : (r,), output, as in `Proof`.  It is lowered to the value that the new labels allow.
    """
    features, responses, offsets = data
    gathered, predictions, found = scratch
    for i in range(offsets.shape[0] - 1):
        a, z = offsets[i], offsets[i + 1]
        n_runs = firsts[i + 1] - firsts[i]
        if n_runs == 0:
            continue
        for p in range(n_runs):
            run = runs[firsts[i] + p]
            gathered[p * k : (p + 1) * k] = models[run * k : (run + 1) * k]
        predicted = predictions[: n_runs * k * (z - a)].reshape((n_runs * k, z - a))
        np.dot(gathered[: n_runs * k], features[a:z].T, predicted)
        label_client(predicted, 0, responses[a:z], 0, k, found[:n_runs])
        for p in range(n_runs):
            run = runs[firsts[i] + p]
            labels[run, i] = found[p, 0]
            room = _room(
                predicted, p * k, responses[a:z], k, found[p, 0], norms[i], blurs[i], sizes[run]
            )
            radius[run] = min(radius[run], room)


@njit(cache=True, nogil=True)
def add_listed_gradients(
    data: ClientArrays,
    listed: ListedRows,
    models: FloatArray,
    hulls: IntArray,
    current: BoolArray,
    known: KnownProducts,
    count: IntArray,
    coords: FloatArray,
    scratch: GradientScratch,
    descent: FloatArray,
) -> None:
    """Add minus the gradients of listed clients at listed models, or subtract them.

    Where a model lies on its hull its residual is a combination of known products.  Elsewhere the
    residual takes a product with X_i.

    Parameters
    ----------
    data : rows of the m clients.
    listed : the pairs of a client and a row of `models`, and their signs.
    models : (r k, d).
    hulls : (r k,) number of each model's hull.
    current : (r k,) whether the model lies on its hull.
    known : products of the hulls.
    count : (R k,) directions of each hull.
    coords : (R k, Q) coordinates of the models on their hulls.
    scratch : buffers of the kernel.
    descent : (r k, d), output, to which the signed sums are added.
    """
    features, responses, offsets = data
    firsts, rows, signs = listed
    products, residuals = known
    gathered, predictions, scaled, product = scratch
    for i in range(offsets.shape[0] - 1):
        a, z = offsets[i], offsets[i + 1]
        n_rows = firsts[i + 1] - firsts[i]
        if n_rows == 0:
            continue
        n_open = 0
        for p in range(n_rows):
            row = rows[firsts[i] + p]
            if not current[row]:
                gathered[n_open] = models[row]
                n_open += 1
        predicted = predictions[: n_open * (z - a)].reshape((n_open, z - a))
        if n_open > 0:
            np.dot(gathered[:n_open], features[a:z].T, predicted)
        residual = scaled[: n_rows * (z - a)].reshape((n_rows, z - a))
        n_open = 0
        for p in range(n_rows):
            row = rows[firsts[i] + p]
            scale = 2.0 * signs[firsts[i] + p] / (z - a)
            if current[row]:
                hull = hulls[row]
                for s in range(z - a):
                    residual[p, s] = residuals[hull, a + s]
                for q in range(count[hull]):
                    along, known = coords[hull, q], products[hull, q]
                    for s in range(z - a):
                        residual[p, s] -= along * known[a + s]
                for s in range(z - a):
                    residual[p, s] *= scale
            else:
                for s in range(z - a):
                    residual[p, s] = scale * (responses[a + s] - predicted[n_open, s])
                n_open += 1
        np.dot(residual, features[a:z], product[:n_rows])
        for p in range(n_rows):
            target = descent[rows[firsts[i] + p]]
            for c in range(target.shape[0]):
                target[c] += product[p, c]

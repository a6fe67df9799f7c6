r"""The exact law of resampled IFCA gradient steps, at a cost independent of ``m``, ``n`` and ``d``.

*One pair.*  The :math:`c` clients of true cluster :math:`a` labelled :math:`j` hold :math:`N=cn`
fresh samples.  Put :math:`u=\theta_j-\theta_a^*`.  The residual is :math:`r=Xu-\epsilon` and the
gradient sum :math:`\sum_i\nabla F_i=\tfrac2nX^\top r`.  With :math:`\tau^2=|u|^2+\sigma^2` and
:math:`v=u/|u|`, the coordinate :math:`g=Xv` is jointly Gaussian with :math:`r` and the others are
independent of it:

.. math:: g=\frac{|u|}{\tau^2}r+\frac\sigma\tau g',\qquad g'\perp r .

Given :math:`r`, :math:`X^\top r` therefore is Gaussian.  With :math:`K=|r|^2/\tau^2\sim\chi^2_N`
independent of everything else

.. math:: X^\top r = K\,u+\sqrt K\,\bigl(\tau z+(\sigma-\tau)\,v\langle v,z\rangle\bigr),
          \qquad z\sim N(0,I_d),

whose covariance given :math:`K` is :math:`K(\tau^2I-uu^\top)`.  (The same law as
:math:`v S_{gr}+\sqrt{S_{rr}}(I-vv^\top)z`, with :math:`S_{rr}=\tau^2K` and
:math:`S_{gr}=|u|K+\sigma\sqrt K\zeta`.)  It holds for every :math:`N\ge1`, :math:`d\ge1`,
:math:`\sigma\ge0`.  At :math:`u=0` the direction drops out because :math:`\tau=\sigma`.

*Free of d.*  Outside the span of all :math:`\theta_j,\theta_a^*` the :math:`k` updates are
independent isotropic Gaussians of scale
:math:`s_j=\tfrac{2\gamma_j}{mn}(\sum_aK_{aj}\tau_{aj}^2)^{1/2}`.  Distances and labels are
invariant under rotations.  So this part is represented by a :math:`k\times k` Bartlett factor of
:math:`d-D` degrees of freedom, :math:`D` the coordinates in use.  After the step the coordinates
beyond the centres' own are rotated back into :math:`k` (an LQ factorisation).  So the state has at
most :math:`2k` coordinates for every :math:`d`.

*Lengths alone.*  Where no client of another cluster uses model j, its error :math:`u` becomes

.. math:: \bigl((1-aK)|u|-a\sqrt K\sigma\zeta\bigr)\frac u{|u|}+a\sqrt K\tau\,\chi_{d-1}\,w,
          \qquad a=\tfrac{2\gamma_j}{mn},

w uniform on the directions orthogonal to u.  So its length is drawn without its direction.  The
lengths also limit the probability of a wrong label.  While they rule out every client nothing
else is needed, and a step costs three numbers a model.  Once a client may be wrong, the directions
of all steps before are drawn.  They are independent of what was drawn by the lengths.

Source: the update rule of Ghosh, Chung, Yin & Ramchandran (TIT 2022), section V, with resampling
(labels and gradients on disjoint fresh samples), :math:`F_i(\theta)=\tfrac1n|Y_i-X_i\theta|^2`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    WHOLE_IN_FLOAT,
    FloatArray,
    IntArray,
    InvalidParameter,
    real_array,
    require_finite,
)
from trials.integers import ZERO
from trials.kernel import inner_kernel, kernel
from trials.laws.wishart import (
    _bartlett_row,
    _log_tail_limit,
    count_joining,
    thinned_label_counts,
)
from trials.parameters import Array, Integer, Maybe, Real, Stream, validated

MAX_CANDIDATES = 2e7
_COUNT = Integer(1, WHOLE_IN_FLOAT, why="whole in float64")
_LARGEST_LENGTH = 1e100  # squares, times the samples, stay finite
_OK, _TOO_MANY = 0, 1
_ROUNDING = 1e-12  # of a distance from other distances


@inner_kernel
def gradient_step(
    theta: FloatArray,
    theta_star: FloatArray,
    counts: IntArray,
    sigma: float,
    n: int,
    m: int,
    gamma: FloatArray,
    d_extra: int,
    rng: np.random.Generator,
    theta_new: FloatArray,
    outside: FloatArray,
) -> None:
    """One gradient step given the label counts.

    Parameters
    ----------
    theta, theta_star : (k, D) models and centres in the coordinates in use.  Models may be left
        out: those that are given are the first of them.
    counts : (k, k), clients of cluster a that use model j.
    gamma : (k,) step size of each model.
    d_extra : dimensions orthogonal to all coordinates, d - D.
    theta_new : (k, D) output.
    outside : (k, k) output, the new components in the other ``d_extra`` dimensions, up to rotation.

    Notes
    -----
    Cost O(k^2 D + k^3), for any ``m``, ``n`` and ``d``.
    """
    k, d = theta.shape
    z = np.empty(d)
    for j in range(k):
        scale = 2.0 * gamma[j] / (float(m) * n)
        spread = 0.0
        for c in range(d):
            theta_new[j, c] = theta[j, c]
        for a in range(theta_star.shape[0]):
            if counts[a, j] == 0:
                continue
            u_sq = 0.0
            u_z = 0.0
            for c in range(d):
                z[c] = rng.standard_normal()
                u = theta[j, c] - theta_star[a, c]
                u_sq += u * u
                u_z += u * z[c]
            tau = math.sqrt(u_sq + sigma * sigma)
            energy = rng.chisquare(float(counts[a, j]) * n)
            root = math.sqrt(energy)
            along = energy + (root * (sigma - tau) * u_z / u_sq if u_sq > 0.0 else 0.0)
            spread += energy * tau * tau
            for c in range(d):
                u = theta[j, c] - theta_star[a, c]
                theta_new[j, c] -= scale * (along * u + root * tau * z[c])
        _bartlett_row(j, d_extra, rng, outside[j])
        for c in range(k):
            outside[j, c] *= scale * math.sqrt(spread)


@inner_kernel
def _dot(x: FloatArray, y: FloatArray) -> float:
    total = 0.0
    for i in range(x.size):  # a loop: an array expression costs a second of compilation
        total += x[i] * y[i]
    return total


@inner_kernel
def _bounded(theta: FloatArray) -> bool:
    """Whether the squared lengths of models (k, D) stay finite, as margins need.  False on NaN."""
    for i in range(theta.shape[0]):
        for c in range(theta.shape[1]):
            if not abs(theta[i, c]) < 1e150:
                return False
    return True


@inner_kernel
def _reembed(theta: FloatArray, outside: FloatArray, n_fixed: int) -> None:
    """Rotate ``[theta[:, n_fixed:], outside]`` (k, 2k) back into the k coordinates of ``theta``.

    Modified Gram-Schmidt on the rows: the triangular factor is backward stable.
    """
    k = theta.shape[0]
    rows = np.empty((k, 2 * k))
    for i in range(k):
        for c in range(k):
            rows[i, c] = theta[i, n_fixed + c]
            rows[i, k + c] = outside[i, c]
            theta[i, n_fixed + c] = 0.0
    for i in range(k):
        length = math.sqrt(_dot(rows[i], rows[i]))
        theta[i, n_fixed + i] = length
        if length == 0.0:
            continue
        for c in range(2 * k):
            rows[i, c] /= length
        for j in range(i + 1, k):
            overlap = _dot(rows[i], rows[j])
            theta[j, n_fixed + i] = overlap
            for c in range(2 * k):
                rows[j, c] -= overlap * rows[i, c]


@inner_kernel
def _write_errors(
    theta: FloatArray, theta_star: FloatArray, outside: FloatArray, out: FloatArray
) -> None:
    for j in range(out.size):
        total = _dot(outside[j], outside[j])
        for c in range(theta.shape[1]):
            total += (theta[j, c] - theta_star[j, c]) ** 2
        out[j] = math.sqrt(total)


@inner_kernel
def _separations(theta_star: FloatArray, out: FloatArray) -> None:
    """The distance (k,) of each centre (k, D) from the nearest other one, rounded down."""
    k = theta_star.shape[0]
    for a in range(k):
        out[a] = math.inf
    for a in range(k):
        for b in range(a):
            square = 0.0
            for c in range(theta_star.shape[1]):
                square += (theta_star[a, c] - theta_star[b, c]) ** 2
            distance = (1.0 - _ROUNDING) * math.sqrt(square)
            out[a] = min(out[a], distance)
            out[b] = min(out[b], distance)


@inner_kernel
def _thin_by_lengths(
    lengths: FloatArray,
    separations: FloatArray,
    sizes: IntArray,
    sigma: float,
    n: int,
    rng: np.random.Generator,
    chances: FloatArray,
    left: IntArray,
) -> bool:
    """Draw the clients that may be wrong, by a limit that the models' errors alone give.

    A rival of cluster a is at least its separation less the largest error away.  ``chances`` (k,)
    receives a limit on the probability that a client of each cluster is wrong, 1 where it would
    rule out few, and ``left`` (k,) how many clients pass it.  Returns whether any does.
    """
    k = lengths.size
    largest = 0.0
    for j in range(k):
        largest = max(largest, lengths[j])
    found = False
    for a in range(k):
        own = lengths[a]
        rival = separations[a] - (1.0 + _ROUNDING) * largest
        chances[a], left[a] = 1.0, sizes[a]
        if rival > own:
            limit = (k - 1) * math.exp(
                _log_tail_limit(own * own, rival * rival, _ROUNDING, sigma, n)
            )
            if limit < 0.5:
                chances[a], left[a] = limit, rng.binomial(sizes[a], limit)
        found = found or left[a] > 0
    return found


@inner_kernel
def _step_lengths(
    lengths: FloatArray,
    sizes: IntArray,
    sigma: float,
    n: int,
    m: int,
    gamma: FloatArray,
    d: int,
    rng: np.random.Generator,
    along: FloatArray,
    across: FloatArray,
    out: FloatArray,
) -> None:
    """A step where every client is right, as far as the errors' lengths (k,) tell it.

    ``along`` and ``across`` (k,) receive the parts of each new error along the one before and
    orthogonal to it, and ``out`` (k,) its length.
    """
    for j in range(lengths.size):
        along[j], across[j], out[j] = lengths[j], 0.0, lengths[j]
        if sizes[j] == 0:
            continue
        scale = 2.0 * gamma[j] / (float(m) * n)
        energy = rng.chisquare(float(sizes[j]) * n)
        noise = scale * math.sqrt(energy)
        along[j] -= scale * energy * lengths[j] + noise * sigma * rng.standard_normal()
        if d > 1:
            tau = math.sqrt(lengths[j] * lengths[j] + sigma * sigma)
            across[j] = noise * tau * math.sqrt(rng.chisquare(d - 1.0))
        out[j] = math.sqrt(along[j] * along[j] + across[j] * across[j])


@inner_kernel
def _draw_direction(
    theta: FloatArray,
    theta_star: FloatArray,
    along: float,
    across: float,
    rng: np.random.Generator,
    outside: FloatArray,
) -> None:
    """Move one model (D,) by a step of `_step_lengths`: its direction across is uniform.

    ``outside`` (k,) holds a standard Gaussian vector in the other dimensions, and receives the new
    components there.
    """
    d = theta.size
    length_sq = 0.0
    for c in range(d):
        length_sq += (theta[c] - theta_star[c]) ** 2
    length = math.sqrt(length_sq)
    unit, z = np.zeros(d), np.empty(d)
    unit[0] = 1.0  # of no error: all directions are alike
    overlap = 0.0
    for c in range(d):
        if length > 0.0:
            unit[c] = (theta[c] - theta_star[c]) / length
        z[c] = rng.standard_normal()
        overlap += unit[c] * z[c]
    for c in range(d):
        z[c] -= overlap * unit[c]
    total = _dot(z, z) + _dot(outside, outside)
    factor = across / math.sqrt(total) if total > 0.0 else 0.0
    for c in range(d):
        theta[c] = theta_star[c] + along * unit[c] + factor * z[c]
    for c in range(outside.size):
        outside[c] *= factor


@inner_kernel
def _draw_directions(
    theta: FloatArray,
    theta_star: FloatArray,
    n_fixed: int,
    d: int,
    along: FloatArray,
    across: FloatArray,
    rng: np.random.Generator,
    outside: FloatArray,
) -> None:
    """Move models (k, D) by steps of which `_step_lengths` has drawn the parts (n_steps, k)."""
    width = theta.shape[1]
    for t in range(along.shape[0]):
        for j in range(theta.shape[0]):
            _bartlett_row(j, d - width, rng, outside[j])
            _draw_direction(theta[j], theta_star[j], along[t, j], across[t, j], rng, outside[j])
        if width < d:
            _reembed(theta, outside, n_fixed)


@inner_kernel
def _count_moved(counts: IntArray, out: FloatArray) -> bool:
    """Count the clients (k,) of other clusters that each model receives: are there any?"""
    found = False
    for j in range(out.size):
        out[j] = -counts[j, j]
        for a in range(out.size):
            out[j] += counts[a, j]
        found = found or out[j] > 0.0
    return found


@inner_kernel
def _trajectory(
    theta: FloatArray,
    theta_star: FloatArray,
    n_fixed: int,
    d: int,
    sizes: IntArray,
    sigma: float,
    n: int,
    gamma: FloatArray,
    max_candidates: float,
    rng: np.random.Generator,
    errors: FloatArray,
    moved: FloatArray,
) -> int:
    """One trial of `trajectories`."""
    k, width = theta.shape
    n_steps = moved.shape[0]
    m = ZERO
    for size in sizes:
        m += size
    counts, left = np.empty((k, k), np.int64), np.empty(k, np.int64)
    theta_new, outside = np.empty((k, width)), np.zeros((k, k))
    separations, chances = np.empty(k), np.empty(k)
    along, across = np.empty((n_steps, k)), np.empty((n_steps, k))
    _write_errors(theta, theta_star, outside, errors[0])
    _separations(theta_star, separations)
    first = 0  # of the steps whose directions are not drawn yet
    for step in range(n_steps):
        if not (_bounded(theta) and _bounded(errors[step : step + 1])):
            for t in range(step, n_steps):
                for j in range(k):
                    errors[t + 1, j] = math.nan
                    moved[t, j] = math.nan
            break
        for j in range(k):
            moved[step, j] = 0.0
        if _thin_by_lengths(errors[step], separations, sizes, sigma, n, rng, chances, left):
            _draw_directions(
                theta, theta_star, n_fixed, d, along[first:step], across[first:step], rng, outside
            )
            first = step
            if not thinned_label_counts(
                theta, theta_star, sizes, sigma, n, max_candidates, rng, chances, left, counts
            ):
                return _TOO_MANY
            if _count_moved(counts, moved[step]):
                gradient_step(
                    theta, theta_star, counts, sigma, n, m, gamma, d - width, rng, theta_new,
                    outside,
                )  # fmt: skip
                _write_errors(theta_new, theta_star, outside, errors[step + 1])
                for j in range(k):
                    for c in range(width):
                        theta[j, c] = theta_new[j, c]
                if width < d:
                    _reembed(theta, outside, n_fixed)
                first = step + 1
                continue
        _step_lengths(
            errors[step], sizes, sigma, n, m, gamma, d, rng, along[step], across[step],
            errors[step + 1],
        )  # fmt: skip
    return _OK


@kernel
def trajectories(
    theta: FloatArray,
    theta_star: FloatArray,
    n_fixed: int,
    d: int,
    sizes: IntArray,
    sigma: float,
    n: int,
    gamma: FloatArray,
    max_candidates: float,
    rng: np.random.Generator,
    errors: FloatArray,
    moved: FloatArray,
) -> int:
    """Resampled IFCA from each start: labels, gradient step, again.

    Parameters
    ----------
    theta : (n_trials, k, D) starts.  Overwritten.
    theta_star : (n_trials, k, D) centres.
    n_fixed : coordinates that hold the centres.  When ``D < d``, ``D = n_fixed + k`` is required
        and ``theta_star`` vanishes beyond ``n_fixed``.
    d : ambient dimension, >= D.
    sizes, sigma, n, gamma : (k,) clients, noise, samples per client and stage, (k,) step sizes.
    errors : (n_trials, n_steps + 1, k) output, ``|theta_j - theta*_j|`` before each step and at
        the end.  From the first non-finite model on, everything is NaN.
    moved : (n_trials, n_steps, k) output, clients of other clusters labelled j at each step.

    Returns
    -------
    0, or 1 when a cluster would need more than ``max_candidates`` explicit draws.
    """
    for trial in range(theta.shape[0]):
        status = _trajectory(
            theta[trial], theta_star[trial], n_fixed, d, sizes, sigma, n, gamma, max_candidates,
            rng, errors[trial], moved[trial],
        )  # fmt: skip
        if status != _OK:
            return status
    return _OK


@kernel
def pulls_of_strangers(
    theta: FloatArray,
    theta_star: FloatArray,
    d: int,
    sizes: IntArray,
    sigma: float,
    n: int,
    gamma: FloatArray,
    max_candidates: float,
    rng: np.random.Generator,
    out: FloatArray,
) -> int:
    """What the clients of other clusters add to the step of model 0.

    Parameters
    ----------
    theta, theta_star, d, sizes, sigma, n, gamma, max_candidates : as for `trajectories`.
    out : (n_trials, 2) output, the number of these clients and the length of what they add.

    Returns
    -------
    0, or 1 as `trajectories` does.
    """
    n_trials, k, width = theta.shape
    m = ZERO
    for size in sizes:
        m += size
    counts = np.empty((k, k), np.int64)
    moved, outside = np.empty((1, width)), np.empty((1, 1))
    for trial in range(n_trials):
        models, centres = theta[trial], theta_star[trial]
        if not count_joining(models, centres, sizes, sigma, n, max_candidates, rng, counts):
            return _TOO_MANY
        counts[0, 0] = 0  # the cluster's own clients
        total = ZERO
        for a in range(k):
            total += counts[a, 0]
        out[trial, 0], out[trial, 1] = total, 0.0
        if total > 0:
            gradient_step(
                models[:1], centres, counts, sigma, n, m, gamma, d - width, rng, moved, outside
            )
            _write_errors(moved, models, outside, out[trial, 1:])
    return _OK


@validated(
    distance=Array((...,), low=0.0, high=_LARGEST_LENGTH),
    d=_COUNT,
    n_samples=_COUNT,
    sigma=Real(0.0, _LARGEST_LENGTH),
    rng=Stream(),
)
def gradient_norms(
    distance: ArrayLike, d: int, n_samples: int, sigma: float, rng: np.random.Generator
) -> FloatArray:
    r"""Draw :math:`|\nabla F_i(\theta)|` of one client, :math:`|\theta-\theta_a^*|` = ``distance``.

    .. math:: |\nabla F_i|=\tfrac2n\bigl((K|u|+\sqrt K\sigma\zeta)^2+\tau^2K\chi^2_{d-1}\bigr)^{1/2}

    This is the pair's law with :math:`K\sim\chi^2_n`, the exact counterpart of (6)-(7) of the
    proof.  One draw for each entry of ``distance``.
    """
    u = np.asarray(distance)
    energy = rng.chisquare(n_samples, u.shape)
    along = energy * u + np.sqrt(energy) * sigma * rng.standard_normal(u.shape)
    across = rng.chisquare(d - 1, u.shape) if d > 1 else np.zeros(u.shape)
    return np.asarray(2.0 / n_samples * np.sqrt(along**2 + (u**2 + sigma**2) * energy * across))


@validated(
    theta=Array((..., "k", "D")),
    theta_star=Array((..., "k", "D")),
    d=_COUNT,
    cluster_sizes=Array(("k",), whole=True, low=0, high=WHOLE_IN_FLOAT),
    sigma=Real(0.0, 1e150),
    n_samples=_COUNT,
    n_steps=Integer(0),
    rng=Stream(),
    n_fixed=Maybe(Integer(0)),
)
def simulate_trajectories(
    *,
    theta: FloatArray,
    theta_star: FloatArray,
    d: int,
    cluster_sizes: IntArray,
    sigma: float,
    n_samples: int,
    gamma: float | FloatArray,
    n_steps: int,
    rng: np.random.Generator,
    n_fixed: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Draw resampled IFCA trajectories from their exact law.

    Parameters
    ----------
    theta, theta_star : (n_trials, k, D) or (k, D).  ``D = d``, or ``D = n_fixed + k < d`` with the
        centres in the first ``n_fixed`` coordinates.  The part beyond them is isotropic.
    gamma : step size, one for all models or (k,).

    Returns
    -------
    errors : (n_trials, n_steps + 1, k) distances from the centres, and moved : (n_trials, n_steps,
        k) misassigned clients by receiving model.

    Raises
    ------
    InvalidParameter : On shapes that do not fit, or (k > 2) when one round would need more than
        `MAX_CANDIDATES` explicit client draws: many clients and frequent errors at once.

    Examples
    --------
    A billion clients, ten steps:

    >>> import numpy as np
    >>> theta_star = np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> errors, moved = simulate_trajectories(
    ...     theta=theta_star + 0.3, theta_star=theta_star, d=2, cluster_sizes=[5 * 10**8] * 2,
    ...     sigma=0.5, n_samples=50, gamma=0.5, n_steps=10, rng=np.random.default_rng(0),
    ... )
    >>> errors.shape, bool(errors[0, -1].max() < 1e-3)
    ((1, 11, 2), True)
    """
    start = np.array(theta, dtype=float, ndmin=3, order="C")
    n_trials, k, width = start.shape
    if start.ndim > 3 or theta_star.shape not in (start.shape, start.shape[1:]):
        raise InvalidParameter(
            f"theta.shape={theta.shape} and theta_star.shape={theta_star.shape} must be "
            "(n_trials, k, D) or (k, D)"
        )
    # A copy row by row: a read-only view, or another order in memory, is another type to the
    # compiler, which would compile every kernel of the step anew.
    centres = np.array(np.broadcast_to(theta_star, start.shape), order="C")
    if cluster_sizes.shape != (k,) or cluster_sizes.sum() < 1:
        raise InvalidParameter(f"cluster_sizes={cluster_sizes} must be ({k},) with a client")
    rates = _check_steps(gamma, k)
    if width != d and not (n_fixed is not None and width == n_fixed + k < d):
        raise InvalidParameter(f"theta has {width} coordinates: must be d={d}, or n_fixed + k < d")
    errors = np.empty((n_trials, n_steps + 1, k))
    moved = np.empty((n_trials, n_steps, k))
    status = trajectories(
        start,
        centres,
        width - k if n_fixed is None else n_fixed,
        d,
        cluster_sizes,
        sigma,
        n_samples,
        rates,
        MAX_CANDIDATES,
        rng,
        errors,
        moved,
    )
    if status == _TOO_MANY:
        raise InvalidParameter(
            f"m={int(np.sum(cluster_sizes))} must be smaller where k={k} > 2 and label errors are "
            f"frequent: more than {MAX_CANDIDATES:.0e} clients would be drawn one by one"
        )
    return errors, moved


def _check_steps(gamma: float | FloatArray, k: int) -> FloatArray:
    """The models' step sizes, (k,), finite."""
    rates = real_array("gamma", gamma)
    require_finite("gamma", rates)
    if rates.shape not in ((), (k,)):
        raise InvalidParameter(f"gamma.shape={rates.shape} must be () or ({k},)")
    return np.broadcast_to(rates, (k,)).copy()

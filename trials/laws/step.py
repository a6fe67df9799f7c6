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
from trials.kernel import kernel
from trials.laws.wishart import _bartlett_row, label_counts
from trials.parameters import Array, Integer, Maybe, Real, Stream, validated

MAX_CANDIDATES = 2e7
_COUNT = Integer(1, WHOLE_IN_FLOAT, why="whole in float64")
_LARGEST_LENGTH = 1e100  # squares, times the samples, stay finite
_OK, _TOO_MANY = 0, 1


@kernel
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
    theta, theta_star : (k, D) models and centres in the coordinates in use.
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
        for a in range(k):
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


@kernel
def _dot(x: FloatArray, y: FloatArray) -> float:
    total = 0.0
    for i in range(x.size):  # a loop: an array expression costs a second of compilation
        total += x[i] * y[i]
    return total


@kernel
def _bounded(theta: FloatArray) -> bool:
    """Whether the squared lengths of models (k, D) stay finite, as margins need.  False on NaN."""
    for i in range(theta.shape[0]):
        for c in range(theta.shape[1]):
            if not abs(theta[i, c]) < 1e150:
                return False
    return True


@kernel
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


@kernel
def _write_errors(
    theta: FloatArray, theta_star: FloatArray, outside: FloatArray, out: FloatArray
) -> None:
    for j in range(out.size):
        total = _dot(outside[j], outside[j])
        for c in range(theta.shape[1]):
            total += (theta[j, c] - theta_star[j, c]) ** 2
        out[j] = math.sqrt(total)


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
    theta : (n_trials, k, D) starts.  Overwritten by the final models (in rotated coordinates).
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
    n_trials, k, width = theta.shape
    n_steps = moved.shape[1]
    m = ZERO
    for size in sizes:
        m += size
    counts = np.empty((k, k), np.int64)
    theta_new = np.empty((k, width))
    outside = np.empty((k, k))
    for trial in range(n_trials):
        for i in range(k):
            for j in range(k):
                outside[i, j] = 0.0
        _write_errors(theta[trial], theta_star[trial], outside, errors[trial, 0])
        for step in range(n_steps):
            if not _bounded(theta[trial]):
                for t in range(step, n_steps):
                    for j in range(k):
                        errors[trial, t + 1, j] = math.nan
                        moved[trial, t, j] = math.nan
                break
            if not label_counts(
                theta[trial], theta_star[trial], sizes, sigma, n, max_candidates, rng, counts
            ):
                return _TOO_MANY
            gradient_step(
                theta[trial],
                theta_star[trial],
                counts,
                sigma,
                n,
                m,
                gamma,
                d - width,
                rng,
                theta_new,
                outside,
            )
            for j in range(k):
                moved[trial, step, j] = -counts[j, j]
                for a in range(k):
                    moved[trial, step, j] += counts[a, j]
            _write_errors(theta_new, theta_star[trial], outside, errors[trial, step + 1])
            for j in range(k):
                for c in range(width):
                    theta[trial, j, c] = theta_new[j, c]
            if width < d:
                _reembed(theta[trial], outside, n_fixed)
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

r"""Exact laws of Gaussian noise terms: :math:`|X^\top\epsilon|`, :math:`|X|_F`, :math:`|X|_{op}`.

:math:`X` is N x d standard Gaussian and :math:`\epsilon\sim N(0,\sigma^2I_N)` independent of it.

* *Noise.*  Given :math:`\epsilon`, :math:`X^\top\epsilon=|\epsilon|\,g` with :math:`g\sim N(0,I_d)`
  independent of :math:`|\epsilon|`, so :math:`|X^\top\epsilon|^2\sim\sigma^2\chi^2_N\chi^2_d`, a
  product of independent chi-squares.  In a basis that starts with :math:`\epsilon/|\epsilon|` the
  other :math:`N-1` rows of :math:`X` are independent of both and complete :math:`|X|_F^2`.
* *Singular values.*  Householder reflections bring :math:`X` (:math:`N\ge d`) to a bidiagonal
  matrix with independent entries: diagonal :math:`\chi_N,\chi_{N-1},\dots,\chi_{N-d+1}`, above it
  :math:`\chi_{d-1},\dots,\chi_1` (Silverstein 1985).  The extreme singular values come from Sturm
  counts of the Golub-Kahan matrix (zero diagonal, off-diagonals interleaved), whose eigenvalues are
  :math:`\pm s_i`: relative accuracy for the smallest one too, memory O(min(N, d)), X never formed.

Source: the terms of Lemma 2 (Ghosh, Chung, Yin & Ramchandran, TIT 2022).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from trials.checks import LARGEST_ENTRY, WHOLE_IN_FLOAT, FloatArray, InvalidParameter, check_drawn
from trials.kernel import inner_kernel, kernel
from trials.parameters import Array, Integer, Real, Stream, validated

_DROP = 42.0  # e^-42 < 1e-18 bounds the part outside of the quadrature
_NODES = 400
_POINTS = 8  # that divide an interval
_ENTRIES = 2_000_000  # entries of bidiagonal matrices that are drawn at once


_COUNT = Integer(1, WHOLE_IN_FLOAT, why="whole in float64")
_SIGMA = Real(0.0, LARGEST_ENTRY)
_LARGEST_SQUARE = 1e200  # beyond, the integrand leaves the range of floats


# -- |X^T eps| -----------------------------------------------------------------------------------


def _log_kernel(a: float, w: FloatArray) -> FloatArray:
    """log of x^a e^-x / Gamma(a) at x = a e^w, w (p,), without the cancellation of large terms.

    The plain form has an error of a * 1e-16 in the logarithm, which is useless at a = 1e15.
    """
    if a < 20.0:
        constant = a * math.log(a) - a - float(special.gammaln(a))
    else:  # Stirling's series, DLMF 5.11.1; the first term left out is below 1e-18
        inverse = 1.0 / a**2
        series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / a
        constant = 0.5 * math.log(a / (2.0 * math.pi)) - series
    return np.asarray(a * (w - np.expm1(w)) + constant)


def _log_gamma_upper(a: float, w: FloatArray) -> FloatArray:
    """log Q(a, a e^w), w (p,), below the underflow of Q too (continued fraction DLMF 8.9.2)."""
    x = a * np.exp(w)
    value = special.gammaincc(a, x)
    with np.errstate(divide="ignore"):
        out = np.log(value)
    far = value < 1e-200
    if np.any(far):
        y = x[far]
        b = y + 1.0 - a
        c = np.full(y.shape, 1e300)
        f = e = 1.0 / b
        for i in range(1, 100_000):
            an = -i * (i - a)
            b = b + 2.0
            e = 1.0 / (an * e + b)
            c = b + an / c
            f = f * e * c
            if np.all(np.abs(e * c - 1.0) < 1e-15):
                break
        with np.errstate(divide="ignore"):  # beyond 1e160, where nothing is left of the integral
            out[far] = _log_kernel(a, w[far]) + np.log(f)
    return np.asarray(out)


def _log_product(t: float, N: int, d: int) -> float:
    """log P(A B > t) for independent A ~ chi2_N and B ~ chi2_d, N >= d: trapezoid in log(A/N).

    The product of the two chi-squares is symmetric in N and d.  With N >= d the tail varies no
    faster than the density, so that the nodes that resolve the density resolve both.  The
    integrand is analytic and log-concave in log A and decays at least exponentially.  So the
    trapezoid rule converges geometrically: `_NODES` nodes leave a relative error below 1e-10 (tests
    compare with 40-digit quadrature up to N = 10^15).
    """
    shift = math.log(t) - math.log(d) - math.log(N)

    def log_integrand(u: FloatArray) -> FloatArray:
        return np.asarray(_log_kernel(0.5 * N, u) + _log_gamma_upper(0.5 * d, shift - u))

    # below the smaller of A = t / d and A = N, the integrand falls at least like sqrt(A)
    low, high = min(shift, 0.0) - 100.0, math.log(N + t / d + 2000.0) + 2.0 - math.log(N)
    for _ in range(12):  # zoom in on the range that matters
        y = np.linspace(low, high, _NODES)
        value = log_integrand(y)
        kept = np.flatnonzero(value >= value.max() - _DROP)
        new_low, new_high = y[max(kept[0] - 1, 0)], y[min(kept[-1] + 1, _NODES - 1)]
        if (new_high - new_low) > 0.9 * (high - low):
            break
        low, high = new_low, new_high
    top = value.max()
    return float(top + math.log(np.sum(np.exp(value - top)) * (y[1] - y[0])))


@validated(t=Array((...,)), N=_COUNT, d=_COUNT, sigma=_SIGMA)
def noise_log_sf(t: ArrayLike, N: int, d: int, sigma: float) -> FloatArray:
    """log P(|X^T eps| > t), accurate far below the smallest float (relative error 1e-10 in P).

    The result has the shape of t, a length in the unit of sigma > 0.
    """
    if sigma == 0:
        raise InvalidParameter("sigma=0 must be > 0: the norm is zero with certainty")
    values = np.asarray(t, dtype=float)
    unit = math.frexp(sigma)[1]  # a power of two changes no digit, and keeps the square of sigma
    with np.errstate(over="ignore", under="ignore"):
        squared = np.ldexp(values, -unit) ** 2 / math.ldexp(sigma, -unit) ** 2
        # So far out log P is minus the root to the last digit.
        out = np.where(values > 0.0, -(values / sigma), 0.0)
    for index, value in np.ndenumerate(squared):
        if value <= _LARGEST_SQUARE:
            # The norm exceeds every negative number.
            inside = value > 0 and values[index] > 0
            out[index] = _log_product(float(value), max(N, d), min(N, d)) if inside else 0.0
    return np.asarray(out)


@validated(N=_COUNT, d=_COUNT, sigma=_SIGMA, rng=Stream(), n_trials=Integer(0))
def noise_norms(
    N: int, d: int, sigma: float, rng: np.random.Generator, n_trials: int
) -> tuple[FloatArray, FloatArray]:
    """Draw ``(|X^T eps|, |X|_F)`` jointly, (n_trials,) each, by three chi-squares.

    Examples
    --------
    >>> import numpy as np
    >>> length, frobenius = noise_norms(100, 5, 1.0, np.random.default_rng(0), 3)
    >>> length.shape, frobenius.shape
    ((3,), (3,))
    """
    noise_sq = rng.chisquare(N, n_trials)
    along_sq = rng.chisquare(d, n_trials)
    rest_sq = rng.chisquare((N - 1) * d, n_trials) if N > 1 else 0.0
    return sigma * np.sqrt(noise_sq * along_sq), np.sqrt(along_sq + rest_sq)


# -- operator norms ------------------------------------------------------------------------------


@inner_kernel(error_model="numpy")
def _count_below(off_sq: FloatArray, x: FloatArray, q: FloatArray, counts: FloatArray) -> None:
    """Eigenvalues of a tridiagonal matrix below each of `_POINTS` numbers x.

    The matrix has a zero diagonal and the squared entries ``off_sq`` (n - 1,) beside it.  A
    division waits for the one before it, so that several points take the time of one.

    ``q`` (p,) is scratch, and ``counts`` (p,) the output.
    """
    for p in range(_POINTS):
        q[p] = -x[p] if x[p] != 0.0 else -1e-300
        counts[p] = 1.0 if q[p] < 0.0 else 0.0
    for i in range(off_sq.size):
        for p in range(_POINTS):
            value = -x[p] - off_sq[i] / q[p]
            value = -1e-300 if value == 0.0 else value
            counts[p] += 1.0 if value < 0.0 else 0.0
            q[p] = value


@kernel
def extreme_singular_values(diagonal: FloatArray, above: FloatArray, out: FloatArray) -> None:
    """Largest and smallest singular value of upper bidiagonal matrices, by sections.

    Parameters
    ----------
    diagonal, above : (n_trials, r) and (n_trials, r - 1), *squared* entries.
    out : (n_trials, 2) output: s_max, s_min, to a relative 4e-15.
    """
    n_trials, r = diagonal.shape
    off_sq = np.empty(2 * r - 1)
    points, scratch, counts = np.empty(_POINTS), np.empty(_POINTS), np.empty(_POINTS)
    for trial in range(n_trials):
        for i in range(r):
            off_sq[2 * i] = diagonal[trial, i]
        for i in range(r - 1):
            off_sq[2 * i + 1] = above[trial, i]
        bound = 2.0 * math.sqrt(off_sq[np.argmax(off_sq)]) + 1e-300  # Gershgorin
        for which in range(2):
            wanted = 2 * r if which == 0 else r + 1
            low, high = 0.0, bound * 1.001
            while high - low > 4e-15 * high:
                for p in range(_POINTS):
                    points[p] = low + (high - low) * ((p + 1.0) / (_POINTS + 1.0))
                _count_below(off_sq, points, scratch, counts)
                for p in range(_POINTS):
                    if counts[p] < wanted:
                        low = points[p]
                    else:
                        high = points[p]
                        break
            out[trial, which] = 0.5 * (low + high)


@validated(N=_COUNT, d=_COUNT, rng=Stream(), n_trials=Integer(0))
def gaussian_singular_values(
    N: int, d: int, rng: np.random.Generator, n_trials: int
) -> tuple[FloatArray, FloatArray]:
    """Draw ``(s_max, s_min)`` of N x d Gaussian matrices, s_min the min(N, d)-th singular value.

    Cost O(min(N, d)) a draw in time (about 100 passes) and memory.
    """
    long, short = max(N, d), min(N, d)
    check_drawn("entries min(N, d)", short)
    out = np.empty((n_trials, 2))
    chunk = max(1, _ENTRIES // short)
    for first in range(0, n_trials, chunk):
        size = min(chunk, n_trials - first)
        diagonal = rng.chisquare(long - np.arange(short), (size, short))
        above = rng.chisquare(np.arange(short - 1, 0, -1), (size, short - 1))
        extreme_singular_values(diagonal, above, out[first : first + size])
    return out[:, 0].copy(), out[:, 1].copy()

r"""Many gradient steps on quadratics at once.

The gradient of a quadratic is affine.  So n steps of size gamma from a model theta with the descent
r = b - G theta (G symmetric, positive semidefinite) lead to

.. math::

   \theta_n = \theta + \phi_n(G) r, \qquad
   \phi_n(x) = \gamma \sum_{i < n} (1 - \gamma x)^i = \frac{1 - (1 - \gamma x)^n}{x} .

On an interval that holds the eigenvalues of G, a few Chebyshev terms approximate the polynomial of
degree n - 1 to rounding.  About as many terms are needed as conjugate gradients would take steps to
solve G theta = b.  Where the largest eigenvalue is seven times the smallest, these are 45 instead
of 280.  An eigendecomposition of G costs more than these products unless hundreds of models share
it.  The recursion handles any number of models, matrices and step sizes in the same products.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.fft import dct

from trials.checks import FloatArray

_ULP = float(np.finfo(np.float64).eps)
_FIRST_NODES = 32


def step_polynomial(
    interval: tuple[float, float], step_size: float, n_steps: int, most: int
) -> FloatArray | None:
    """Chebyshev coefficients of phi_n on an interval, as far as they exceed rounding.

    Parameters
    ----------
    interval : bounds of the eigenvalues, 0 <= low < high, with step_size * high <= 2.  Beyond that
        the steps diverge and no approximation is accurate to rounding.
    step_size, n_steps : gamma > 0 and n >= 1.
    most : coefficients wanted at most.

    Returns
    -------
    (q,) coefficients, or None where more than `most` are needed.  The error of the sum is q units
    in the last place of its largest value on the interval.  It is n q such units where 1 - gamma x
    comes near -1, because the power itself is then no more accurate.
    """
    low, high = step_size * interval[0], step_size * interval[1]

    def phi(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values at points (p,) of [-1, 1], and the rounding errors that the power leaves in them.

        Both are over the step size, so that they are of the order of n in any units.
        """
        reduced = 0.5 * ((high - low) * x + (high + low))
        power = (1.0 - reduced) ** n_steps
        with np.errstate(divide="ignore", invalid="ignore"):
            smooth = -np.expm1(n_steps * np.log1p(-np.minimum(reduced, 0.5))) / reduced
            plain = (1.0 - power) / reduced
            noise = np.where(reduced < 0.5, 0.0, n_steps * np.abs(power) / reduced)
        values = np.where(reduced < 0.5, smooth, plain)
        return np.where(reduced > 0.0, values, n_steps), noise

    n_nodes = _FIRST_NODES
    if high > 1.0 and (high - 1.0) ** n_steps > _ULP:
        # The power falls within 1 / n of the upper end, where nodes are 1 / n_nodes^2 apart.  With
        # fewer nodes the fall would lie between two nodes.
        while n_nodes**2 < n_steps:
            n_nodes *= 2
    while n_nodes <= 4 * most + _FIRST_NODES:
        # At the Chebyshev points a cosine transform gives the interpolating sum, to rounding.
        nodes = np.cos(np.pi * (np.arange(n_nodes) + 0.5) / n_nodes)
        values, noise = phi(nodes)
        coefficients = np.asarray(dct(values)) / n_nodes
        coefficients[0] *= 0.5
        count = int(np.flatnonzero(np.abs(coefficients) > _ULP * (values + noise).max())[-1]) + 1
        if count <= 0.75 * n_nodes:
            return step_size * coefficients[:count] if count <= most else None
        n_nodes *= 2
    return None


def largest_move(interval: tuple[float, float], step_size: float, n_steps: int) -> float:
    """Bound of |theta_i - theta| / |r| over i <= n steps, which is a bound of phi_i on the
    interval.

    It exceeds neither ``gamma n`` nor 1 / low where no factor 1 - gamma x is negative.  Where one
    is negative, phi_i <= 2 / x <= 2 gamma.
    """
    low, high = interval
    bound = 1.0 / low if low > 0.0 else np.inf
    if step_size * high > 1.0:
        bound = max(bound, 2.0 * step_size)
    return min(bound, step_size * n_steps)


def take_many_steps(
    product: Callable[[FloatArray], FloatArray],
    descents: FloatArray,
    intervals: FloatArray,
    polynomials: list[FloatArray],
) -> FloatArray:
    """Total moves phi_n(G_row) r_row of many models, by one Chebyshev recursion for all.

    Parameters
    ----------
    product : (s, d) -> (s, d), the products of the first s rows, each with its G.
    descents : (rows, d) r.
    intervals : (rows, 2) bounds of the eigenvalues of each row's G.
    polynomials : coefficients of `step_polynomial`, one array a row, none longer than the one
        before: a row leaves the products when its terms are through.
    """
    lengths = np.array([len(p) for p in polynomials])
    centre = intervals.mean(axis=1, keepdims=True)
    half = 0.5 * (intervals[:, 1:] - intervals[:, :1])
    largest = np.abs(descents).max(axis=1, keepdims=True)
    units = np.where(largest > 0.0, largest, 1.0)  # products with G stay in the range of floats
    moves = np.zeros_like(descents)
    last = now = descents / units
    for term in range(lengths[0]):
        going = int(np.count_nonzero(lengths > term))
        if term > 0:
            mapped = product(now[:going]) - centre[:going] * now[:going]
            mapped /= half[:going]
            last, now = now, mapped if term == 1 else 2.0 * mapped - last[:going]
        moves[:going] += np.array([[p[term]] for p in polynomials[:going]]) * now[:going]
    return moves * units

r"""How far rounding can move a federated round, whatever the order of its sums.

A sum of products of n terms, in any order and with or without fused operations, differs from the
exact one by at most :math:`\gamma_n=nu/(1-nu)` times the sum of the absolute products (Higham 2002,
section 3.1), with u the unit roundoff.  The bounds below use lengths of rows and models, so they
are the same in every rotated frame.  The constants leave room for both sides of a comparison, and
for inputs that were themselves rotated, shifted or scaled in floating point.

Symbols: :math:`a_r=|x_r|(|\theta|+\tau)+|y_r|+|x_r|\tau` bounds the numbers that enter the residual
of row r, where tau is the length of a shift of the models that was applied before (0 without one).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trials.checks import BoolArray, FloatArray
from verify.testing.case import Clients


def operations(clients: Clients, d: int) -> float:
    """A number of roundings that no straightforward program exceeds in a sum over the data."""
    return 8.0 * (int(clients.sizes.sum()) + 2 * d + len(clients) + 8)


def magnitudes(
    x: FloatArray, y: FloatArray, models: FloatArray, shift: float
) -> tuple[FloatArray, FloatArray]:
    """Lengths (n,) of the rows and the bounds a (n, k) of the numbers in the residuals."""
    lengths = np.linalg.norm(x, axis=1)
    sizes = np.linalg.norm(models, axis=1) + shift
    return lengths, lengths[:, None] * sizes + (np.abs(y) + lengths * shift)[:, None]


def losses(
    models: FloatArray, clients: Clients, unit: float, error: FloatArray, shift: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    r"""Mean squared residuals (m, k) with bounds (m, k) on their rounding errors.

    ``error`` (k,) bounds the lengths by which the models themselves may be wrong.
    """
    k, d = models.shape
    values, bounds = np.empty((len(clients), k)), np.empty((len(clients), k))
    for i, (x, y) in enumerate(clients):
        residual = y[:, None] - x @ models.T
        values[i] = (residual**2).mean(axis=0)
        _, a = magnitudes(x, y, models, shift)
        moved = np.linalg.norm(x) / np.sqrt(len(y)) * error
        count = 8.0 * (len(y) + 2 * d + 8)
        bounds[i] = count * unit * (a**2).mean(axis=0) + (2 * np.sqrt(values[i]) + moved) * moved
    return values, bounds


def admissible(values: FloatArray, bounds: FloatArray) -> BoolArray:
    """(m, k) whether a column can be the least of its row, given the bounds."""
    least = (values + bounds).min(axis=1, keepdims=True)
    return np.asarray(values - bounds <= least)


def gradient_size(
    x: FloatArray, y: FloatArray, model: FloatArray, shift: float
) -> np.float64 | NDArray[np.float64]:
    """The sum over rows of |x_r| a_r / n, which bounds the length of a mean gradient's terms."""
    lengths, a = magnitudes(x, y, model[None], shift)
    return np.float64((lengths * a[:, 0]).mean())


def length(matrix: FloatArray) -> float:
    """The spectral norm."""
    return float(np.linalg.norm(matrix, 2))
